// Asymptotic expansions of expressions along a curve, t -> +infinity: what decides the growth of kernels that have no
// normal form (softplus, relu, norm, ...), and what proves that a function is not analytic at a point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/attention_kernel/surd.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::attention_kernel {

/// t^power (log t)^log_power exp(E), E a sum of coefficients times positive powers of t (by decreasing power).
struct Scale {
  std::vector<std::pair<mpq_class, Surd>> exponent;
  mpq_class power = 0, log_power = 0;
  friend bool operator==(const Scale&, const Scale&) = default;
};

/// < 0 when a is of smaller order than b as t -> infinity.
[[nodiscard]] int compare(const Scale& a, const Scale& b);
[[nodiscard]] Scale multiply(const Scale& a, const Scale& b);
[[nodiscard]] Scale raise(const Scale& a, const mpq_class& power);

/// A coefficient: exact where possible, else an enclosure by doubles.
struct Coefficient {
  std::optional<Surd> exact;
  double low = 0, high = 0;

  Coefficient() : exact(Surd()) {}
  Coefficient(const Surd& value);
  Coefficient(double low_end, double high_end) : low(low_end), high(high_end) {}
  [[nodiscard]] bool is_zero() const { return exact && exact->is_zero(); }
  [[nodiscard]] int sign() const;  ///< throws OutOfScope when the enclosure contains 0 and the value is not exact
};

/// Finitely many terms by decreasing order, then O(error); without `error` the sum is the function itself.
struct Series {
  struct Term {
    Scale scale;
    Coefficient factor;
  };
  std::vector<Term> terms;
  std::optional<Scale> error;

  Series() = default;
  Series(const Surd& constant);
  [[nodiscard]] static Series monomial(const Surd& factor, const mpq_class& power);
  /// The leading term; null for the zero function. Throws OutOfScope when all known terms cancelled.
  [[nodiscard]] const Term* leading() const;
};

/// What the variables are along the curve.
struct Curve {
  std::vector<Series> x, y;
  Series t;
};

/// The expansion of a scalar expression along the curve. Throws OutOfScope (oscillation, double exponentials, lost
/// precision, functions outside their domain).
[[nodiscard]] Series expand(const Expression& expression, const Curve& curve, const Budget& budget);

[[nodiscard]] Series operator+(const Series& a, const Series& b);
[[nodiscard]] Series operator-(const Series& a, const Series& b);
[[nodiscard]] Series operator*(const Series& a, const Series& b);

}  // namespace sightline::attention_kernel
