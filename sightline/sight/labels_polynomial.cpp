#include "sightline/sight/labels_polynomial.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "sightline/base/error.hpp"

namespace sightline::sight {

namespace {

__extension__ typedef __int128 Wide;

// 2^61 - 1 and the primes below it.
constexpr std::uint64_t top = std::uint64_t{1} << 61;
constexpr std::uint64_t mersenne = top - 1;
constexpr std::array<std::uint64_t, 9> primes = {mersenne,  top - 31,  top - 45,  top - 229, top - 259,
                                                 top - 283, top - 339, top - 391, top - 403};
constexpr std::int64_t coefficient_limit = std::int64_t{1} << 20;
constexpr std::int64_t factor_limit = std::int64_t{1} << 58;
constexpr std::size_t degree_limit = 32;

using Residues = std::vector<std::uint64_t>;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, std::uint64_t p) {
  const Wide product = static_cast<Wide>(a) * static_cast<Wide>(b);
  if (p != mersenne) return static_cast<std::uint64_t>(product % static_cast<Wide>(p));
  const std::uint64_t folded = (static_cast<std::uint64_t>(product) & mersenne) + static_cast<std::uint64_t>(product >> 61);
  return folded >= mersenne ? folded - mersenne : folded;
}

std::uint64_t invert(std::uint64_t a, std::uint64_t p) {
  std::uint64_t result = 1;
  for (std::uint64_t exponent = p - 2; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, a, p);
    a = multiply(a, a, p);
  }
  return result;
}

void trim(Residues& a) {
  while (!a.empty() && a.back() == 0) a.pop_back();
}

// Euclid without divisions: remainders are only needed up to a unit.
void replace_by_gcd(Residues& a, Residues b, std::uint64_t p) {
  while (!b.empty()) {
    while (a.size() >= b.size()) {
      const std::uint64_t lead_a = a.back(), lead_b = b.back();
      const std::size_t shift = a.size() - b.size();
      for (std::uint64_t& x : a) x = multiply(x, lead_b, p);
      for (std::size_t k = 0; k < b.size(); ++k) {
        const std::uint64_t y = multiply(b[k], lead_a, p);
        std::uint64_t& x = a[shift + k];
        x = x >= y ? x - y : x + p - y;
      }
      trim(a);
    }
    std::swap(a, b);
  }
}

void divide_by_content(std::vector<Polynomial>& family) {
  std::int64_t content = 0;
  for (const Polynomial& a : family) {
    for (const std::int64_t x : a) content = std::gcd(content, x);
    if (content == 1) return;
  }
  if (content == 0) return;
  for (Polynomial& a : family) {
    for (std::int64_t& x : a) x /= content;
  }
}

bool divide_exactly(const Polynomial& a, const Polynomial& by, Polynomial& quotient) {
  quotient.clear();
  if (a.empty()) return true;
  if (a.size() < by.size()) return false;
  std::vector<Wide> rest(a.begin(), a.end());
  quotient.assign(a.size() - by.size() + 1, 0);
  for (std::size_t k = quotient.size(); k-- > 0;) {
    const Wide lead = rest[k + by.size() - 1];
    if (lead % by.back() != 0) return false;
    const Wide q = lead / by.back();
    // True quotients obey the bound of factor_limit; anything larger is a failed candidate, stopped before it overflows.
    if (q > factor_limit || q < -factor_limit) return false;
    quotient[k] = static_cast<std::int64_t>(q);
    for (std::size_t j = 0; j < by.size(); ++j) rest[k + j] -= q * by[j];
  }
  return std::all_of(rest.begin(), rest.end(), [](Wide x) { return x == 0; });
}

// The candidate with leading coefficient `lead`, made primitive.
Polynomial lift(const Residues& gcd, std::int64_t lead, std::uint64_t p) {
  const std::uint64_t scale = multiply(static_cast<std::uint64_t>(lead), invert(gcd.back(), p), p);
  Polynomial result(gcd.size());
  std::int64_t content = 0;
  for (std::size_t k = 0; k < gcd.size(); ++k) {
    const std::uint64_t x = multiply(gcd[k], scale, p);
    result[k] = x > p / 2 ? -static_cast<std::int64_t>(p - x) : static_cast<std::int64_t>(x);
    content = std::gcd(content, result[k]);
  }
  for (std::int64_t& x : result) x /= content;
  return result;
}

}  // namespace

void divide_by_common_factor(std::vector<Polynomial>& family) {
  std::size_t low = degree_limit, shortest = degree_limit + 1;
  const Polynomial* start = nullptr;
  std::int64_t lead = 0;
  for (const Polynomial& a : family) {
    if (a.empty()) continue;
    if (a.size() > degree_limit) throw ArgumentError("common factors are found for degrees below 32");
    for (const std::int64_t x : a) {
      if (x >= coefficient_limit || x <= -coefficient_limit) throw ArgumentError("common factors are found for coefficients below 2^20");
    }
    std::size_t valuation = 0;
    while (a[valuation] == 0) ++valuation;
    low = std::min(low, valuation);
    if (a.size() - valuation < shortest) {
      shortest = a.size() - valuation;
      start = &a;
    }
    lead = std::gcd(lead, a.back());
  }
  if (start == nullptr) return;
  const std::size_t start_index = static_cast<std::size_t>(start - family.data());
  for (Polynomial& a : family) {
    if (!a.empty()) a.erase(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(low));
  }
  // A monomial in the family leaves only monomials to divide by: the common case once labels differ.
  if (shortest == 1) return divide_by_content(family);
  for (const std::uint64_t p : primes) {
    const auto reduce = [&](const Polynomial& a) {
      Residues r(a.size());
      for (std::size_t k = 0; k < a.size(); ++k) r[k] = a[k] < 0 ? p - static_cast<std::uint64_t>(-a[k]) : static_cast<std::uint64_t>(a[k]);
      return r;
    };
    Residues gcd = reduce(family[start_index]);
    for (std::size_t k = 0; k < family.size() && gcd.size() > 1; ++k) {
      if (k != start_index && !family[k].empty()) replace_by_gcd(gcd, reduce(family[k]), p);
    }
    if (gcd.size() == 1) return divide_by_content(family);
    const Polynomial candidate = lift(gcd, lead, p);
    std::vector<Polynomial> quotients(family.size());
    bool divides = std::all_of(candidate.begin(), candidate.end(), [](std::int64_t x) { return std::abs(x) <= factor_limit; });
    for (std::size_t k = 0; divides && k < family.size(); ++k) divides = divide_exactly(family[k], candidate, quotients[k]);
    if (!divides) continue;
    family = std::move(quotients);
    return divide_by_content(family);
  }
  throw InternalError("no prime of the list gives the common factor of a family of polynomials");
}

}  // namespace sightline::sight
