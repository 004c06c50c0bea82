// Calls that come down to others: the k largest weights of a row (its reads are found first, then taken one by one), and
// expressions that treat entries one by one.
#pragma once

#include "sightline/mixer/cpu_hooks.hpp"

namespace sightline::mixer::cpu {

/// rule.top_k is set. False: the reference has to answer. gradients null: forward.
template <class Real>
[[nodiscard]] bool attend_largest(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                  const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                                  const AttentionGradients<Real>* gradients, const Execution& execution);

/// A kernel in x and y that depends on the products and lengths of f(x) and g(y) alone, f and g entry by entry or not,
/// is that kernel of f(x) and g(y), computed once per token. False: it is no such kernel, or the reference has to
/// answer.
template <class Real>
[[nodiscard]] bool attend_mapped(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                 const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                                 const AttentionGradients<Real>* gradients, const Execution& execution);

} // namespace sightline::mixer::cpu
