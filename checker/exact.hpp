// Exact arithmetic: natural numbers of any size, rationals, and orders of groups kept factored. No search, no rounding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace checker {

/// 0, 1, 2, ... of any size. Throws std::domain_error on a negative difference or a division by 0.
class Natural {
public:
  Natural(std::uint64_t value = 0);  // NOLINT: numbers convert
  static Natural from_decimal(std::string_view digits);  ///< throws std::domain_error unless canonical decimal
  [[nodiscard]] std::string decimal() const;
  [[nodiscard]] bool is_zero() const { return limbs_.empty(); }
  [[nodiscard]] std::size_t bits() const;
  [[nodiscard]] double to_double() const;
  friend Natural operator+(const Natural& a, const Natural& b);
  friend Natural operator-(const Natural& a, const Natural& b);
  friend Natural operator*(const Natural& a, const Natural& b);
  friend Natural operator/(const Natural& a, const Natural& b);
  friend Natural operator%(const Natural& a, const Natural& b);
  friend bool operator==(const Natural&, const Natural&) = default;
  friend bool operator<(const Natural& a, const Natural& b);

private:
  std::vector<std::uint32_t> limbs_;  // least first, no leading zero limbs
};
[[nodiscard]] Natural power(const Natural& base, std::uint64_t exponent);
[[nodiscard]] Natural gcd(Natural a, Natural b);

/// A rational in lowest terms, with sign. text(): "3/2", "-1", "1" as GMP prints.
class Rational {
public:
  Rational(std::int64_t value = 0);  // NOLINT: numbers convert
  Rational(Natural numerator, Natural denominator, bool negative = false);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool negative() const { return negative_; }
  [[nodiscard]] bool is_zero() const { return numerator_.is_zero(); }
  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);
  friend bool operator==(const Rational&, const Rational&) = default;
  friend bool operator<(const Rational& a, const Rational& b);

private:
  Natural numerator_, denominator_ = 1;
  bool negative_ = false;
};

/// A group order: a product of factorials and one integer, which is kept as primes (order.cpp).
class Order {
public:
  void multiply_factorial(std::uint64_t k, std::uint64_t exponent = 1);  ///< k < 2 does nothing
  void multiply(const Natural& value);                                    ///< not 0
  void multiply(const Order& other);
  void raise(std::uint64_t exponent);  ///< to a power
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& factorials() const { return factorials_; }
  [[nodiscard]] double log10() const;
  /// Decimal when it has at most 1,000 digits, else "".
  [[nodiscard]] std::string decimal() const;
  /// "64!^16384 * 2": decreasing k, ^1 left out, then one integer unless it is 1; "1" for the trivial group. An integer of more than 1,000 digits is taken apart
  /// into the greatest factorial that divides it, and so on.
  [[nodiscard]] std::string factored() const;
  /// Is the text in the form of factored(), and this number? More than one text can be (24 * 4!^2 is 4!^3): who writes it chooses.
  [[nodiscard]] bool is_written_as(std::string_view text) const;
  /// The same number?
  friend bool same_order(const Order& a, const Order& b);

private:
  [[nodiscard]] Natural multiply_out() const;
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> count_primes() const;
  void take_factorials(std::map<std::uint64_t, std::uint64_t>& factorials);
  std::map<std::uint64_t, std::uint64_t> factorials_;
  std::map<std::uint64_t, std::uint64_t> primes_;  // exponents
  Natural large_ = 1;                              // a product of numbers beyond 2^32 without their small primes
};
[[nodiscard]] bool same_order(const Order& a, const Order& b);

/// SHA-256 of the bytes, as 64 hexadecimal digits (sha256.cpp).
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace checker
