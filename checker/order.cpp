// Orders of groups: factorials, and primes of the rest. Products along a path have 100,000 factors and half a million digits; nothing here multiplies them out.
#include <algorithm>
#include <cmath>
#include <optional>

#include "exact.hpp"

namespace checker {
namespace {

/// 2, 3, 5, ..: as many as are asked for (Eratosthenes, up to twice as far whenever they do not suffice).
class Primes {
public:
  std::uint64_t operator[](std::size_t k) {
    while (k >= list_.size()) sieve(limit_ *= 2);
    return list_[k];
  }

private:
  void sieve(std::uint64_t limit) {
    std::vector<bool> divided(limit / 2);  // 1, 3, 5, .. below the limit
    list_.assign(1, 2);
    for (std::uint64_t x = 3; x < limit; x += 2) {
      if (divided[x / 2]) continue;
      list_.push_back(x);
      for (std::uint64_t multiple = x * x; multiple < limit; multiple += 2 * x) divided[multiple / 2] = true;
    }
  }
  std::uint64_t limit_ = 64;
  std::vector<std::uint64_t> list_;
};

/// How often p divides k! (Legendre).
std::uint64_t legendre(std::uint64_t p, std::uint64_t k) { return k < p ? 0 : k / p + legendre(p, k / p); }

/// The least k such that p divides k! more than `exponent` times.
std::uint64_t first_beyond(std::uint64_t p, std::uint64_t exponent) {
  std::uint64_t low = 0, high = exponent + 1;
  while (low + 1 < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (legendre(p, middle * p) > exponent) high = middle;
    else low = middle;
  }
  return high * p;
}

/// A number as this format writes it: decimal, no sign, no leading zero.
bool is_decimal(std::string_view text) {
  return !text.empty() && (text.size() == 1 || text.front() != '0') && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::uint64_t> read_small(std::string_view text) {
  constexpr std::size_t most_digits = 18;
  if (!is_decimal(text) || text.size() > most_digits) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) value = 10 * value + static_cast<std::uint64_t>(c - '0');
  return value;
}

}  // namespace

void Order::multiply_factorial(std::uint64_t k, std::uint64_t exponent) {
  if (k >= 2 && exponent > 0) factorials_[k] += exponent;
}

void Order::multiply(const Natural& value) {
  constexpr std::uint64_t most = 1u << 16;
  Natural rest = value;
  Primes primes;
  for (std::size_t i = 0; rest.bits() > 32 && primes[i] < most; ++i) {
    for (Natural part = rest / primes[i]; part * primes[i] == rest; part = rest / primes[i]) {
      ++primes_[primes[i]];
      rest = part;
    }
  }
  if (rest.bits() > 32) {
    large_ = large_ * rest;
    return;
  }
  auto small = static_cast<std::uint64_t>(rest.to_double());
  for (std::uint64_t p = 2; p * p <= small; ++p) {
    for (; small % p == 0; small /= p) ++primes_[p];
  }
  if (small > 1) ++primes_[small];
}

void Order::multiply(const Order& other) {
  for (const auto& [k, exponent] : other.factorials_) multiply_factorial(k, exponent);
  for (const auto& [p, exponent] : other.primes_) primes_[p] += exponent;
  large_ = large_ * other.large_;
}

void Order::raise(std::uint64_t exponent) {
  if (exponent == 0) *this = Order();
  for (auto& entry : factorials_) entry.second *= exponent;
  for (auto& entry : primes_) entry.second *= exponent;
  if (!(large_ == 1)) large_ = power(large_, exponent);
}

double Order::log10() const {
  // Shifting by whole limbs keeps huge numbers within the range of a double.
  const std::size_t shift = large_.bits() > 512 ? (large_.bits() - 512) / 32 * 32 : 0;
  double sum = std::log10((shift == 0 ? large_ : large_ / power(2, shift)).to_double()) + static_cast<double>(shift) * std::log10(2.0);
  for (const auto& [p, exponent] : primes_) sum += static_cast<double>(exponent) * std::log10(static_cast<double>(p));
  for (const auto& [k, exponent] : factorials_) sum += static_cast<double>(exponent) * std::lgamma(static_cast<double>(k) + 1) / std::log(10.0);
  return sum;
}

Natural Order::multiply_out() const {
  Natural value = large_;
  for (const auto& [p, exponent] : primes_) value = value * power(p, exponent);
  for (const auto& [k, exponent] : factorials_) {
    Natural factorial = 1;
    for (std::uint64_t j = 2; j <= k; ++j) factorial = factorial * j;
    value = value * power(factorial, exponent);
  }
  return value;
}

std::string Order::decimal() const {
  if (log10() > 1002) return "";  // clearly too long: never computed
  std::string text = multiply_out().decimal();
  return text.size() > 1000 ? "" : text;
}

/// Of everything but what is large.
std::map<std::uint64_t, std::uint64_t> Order::count_primes() const {
  std::map<std::uint64_t, std::uint64_t> exponents = primes_;
  Primes primes;
  for (std::size_t i = 0; !factorials_.empty() && primes[i] <= factorials_.rbegin()->first; ++i) {
    for (auto at = factorials_.lower_bound(primes[i]); at != factorials_.end(); ++at) exponents[primes[i]] += at->second * legendre(primes[i], at->first);
  }
  return exponents;
}

void Order::take_factorials(std::map<std::uint64_t, std::uint64_t>& factorials) {
  constexpr int most = 64;
  Primes primes;
  const auto exponent_of = [this](std::uint64_t p) {
    const auto found = primes_.find(p);
    return found == primes_.end() ? 0 : found->second;
  };
  for (int round = 0; round < most; ++round) {
    std::uint64_t beyond = std::uint64_t{1} << 32;  // some k whose factorial is no divisor
    for (std::size_t i = 0; primes[i] < beyond; ++i) beyond = std::min(beyond, first_beyond(primes[i], exponent_of(primes[i])));
    const std::uint64_t k = beyond - 1;
    if (k < 2) return;
    std::uint64_t times = ~std::uint64_t{0};
    for (std::size_t i = 0; primes[i] <= k; ++i) times = std::min(times, exponent_of(primes[i]) / legendre(primes[i], k));
    for (std::size_t i = 0; primes[i] <= k; ++i) {
      const auto at = primes_.find(primes[i]);
      at->second -= times * legendre(primes[i], k);
      if (at->second == 0) primes_.erase(at);
    }
    factorials[k] += times;
  }
}

std::string Order::factored() const {
  Order rest = *this;
  rest.factorials_.clear();
  std::map<std::uint64_t, std::uint64_t> factorials = factorials_;
  if (rest.decimal().empty()) rest.take_factorials(factorials);
  const std::string number = rest.multiply_out().decimal();
  std::string text;
  for (auto it = factorials.rbegin(); it != factorials.rend(); ++it) {
    if (!text.empty()) text += " * ";
    text += std::to_string(it->first) + "!" + (it->second == 1 ? "" : "^" + std::to_string(it->second));
  }
  if (text.empty()) return number;
  return number == "1" ? text : text + " * " + number;
}

bool Order::is_written_as(std::string_view text) const {
  if (text == "1") return same_order(*this, Order());
  Order written;
  std::uint64_t last = ~std::uint64_t{0};
  while (!text.empty()) {
    const std::string_view term = text.substr(0, text.find(" * "));
    const bool ends = term.size() == text.size();
    if (!ends && term.size() + 3 == text.size()) return false;
    text.remove_prefix(ends ? term.size() : term.size() + 3);
    const std::size_t mark = term.find('!');
    if (mark == std::string_view::npos) {
      if (!ends || term == "0" || term == "1" || !is_decimal(term)) return false;
      // Of many more digits than are left it is another number; nothing is made of it.
      if (static_cast<double>(term.size()) > log10() - written.log10() + 2) return false;
      written.multiply(Natural::from_decimal(term));
      continue;
    }
    const std::string_view power = term.substr(mark + 1);
    if (!power.empty() && (power.front() != '^' || power == "^1")) return false;
    const auto k = read_small(term.substr(0, mark)), exponent = power.empty() ? 1 : read_small(power.substr(1));
    if (!k || !exponent || *k < 2 || *exponent < 1 || *k >= last) return false;
    written.multiply_factorial(last = *k, *exponent);
  }
  // First what costs little: numbers this close have no factorials beyond those of the points.
  return std::abs(written.log10() - log10()) < 1e-6 * log10() && same_order(*this, written);
}

bool same_order(const Order& a, const Order& b) {
  if (a.factorials_ == b.factorials_ && a.primes_ == b.primes_ && a.large_ == b.large_) return true;
  auto left = a.count_primes(), right = b.count_primes();
  // Numbers whose factors are not known may hold primes of large factorials.
  Natural left_large = a.large_, right_large = b.large_;
  const auto absorb = [](std::map<std::uint64_t, std::uint64_t>& exponents, Natural& large, std::uint64_t p) {
    if (large == 1) return;
    for (Natural part = large / p; part * p == large; part = large / p) {
      ++exponents[p];
      large = part;
    }
  };
  std::map<std::uint64_t, std::uint64_t> all = left;
  all.insert(right.begin(), right.end());
  for (const auto& entry : all) {
    absorb(left, left_large, entry.first);
    absorb(right, right_large, entry.first);
  }
  return left == right && left_large == right_large;
}

}  // namespace checker
