// Enclosures of real numbers by two MPFR numbers: every operation rounds outward, so the exact value stays inside.
#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include <string>

namespace sightline::falsify {

/// Thrown inside this room when a value is not defined on the whole enclosure (division by an interval with 0, the
/// logarithm of something not positive, a NaN): at these parameters nothing is shown.
struct Undefined {};

/// [low, high] with low <= high; both ends may be infinite. All numbers of one computation have the same precision.
class Interval {
public:
  explicit Interval(long bits = 256);
  Interval(const mpq_class& value, long bits);
  Interval(double low, double high, long bits);
  Interval(const Interval& other);
  Interval& operator=(const Interval& other);
  ~Interval();

  [[nodiscard]] mpfr_srcptr low() const { return low_; }
  [[nodiscard]] mpfr_srcptr high() const { return high_; }
  [[nodiscard]] mpfr_ptr low() { return low_; }
  [[nodiscard]] mpfr_ptr high() { return high_; }
  [[nodiscard]] long bits() const { return static_cast<long>(mpfr_get_prec(low_)); }

  [[nodiscard]] bool excludes_zero() const { return mpfr_sgn(low_) > 0 || mpfr_sgn(high_) < 0; }
  [[nodiscard]] bool contains(const Interval& other) const;
  /// Ends in decimal with 20 digits, rounded outward: the text still encloses the value.
  [[nodiscard]] std::string print_low() const;
  [[nodiscard]] std::string print_high() const;
  /// Throws Undefined when an end is not a number.
  void check() const;

private:
  mpfr_t low_, high_;
};

[[nodiscard]] Interval operator+(const Interval& a, const Interval& b);
[[nodiscard]] Interval operator-(const Interval& a, const Interval& b);
[[nodiscard]] Interval operator-(const Interval& a);
[[nodiscard]] Interval operator*(const Interval& a, const Interval& b);
[[nodiscard]] Interval operator/(const Interval& a, const Interval& b);  ///< throws Undefined when b contains 0

[[nodiscard]] Interval exp(const Interval& a);
[[nodiscard]] Interval expm1(const Interval& a);
[[nodiscard]] Interval log(const Interval& a);   ///< throws Undefined unless a > 0
[[nodiscard]] Interval log1p(const Interval& a);  ///< throws Undefined unless a > -1
[[nodiscard]] Interval sqrt(const Interval& a);  ///< throws Undefined unless a >= 0
[[nodiscard]] Interval cosh(const Interval& a);
[[nodiscard]] Interval sinh(const Interval& a);
[[nodiscard]] Interval tanh(const Interval& a);
[[nodiscard]] Interval cos(const Interval& a);
[[nodiscard]] Interval sin(const Interval& a);
[[nodiscard]] Interval abs(const Interval& a);
[[nodiscard]] Interval square(const Interval& a);
[[nodiscard]] Interval maximum(const Interval& a, const Interval& b);
[[nodiscard]] Interval minimum(const Interval& a, const Interval& b);
/// a^exponent: integers for every a (negative ones need a without 0), other rationals for a > 0 (or a >= 0 when positive).
[[nodiscard]] Interval power(const Interval& a, const mpq_class& exponent);

}  // namespace sightline::falsify
