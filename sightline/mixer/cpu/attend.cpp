// Kernel attention, products of rows, and what is left to the reference.
#include <vector>

#include "sightline/mixer/cpu/call.hpp"
#include "sightline/mixer/cpu/feature_call.hpp"
#include "sightline/mixer/reference/reference.hpp"

namespace sightline::mixer::cpu {

template <class Real>
bool attend(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
            const AttentionOutputs<Real>& out, const Execution& execution) {
  if (is_feature_kernel(rule)) {
    if (!attend_features(plan, rule, shape, in, out, execution))
      return false;
  } else {
    Call<Real> call(plan, rule, shape, in, out, execution);
    if (!call.prepare())
      return false;
    call.forward();
  }
  if (out.attention != nullptr) {
    // The n^2 weights themselves are for looking at: the reference writes them, beside outputs that nobody reads.
    std::vector<Real> unused(static_cast<std::size_t>(shape.batch * shape.heads * shape.readers * shape.value_width));
    AttentionOutputs<Real> only;
    only.out = {unused.data(), shape.heads * shape.readers * shape.value_width, shape.readers * shape.value_width,
                shape.value_width};
    only.attention = out.attention;
    reference::attend(plan, rule, shape, in, only, execution);
  }
  return true;
}

template <class Real>
bool attend_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                     const AttentionOutputs<Real>& out, const AttentionGradients<Real>& gradients,
                     const Execution& execution) {
  if (is_feature_kernel(rule)) {
    if (!attend_features_backward(plan, rule, shape, in, out, gradients, execution))
      return false;
  } else {
    Call<Real> call(plan, rule, shape, in, out, execution);
    if (!call.prepare())
      return false;
    if (!call.has_backward()) {
      reference::attend_backward(plan, rule, shape, in, out, gradients, execution);
      return true;
    }
    call.backward(gradients);
  }
  return true;
}

template <class Real>
bool multiply_rows(const Real* in, const Real* weight, const Real* bias, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns, Real* out, const Execution& execution) {
  const Engine<Real>& engine = find_engine<Real>(execution.instructions);
  std::vector<Real> packed(
      static_cast<std::size_t>((columns + engine.panel - 1) / engine.panel * engine.panel * depth));
  engine.pack_weight(weight, depth, columns, packed.data());
  constexpr std::int64_t block = 96;
  run_tasks((rows + block - 1) / block, execution.threads, [&](std::int64_t task, int) {
    const std::int64_t first = task * block, count = std::min(block, rows - first);
    engine.multiply_rows(in + first * depth, packed.data(), bias, count, depth, columns, out + first * columns);
  });
  return true;
}

// Left to the reference.
template <class Real> bool rotate(const Plan&, const Shape&, View<const Real>, View<Real>, bool, const Execution&) {
  return false;
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template bool attend(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,                  \
                       const AttentionOutputs<Real>&, const Execution&);                                               \
  template bool attend_backward(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,         \
                                const AttentionOutputs<Real>&, const AttentionGradients<Real>&, const Execution&);     \
  template bool multiply_rows(const Real*, const Real*, const Real*, std::int64_t, std::int64_t, std::int64_t, Real*,  \
                              const Execution&);                                                                       \
  template bool rotate(const Plan&, const Shape&, View<const Real>, View<Real>, bool, const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu
