// What the fast implementation supplies. The folder cpu/ defines these when cpu/sources.cmake exists (which sets
// MIXER_CPU_SOURCES, paths relative to this folder, and may set properties of these files); until then, and wherever a
// hook returns false, the reference answers. Arguments are those of mixer.hpp and have been checked.
#pragma once

#include "sightline/mixer/mixer.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

/// See mixer.hpp; of a call that is not handled here, 0.
template <class Real>
[[nodiscard]] std::int64_t count_arc_weights(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                             const Execution& execution);
/// True: done. False: not handled here, nothing was written.
template <class Real>
[[nodiscard]] bool attend(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                          const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                          const Execution& execution);
/// Must handle exactly what attend() handles, because `statistics` are one implementation's own.
template <class Real>
[[nodiscard]] bool attend_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                   const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                                   const AttentionGradients<Real>& gradients, const Execution& execution);
template <class Real>
[[nodiscard]] bool aggregate(const Plan& plan, Aggregation aggregation, const Shape& shape,
                             const AggregateInputs<Real>& in, View<Real> out, const Execution& execution);
template <class Real>
[[nodiscard]] bool aggregate_backward(const Plan& plan, Aggregation aggregation, const Shape& shape,
                                      const AggregateInputs<Real>& in, View<const Real> grad_out, View<Real> grad_value,
                                      Real* grad_weight, const Execution& execution);
template <class Real>
[[nodiscard]] bool rotate(const Plan& plan, const Shape& shape, View<const Real> in, View<Real> out, bool inverse,
                          const Execution& execution);
template <class Real>
[[nodiscard]] bool multiply_rows(const Real* in, const Real* weight, const Real* bias, std::int64_t rows,
                                 std::int64_t depth, std::int64_t columns, Real* out, const Execution& execution);

} // namespace sightline::mixer::cpu
