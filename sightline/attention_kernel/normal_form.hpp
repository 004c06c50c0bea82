// Expressions as sums of  P * product of B^p * exp(Q)  with exact polynomials P, B, Q: the grammar of theory.md 4.1.
#pragma once

#include <map>
#include <vector>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/attention_kernel/polynomial.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::attention_kernel {

/// What a term carries besides its polynomial: exp(exponent) and powers of polynomials that are not natural numbers.
/// Without factors, different exponents make linearly independent functions (Lindemann-Weierstrass for the constant
/// parts), so a sum is zero exactly when it has no terms. Equal up to sign where a root of a power was taken.
struct Shape {
  Polynomial exponent;
  std::map<Polynomial, mpq_class> factors;
  friend bool operator==(const Shape&, const Shape&) = default;
  friend bool operator<(const Shape& a, const Shape& b);
};

/// Shape -> coefficient polynomial, never zero.
using NormalForm = std::map<Shape, Polynomial>;

/// What the variables stand for: numbers for a fixed query, polynomial variables otherwise.
struct Meaning {
  std::vector<Polynomial> x, y;  ///< entries of the two tokens
  Polynomial t;                  ///< the variable of an activation
};

/// Normal form of a scalar expression. Throws OutOfScope for everything that has none (softplus, relu, a power of a
/// sum of exponentials, ...), and when the form would be too large.
[[nodiscard]] NormalForm to_normal_form(const Expression& expression, const Meaning& meaning, const Budget& budget);

/// n polynomial variables from `first` on.
[[nodiscard]] std::vector<Polynomial> make_variables(std::uint32_t first, std::size_t count);

/// The form with the sign of the variables first..last-1 changed.
[[nodiscard]] NormalForm reflect(const NormalForm& form, std::uint32_t first, std::uint32_t last);

}  // namespace sightline::attention_kernel
