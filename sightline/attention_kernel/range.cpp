#include <algorithm>
#include <cmath>
#include <limits>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/structure.hpp"

namespace sightline::attention_kernel {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const Range everything{-infinity, infinity};

double down(double value) { return std::nextafter(value, -infinity); }
double up(double value) { return std::nextafter(value, infinity); }

// Sums and products of ends, rounded outward unless exact: 1 + (-1) must stay 0.
double sum(double a, double b, bool upward) {
  const double s = a + b;
  if (!std::isfinite(s)) return s;
  const double part = s - a;
  return (a - (s - part)) + (b - part) == 0 ? s : upward ? up(s) : down(s);
}

double product(double a, double b, bool upward) {
  if (a == 0 || b == 0) return 0;
  const double p = a * b;
  if (!std::isfinite(p)) return p;
  return std::fma(a, b, -p) == 0 && std::abs(p) > 1e-280 ? p : upward ? up(p) : down(p);
}

Range add(const Range& a, const Range& b) {
  return {sum(a.low, b.low, false), sum(a.high, b.high, true), a.low_open || b.low_open, a.high_open || b.high_open};
}

Range negate(const Range& a) { return {-a.high, -a.low, a.high_open, a.low_open}; }

bool misses_zero(const Range& a) { return a.positive() || a.negative(); }

Range multiply(const Range& a, const Range& b) {
  const double ends[][2] = {{a.low, b.low}, {a.low, b.high}, {a.high, b.low}, {a.high, b.high}};
  Range result{infinity, -infinity, false, false};
  for (const auto& end : ends) {
    result.low = std::min(result.low, product(end[0], end[1], false));
    result.high = std::max(result.high, product(end[0], end[1], true));
  }
  const bool away = misses_zero(a) && misses_zero(b);
  if (std::isinf(result.low) || (result.low == 0 && away)) result.low_open = true;
  if (std::isinf(result.high) || (result.high == 0 && away)) result.high_open = true;
  return result;
}

Range square(const Range& a) {
  if (a.low >= 0 || a.high <= 0) return multiply(a, a);
  const double most = std::max(-a.low, a.high);
  return {0, product(most, most, true), false, std::isinf(most)};
}

Range inverse(const Range& a) {
  if (a.negative()) return negate(inverse(negate(a)));
  if (!a.positive()) return everything;
  auto one_over = [](double v, bool upward) { return v == 0 ? infinity : std::isinf(v) ? 0.0 : upward ? up(1 / v) : down(1 / v); };
  return {std::max(0.0, one_over(a.high, false)), one_over(a.low, true), true, true};
}

// Increasing function known to full double precision up to a few units; `least` and `most` bound its values openly.
template <class Function>
Range increasing(const Range& a, Function function, double least, double most) {
  auto widen = [](double v, bool upward) { return std::isinf(v) ? v : upward ? v + std::abs(v) * 1e-12 + 1e-300 : v - std::abs(v) * 1e-12 - 1e-300; };
  const double low = function(a.low);
  const double high = std::min(most, widen(function(a.high), true));
  // log 1, tanh 0, sinh 0 are exact; for functions without negative values 0 may be an underflow.
  if (low == 0 && least < 0) return {0, high, a.low_open, true};
  return {std::max(least, widen(low, false)), high, true, true};
}

Range maximum_with_zero(const Range& a) {
  return {std::max(a.low, 0.0), std::max(a.high, 0.0), a.low > 0 ? a.low_open : a.positive(), a.high > 0 ? a.high_open : false};
}

Range absolute(const Range& a) {
  if (a.low >= 0) return a;
  if (a.high <= 0) return negate(a);
  return {0, std::max(-a.low, a.high), false, std::isinf(std::max(-a.low, a.high))};
}

Range root(const Range& a) {
  if (a.low < 0) return {0, a.high <= 0 ? 0 : up(std::sqrt(a.high)), false, false};
  return {a.low == 0 ? 0 : down(std::sqrt(a.low)), std::isinf(a.high) ? infinity : up(std::sqrt(a.high)), a.low == 0 ? a.low_open : true, true};
}

Range power(const Range& base, const std::optional<mpq_class>& exponent) {
  if (!exponent) return base.positive() ? Range{0, infinity} : everything;
  if (*exponent == 0) return {1, 1, false, false};
  if (*exponent < 0) {
    const Range positive_power = power(base, -*exponent);
    return misses_zero(positive_power) ? inverse(positive_power) : positive_power.nonnegative() ? Range{0, infinity} : everything;
  }
  if (exponent->get_den() != 1 || *exponent > 64) {
    const bool even = exponent->get_den() == 1 && mpz_even_p(exponent->get_num_mpz_t());
    if (exponent->get_den() != 1 || even || base.low >= 0) return {0, infinity, base.positive(), true};
    return everything;
  }
  long n = exponent->get_num().get_si();
  Range result{1, 1, false, false};
  const Range squared = square(base);
  for (long k = 0; k < n / 2; ++k) result = multiply(result, squared);
  return n % 2 == 0 ? result : multiply(result, base);
}

Range number(const mpq_class& value) {
  const double v = value.get_d();
  if (std::isfinite(v) && mpq_class(v) == value) return {v, v, false, false};
  return {down(v), up(v), true, true};
}

Range times(const Range& a, std::size_t count) {
  const double n = static_cast<double>(count);
  return {product(a.low, n, false), product(a.high, n, true), a.low_open, a.high_open};
}

}  // namespace

