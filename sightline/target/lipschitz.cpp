#include "sightline/target/lipschitz.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sightline::target {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double down(double v) { return std::nextafter(v, -infinity); }
double up(double v) { return std::nextafter(v, infinity); }

/// [lo, hi] around the exact value. An undefined value is the whole line.
struct Range {
  double lo = 0, hi = 0;
};

Range whole() { return {-infinity, infinity}; }
Range outward(double lo, double hi) { return std::isnan(lo) || std::isnan(hi) ? whole() : Range{down(lo), up(hi)}; }
/// Of functions of the mathematical library, which are off by a few units in the last place.
Range widened(double lo, double hi) {
  if (std::isnan(lo) || std::isnan(hi)) return whole();
  for (int k = 0; k < 4; ++k) { lo = down(lo); hi = up(hi); }
  return {lo, hi};
}
Range operator+(Range a, Range b) { return outward(a.lo + b.lo, a.hi + b.hi); }
Range operator-(Range a) { return {-a.hi, -a.lo}; }
Range operator-(Range a, Range b) { return outward(a.lo - b.hi, a.hi - b.lo); }
double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
Range operator*(Range a, Range b) {
  if ((a.lo == 0 && a.hi == 0) || (b.lo == 0 && b.hi == 0)) return {0, 0};
  const auto [lo, hi] = std::minmax({product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)});
  return outward(lo, hi);
}
Range inverse(Range a) { return a.lo <= 0 && a.hi >= 0 ? whole() : outward(1 / a.hi, 1 / a.lo); }
Range square(Range a) {
  const double lo = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, hi = std::max(std::fabs(a.lo), std::fabs(a.hi));
  return {std::max(0.0, down(lo * lo)), up(hi * hi)};
}
Range hull(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Range meet(Range a, Range b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
template <class Function>
Range monotone(Range a, Function f) { return widened(f(a.lo), f(a.hi)); }
Range exponential(Range a) {
  const Range r = monotone(a, [](double t) { return std::exp(t); });
  return {std::max(0.0, r.lo), r.hi};
}
Range tangent(Range a) { return meet(monotone(a, [](double t) { return std::tanh(t); }), {-1, 1}); }
Range logistic(Range a) { return meet(monotone(a, [](double t) { return t >= 0 ? 1 / (1 + std::exp(-t)) : std::exp(t) / (1 + std::exp(t)); }), {0, 1}); }
Range cosine(Range a) {
  constexpr double pi = 3.14159265358979323846;
  if (!(a.hi - a.lo < 6) || !(std::fabs(a.lo) < 1e6)) return {-1, 1};
  Range r = widened(std::min(std::cos(a.lo), std::cos(a.hi)), std::max(std::cos(a.lo), std::cos(a.hi)));
  // Multiples of pi within, found generously.
  for (double k = std::floor(a.lo / pi) - 1; k <= a.hi / pi + 1; ++k) {
    if (k * pi < a.lo - 1e-6 || k * pi > a.hi + 1e-6) continue;
    if (std::fmod(std::fabs(k), 2) == 0) r.hi = 1; else r.lo = -1;
  }
  return meet(r, {-1, 1});
}
Range hyperbolic(Range a) {  // cosh
  const double lo = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, hi = std::max(std::fabs(a.lo), std::fabs(a.hi));
  return meet(widened(std::cosh(lo), std::cosh(hi)), {1, infinity});
}

/// Value and gradient.
struct Slope {
  Range value;
  std::vector<Range> gradient;
};

/// f(a) with derivative in `by`.
Slope chain(const Slope& a, Range value, Range by) {
  Slope r{value, std::vector<Range>(a.gradient.size())};
  for (std::size_t k = 0; k < r.gradient.size(); ++k) r.gradient[k] = by * a.gradient[k];
  return r;
}
Slope combine(const Slope& a, Range fa, const Slope& b, Range fb, Range value) {
  Slope r{value, std::vector<Range>(a.gradient.size())};
  for (std::size_t k = 0; k < r.gradient.size(); ++k) r.gradient[k] = fa * a.gradient[k] + fb * b.gradient[k];
  return r;
}
/// One of a and b, whose values are these.
Slope either(const Slope& a, bool may_a, const Slope& b, bool may_b, Range value) {
  Slope r{value, a.gradient};
  for (std::size_t k = 0; k < r.gradient.size(); ++k) r.gradient[k] = !may_b ? a.gradient[k] : !may_a ? b.gradient[k] : hull(a.gradient[k], b.gradient[k]);
  return r;
}

Range integer_power(Range a, unsigned exponent) {
  if (exponent == 0) return {1, 1};
  const double lo = std::pow(a.lo, exponent), hi = std::pow(a.hi, exponent);
  if (exponent % 2 == 1) return widened(lo, hi);
  const Range size = a.lo > 0 ? Range{lo, hi} : a.hi < 0 ? Range{hi, lo} : Range{0, std::max(lo, hi)};
  const Range r = widened(size.lo, size.hi);
  return {std::max(0.0, r.lo), r.hi};
}
Range power(Range a, double exponent) {
  if (exponent == std::floor(exponent) && std::fabs(exponent) <= 64) {
    const Range r = integer_power(a, static_cast<unsigned>(std::fabs(exponent)));
    return exponent < 0 ? inverse(r) : r;
  }
  if (a.lo < 0) return whole();
  if (a.lo == 0 && exponent < 0) return {0, infinity};
  const double lo = std::pow(a.lo, exponent), hi = std::pow(a.hi, exponent);
  const Range r = exponent > 0 ? widened(lo, hi) : widened(hi, lo);
  return {std::max(0.0, r.lo), r.hi};
}

Slope apply(Op op, const Slope& a) {
  const Range v = a.value, one{1, 1};
  switch (op) {
    case Op::negate: return chain(a, -v, {-1, -1});
    case Op::exp: { const Range e = exponential(v); return chain(a, e, e); }
    case Op::log: return v.lo > 0 ? chain(a, monotone(v, [](double t) { return std::log(t); }), inverse(v)) : chain(a, whole(), whole());
    case Op::sqrt: {
      if (v.lo < 0) return chain(a, whole(), whole());
      const Range r = meet(monotone(v, [](double t) { return std::sqrt(t); }), {0, infinity});
      return chain(a, r, r.lo > 0 ? inverse(Range{2, 2} * r) : Range{0, infinity});
    }
    case Op::cosh: return chain(a, hyperbolic(v), monotone(v, [](double t) { return std::sinh(t); }));
    case Op::sinh: return chain(a, monotone(v, [](double t) { return std::sinh(t); }), hyperbolic(v));
    case Op::cos: return chain(a, cosine(v), -cosine(v - Range{1.5707963267948966, 1.5707963267948968}));
    case Op::sin: return chain(a, cosine(v - Range{1.5707963267948966, 1.5707963267948968}), cosine(v));
    case Op::tanh: { const Range t = tangent(v); return chain(a, t, meet(one - square(t), {0, 1})); }
    case Op::sigmoid: { const Range s = logistic(v); return chain(a, s, meet(s * (one - s), {0, 0.25})); }
    case Op::softplus: return chain(a, monotone(v, [](double t) { return std::max(t, 0.0) + std::log1p(std::exp(-std::fabs(t))); }), logistic(v));
    case Op::relu: return chain(a, {std::max(v.lo, 0.0), std::max(v.hi, 0.0)}, v.lo > 0 ? one : v.hi < 0 ? Range{0, 0} : Range{0, 1});
    case Op::elu: {
      const Range value = monotone(v, [](double t) { return t > 0 ? t : std::expm1(t); });
      return chain(a, value, v.lo > 0 ? one : hull(exponential({v.lo, std::min(v.hi, 0.0)}), v.hi > 0 ? one : exponential({v.lo, v.hi})));
    }
    case Op::abs: return chain(a, {v.lo > 0 ? v.lo : v.hi < 0 ? -v.hi : 0, std::max(std::fabs(v.lo), std::fabs(v.hi))}, v.lo > 0 ? one : v.hi < 0 ? Range{-1, -1} : Range{-1, 1});
    default: return a;
  }
}

/// All steps on one box. Arrays are [width][own][outer][inner], absent axes of length 1.
class Enclosure {
public:
  Enclosure(const Expression& e, std::size_t tokens, const std::vector<Range>& box) : e_(e), n_(tokens), box_(box), arrays_(e.steps.size()) {}

  double run() {
    for (std::size_t s = 0; s < e_.steps.size(); ++s) compute(e_.steps[s], arrays_[s]);
    double most = 0;
    for (const Slope& one : arrays_.back()) {
      double sum = 0;
      for (const Range& g : one.gradient) {
        const double size = std::max(std::fabs(g.lo), std::fabs(g.hi));
        sum = up(sum + up(size * size));
      }
      most = std::max(most, up(std::sqrt(sum)));
      if (std::isnan(sum)) return infinity;
    }
    return most;
  }

private:
  [[nodiscard]] std::size_t size(const Step& s, int axis) const { return (s.axes >> axis & 1) != 0 ? n_ : 1; }
  [[nodiscard]] const Slope& at(std::uint32_t step, std::size_t entry, const std::size_t* where) const {
    const Step& s = e_.steps[step];
    std::size_t k = s.width == 1 ? 0 : entry;
    for (int axis = 0; axis < 3; ++axis) k = k * size(s, axis) + ((s.axes >> axis & 1) != 0 ? where[axis] : 0);
    return arrays_[step][k];
  }
  [[nodiscard]] Slope constant(double lo, double hi) const { return {{lo, hi}, std::vector<Range>(box_.size())}; }

  void compute(const Step& s, std::vector<Slope>& out) {
    std::size_t where[3];
    for (std::uint32_t e = 0; e < s.width; ++e)
      for (where[0] = 0; where[0] < size(s, 0); ++where[0])
        for (where[1] = 0; where[1] < size(s, 1); ++where[1])
          for (where[2] = 0; where[2] < size(s, 2); ++where[2]) out.push_back(one(s, e, where));
  }

  Slope token(std::size_t i, std::uint32_t e) const {
    Slope r{box_[i * e_.dim + e], std::vector<Range>(box_.size())};
    r.gradient[i * e_.dim + e] = {1, 1};
    return r;
  }

  Slope one(const Step& s, std::uint32_t e, const std::size_t* where) const {
    const auto operand = [&](std::size_t k, std::size_t entry) -> const Slope& { return at(s.operands[k], entry, where); };
    switch (s.op) {
      case Op::number: return constant(s.value, s.value);
      case Op::literal: return constant(s.entries[e], s.entries[e]);
      case Op::tokens: return constant(static_cast<double>(n_), static_cast<double>(n_));
      case Op::own_index: return constant(static_cast<double>(where[0]), static_cast<double>(where[0]));
      case Op::read_index: return constant(static_cast<double>(where[s.axis]), static_cast<double>(where[s.axis]));
      case Op::own_token: return token(where[0], e);
      case Op::read_token: return token(where[s.axis], e);
      case Op::add: { const Slope &a = operand(0, e), &b = operand(1, e); return combine(a, {1, 1}, b, {1, 1}, a.value + b.value); }
      case Op::subtract: { const Slope &a = operand(0, e), &b = operand(1, e); return combine(a, {1, 1}, b, {-1, -1}, a.value - b.value); }
      case Op::multiply: {
        const Slope &a = operand(0, e), &b = operand(1, e);
        return combine(a, b.value, b, a.value, s.operands[0] == s.operands[1] ? square(a.value) : a.value * b.value);
      }
      case Op::divide: {
        const Slope &a = operand(0, e), &b = operand(1, e);
        const Range q = inverse(b.value), value = a.value * q;
        return combine(a, q, b, -(value * q), value);
      }
      case Op::power: {
        const Slope &a = operand(0, e), &b = operand(1, 0);
        const bool fixed = std::all_of(b.gradient.begin(), b.gradient.end(), [](const Range& g) { return g.lo == 0 && g.hi == 0; });
        if (!fixed || b.value.lo != b.value.hi) return chain(a, whole(), whole());
        const double p = b.value.lo;
        if (p == 0) return constant(1, 1);
        return chain(a, power(a.value, p), Range{p, p} * power(a.value, p - 1));
      }
      case Op::minimum: { const Slope &a = operand(0, e), &b = operand(1, e); return either(a, a.value.lo <= b.value.hi, b, b.value.lo <= a.value.hi, {std::min(a.value.lo, b.value.lo), std::min(a.value.hi, b.value.hi)}); }
      case Op::maximum: { const Slope &a = operand(0, e), &b = operand(1, e); return either(a, a.value.hi >= b.value.lo, b, b.value.hi >= a.value.lo, {std::max(a.value.lo, b.value.lo), std::max(a.value.hi, b.value.hi)}); }
      case Op::dot: {
        Slope sum = constant(0, 0);
        for (std::size_t k = 0; k < e_.steps[s.operands[0]].width; ++k) {
          const Slope &a = operand(0, k), &b = operand(1, k);
          sum = combine(sum, {1, 1}, combine(a, b.value, b, a.value, a.value * b.value), {1, 1}, sum.value + (s.operands[0] == s.operands[1] ? square(a.value) : a.value * b.value));
        }
        return sum;
      }
      case Op::norm2:
      case Op::norm: {
        Slope sum = constant(0, 0);
        const std::size_t width = e_.steps[s.operands[0]].width;
        for (std::size_t k = 0; k < width; ++k) {
          const Slope& a = operand(0, k);
          sum = combine(sum, {1, 1}, a, Range{2, 2} * a.value, sum.value + square(a.value));
        }
        if (s.op == Op::norm2) return sum;
        const Range length = meet(monotone(Range{std::max(0.0, sum.value.lo), sum.value.hi}, [](double t) { return std::sqrt(t); }), {0, infinity});
        Slope r = constant(0, 0);
        r.value = length;
        for (std::size_t k = 0; k < width; ++k) {  // the gradient is the unit vector: its entries lie in [-1, 1] whatever the length
          const Slope& a = operand(0, k);
          const Range unit = length.lo > 0 ? meet(a.value * inverse(length), {-1, 1}) : Range{-1, 1};
          r = combine(r, {1, 1}, a, unit, length);
        }
        return r;
      }
      case Op::component: return operand(0, s.index);
      case Op::concat: {
        std::size_t entry = e;
        for (std::size_t k = 0; k < s.operands.size(); ++k) {
          const std::size_t width = e_.steps[s.operands[k]].width;
          if (entry < width) return operand(k, entry);
          entry -= width;
        }
        return constant(0, 0);
      }
      case Op::sum: case Op::mean: case Op::max: case Op::min: case Op::attend: return reduce(s, e, where);
      default: return apply(s.op, operand(0, e));
    }
  }

  Slope reduce(const Step& s, std::uint32_t e, const std::size_t* from) const {
    std::size_t where[3] = {from[0], from[1], from[2]};
    std::vector<const Slope*> values, scores;
    for (where[s.axis] = 0; where[s.axis] < n_; ++where[s.axis]) {
      values.push_back(&at(s.operands.back(), e, where));
      if (s.op == Op::attend) scores.push_back(&at(s.operands[0], 0, where));
    }
    Slope r = *values[0];
    if (s.op == Op::sum || s.op == Op::mean) {
      for (std::size_t k = 1; k < n_; ++k) r = combine(r, {1, 1}, *values[k], {1, 1}, r.value + values[k]->value);
      const double n = static_cast<double>(n_);
      return s.op == Op::sum ? r : chain(r, r.value * inverse({n, n}), inverse({n, n}));
    }
    if (s.op != Op::attend) {
      const bool largest = s.op == Op::max;
      for (std::size_t k = 1; k < n_; ++k) {
        const Slope& b = *values[k];
        r = largest ? either(r, r.value.hi >= b.value.lo, b, b.value.hi >= r.value.lo, {std::max(r.value.lo, b.value.lo), std::max(r.value.hi, b.value.hi)})
                    : either(r, r.value.lo <= b.value.hi, b, b.value.lo <= r.value.hi, {std::min(r.value.lo, b.value.lo), std::min(r.value.hi, b.value.hi)});
      }
      return r;
    }
    // p_j = 1 / sum_k exp(s_k - s_j); d out = sum p_j dv_j + sum p_j (v_j - out) ds_j.
    std::vector<Range> weight(n_);
    Range value{0, 0}, around = values[0]->value;
    for (std::size_t j = 0; j < n_; ++j) {
      Range total{1, 1};
      for (std::size_t k = 0; k < n_; ++k) if (k != j && scores[k] != scores[j]) total = total + exponential(scores[k]->value - scores[j]->value);
      for (std::size_t k = 0; k < n_; ++k) if (k != j && scores[k] == scores[j]) total = total + Range{1, 1};
      weight[j] = meet(inverse(total), {0, 1});
      value = value + weight[j] * values[j]->value;
      around = hull(around, values[j]->value);
    }
    value = meet(value, around);
    Slope out = constant(value.lo, value.hi);
    for (std::size_t j = 0; j < n_; ++j) {
      out = combine(out, {1, 1}, *values[j], weight[j], value);
      out = combine(out, {1, 1}, *scores[j], weight[j] * (values[j]->value - value), value);
    }
    return out;
  }

  const Expression& e_;
  std::size_t n_;
  const std::vector<Range>& box_;
  std::vector<std::vector<Slope>> arrays_;
};

}  // namespace

double bound_slope(const Expression& expression, std::size_t tokens, double low, double high, std::size_t boxes, const Budget& budget) {
  const std::size_t axes = tokens * expression.dim;
  std::size_t cuts = 1, total = 1;
  const auto raised = [&](std::size_t base) {
    double product = 1;
    for (std::size_t k = 0; k < axes; ++k) product *= static_cast<double>(base);
    return product;
  };
  while (raised(cuts + 1) <= static_cast<double>(boxes)) ++cuts;
  for (std::size_t k = 0; k < axes; ++k) total *= cuts;
  double most = 0;
  std::vector<Range> box(axes);
  for (std::size_t number = 0; number < total; ++number) {
    budget.poll();
    budget.report("slopes", static_cast<double>(number) / static_cast<double>(total));
    std::size_t rest = number;
    for (std::size_t k = 0; k < axes; ++k, rest /= cuts) {
      const auto at = static_cast<double>(rest % cuts), of = static_cast<double>(cuts);
      box[k] = {down(low + (high - low) * at / of), up(low + (high - low) * (at + 1) / of)};
    }
    most = std::max(most, Enclosure(expression, tokens, box).run());
    if (!std::isfinite(most)) return infinity;
  }
  return most;
}

}  // namespace sightline::target
