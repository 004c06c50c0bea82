// Kernels that are sums of products of features (Performer, exponential sum): linear in the number of tokens on full
// and causal patterns, by tiles of rows of features on all others.
#pragma once

#include "sightline/mixer/mixer.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

[[nodiscard]] bool is_feature_kernel(const AttentionRule& rule);

/// False: not handled here. A row whose scores lie so far apart that its sums of features leave the range of the type
/// is computed by the reference.
template <class Real>
[[nodiscard]] bool attend_features(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                   const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                                   const Execution& execution);
template <class Real>
[[nodiscard]] bool attend_features_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                            const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                                            const AttentionGradients<Real>& gradients, const Execution& execution);

} // namespace sightline::mixer::cpu
