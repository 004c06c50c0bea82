// Facts about an activation given as an expression; compute_activation_facts is the door.
#pragma once

#include "sightline/attention_kernel/activation.hpp"

namespace sightline::attention_kernel {

/// Every yes and no is proved, by normal form, structure or asymptotic expansion; the rest is unknown.
[[nodiscard]] ActivationFacts compute_expression_facts(const Expression& activation, const Budget& budget);

}  // namespace sightline::attention_kernel
