#include "sightline/group/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
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

/// The primes 2, 3, 5, .., one after the other.
class PrimeList {
public:
  std::uint32_t operator[](std::size_t k) {
    while (k >= primes_.size()) extend();
    return primes_[k];
  }

private:
  void extend() {
    const std::uint32_t begin = std::exchange(end_, 2 * end_ + 1024);
    std::vector<bool> composite(end_, false);
    for (std::uint64_t p = 2; p * p < end_; ++p) {
      if (composite[p]) continue;
      for (std::uint64_t q = p * p; q < end_; q += p) composite[q] = true;
    }
    for (std::uint32_t p = std::max<std::uint32_t>(begin, 2); p < end_; ++p) {
      if (!composite[p]) primes_.push_back(p);
    }
  }

  std::uint32_t end_ = 0;  ///< all primes below are listed
  std::vector<std::uint32_t> primes_;
};

/// v_p(k!) (Legendre).
std::uint64_t exponent_in_factorial(std::uint32_t p, std::uint64_t k) {
  std::uint64_t sum = 0;
  for (k /= p; k > 0; k /= p) sum += k;
  return sum;
}

/// The least k with v_p(k!) > exponent.
std::uint64_t find_first_beyond(std::uint32_t p, std::uint64_t exponent) {
  std::uint64_t low = 0, high = exponent + 1;  // in steps of p; v_p((t p)!) >= t
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (exponent_in_factorial(p, middle * p) > exponent ? high : low) = middle;
  }
  return high * p;
}

/// Exponents of the primes in products of factorials: of each prime the sum over all k at once.
void add_factorial_primes(const std::map<std::uint32_t, std::uint64_t>& factorials, std::map<std::uint32_t, mpz_class>& exponents) {
  PrimeList primes;
  for (std::size_t i = 0; !factorials.empty() && primes[i] <= factorials.rbegin()->first; ++i) {
    mpz_class& total = exponents[primes[i]];
    for (auto it = factorials.lower_bound(primes[i]); it != factorials.end(); ++it) {
      total += mpz_class(static_cast<unsigned long>(exponent_in_factorial(primes[i], it->first))) * mpz_class(static_cast<unsigned long>(it->second));
    }
  }
}

/// The product, halves first: factors of like size.
mpz_class multiply_all(std::vector<mpz_class> factors) {
  if (factors.empty()) return 1;
  for (; factors.size() > 1; factors.resize((factors.size() + 1) / 2)) {
    const std::size_t half = factors.size() / 2, kept = (factors.size() + 1) / 2;
    for (std::size_t k = 0; k < half; ++k) factors[k] *= factors[kept + k];
  }
  return factors.front();
}

}  // namespace

void Order::multiply_factorial(std::uint32_t k, std::uint64_t exponent) {
  if (k >= 2 && exponent > 0) factorials_[k] += exponent;
}

void Order::multiply_number(std::uint32_t value) {
  for (std::uint32_t p = 2; p <= value / p; p += p == 2 ? 1 : 2) {
    for (; value % p == 0; value /= p) ++primes_[p];
  }
  if (value > 1) ++primes_[value];
}

void Order::multiply(const mpz_class& value) {
  constexpr std::uint32_t largest_divisor = 1U << 20;
  mpz_class rest = value;
  PrimeList primes;
  for (std::size_t i = 0; !rest.fits_uint_p() && primes[i] < largest_divisor; ++i) {
    if (!mpz_divisible_ui_p(rest.get_mpz_t(), primes[i])) continue;
    const mpz_class p = primes[i];
    primes_[primes[i]] += mpz_remove(rest.get_mpz_t(), rest.get_mpz_t(), p.get_mpz_t());
  }
  if (rest.fits_uint_p()) multiply_number(static_cast<std::uint32_t>(rest.get_ui()));
  else large_ *= rest;
}

void Order::multiply(const Order& other) {
  for (const auto& [k, exponent] : other.factorials_) multiply_factorial(k, exponent);
  for (const auto& [p, exponent] : other.primes_) primes_[p] += exponent;
  large_ *= other.large_;
}

void Order::raise(std::uint64_t exponent) {
  if (exponent == 0) *this = Order();
  for (auto* factors : {&factorials_, &primes_}) {
    for (auto& entry : *factors) entry.second *= exponent;
  }
  if (large_ != 1) mpz_pow_ui(large_.get_mpz_t(), large_.get_mpz_t(), exponent);
}

mpz_class Order::rest() const {
  std::vector<mpz_class> factors{large_};
  for (const auto& [p, exponent] : primes_) mpz_ui_pow_ui(factors.emplace_back().get_mpz_t(), p, exponent);
  return multiply_all(std::move(factors));
}

