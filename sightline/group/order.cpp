#include "sightline/group/order.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace sightline::group {

namespace {

/// 10^exponent as an integer.
mpz_class power_of_ten(std::size_t exponent) {
  mpz_class result;
  mpz_ui_pow_ui(result.get_mpz_t(), 10, exponent);
  return result;
}

double log10_of(const mpz_class& value) {
  long exponent = 0;
  const double mantissa = mpz_get_d_2exp(&exponent, value.get_mpz_t());
  return std::log10(mantissa) + static_cast<double>(exponent) * std::log10(2.0);
}

double log10_of_factorial(std::uint32_t k) {
  // lgamma is not thread-safe on its sign and loses nothing here; lgamma_r keeps it local.
  int sign = 0;
  return lgamma_r(static_cast<double>(k) + 1.0, &sign) / std::log(10.0);
}

/// Exponent of each prime in the factorial part, by Legendre's formula summed over all k at once.
std::map<std::uint32_t, mpz_class> factorial_primes(const std::map<std::uint32_t, std::uint64_t>& factorials) {
  std::map<std::uint32_t, mpz_class> exponents;
  if (factorials.empty()) return exponents;
  const std::uint32_t largest = factorials.rbegin()->first;
  std::vector<bool> composite(static_cast<std::size_t>(largest) + 1, false);
  for (std::uint64_t p = 2; p <= largest; ++p) {
    if (composite[p]) continue;
    for (std::uint64_t q = p * p; q <= largest; q += p) composite[q] = true;
    mpz_class total = 0;
    for (auto it = factorials.lower_bound(static_cast<std::uint32_t>(p)); it != factorials.end(); ++it) {
      std::uint64_t legendre = 0;
      for (std::uint64_t power = p; power <= it->first; power *= p) legendre += it->first / power;
      total += mpz_class(static_cast<unsigned long>(legendre)) * mpz_class(static_cast<unsigned long>(it->second));
    }
    exponents.emplace(static_cast<std::uint32_t>(p), total);
  }
  return exponents;
}

}  // namespace

void Order::multiply_factorial(std::uint32_t k, std::uint64_t exponent) {
  if (k >= 2 && exponent > 0) factorials_[k] += exponent;
}

void Order::multiply(const Order& other) {
  for (const auto& [k, exponent] : other.factorials_) multiply_factorial(k, exponent);
  rest_ *= other.rest_;
}

double Order::log10() const {
  double sum = log10_of(rest_);
  for (const auto& [k, exponent] : factorials_) sum += static_cast<double>(exponent) * log10_of_factorial(k);
  return sum;
}

std::optional<mpz_class> Order::value(std::size_t max_digits) const {
  // A clearly larger number is never computed; the margin covers the rounding of log10.
  if (log10() > static_cast<double>(max_digits) * (1 + 1e-6) + 2) return std::nullopt;
  mpz_class result = rest_;
  for (const auto& [k, exponent] : factorials_) {
    mpz_class factorial, power;
    mpz_fac_ui(factorial.get_mpz_t(), k);
    mpz_pow_ui(power.get_mpz_t(), factorial.get_mpz_t(), exponent);
    result *= power;
  }
  if (result >= power_of_ten(max_digits)) return std::nullopt;
  return result;
}

bool Order::is_one() const { return factorials_.empty() && rest_ == 1; }

std::string Order::factored() const {
  std::string text;
  for (auto it = factorials_.rbegin(); it != factorials_.rend(); ++it) {
    if (!text.empty()) text += " * ";
    text += it->second == 1 ? fmt::format("{}!", it->first) : fmt::format("{}!^{}", it->first, it->second);
  }
  if (text.empty()) return rest_.get_str();
  if (rest_ != 1) text += " * " + rest_.get_str();
  return text;
}

bool operator==(const Order& a, const Order& b) {
  if (a.factorials_ == b.factorials_) return a.rest_ == b.rest_;
  // Compared prime by prime, because the numbers themselves may have millions of digits.
  auto left = factorial_primes(a.factorials_);
  auto right = factorial_primes(b.factorials_);
  mpz_class left_rest = a.rest_, right_rest = b.rest_;
  auto absorb = [](std::map<std::uint32_t, mpz_class>& exponents, mpz_class& rest, std::uint32_t prime) {
    const mpz_class p = prime;
    mpz_class reduced;
    const auto count = mpz_remove(reduced.get_mpz_t(), rest.get_mpz_t(), p.get_mpz_t());
    if (count > 0) {
      exponents[prime] += static_cast<unsigned long>(count);
      rest = reduced;
    }
  };
  std::map<std::uint32_t, bool> primes;
  for (const auto& entry : left) primes[entry.first] = true;
  for (const auto& entry : right) primes[entry.first] = true;
  for (const auto& entry : primes) {
    absorb(left, left_rest, entry.first);
    absorb(right, right_rest, entry.first);
  }
  return left == right && left_rest == right_rest;
}

}  // namespace sightline::group
