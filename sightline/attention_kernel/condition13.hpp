// Condition (13) of the published Corollary 1 for kernels in normal form: the algorithm of theory.md 4.1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/attention_kernel/normal_form.hpp"

namespace sightline::attention_kernel {

struct Finding {
  Condition13 verdict = Condition13::undecided;
  std::string pair;  ///< when it fails: "all pairs", "a set of W_K of positive measure", "y2 = -1/2 y1"
  std::string why;
};

/// Decides (13) at a fixed query: for distinct nonzero y1, y2 and almost every W the quotient k(tWy1)/k(tWy2) tends to
/// 0 or infinity. With exponents of degree <= 2 in the key the growth of a term along y = tv is (v^T B v, b.v, delta),
/// compared in this order. (13) fails exactly when a term with B = 0, b = 0 wins on an open set of v, or when v and
/// lambda v, lambda < 0, have equal growth on one; both are strict linear programs once one quadratic form is known to
/// win. `holds` needs every program infeasible, exactly; a program with an indefinite quadratic form is searched only.
/// A single term with an exponent of any degree is decided by the odd part of the exponent.
/// @param form  k(x0, y) in the variables 0..dim-1
[[nodiscard]] Finding decide_condition13(const NormalForm& form, std::size_t dim, const Budget& budget);

/// (13) for every query x != 0, when it is known to hold at a generic one. `x` is set when it fails.
struct LiteralFinding {
  Condition13 verdict = Condition13::undecided;
  std::vector<Surd> x;
  std::string pair;
};

/// @param form  k(x, y): x in the variables 0..dim-1, y in dim..2dim-1
[[nodiscard]] LiteralFinding decide_literal(const NormalForm& form, std::size_t dim);

/// "y2 = -y1", "y2 = -1/2 y1".
[[nodiscard]] std::string print_pair(const Surd& lambda);

}  // namespace sightline::attention_kernel