double Order::log10() const {
  double sum = log10_of(large_);
  for (const auto& [p, exponent] : primes_) sum += static_cast<double>(exponent) * std::log10(static_cast<double>(p));
  for (const auto& [k, exponent] : factorials_) sum += static_cast<double>(exponent) * log10_of_factorial(k);
  return sum;
}

std::optional<mpz_class> Order::value(std::size_t max_digits) const {
  // A clearly larger number is never computed; the margin covers the rounding of log10.
  if (log10() > static_cast<double>(max_digits) * (1 + 1e-6) + 2) return std::nullopt;
  mpz_class result = rest();
  for (const auto& [k, exponent] : factorials_) {
    mpz_class factorial, power;
    mpz_fac_ui(factorial.get_mpz_t(), k);
    mpz_pow_ui(power.get_mpz_t(), factorial.get_mpz_t(), exponent);
    result *= power;
  }
  if (result >= power_of_ten(max_digits)) return std::nullopt;
  return result;
}

bool Order::is_one() const { return factorials_.empty() && primes_.empty() && large_ == 1; }

void Order::take_factorials(Primes& rest, std::map<std::uint32_t, std::uint64_t>& factorials) {
  constexpr int most_factorials = 64;
  PrimeList primes;
  const auto exponent_of = [&](std::uint32_t p) {
    const auto found = rest.find(p);
    return found == rest.end() ? 0 : found->second;
  };
  for (int round = 0; round < most_factorials; ++round) {
    std::uint64_t beyond = std::uint64_t{1} << 32;  // the least k known to have a factorial that does not divide
    for (std::size_t i = 0; primes[i] < beyond; ++i) beyond = std::min(beyond, find_first_beyond(primes[i], exponent_of(primes[i])));
    const auto k = static_cast<std::uint32_t>(beyond - 1);
    if (k < 2) return;
    std::uint64_t times = ~std::uint64_t{0};
    for (std::size_t i = 0; primes[i] <= k; ++i) times = std::min(times, exponent_of(primes[i]) / exponent_in_factorial(primes[i], k));
    for (std::size_t i = 0; primes[i] <= k; ++i) {
      std::uint64_t& exponent = rest.at(primes[i]);
      exponent -= times * exponent_in_factorial(primes[i], k);
      if (exponent == 0) rest.erase(primes[i]);
    }
    factorials[k] += times;
  }
}

std::string Order::factored() const {
  constexpr std::size_t most_digits = 1000;
  Order parts;
  parts.primes_ = primes_;
  parts.large_ = large_;
  std::map<std::uint32_t, std::uint64_t> factorials = factorials_;
  if (!parts.value(most_digits)) take_factorials(parts.primes_, factorials);
  std::string text;
  for (auto it = factorials.rbegin(); it != factorials.rend(); ++it) {
    if (!text.empty()) text += " * ";
    text += it->second == 1 ? fmt::format("{}!", it->first) : fmt::format("{}!^{}", it->first, it->second);
  }
  const mpz_class rest = parts.rest();
  if (text.empty()) return rest.get_str();
  if (rest != 1) text += " * " + rest.get_str();
  return text;
}

bool operator==(const Order& a, const Order& b) {
  if (a.factorials_ == b.factorials_) return a.primes_ == b.primes_ && a.large_ == b.large_;
  // Compared prime by prime, because the numbers themselves may have millions of digits.
  const auto count_primes = [](const Order& order) {
    std::map<std::uint32_t, mpz_class> exponents;
    add_factorial_primes(order.factorials_, exponents);
    for (const auto& [p, exponent] : order.primes_) exponents[p] += static_cast<unsigned long>(exponent);
    return exponents;
  };
  auto left = count_primes(a), right = count_primes(b);
  // Numbers beyond 2^20 whose factors are not known may hold primes of large factorials.
  mpz_class left_rest = a.large_, right_rest = b.large_;
  const auto absorb = [](std::map<std::uint32_t, mpz_class>& exponents, mpz_class& rest, std::uint32_t prime) {
    if (rest == 1) return;
    const mpz_class p = prime;
    const auto count = mpz_remove(rest.get_mpz_t(), rest.get_mpz_t(), p.get_mpz_t());
    if (count > 0) exponents[prime] += static_cast<unsigned long>(count);
  };
  std::set<std::uint32_t> primes;
  for (const auto* exponents : {&left, &right}) {
    for (const auto& entry : *exponents) primes.insert(entry.first);
  }
  for (const std::uint32_t p : primes) {
    absorb(left, left_rest, p);
    absorb(right, right_rest, p);
  }
  return left == right && left_rest == right_rest;
}

}  // namespace sightline::group
