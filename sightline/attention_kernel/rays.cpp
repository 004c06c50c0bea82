#include "sightline/attention_kernel/rays.hpp"

#include <algorithm>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/structure.hpp"
#include "sightline/base/mix.hpp"

namespace sightline::attention_kernel {
namespace {

constexpr std::size_t directions = 8;

std::vector<Series> constants(const std::vector<mpq_class>& values) {
  std::vector<Series> entries;
  for (const mpq_class& value : values) entries.emplace_back(Surd(value));
  return entries;
}

// base + sign t^power direction
std::vector<Series> line(const std::vector<mpq_class>& base, const std::vector<mpq_class>& direction, int sign, int power) {
  std::vector<Series> entries;
  for (std::size_t i = 0; i < base.size(); ++i)
    entries.push_back(Series(Surd(base[i])) + Series::monomial(Surd(mpq_class(sign * direction[i])), power));
  return entries;
}

std::optional<Series> try_expand(const Expression& expression, const Curve& curve, const Budget& budget) {
  try {
    return expand(expression, curve, budget);
  } catch (const OutOfScope&) {
    return std::nullopt;
  }
}

// Rate of growth along a ray; nothing when unknown or when the kernel vanishes there.
std::optional<Scale> find_growth(const Expression& kernel, const std::vector<mpq_class>& x0, const std::vector<mpq_class>& v, int sign, const Budget& budget) {
  try {
    const Series series = expand(kernel, {constants(x0), line(std::vector<mpq_class>(v.size()), v, sign, 1), {}}, budget);
    const Series::Term* lead = series.leading();
    if (lead == nullptr || lead->factor.sign() == 0) return std::nullopt;
    return lead->scale;
  } catch (const OutOfScope&) {
    return std::nullopt;
  }
}

// mu > 0 such that growth at t equals the opposite growth at mu t.
std::optional<mpq_class> find_ratio(const Scale& growth, const Scale& opposite) {
  if (growth.power != opposite.power || growth.log_power != opposite.log_power) return std::nullopt;
  if (growth.exponent.size() != opposite.exponent.size() || growth.exponent.empty()) return std::nullopt;
  if (growth.exponent == opposite.exponent) return mpq_class(1);
  if (growth.exponent.size() != 1 || growth.exponent[0].first != 1 || opposite.exponent[0].first != 1) return std::nullopt;
  const Surd ratio = growth.exponent[0].second / opposite.exponent[0].second;
  if (!ratio.is_rational() || ratio.sign() <= 0) return std::nullopt;
  return ratio.rational();
}

bool is_affine_in_key(const Node& node) {
  if (!mentions(node, 'y')) return true;
  auto affine = [&node](std::size_t i) { return is_affine_in_key(*node.children[i]); };
  switch (node.op) {
    case Op::variable: return true;
    case Op::negate: return affine(0);
    case Op::add:
    case Op::subtract: return affine(0) && affine(1);
    case Op::multiply:
    case Op::dot: return affine(0) && affine(1) && (!mentions(*node.children[0], 'y') || !mentions(*node.children[1], 'y'));
    case Op::divide: return affine(0) && !mentions(*node.children[1], 'y');
    default: return false;
  }
}

}  // namespace

long FixedRandom::integer(long low, long high) {
  // specified to the bit, unlike the distributions of <random>
  return low + static_cast<long>(draw_mixed(state_) % static_cast<std::uint64_t>(high - low + 1));
}

std::vector<mpq_class> FixedRandom::rational_vector(std::size_t dim) {
  std::vector<mpq_class> entries;
  for (std::size_t i = 0; i < dim; ++i) {
    mpq_class entry(integer(1001, 9999), integer(1001, 9999));
    entry.canonicalize();
    entries.push_back(integer(0, 1) == 0 ? entry : mpq_class(-entry));
  }
  return entries;
}

std::vector<mpq_class> FixedRandom::vector_of_whole_length(std::size_t dim, long size) {
  std::vector<mpq_class> entries;
  mpz_class square = 0;
  for (std::size_t i = 0; i + 1 < dim; ++i) {
    const long u = integer(1, size) * (integer(0, 1) == 0 ? 1 : -1);
    entries.emplace_back(2 * u);
    square += u * u;
  }
  if (dim == 1) entries.emplace_back(integer(1, size));
  else entries.emplace_back(mpz_class(square - 1));
  if (entries.back() == 0) entries.back() = 1;  // dim 2, u = +-1: (2u, 0); any direction will do
  if (integer(0, 1) == 0) entries.back() = -entries.back();
  std::rotate(entries.begin(), entries.begin() + integer(0, static_cast<long>(dim) - 1), entries.end());
  return entries;
}

namespace {

Finding find_failing_rays_at(const Expression& kernel, const std::vector<mpq_class>& x0, FixedRandom random, const Budget& budget) {
  const std::size_t dim = x0.size();
  struct Ray { std::optional<Scale> forward, backward; };
  std::vector<Ray> rays;
  for (std::size_t i = 0; i < directions; ++i) {
    const std::vector<mpq_class> v = random.vector_of_whole_length(dim, 31);
    rays.push_back({find_growth(kernel, x0, v, 1, budget), find_growth(kernel, x0, v, -1, budget)});
  }
  // Powers of t on two rays that are not parallel. In one dimension all rays are parallel: only v and -v below.
  std::size_t known = 0, alike = 0;
  std::optional<Scale> power;
  for (const Ray& ray : rays) {
    for (const auto* growth : {&ray.forward, &ray.backward}) {
      if (!*growth) continue;
      ++known;
      if (!(*growth)->exponent.empty()) continue;
      if (!power) power = **growth;
      if (**growth == *power) ++alike;
    }
  }
  // Three equal ones among the rays +-v are on at least two lines.
  if (alike >= 3)
    return {Condition13::fails, known == 2 * directions && alike == known && find_homogeneity(*kernel, 0, 1) ? "all pairs" : "a set of W_K of positive measure",
            "along generic rays the kernel grows like one fixed power, so the ratio tends to a finite nonzero number"};
  std::map<mpq_class, int> ratios;
  for (const Ray& ray : rays) {
    if (!ray.forward || !ray.backward) continue;
    if (*ray.forward == *ray.backward) ++ratios[1];
    else {
      auto ratio = find_ratio(*ray.forward, *ray.backward);
      if (!ratio) continue;
      if (*ratio > 1) ratio = 1 / *ratio;
      ++ratios[*ratio];
    }
  }
  for (const auto& [ratio, count] : ratios)
    if (count >= 2)
      return {Condition13::fails, print_pair(Surd(mpq_class(-ratio))), "on generic rays the kernel grows at the same rate towards the two keys"};
  return {};
}

}  // namespace

Finding find_failing_rays(const Expression& kernel, std::size_t dim, const Budget& budget) {
  FixedRandom random(13);
  const std::vector<mpq_class> x0 = random.vector_of_whole_length(dim, 31);
  const Finding found = find_failing_rays_at(kernel, x0, random, budget);
  if (found.verdict != Condition13::fails) return found;
  // What fails for long queries may hold for short ones, and one is enough (docs/theory.md 16.6, 16.92).
  std::vector<mpq_class> shorter = x0;
  for (mpq_class& entry : shorter) entry /= 64;
  return find_failing_rays_at(kernel, shorter, random, budget).verdict == Condition13::fails ? found : Finding{};
}

bool is_almost_periodic(const Expression& expression) {
  const Node& node = *expression;
  if (!mentions(node, 'y')) return true;
  auto all = [&node] {
    return std::all_of(node.children.begin(), node.children.end(), [](const Expression& child) { return is_almost_periodic(child); });
  };
  switch (node.op) {
    case Op::cos:
    case Op::sin: return is_affine_in_key(*node.children[0]) || all();
    case Op::divide: return !mentions(*node.children[1], 'y') && all();
    case Op::power: {
      const auto exponent = find_rational(*node.children[1]);
      return exponent && *exponent >= 0 && exponent->get_den() == 1 && all();
    }
    case Op::variable:
    case Op::log: return false;
    default: return all();
  }
}

Smoothness find_rough_point(const Expression& expression, Role role, std::size_t dim, bool continuous, const Budget& budget) {
  FixedRandom random(29);
  // A kink on one line is a proof, so the lines move in three coordinates: wide tokens cost little more than narrow ones.
  auto step = [&] {
    std::vector<mpq_class> entries = random.vector_of_whole_length(std::min<std::size_t>(dim, 3), 31);
    entries.resize(dim);
    return entries;
  };
  const std::vector<mpq_class> zero(dim), p = random.vector_of_whole_length(dim, 31), u = step(), w = step();
  struct Point { std::vector<mpq_class> x, x_step, y, y_step; };
  std::vector<Point> points;
  if (role == Role::activation) {
    for (const long at : {0, 1, -1, 2, -2, 3, -3}) points.push_back({{mpq_class(at)}, {mpq_class(1)}, {}, {}});
    points.push_back({{mpq_class(1, 2)}, {mpq_class(1)}, {}, {}});
    points.push_back({{mpq_class(-1, 2)}, {mpq_class(1)}, {}, {}});
  } else {
    points = {{p, zero, p, u}, {p, zero, zero, u}, {zero, u, p, zero}, {zero, u, zero, w}, {zero, u, zero, u}};
    if (dim >= 2) {
      std::vector<mpq_class> orthogonal(dim);
      orthogonal[0] = p[1];
      orthogonal[1] = -p[0];
      points.push_back({p, zero, orthogonal, u});
    }
  }
  Smoothness worst = Smoothness::unknown;
  for (const Point& point : points) {
    if (continuous && worst == Smoothness::not_analytic) break;
    std::optional<Series> side[2];
    for (const int sign : {1, -1}) {
      Curve curve{line(point.x, point.x_step, sign, -1), line(point.y, point.y_step, sign, -1), {}};
      if (role == Role::activation) curve.t = curve.x[0];
      side[sign < 0] = try_expand(expression, curve, budget);
    }
    if (!side[0] || !side[1]) continue;
    try {
      // An analytic function has the expansion sum a_k s^k on the right and sum a_k (-s)^k on the left, s = 1/t.
      Series reflected = *side[1];
      bool natural = true;
      for (const Series* one : {&*side[0], &*side[1]})
        for (const Series::Term& term : one->terms)
          if (term.scale.exponent.empty() && (term.scale.power > 0 || term.scale.power.get_den() != 1 || term.scale.log_power != 0) && term.factor.sign() != 0) {
            natural = false;
            if (compare(term.scale, {}) > 0) worst = Smoothness::not_continuous;
          }
      if (worst == Smoothness::not_continuous) return worst;
      if (!natural) {
        worst = Smoothness::not_analytic;
        continue;
      }
      for (Series::Term& term : reflected.terms)
        if (term.scale.exponent.empty() && mpz_odd_p(term.scale.power.get_num_mpz_t()))
          term.factor = Coefficient(term.factor.exact ? Coefficient(-*term.factor.exact) : Coefficient(-term.factor.high, -term.factor.low));
      const Series difference = *side[0] - reflected;
      const Series::Term* lead = difference.leading();
      if (lead == nullptr || !lead->scale.exponent.empty() || lead->factor.sign() == 0) continue;
      if (lead->scale == Scale{}) return Smoothness::not_continuous;
      worst = Smoothness::not_analytic;
    } catch (const OutOfScope&) {
      continue;
    }
  }
  return worst;
}

Series expand_at(const Expression& expression, const std::vector<mpq_class>& x, const std::vector<mpq_class>& y, const Budget& budget) {
  Curve curve{constants(x), constants(y), {}};
  if (!x.empty()) curve.t = curve.x[0];
  return expand(expression, curve, budget);
}

std::optional<int> find_sign_at(const Expression& expression, const std::vector<mpq_class>& x, const std::vector<mpq_class>& y, const Budget& budget) {
  try {
    const Series value = expand_at(expression, x, y, budget);
    const Series::Term* lead = value.leading();
    return lead == nullptr ? 0 : lead->factor.sign();
  } catch (const OutOfScope&) {
    return std::nullopt;
  }
}

}  // namespace sightline::attention_kernel
