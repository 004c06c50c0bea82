// Exact mode of sums, means and maxima: every sum over a row or a column in the order that the plan's group carries
// along, or without an order (SummationOrder in plan.hpp).
#pragma once

#include "sightline/mixer/cpu_hooks.hpp"

namespace sightline::mixer::cpu {

/// The plan's order is not natural. False: the reference has to answer. Maxima are for backward alone: forward they have
/// no order anyway. The gradient of weights is left to the caller.
template <class Real>
[[nodiscard]] bool aggregate_exact(const Plan& plan, Aggregation aggregation, const Shape& shape,
                                   const AggregateInputs<Real>& in, const View<Real>& out, const Execution& execution);
template <class Real>
[[nodiscard]] bool aggregate_exact_backward(const Plan& plan, Aggregation aggregation, const Shape& shape,
                                            const AggregateInputs<Real>& in, const View<const Real>& grad_out,
                                            const View<Real>& grad_value, const Execution& execution);

} // namespace sightline::mixer::cpu
