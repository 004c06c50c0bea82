// Kernel attention, products of rows, and what is left to the reference.
#include <optional>
#include <vector>

#include "sightline/mixer/cpu/call.hpp"
#include "sightline/mixer/cpu/feature_call.hpp"
#include "sightline/mixer/cpu/rings.hpp"
#include "sightline/mixer/cpu/twins.hpp"
#include "sightline/mixer/cpu/wrapped_call.hpp"
#include "sightline/mixer/reference/reference.hpp"

namespace sightline::mixer::cpu {

namespace {

/// Kernels of pairs, not of sums of features. gradients null: forward.
template <class Real>
bool attend_pairs(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                  const AttentionOutputs<Real>& out, const AttentionGradients<Real>* gradients,
                  const Execution& execution) {
  if (rule.top_k) {
    return attend_largest(plan, rule, shape, in, out, gradients, execution) ||
           attend_mapped(plan, rule, shape, in, out, gradients, execution);
  }
  Call<Real> call(plan, rule, shape, in, out, execution);
  if (!call.prepare())
    return attend_mapped(plan, rule, shape, in, out, gradients, execution);
  if (gradients == nullptr && call.goes_by_content())
    return call.forward_by_content();
  if (gradients == nullptr)
    call.forward();
  else if (call.goes_by_content() && call.find_in_place(gradients->out))
    call.backward(*gradients);
  else if (call.goes_by_content() && attend_twins_backward(plan, rule, shape, in, out, *gradients, execution))
    return true;
  else if (call.goes_round() && attend_rings_backward(plan, rule, shape, in, out, *gradients, execution))
    return true;
  else if (call.find_backward())
    call.backward(*gradients);
  else
    reference::attend_backward(plan, rule, shape, in, out, *gradients, execution);
  return true;
}

/// Where top_k keeps all: the rule without it.
std::optional<AttentionRule> find_whole(const AttentionRule& rule, const Shape& shape) {
  if (!rule.top_k || *rule.top_k < shape.reads)
    return std::nullopt;
  AttentionRule whole = rule;
  whole.top_k.reset();
  return whole;
}

} // namespace

template <class Real>
std::int64_t count_arc_weights(const Plan& plan, const AttentionRule& rule, const Shape& shape, const Execution& execution) {
  if (const auto whole = find_whole(rule, shape))
    return cpu::count_arc_weights<Real>(plan, *whole, shape, execution);
  if (rule.top_k || !rule.slopes.empty() || is_feature_kernel(rule))
    return 0;
  const AttentionInputs<Real> in; // where biases and lengths come, none are left
  const AttentionOutputs<Real> out;
  Call<Real> call(plan, rule, shape, in, out, execution);
  return call.prepare() ? shape.batch * call.count_arc_weights() : 0;
}

template <class Real>
bool attend(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
            const AttentionOutputs<Real>& out, const Execution& execution) {
  if (const auto whole = find_whole(rule, shape))
    return cpu::attend(plan, *whole, shape, in, out, execution);
  if (is_feature_kernel(rule) ? !attend_features(plan, rule, shape, in, out, execution)
                              : !attend_pairs<Real>(plan, rule, shape, in, out, nullptr, execution))
    return false;
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
  if (const auto whole = find_whole(rule, shape))
    return cpu::attend_backward(plan, *whole, shape, in, out, gradients, execution);
  return is_feature_kernel(rule) ? attend_features_backward(plan, rule, shape, in, out, gradients, execution)
                                 : attend_pairs(plan, rule, shape, in, out, &gradients, execution);
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

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template std::int64_t count_arc_weights<Real>(const Plan&, const AttentionRule&, const Shape&, const Execution&);    \
  template bool attend(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,                  \
                       const AttentionOutputs<Real>&, const Execution&);                                               \
  template bool attend_backward(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,         \
                                const AttentionOutputs<Real>&, const AttentionGradients<Real>&, const Execution&);     \
  template bool multiply_rows(const Real*, const Real*, const Real*, std::int64_t, std::int64_t, std::int64_t, Real*,  \
                              const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu
