// A call as a sequence of smaller ones: one batch element and a few key heads at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

template <class Real> struct Slice {
  Shape shape;
  std::int64_t batch = 0, first_head = 0, first_key_head = 0;
  AttentionInputs<Real> in;
  AttentionOutputs<Real> out;
  AttentionGradients<Real> gradients; ///< those of biases and sinks are the slice's own, and are added up
};

template <class T>
[[nodiscard]] View<T> slice_view(const View<T>& from, std::int64_t batch, std::int64_t head) {
  View<T> to = from;
  if (to.data != nullptr)
    to.data = from.at(batch, head, 0);
  return to;
}

/// Calls work(slice) for every batch element and every `at_once` key heads; false as soon as work says so. gradients
/// null: forward. Statistics must be there in the backward pass.
template <class Real, class Work>
bool for_slices(const Plan& plan, const Shape& shape, const AttentionInputs<Real>& in,
                const AttentionOutputs<Real>& out, const AttentionGradients<Real>* gradients, std::int64_t at_once,
                Work&& work) {
  const std::int64_t group = shape.heads / shape.key_heads, colours = plan.colours();
  const bool biases = gradients != nullptr && gradients->bias != nullptr,
             sinks = gradients != nullptr && gradients->sink != nullptr;
  std::vector<Real> bias(static_cast<std::size_t>(biases ? at_once * group * colours : 0)),
      sink(static_cast<std::size_t>(sinks ? at_once * group : 0));
  if (biases)
    std::fill_n(gradients->bias, shape.heads * colours, Real(0));
  if (sinks)
    std::fill_n(gradients->sink, shape.heads, Real(0));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t first = 0; first < shape.key_heads; first += at_once) {
      Slice<Real> slice;
      slice.shape = shape;
      slice.shape.batch = 1;
      slice.shape.key_heads = std::min(at_once, shape.key_heads - first);
      slice.shape.heads = slice.shape.key_heads * group;
      slice.batch = b;
      slice.first_key_head = first;
      slice.first_head = first * group;
      const std::int64_t h = slice.first_head;
      slice.in = in;
      slice.in.query = slice_view(in.query, b, h);
      slice.in.key = slice_view(in.key, b, first);
      slice.in.value = slice_view(in.value, b, first);
      slice.in.bias = in.bias == nullptr ? nullptr : in.bias + h * colours;
      slice.in.sink = in.sink == nullptr ? nullptr : in.sink + h;
      slice.in.lengths = in.lengths == nullptr ? nullptr : in.lengths + b;
      slice.out.out = slice_view(out.out, b, h);
      if (out.statistics != nullptr)
        slice.out.statistics = out.statistics + (b * shape.heads + h) * shape.readers * 2;
      if (gradients != nullptr) {
        slice.gradients.out = slice_view(gradients->out, b, h);
        slice.gradients.query = slice_view(gradients->query, b, h);
        slice.gradients.key = slice_view(gradients->key, b, first);
        slice.gradients.value = slice_view(gradients->value, b, first);
        slice.gradients.bias = biases ? bias.data() : nullptr;
        slice.gradients.sink = sinks ? sink.data() : nullptr;
      }
      if (!work(slice))
        return false;
      for (std::int64_t k = 0; biases && k < slice.shape.heads * colours; ++k)
        gradients->bias[h * colours + k] += bias[static_cast<std::size_t>(k)];
      for (std::int64_t k = 0; sinks && k < slice.shape.heads; ++k)
        gradients->sink[h + k] += sink[static_cast<std::size_t>(k)];
    }
  }
  return true;
}

} // namespace sightline::mixer::cpu
