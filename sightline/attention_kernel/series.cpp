#include "sightline/attention_kernel/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sightline/attention_kernel/series_functions.hpp"

namespace sightline::attention_kernel {
namespace {

double down(double value) { return std::nextafter(value, -std::numeric_limits<double>::infinity()); }
double up(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }

Coefficient enclosure(double low, double high) {
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) throw OutOfScope{};
  return {low, high};
}

void prune(Series& series) {
  std::sort(series.terms.begin(), series.terms.end(), [](const Series::Term& a, const Series::Term& b) { return compare(a.scale, b.scale) > 0; });
  std::vector<Series::Term> merged;
  for (Series::Term& term : series.terms) {
    if (!merged.empty() && merged.back().scale == term.scale) merged.back().factor = merged.back().factor + term.factor;
    else merged.push_back(std::move(term));
  }
  std::erase_if(merged, [](const Series::Term& term) { return term.factor.is_zero(); });
  if (merged.size() > series_length) {
    const Scale& first_lost = merged[series_length].scale;
    if (!series.error || compare(first_lost, *series.error) > 0) series.error = first_lost;
    merged.resize(series_length);
  }
  if (series.error) std::erase_if(merged, [&](const Series::Term& term) { return compare(term.scale, *series.error) <= 0; });
  series.terms = std::move(merged);
}

void enlarge(std::optional<Scale>& error, const Scale& other) {
  if (!error || compare(other, *error) > 0) error = other;
}

}  // namespace

int compare(const Scale& a, const Scale& b) {
  std::size_t i = 0, j = 0;
  while (i < a.exponent.size() || j < b.exponent.size()) {
    if (j == b.exponent.size() || (i < a.exponent.size() && a.exponent[i].first > b.exponent[j].first)) return a.exponent[i].second.sign();
    if (i == a.exponent.size() || b.exponent[j].first > a.exponent[i].first) return -b.exponent[j].second.sign();
    const int sign = (a.exponent[i].second - b.exponent[j].second).sign();
    if (sign != 0) return sign;
    ++i, ++j;
  }
  if (a.power != b.power) return a.power < b.power ? -1 : 1;
  return a.log_power == b.log_power ? 0 : a.log_power < b.log_power ? -1 : 1;
}

Scale multiply(const Scale& a, const Scale& b) {
  Scale result;
  std::size_t i = 0, j = 0;
  while (i < a.exponent.size() || j < b.exponent.size()) {
    if (j == b.exponent.size() || (i < a.exponent.size() && a.exponent[i].first > b.exponent[j].first)) result.exponent.push_back(a.exponent[i++]);
    else if (i == a.exponent.size() || b.exponent[j].first > a.exponent[i].first) result.exponent.push_back(b.exponent[j++]);
    else {
      Surd sum = a.exponent[i].second + b.exponent[j].second;
      if (!sum.is_zero()) result.exponent.emplace_back(a.exponent[i].first, std::move(sum));
      ++i, ++j;
    }
  }
  result.power = a.power + b.power;
  result.log_power = a.log_power + b.log_power;
  return result;
}

Scale raise(const Scale& a, const mpq_class& power) {
  Scale result = a;
  for (auto& [k, factor] : result.exponent) factor *= Surd(power);
  if (power == 0) result.exponent.clear();
  result.power *= power;
  result.log_power *= power;
  return result;
}

Coefficient::Coefficient(const Surd& value) : exact(value) {
  const double middle = value.approximate(), size = value.magnitude() * 1e-14 + std::numeric_limits<double>::min();
  low = middle - size;
  high = middle + size;
}

int Coefficient::sign() const {
  if (exact) return exact->sign();
  if (low > 0) return 1;
  if (high < 0) return -1;
  throw OutOfScope{};
}

Coefficient operator+(const Coefficient& a, const Coefficient& b) {
  if (a.exact && b.exact) return Coefficient(*a.exact + *b.exact);
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  return enclosure(down(a.low + b.low), up(a.high + b.high));
}

Coefficient operator*(const Coefficient& a, const Coefficient& b) {
  if (a.exact && b.exact) return Coefficient(*a.exact * *b.exact);
  if (a.is_zero() || b.is_zero()) return {};
  const double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return enclosure(down(*std::min_element(products, products + 4)), up(*std::max_element(products, products + 4)));
}

Coefficient raise(const Coefficient& a, const mpq_class& exponent) {
  if (a.exact) {
    try {
      if (const std::optional<Surd> value = power(*a.exact, exponent)) return Coefficient(*value);
    } catch (const OutOfScope&) {
      // a radicand too large to split into primes: an enclosure will do
    }
  }
  const int sign = a.sign();
  if (sign == 0) throw OutOfScope{};
  if (exponent.get_den() == 1) {
    Coefficient result = Coefficient(Surd(1));
    if (abs(exponent) > 64) throw OutOfScope{};
    for (long k = std::labs(exponent.get_num().get_si()); k > 0; --k) result = result * a;
    if (exponent > 0) return result;
    if (result.low <= 0 && result.high >= 0) throw OutOfScope{};
    return enclosure(down(1 / result.high), up(1 / result.low));
  }
  if (sign < 0) throw OutOfScope{};
  const double p = exponent.get_d();
  const double ends[] = {std::pow(a.low, p), std::pow(a.high, p)};
  const double low = std::min(ends[0], ends[1]), high = std::max(ends[0], ends[1]);
  return enclosure(low * (1 - 1e-14), high * (1 + 1e-14));
}

Series::Series(const Surd& constant) {
  if (!constant.is_zero()) terms.push_back({{}, Coefficient(constant)});
}

Series Series::monomial(const Surd& factor, const mpq_class& power) {
  Series series(factor);
  if (!series.terms.empty()) series.terms[0].scale.power = power;
  return series;
}

const Series::Term* Series::leading() const {
  if (!terms.empty()) return &terms.front();
  if (error) throw OutOfScope{};
  return nullptr;
}

Series operator+(const Series& a, const Series& b) {
  Series sum = a;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  if (b.error) enlarge(sum.error, *b.error);
  prune(sum);
  return sum;
}

Series sum_of(const std::vector<Series>& parts) {
  Series sum;
  for (const Series& part : parts) {
    sum.terms.insert(sum.terms.end(), part.terms.begin(), part.terms.end());
    if (part.error) enlarge(sum.error, *part.error);
  }
  prune(sum);
  return sum;
}

Series operator-(const Series& a, const Series& b) { return a + scale(b, Coefficient(Surd(-1))); }

Series scale(const Series& a, const Coefficient& factor) {
  if (factor.is_zero()) return {};
  Series result = a;
  for (Series::Term& term : result.terms) term.factor = term.factor * factor;
  return result;
}

Series shift(const Series& a, const Scale& by) {
  Series result = a;
  for (Series::Term& term : result.terms) term.scale = multiply(term.scale, by);
  if (result.error) result.error = multiply(*result.error, by);
  return result;
}

Series operator*(const Series& a, const Series& b) {
  Series product;
  for (const Series::Term& p : a.terms)
    for (const Series::Term& q : b.terms) product.terms.push_back({multiply(p.scale, q.scale), p.factor * q.factor});
  auto lost = [&](const Series& known, const Series& other) {
    if (!other.error) return;
    if (!known.terms.empty()) enlarge(product.error, multiply(known.terms.front().scale, *other.error));
    if (known.error) enlarge(product.error, multiply(*known.error, *other.error));
  };
  lost(a, b);
  lost(b, a);
  prune(product);
  return product;
}

}  // namespace sightline::attention_kernel
