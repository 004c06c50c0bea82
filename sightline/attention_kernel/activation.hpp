// Activations of the feedforward and of the bias mixer: what the rules of theory.md 6, 15.1 and 15.6 ask of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/attention_kernel/kernel.hpp"

namespace sightline::attention_kernel {

/// An activation as written: one of the names of format.md, or an expression in t.
struct Activation {
  std::string name = "relu";  ///< relu gelu silu mish elu leaky_relu tanh sigmoid softplus erf sin exp square relu2 cube step identity, or ""
  std::string text;           ///< expression when name == ""
  friend bool operator==(const Activation&, const Activation&) = default;
};

[[nodiscard]] const std::vector<std::string>& activation_names();

struct ActivationFacts {
  Tri continuous = Tri::unknown;
  Tri locally_lipschitz = Tri::unknown;
  Tri lipschitz = Tri::unknown;
  Tri analytic = Tri::unknown;
  Tri polynomial = Tri::unknown;
  std::optional<unsigned> degree;          ///< when polynomial
  Tri affine = Tri::unknown;               ///< includes constants
  Tri constant = Tri::unknown;
  Tri odd = Tri::unknown;                  ///< s(-t) = -s(t)
  Tri even = Tri::unknown;                 ///< s(-t) = s(t): a gate of that kind makes a GLU without biases odd (theory 6 D, 16.21)
  Tri zero_at_zero = Tri::unknown;         ///< s(0) = 0
  Tri even_part_polynomial = Tri::unknown; ///< (s(t)+s(-t))/2 is a polynomial (15.6 E asks for "no")
  Tri even_part_zero = Tri::unknown;
  Tri even_quadratic = Tri::unknown;       ///< s(0)=0 and the even part has a nonzero quadratic term (theory.md 6 D, ZERO-FIXING)
  Tri positively_homogeneous = Tri::unknown;  ///< s(ct) = c^r s(t), c > 0
  std::optional<unsigned> homogeneity_degree;
  Tri c2_or_kink = Tri::unknown;           ///< 2.1, d = 1: C^2 with s''(t0)s'(t0) != 0, or piecewise linear with a kink
};

/// Exact symbolic tests where possible; otherwise unknown.
[[nodiscard]] ActivationFacts compute_activation_facts(const Activation& activation, const Budget& budget);

}  // namespace sightline::attention_kernel
