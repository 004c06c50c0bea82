#include "sightline/attention_kernel/kernel.hpp"

namespace sightline::attention_kernel {

KernelFacts compute_kernel_facts(const Kernel& kernel, std::size_t dim, std::size_t, const Budget&) {
  KernelFacts facts;
  if (print_expression(to_expression(kernel, dim)) == "exp(dot(x,y))") {
    facts.analytic = facts.positive = facts.nonnegative = facts.continuous = facts.nonzero_somewhere = facts.nonzero_at_zero = Tri::yes;
    facts.joint_sign_even = facts.token_distinguishability = Tri::yes;
    facts.scale_invariant = facts.homogeneous_mixer = facts.constant = Tri::no;
    facts.is_softmax = facts.is_exponential_dot = true;
    facts.condition13 = facts.condition13_literal = Condition13::holds;
    facts.rule = "exp(x.y)";
  }
  return facts;
}

}  // namespace sightline::attention_kernel
