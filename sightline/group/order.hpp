// Group orders, kept factored because 64!^16384 is an everyday order here.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sightline::group {

/// product over k of (k!)^factorials[k], times `rest`.
class Order {
public:
  Order() = default;  ///< 1
  explicit Order(mpz_class value) : rest_(std::move(value)) {}
  void multiply_factorial(std::uint32_t k, std::uint64_t exponent = 1);
  void multiply(const mpz_class& value) { rest_ *= value; }
  void multiply(const Order& other);

  [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& factorials() const { return factorials_; }
  [[nodiscard]] const mpz_class& rest() const { return rest_; }
  /// log10 of the order, accurate to 1e-6 relative.
  [[nodiscard]] double log10() const;
  /// The order as an integer, or nothing when it has more than `max_digits` digits.
  [[nodiscard]] std::optional<mpz_class> value(std::size_t max_digits = 1000) const;
  [[nodiscard]] bool is_one() const;
  /// format.md: "64!^16384 * 2": decreasing k, ^1 left out, then one integer unless it is 1 ("1" for the trivial group).
  [[nodiscard]] std::string factored() const;
  /// Equal as numbers.
  friend bool operator==(const Order& a, const Order& b);

private:
  std::map<std::uint32_t, std::uint64_t> factorials_;  ///< keys >= 2, exponents >= 1
  mpz_class rest_ = 1;
};

}  // namespace sightline::group
