// Group orders, kept factored because 64!^16384 is an everyday order here.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sightline::group {

/// product over k of (k!)^factorials[k], times a rest that is kept as primes: orbit-stabiliser products have 100,000 factors and as many digits.
class Order {
public:
  Order() = default;  ///< 1
  explicit Order(const mpz_class& value) { multiply(value); }
  void multiply_factorial(std::uint32_t k, std::uint64_t exponent = 1);
  void multiply(const mpz_class& value);  ///< a positive number
  void multiply(const Order& other);
  void raise(std::uint64_t exponent);  ///< to a power

  [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& factorials() const { return factorials_; }
  /// What is no factorial, as one integer. O(digits) and more.
  [[nodiscard]] mpz_class rest() const;
  /// log10 of the order, accurate to 1e-6 relative.
  [[nodiscard]] double log10() const;
  /// The order as an integer, or nothing when it has more than `max_digits` digits.
  [[nodiscard]] std::optional<mpz_class> value(std::size_t max_digits = 1000) const;
  [[nodiscard]] bool is_one() const;
  /// format.md: "64!^16384 * 2": decreasing k, ^1 left out, then one integer unless it is 1 ("1" for the trivial group). A rest of more than 1,000 digits is
  /// taken apart into the greatest factorial that divides it, and so on ("20000! * 2!^20000").
  [[nodiscard]] std::string factored() const;
  /// Equal as numbers.
  friend bool operator==(const Order& a, const Order& b);

private:
  using Primes = std::map<std::uint32_t, std::uint64_t>;  ///< exponents >= 1
  void multiply_number(std::uint32_t value);
  static void take_factorials(Primes& rest, std::map<std::uint32_t, std::uint64_t>& factorials);
  std::map<std::uint32_t, std::uint64_t> factorials_;  ///< keys >= 2, exponents >= 1
  Primes primes_;
  mpz_class large_ = 1;  ///< without prime factors below 2^20, or with none that is below 2^32
};

}  // namespace sightline::group