Range compute_range(const Node& node, std::size_t dim) {
  auto child = [&](std::size_t i) { return compute_range(*node.children[i], dim); };
  switch (node.op) {
    case Op::number: return number(node.value);
    case Op::literal_vector: {
      Range all{infinity, -infinity, false, false};
      for (const mpq_class& entry : node.vector) {
        const Range one = number(entry);
        all.low = std::min(all.low, one.low);
        all.high = std::max(all.high, one.high);
      }
      return all;
    }
    case Op::variable: return everything;
    case Op::add: return add(child(0), child(1));
    case Op::subtract: return add(child(0), negate(child(1)));
    case Op::multiply: return equal(node.children[0], node.children[1]) ? square(child(0)) : multiply(child(0), child(1));
    case Op::divide: return multiply(child(0), inverse(child(1)));
    case Op::power: return power(child(0), find_rational(*node.children[1]));
    case Op::negate: return negate(child(0));
    case Op::dot: return times(equal(node.children[0], node.children[1]) ? square(child(0)) : multiply(child(0), child(1)), dim);
    case Op::norm2: return times(square(child(0)), dim);
    case Op::norm: return root(times(square(child(0)), dim));
    case Op::exp: return increasing(child(0), [](double v) { return std::exp(v); }, 0, infinity);
    case Op::log: {
      const Range a = child(0);
      return a.low < 0 ? everything : increasing(a, [](double v) { return std::log(v); }, -infinity, infinity);
    }
    case Op::sqrt: return root(child(0));
    case Op::cosh: {
      const Range a = absolute(child(0));
      return {std::max(1.0, std::cosh(a.low) * (1 - 1e-12)), std::cosh(a.high) * (1 + 1e-12), false, std::isinf(a.high)};
    }
    case Op::sinh: return increasing(child(0), [](double v) { return std::sinh(v); }, -infinity, infinity);
    case Op::cos:
    case Op::sin: return {-1, 1, false, false};
    case Op::tanh: return increasing(child(0), [](double v) { return std::tanh(v); }, -1, 1);
    case Op::sigmoid: return increasing(child(0), [](double v) { return 1 / (1 + std::exp(-v)); }, 0, 1);
    case Op::softplus:
      return increasing(child(0), [](double v) { return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v)); }, 0, infinity);
    case Op::relu: return maximum_with_zero(child(0));
    case Op::elu: {
      const Range a = child(0);
      if (a.low >= 0) return a;
      return increasing(a, [](double v) { return v > 0 ? v : std::expm1(v); }, -1, infinity);
    }
    case Op::abs: return absolute(child(0));
  }
  return everything;
}

}  // namespace sightline::attention_kernel
