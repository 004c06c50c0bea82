// The slow, obvious implementation: one row at a time, formulas as they are written down; threads share heads and batch
// elements. mixer.hpp says what each function computes. It checks the fast implementation, answers what that leaves,
// and runs where nothing else does.
#pragma once

#include "sightline/mixer/mixer.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::reference {

template <class Real>
void attend(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
            const AttentionOutputs<Real>& out, const Execution& execution);
template <class Real>
void attend_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                     const AttentionOutputs<Real>& out, const AttentionGradients<Real>& gradients,
                     const Execution& execution);
template <class Real>
void aggregate(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
               View<Real> out, const Execution& execution);
template <class Real>
void aggregate_backward(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                        View<const Real> grad_out, View<Real> grad_value, Real* grad_weight,
                        const Execution& execution);
template <class Real>
void rotate(const Plan& plan, const Shape& shape, View<const Real> in, View<Real> out, bool inverse,
            const Execution& execution);
template <class Real>
void multiply_rows(const Real* in, const Real* weight, const Real* bias, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns, Real* out, const Execution& execution);

} // namespace sightline::mixer::reference
