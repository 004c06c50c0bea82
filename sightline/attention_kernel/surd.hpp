// Exact real numbers: sums of rationals times square roots of natural numbers, such as 1/2 + 3 sqrt(5).
#pragma once

#include <gmpxx.h>

#include <map>
#include <optional>
#include <string>

namespace sightline::attention_kernel {

/// Thrown inside this room when a quantity leaves what the exact arithmetic covers; compute_kernel_facts and
/// compute_activation_facts turn it into "unknown". Never reaches a caller of the room.
struct OutOfScope {};

/// An element of Q(sqrt 2, sqrt 3, sqrt 5, ...). The roots of different square-free numbers are linearly independent
/// over Q, so a Surd is zero exactly when all its coefficients are: every comparison below is exact.
class Surd {
public:
  Surd() = default;
  Surd(const mpq_class& value) : rational_(value) {}
  Surd(long value) : rational_(value) {}
  Surd(int value) : rational_(value) {}

  /// The square root of a rational >= 0. Throws OutOfScope when numerator times denominator has a factor too large
  /// to be split into primes by trial division.
  [[nodiscard]] static Surd square_root(const mpq_class& value);

  [[nodiscard]] bool is_zero() const { return roots_.empty() && rational_ == 0; }
  [[nodiscard]] bool is_rational() const { return roots_.empty(); }
  [[nodiscard]] const mpq_class& rational() const { return rational_; }  ///< meaningful when is_rational()
  [[nodiscard]] int sign() const;                                        ///< -1, 0, 1
  [[nodiscard]] double approximate() const;
  [[nodiscard]] double magnitude() const;  ///< sum of the sizes of the parts: approximate() is off by less than 1e-14 of it
  [[nodiscard]] Surd inverse() const;  ///< of a nonzero number
  [[nodiscard]] std::string print() const;

  Surd& operator+=(const Surd& other);
  Surd& operator-=(const Surd& other);
  Surd& operator*=(const Surd& other);
  friend Surd operator+(Surd a, const Surd& b) { return a += b; }
  friend Surd operator-(Surd a, const Surd& b) { return a -= b; }
  friend Surd operator*(const Surd& a, const Surd& b) { Surd c = a; return c *= b; }
  friend Surd operator/(const Surd& a, const Surd& b) { return a * b.inverse(); }
  Surd operator-() const { return Surd() - *this; }
  friend bool operator==(const Surd& a, const Surd& b) { return a.rational_ == b.rational_ && a.roots_ == b.roots_; }
  /// Some total order, for use as a key (not the order of the reals).
  friend bool key_less(const Surd& a, const Surd& b);
  friend bool operator<(const Surd& a, const Surd& b) { return (b - a).sign() > 0; }

private:
  mpq_class rational_ = 0;
  std::map<mpz_class, mpq_class> roots_;  // square-free radicand > 1 -> nonzero coefficient
};

/// value^power: any integer power, halves of nonnegative rationals; nothing otherwise.
[[nodiscard]] std::optional<Surd> power(const Surd& value, const mpq_class& exponent);

}  // namespace sightline::attention_kernel
