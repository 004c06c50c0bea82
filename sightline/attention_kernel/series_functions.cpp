#include "sightline/attention_kernel/series_functions.hpp"

#include <algorithm>
#include <cmath>

namespace sightline::attention_kernel {
namespace {

const Scale unit;

// Smaller than every quantity that an expansion can hold otherwise.
Scale negligible() { return {{{mpq_class(1000), Surd(-1)}}, 0, 0}; }

// sum_k c_k small^k with c_k = next(k) / next(k-1) ratios given exactly; stops below the precision of the result.
template <class Ratio>
Series power_series(const Series& small, Ratio ratio) {
  Series sum = Series(Surd(1)), term = Series(Surd(1));
  for (std::size_t k = 1; k <= series_length; ++k) {
    term = scale(term * small, Coefficient(Surd(ratio(k))));
    if (term.terms.empty() && !term.error) return sum;  // small is 0, or the series ends (natural powers)
    sum = sum + term;
  }
  // The first omitted term is of the order of term * small.
  Scale rest = small.terms.empty() ? *small.error : small.terms.front().scale;
  rest = multiply(rest, term.terms.empty() ? *term.error : term.terms.front().scale);
  Series tail;
  tail.error = rest;
  return sum + tail;
}

struct Parts {
  Series infinite, small;
  Coefficient constant;
};

// f = infinite + constant + small; the error must be small.
Parts split(const Series& f) {
  Parts parts;
  for (const Series::Term& term : f.terms) {
    const int order = compare(term.scale, unit);
    if (order == 0) parts.constant = term.factor;
    else (order > 0 ? parts.infinite : parts.small).terms.push_back(term);
  }
  if (f.error) {
    if (compare(*f.error, unit) >= 0) throw OutOfScope{};
    parts.small.error = f.error;
  }
  return parts;
}

Coefficient enclose(double value) {
  if (!std::isfinite(value)) throw OutOfScope{};
  const double size = std::abs(value) * 1e-13 + 1e-300;
  return {value - size, value + size};
}

Coefficient exponential(const Coefficient& c) {
  if (c.is_zero()) return Coefficient(Surd(1));
  if (c.exact && c.exact->is_rational()) return enclose(std::exp(c.exact->approximate()));
  const Coefficient low = enclose(std::exp(c.low)), high = enclose(std::exp(c.high));
  return {low.low, high.high};
}

Series exponential(const Series& f) {
  const Series::Term* lead = f.leading();
  if (lead == nullptr) return Series(Surd(1));
  if (!lead->scale.exponent.empty() && compare(lead->scale, unit) > 0) {
    if (lead->factor.sign() > 0) throw OutOfScope{};
    Series nothing;
    nothing.error = negligible();
    return nothing;
  }
  const Parts parts = split(f);
  Scale growth;
  for (const Series::Term& term : parts.infinite.terms) {
    if (!term.factor.exact || !term.scale.exponent.empty()) throw OutOfScope{};
    if (term.scale.log_power == 0) growth.exponent.emplace_back(term.scale.power, *term.factor.exact);
    else if (term.scale.power == 0 && term.scale.log_power == 1 && term.factor.exact->is_rational()) growth.power += term.factor.exact->rational();
    else throw OutOfScope{};
  }
  const Series rest = power_series(parts.small, [](std::size_t k) { return mpq_class(1, static_cast<unsigned long>(k)); });
  return shift(scale(rest, exponential(parts.constant)), growth);
}

// f / leading term - 1
Series relative(const Series& f, const Series::Term& lead) {
  Series small = shift(scale(f, raise(lead.factor, -1)), raise(lead.scale, -1));
  small.terms.erase(small.terms.begin());
  return small;
}

Series logarithm_of_one_plus(const Series& small) {
  if (small.terms.empty() && !small.error) return {};
  Series sum = small, term = small;
  for (std::size_t k = 2; k <= series_length; ++k) {
    term = scale(term * small, Coefficient(Surd(-1)));
    if (term.terms.empty() && !term.error) break;
    sum = sum + scale(term, Coefficient(Surd(mpq_class(1, static_cast<unsigned long>(k)))));
  }
  Series tail;
  tail.error = multiply(small.terms.empty() ? *small.error : small.terms.front().scale, term.terms.empty() ? *term.error : term.terms.front().scale);
  return sum + tail;
}

Series logarithm(const Series& f) {
  const Series::Term* lead = f.leading();
  if (lead == nullptr || lead->factor.sign() <= 0 || lead->scale.log_power != 0) throw OutOfScope{};
  Series result = logarithm_of_one_plus(relative(f, *lead));
  for (const auto& [power, factor] : lead->scale.exponent) result = result + Series::monomial(factor, power);
  if (lead->scale.power != 0) {
    Series log_t = Series(Surd(lead->scale.power));
    log_t.terms[0].scale.log_power = 1;
    result = result + log_t;
  }
  if (!(lead->factor.exact && *lead->factor.exact == Surd(1))) {
    const Coefficient& c = lead->factor;
    const bool rational = c.exact && c.exact->is_rational();
    const double low = std::log(rational ? c.exact->approximate() : c.low), high = std::log(rational ? c.exact->approximate() : c.high);
    Series constant;
    constant.terms.push_back({unit, {enclose(low).low, enclose(high).high}});
    result = result + constant;
  }
  return result;
}

// cos or sin of constant + small
Series trigonometric(Op op, const Series& f) {
  const Parts parts = split(f);
  if (!parts.infinite.terms.empty()) throw OutOfScope{};
  const Series square = parts.small * parts.small;
  const Series cosine = power_series(square, [](std::size_t k) { return mpq_class(-1, static_cast<unsigned long>(2 * k * (2 * k - 1))); });
  const Series sine = parts.small * power_series(square, [](std::size_t k) { return mpq_class(-1, static_cast<unsigned long>(2 * k * (2 * k + 1))); });
  if (parts.constant.is_zero()) return op == Op::cos ? cosine : sine;
  const Coefficient& c = parts.constant;
  const double angle = c.exact ? c.exact->approximate() : (c.low + c.high) / 2;
  const double width = c.exact ? std::abs(angle) * 1e-14 : (c.high - c.low) / 2 + std::abs(angle) * 1e-14;
  auto around = [&](double value) { return Coefficient(value - width - 1e-14, value + width + 1e-14); };
  if (op == Op::cos) return scale(cosine, around(std::cos(angle))) - scale(sine, around(std::sin(angle)));
  return scale(cosine, around(std::sin(angle))) + scale(sine, around(std::cos(angle)));
}

Series negative(const Series& f) { return scale(f, Coefficient(Surd(-1))); }

// 0 when f vanishes identically
int final_sign(const Series& f) {
  const Series::Term* lead = f.leading();
  return lead == nullptr ? 0 : lead->factor.sign();
}

}  // namespace

Series raise(const Series& f, const mpq_class& exponent) {
  if (exponent == 0) return Series(Surd(1));
  const Series::Term* lead = f.leading();
  if (lead == nullptr) {
    if (exponent > 0) return {};
    throw OutOfScope{};
  }
  const Series small = relative(f, *lead);
  const Series rest = power_series(small, [&](std::size_t k) {
    return mpq_class((exponent - static_cast<long>(k) + 1) / static_cast<long>(k));
  });
  return shift(scale(rest, raise(lead->factor, exponent)), raise(lead->scale, exponent));
}

Series apply(Op op, const Series& f) {
  const Surd one = 1;
  const Coefficient half = Coefficient(Surd(mpq_class(1, 2)));
  switch (op) {
    case Op::exp: return exponential(f);
    case Op::log: return logarithm(f);
    case Op::sqrt: return raise(f, mpq_class(1, 2));
    case Op::cosh: return scale(exponential(f) + exponential(negative(f)), half);
    case Op::sinh: return scale(exponential(f) - exponential(negative(f)), half);
    case Op::cos:
    case Op::sin: return trigonometric(op, f);
    case Op::tanh: {
      if (final_sign(f) < 0) return negative(apply(op, negative(f)));
      const Series decay = exponential(scale(f, Coefficient(Surd(-2))));
      return (Series(one) - decay) * raise(Series(one) + decay, -1);
    }
    case Op::sigmoid: {
      const bool low = final_sign(f) < 0;
      const Series decay = exponential(low ? f : negative(f));
      const Series value = raise(Series(one) + decay, -1);
      return low ? value * decay : value;
    }
    case Op::softplus: {
      const bool low = final_sign(f) < 0;
      const Series tail = logarithm(Series(one) + exponential(low ? f : negative(f)));
      return low ? tail : f + tail;
    }
    case Op::relu: return final_sign(f) > 0 ? f : Series();
    case Op::abs: return final_sign(f) < 0 ? negative(f) : f;
    case Op::elu: return final_sign(f) < 0 ? exponential(f) - Series(one) : f;
    default: throw OutOfScope{};
  }
}

namespace {

using Entries = std::vector<Series>;

/// The number that a series is, when it is one.
const Surd* find_constant(const Series& series) {
  static const Surd none = 0;
  if (series.error || series.terms.size() > 1) return nullptr;
  if (series.terms.empty()) return &none;
  return series.terms[0].scale == unit && series.terms[0].factor.exact ? &*series.terms[0].factor.exact : nullptr;
}

Series inner(const Entries& a, const Entries& b) {
  // At a point all entries are numbers: a Performer has features times dim of these products.
  const auto constant = [](const Series& entry) { return find_constant(entry) != nullptr; };
  if (a.size() <= b.size() && std::all_of(a.begin(), a.end(), constant) && std::all_of(b.begin(), b.end(), constant)) {
    Surd sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += *find_constant(a[i]) * *find_constant(b[i]);
    return sum;
  }
  std::vector<Series> products;
  for (std::size_t i = 0; i < a.size(); ++i) products.push_back(a[i] * b.at(i));
  return sum_of(products);
}

Entries expand_node(const Node& node, const Curve& curve, const Budget& budget) {
  budget.poll();
  auto child = [&](std::size_t i) { return expand_node(*node.children[i], curve, budget); };
  auto binary = [&](auto function) {
    const Entries a = child(0), b = child(1);
    const bool left = node.children[0]->is_vector, right = node.children[1]->is_vector;
    Entries result;
    for (std::size_t i = 0; i < (left ? a.size() : b.size()); ++i) result.push_back(function(a.at(left ? i : 0), b.at(right ? i : 0)));
    return result;
  };
  switch (node.op) {
    case Op::number: return {Series(Surd(node.value))};
    case Op::literal_vector: {
      Entries entries;
      for (const mpq_class& entry : node.vector) entries.emplace_back(Surd(entry));
      return entries;
    }
    case Op::variable: return node.name == 't' ? Entries{curve.t} : node.name == 'x' ? curve.x : curve.y;
    case Op::add: return binary([](const Series& a, const Series& b) { return a + b; });
    case Op::subtract: return binary([](const Series& a, const Series& b) { return a - b; });
    case Op::multiply: return binary([](const Series& a, const Series& b) { return a * b; });
    case Op::divide: return binary([](const Series& a, const Series& b) { return a * raise(b, -1); });
    case Op::power: {
      const Series exponent = child(1).at(0);
      const Series::Term* lead = exponent.leading();
      mpq_class value = 0;
      if (lead != nullptr) {
        if (exponent.error || exponent.terms.size() != 1 || !(lead->scale == unit) || !lead->factor.exact || !lead->factor.exact->is_rational()) throw OutOfScope{};
        value = lead->factor.exact->rational();
      }
      Entries base = child(0);
      for (Series& entry : base) entry = raise(entry, value);
      return base;
    }
    case Op::negate: {
      Entries entries = child(0);
      for (Series& entry : entries) entry = negative(entry);
      return entries;
    }
    case Op::dot: return {inner(child(0), child(1))};
    case Op::norm2:
    case Op::norm: {
      const Entries v = child(0);
      const Series square = inner(v, v);
      return {node.op == Op::norm2 ? square : raise(square, mpq_class(1, 2))};
    }
    default: {
      Entries entries = child(0);
      for (Series& entry : entries) entry = apply(node.op, entry);
      return entries;
    }
  }
}

}  // namespace

Series expand(const Expression& expression, const Curve& curve, const Budget& budget) {
  return expand_node(*expression, curve, budget).at(0);
}

}  // namespace sightline::attention_kernel
