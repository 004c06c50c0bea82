#include "sightline/mixer/mixer.hpp"

#include <cmath>

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/mixer/cpu_hooks.hpp"
#include "sightline/mixer/plan.hpp"
#include "sightline/mixer/reference/reference.hpp"

namespace sightline::mixer {
namespace {

void expect(bool holds, const char* what) {
  if (!holds)
    throw ArgumentError(fmt::format("mixer: {}", what));
}

void check_shape(const Plan& plan, const Shape& shape) {
  expect(shape.batch >= 0 && shape.heads >= 1 && shape.key_heads >= 1 && shape.heads % shape.key_heads == 0,
         "the number of heads is not a multiple of the number of key heads");
  expect(shape.readers == plan.readers() && shape.reads == plan.reads(), "readers or reads differ from the plan's");
  expect(plan.heads() == 1 || plan.heads() == shape.heads, "the plan is for another number of heads");
  expect(shape.width >= 0 && shape.value_width >= 0, "a width is negative");
}

template <class Real>
void check_attention(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in) {
  check_shape(plan, shape);
  expect(shape.width >= 1, "queries have no entries");
  expect(!rule.top_k || *rule.top_k >= 1, "top_k must be at least 1");
  expect(rule.slopes.empty() || static_cast<std::int64_t>(rule.slopes.size()) == shape.heads,
         "one slope per head is needed");
  expect(std::isfinite(rule.eps) && rule.eps >= 0, "eps must be finite and not negative");
  expect(!rule.normalised || rule.sink != Sink::trained || in.sink != nullptr, "a trained sink needs its numbers");
}

} // namespace

// The fast implementation where it is built and able, else the reference.
#ifdef SIGHTLINE_MIXER_CPU
#define SIGHTLINE_DISPATCH(function, ...)                                                                              \
  if (execution.implementation == Implementation::cpu && cpu::function(__VA_ARGS__))                                   \
    return;                                                                                                            \
  reference::function(__VA_ARGS__)
#else
#define SIGHTLINE_DISPATCH(function, ...) reference::function(__VA_ARGS__)
#endif

template <class Real>
std::int64_t count_arc_weights(const Plan& plan, const AttentionRule& rule, const Shape& shape, const Execution& execution) {
  check_shape(plan, shape);
#ifdef SIGHTLINE_MIXER_CPU
  if (execution.implementation == Implementation::cpu)
    return cpu::count_arc_weights<Real>(plan, rule, shape, execution);
#endif
  return 0;
}

template <class Real>
void attend(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
            const AttentionOutputs<Real>& out, const Execution& execution) {
  check_attention(plan, rule, shape, in);
  SIGHTLINE_DISPATCH(attend, plan, rule, shape, in, out, execution);
}

template <class Real>
void attend_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                     const AttentionOutputs<Real>& out, const AttentionGradients<Real>& gradients,
                     const Execution& execution) {
  check_attention(plan, rule, shape, in);
  expect(gradients.bias == nullptr || in.bias != nullptr, "a gradient of a bias that is not there");
  expect(gradients.sink == nullptr || rule.sink == Sink::trained, "a gradient of a sink that is not trained");
  SIGHTLINE_DISPATCH(attend_backward, plan, rule, shape, in, out, gradients, execution);
}

template <class Real>
void aggregate(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
               View<Real> out, const Execution& execution) {
  check_shape(plan, shape);
  expect(aggregation != Aggregation::max || in.weight == nullptr, "a maximum has no weights");
  SIGHTLINE_DISPATCH(aggregate, plan, aggregation, shape, in, out, execution);
}

template <class Real>
void aggregate_backward(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                        View<const Real> grad_out, View<Real> grad_value, Real* grad_weight,
                        const Execution& execution) {
  check_shape(plan, shape);
  expect(aggregation != Aggregation::max || in.weight == nullptr, "a maximum has no weights");
  expect(grad_weight == nullptr || in.weight != nullptr, "a gradient of weights that are not there");
  SIGHTLINE_DISPATCH(aggregate_backward, plan, aggregation, shape, in, grad_out, grad_value, grad_weight, execution);
}

template <class Real>
void rotate(const Plan& plan, const Shape& shape, View<const Real> in, View<Real> out, bool inverse,
            const Execution& execution) {
  expect(shape.readers == plan.readers(), "readers differ from the plan's");
  expect(shape.width % 2 == 0, "rotary positions need an even width");
  SIGHTLINE_DISPATCH(rotate, plan, shape, in, out, inverse, execution);
}

template <class Real>
void multiply_rows(const Real* in, const Real* weight, const Real* bias, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns, Real* out, const Execution& execution) {
  SIGHTLINE_DISPATCH(multiply_rows, in, weight, bias, rows, depth, columns, out, execution);
}

#undef SIGHTLINE_DISPATCH

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template std::int64_t count_arc_weights<Real>(const Plan&, const AttentionRule&, const Shape&, const Execution&);    \
  template void attend(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,                  \
                       const AttentionOutputs<Real>&, const Execution&);                                               \
  template void attend_backward(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,         \
                                const AttentionOutputs<Real>&, const AttentionGradients<Real>&, const Execution&);     \
  template void aggregate(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&, View<Real>,            \
                          const Execution&);                                                                           \
  template void aggregate_backward(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&,               \
                                   View<const Real>, View<Real>, Real*, const Execution&);                             \
  template void rotate(const Plan&, const Shape&, View<const Real>, View<Real>, bool, const Execution&);               \
  template void multiply_rows(const Real*, const Real*, const Real*, std::int64_t, std::int64_t, std::int64_t, Real*,  \
                              const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer
