// What calls of every kind need: workspaces, the vertices that exist, gradients of one head.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

/// Aligned memory for every worker.
class Workspaces {
public:
  Workspaces(std::size_t bytes, int workers) : bytes_((bytes + 4095) / 4096 * 4096 + 64) {
    memory_.reset(static_cast<char*>(
        std::aligned_alloc(4096, (bytes_ * static_cast<std::size_t>(workers) + 4095) / 4096 * 4096)));
    if (!memory_)
      throw std::bad_alloc();
  }
  [[nodiscard]] void* of(int worker) const { return memory_.get() + bytes_ * static_cast<std::size_t>(worker); }

private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::size_t bytes_;
  std::unique_ptr<char, Free> memory_;
};

/// The vertices that a batch element's length leaves out.
template <class Real> void set_cuts(const Plan& plan, std::int64_t length, Head<Real>& head) {
  head.reader_cut_begin = std::clamp<std::int64_t>(length, 0, plan.reader_tokens());
  head.reader_cut_end = plan.reader_tokens();
  head.read_cut_begin = std::clamp<std::int64_t>(length, 0, plan.read_tokens());
  head.read_cut_end = plan.read_tokens();
}

template <class Real>
[[nodiscard]] Gradients<Real> make_gradients(const AttentionGradients<Real>& from, std::int64_t b, std::int64_t h,
                                             std::int64_t key_head) {
  Gradients<Real> to;
  to.out = from.out.at(b, h, 0);
  to.out_stride = from.out.token_stride;
  if (from.query.data != nullptr)
    to.query = from.query.at(b, h, 0);
  if (from.key.data != nullptr)
    to.key = from.key.at(b, key_head, 0);
  if (from.value.data != nullptr)
    to.value = from.value.at(b, key_head, 0);
  to.query_stride = from.query.token_stride;
  to.key_stride = from.key.token_stride;
  to.value_stride = from.value.token_stride;
  return to;
}

} // namespace sightline::mixer::cpu
