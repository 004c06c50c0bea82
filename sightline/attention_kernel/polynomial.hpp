// Polynomials in finitely many variables with exact coefficients.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sightline/attention_kernel/surd.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::attention_kernel {

/// Product of powers: (variable, exponent >= 1) by increasing variable; empty = 1.
using Monomial = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

[[nodiscard]] Monomial multiply(const Monomial& a, const Monomial& b);

class Polynomial {
public:
  /// What a product may have: kernels that people write stay far below.
  static constexpr std::size_t greatest_size = 20000;

  Polynomial() = default;
  explicit Polynomial(const Surd& constant) { if (!constant.is_zero()) terms_[{}] = constant; }
  [[nodiscard]] static Polynomial variable(std::uint32_t index);

  [[nodiscard]] const std::map<Monomial, Surd>& terms() const { return terms_; }
  [[nodiscard]] bool is_zero() const { return terms_.empty(); }
  [[nodiscard]] bool is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  [[nodiscard]] Surd constant() const;
  /// Total degree in the variables first..last-1; 0 for constants and for zero.
  [[nodiscard]] std::uint32_t degree(std::uint32_t first, std::uint32_t last) const;
  /// The part whose terms have that total degree in the variables first..last-1.
  [[nodiscard]] Polynomial part(std::uint32_t degree, std::uint32_t first, std::uint32_t last) const;
  /// p with the sign of the variables first..last-1 changed.
  [[nodiscard]] Polynomial reflected(std::uint32_t first, std::uint32_t last) const;
  [[nodiscard]] bool mentions(std::uint32_t first, std::uint32_t last) const { return degree(first, last) > 0; }

  void add(const Monomial& monomial, const Surd& factor);
  Polynomial& operator+=(const Polynomial& other);
  Polynomial& operator*=(const Surd& factor);
  friend Polynomial operator+(Polynomial a, const Polynomial& b) { return a += b; }
  friend Polynomial operator-(const Polynomial& a, Polynomial b) { return (b *= Surd(-1)) += a; }
  /// The product. Throws OutOfScope beyond greatest_size terms; the budget is polled.
  friend Polynomial multiply(const Polynomial& a, const Polynomial& b, const Budget& budget);
  friend bool operator==(const Polynomial& a, const Polynomial& b) { return a.terms_ == b.terms_; }
  /// A total order for keys.
  friend bool operator<(const Polynomial& a, const Polynomial& b);

private:
  std::map<Monomial, Surd> terms_;  // no zero coefficients
};

/// A symmetric matrix with exact entries, row by row.
using Matrix = std::vector<std::vector<Surd>>;

enum class Definite { zero, positive, positive_semi, negative, negative_semi, indefinite };

/// Exact signature of a symmetric matrix (symmetric elimination). O(size^3).
[[nodiscard]] Definite compute_definiteness(const Matrix& matrix);

/// Sign of a polynomial of degree <= 2 in `count` variables over all of R^count: positive (> 0 everywhere),
/// positive_semi (>= 0), zero, indefinite = none of these proved. Exact.
[[nodiscard]] Definite compute_quadratic_sign(const Polynomial& polynomial, std::uint32_t count);

}  // namespace sightline::attention_kernel
