// Attention kernels as mathematics: named kernels, what is known of them, and condition (13) (theory.md 4).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::attention_kernel {

enum class Tri { no, yes, unknown };

/// A kernel as written in the file: a name with parameters, or an expression.
struct Kernel {
  std::string name = "softmax";  ///< softmax gaussian rbf performer exponential-sum cauchy laplace elu1 relu2 cosine, or "" = expression
  std::string text;              ///< the expression as written, when name == ""
  mpq_class gamma = 1;                              ///< gaussian, rbf: exp(-gamma |x-y|^2)
  std::vector<std::vector<mpq_class>> features;     ///< performer
  std::vector<mpq_class> weight;                    ///< exponential-sum
  mpq_class temperature = 1;                        ///< cosine
  friend bool operator==(const Kernel& a, const Kernel& b);
};

/// Names that `kernel =` accepts, for suggestions.
[[nodiscard]] const std::vector<std::string>& kernel_names();

/// The kernel as one expression in x and y.
[[nodiscard]] Expression to_expression(const Kernel& kernel, std::size_t dim);

enum class Condition13 { holds, fails, undecided };

/// Why (13) fails: at query x the ratio k(x, tWy1)/k(x, tWy2) tends to a finite nonzero limit for these keys.
struct Condition13Failure {
  std::string x, y1, y2;  ///< "generic", "y2 = -y1", "a set of W_K of positive measure", rational vectors
  std::string why;
};

struct KernelFacts {
  Tri analytic = Tri::unknown;      ///< real-analytic everywhere
  Tri positive = Tri::unknown;      ///< k > 0 everywhere
  Tri nonnegative = Tri::unknown;
  Tri continuous = Tri::unknown;
  Tri nonzero_somewhere = Tri::unknown;  ///< not identically zero
  Tri nonzero_at_zero = Tri::unknown;    ///< k(0,0) != 0
  Tri joint_sign_even = Tri::unknown;    ///< k(-x,-y) = k(x,y): the mixer is odd without biases (theory.md 3.4)
  Tri scale_invariant = Tri::unknown;    ///< k(ax,by) = k(x,y) for a,b > 0 (1-homogeneous mixer: 3.5); also k constant
  Tri homogeneous_mixer = Tri::unknown;  ///< the normalised mixer is positively 1-homogeneous (3.5)
  Tri constant = Tri::unknown;
  Tri reads_keys = Tri::unknown;         ///< k(x,y) != k(x,z) for some x, y, z; no: every key weighs the same (mean or sum pooling)
  bool isotropic = false;                ///< shown to depend on x and y through dot products and lengths alone: turning both changes nothing
  bool is_softmax = false;               ///< exp(x.y) up to scale: sections 15.4 L3-L5 and Lemma S apply
  bool is_gaussian = false;              ///< c exp(-g |x-y|^2), c, g > 0 (un-normalised: SkyFormer)
  bool is_exponential_dot = false;       ///< exp(c x.y), c != 0
  Condition13 condition13 = Condition13::undecided;          ///< generic statement at one random x0 (4.1)
  Condition13 condition13_literal = Condition13::undecided;  ///< for every x != 0
  std::optional<Condition13Failure> failure;
  /// Token distinguishability by one mixing layer, normalised and on the full pattern (4.2, 4.3, 3.11), for nonzero tokens.
  Tri token_distinguishability = Tri::unknown;
  /// Definition 3 (mixing layers only, any number m): true only when it is proved to fail for every m at this n.
  bool indistinguishable_at_every_depth = false;
  /// (MEAN) of theory.md 2.3 for free W_Q, W_K, W_V, which is all the UAP asks of a kernel: `uap` of `sightline kernel`.
  /// yes: k(0,0) != 0, or dim >= 2 and k is continuous and not 0 near some pair. no: k vanishes identically.
  Tri mean_property = Tri::unknown;
  std::string rule;  ///< which row of 4.3 or which argument decided
};

/// Facts about a kernel for tokens of width `dim` (n tokens where a fact depends on n). Undecided is legal, wrong is not.
[[nodiscard]] KernelFacts compute_kernel_facts(const Kernel& kernel, std::size_t dim, std::size_t tokens, const Budget& budget);

}  // namespace sightline::attention_kernel
