#include "sightline/group/name_parts.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sightline/group/congruence.hpp"

namespace sightline::group {

namespace {

constexpr std::size_t most_listed_images = 4000000, most_images = std::size_t{1} << 22;

/// All elements, or nothing when they are too many.
std::vector<Permutation> list_elements(Point degree, const std::vector<Permutation>& generators, const Budget& budget) {
  std::set<std::vector<Point>> known{Permutation().images(degree)};
  std::vector<Permutation> elements{Permutation()};
  for (std::size_t k = 0; k < elements.size(); ++k) {
    budget.poll();
    for (const Permutation& g : generators) {
      const Permutation next = g.after(elements[k]);
      if (!known.insert(next.images(degree)).second) continue;
      if (known.size() * degree > most_listed_images) return {};
      elements.push_back(next);
    }
  }
  return elements;
}

}  // namespace

Group restrict_to(const Group& group, const std::vector<Point>& points, const Order* order, const Budget& budget) {
  constexpr Point outside = ~Point{0};
  std::vector<Point> number(group.degree, outside);
  for (Point k = 0; k < points.size(); ++k) number[points[k]] = k;
  std::vector<Permutation> generators;
  for (const Permutation& g : group.generators) {
    std::vector<Point> moved, image;
    for (std::size_t k = 0; k < g.moved().size(); ++k) {
      if (number[g.moved()[k]] == outside) continue;
      moved.push_back(number[g.moved()[k]]);
      image.push_back(number[g.image()[k]]);
    }
    if (!moved.empty()) generators.push_back(Permutation::from_support(std::move(moved), std::move(image)));
  }
  Group classes = make_trivial_group(static_cast<Point>(points.size()));
  for (const auto& members : group.symmetric_classes) {
    if (number[members.front()] == outside) continue;
    classes.symmetric_classes.emplace_back();
    for (const Point x : members) classes.symmetric_classes.back().push_back(number[x]);
    classes.order.multiply_factorial(static_cast<std::uint32_t>(members.size()));
  }
  classes.orbit = compute_orbits(classes.degree, classes.symmetric_classes, {});
  if (order == nullptr) {
    if (generators.empty()) return classes;
    std::vector<Permutation> all = list_generators(classes, static_cast<std::size_t>(classes.degree));
    all.insert(all.end(), generators.begin(), generators.end());
    return make_group(classes.degree, std::move(all), group.order, budget);  // the action of a group has at most its order
  }
  classes.generators = std::move(generators);
  classes.order = *order;
  classes.orbit = compute_orbits(classes.degree, classes.symmetric_classes, classes.generators);
  return classes;
}

std::vector<std::vector<Point>> find_components(const Group& group) {
  UnionFind linked(group.degree);
  for (const auto& members : group.symmetric_classes) {
    for (const Point x : members) linked.unite(members.front(), x);
  }
  for (const Permutation& g : group.generators) {
    for (const Point x : g.moved()) linked.unite(g.moved().front(), x);
  }
  std::vector<Point> label(group.degree);
  for (Point x = 0; x < group.degree; ++x) label[x] = linked.find(x);
  return list_classes(label);
}

mpz_class order_of(const Permutation& g) {
  const auto& moved = g.moved();
  std::vector<bool> done(moved.size(), false);
  mpz_class order = 1;
  for (std::size_t k = 0, known = 0; k < moved.size(); ++k) {
    unsigned long length = 0;
    for (std::size_t at = k; !done[at]; ++length) {
      done[at] = true;
      at = find_place(moved, g.image()[at]);
    }
    if (length > 0 && std::exchange(known, length) != length) mpz_lcm_ui(order.get_mpz_t(), order.get_mpz_t(), length);  // mostly as the one before
  }
  return order;
}

Permutation power_of(const Permutation& g, unsigned long exponent) {
  Permutation result, square = g;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = square.after(result);
    square = square.after(square);
  }
  return result;
}

Permutation find_cyclic_generator(const std::vector<Permutation>& generators, unsigned long order) {
  Permutation product;
  for (unsigned long p = 2, rest = order; rest > 1; ++p) {
    if (p > rest / p) p = rest;
    unsigned long part = 1;
    for (; rest % p == 0; rest /= p) part *= p;
    if (part == 1) continue;
    for (const Permutation& g : generators) {
      const unsigned long own = order_of(g).get_ui();
      if (own % part != 0) continue;
      product = power_of(g, own / part).after(product);
      break;
    }
  }
  return product;
}

SubgroupOrders::SubgroupOrders(const Group& group, const mpz_class& order, const Budget& budget) : budget_(budget), degree_(group.degree) {
  std::vector<Point> size(group.degree, 0);
  for (const Point x : group.orbit) ++size[x];
  for (Point x = 0; x < group.degree && !regular_; ++x) {
    if (size[x] > 0 && order == size[x]) regular_ = x;
  }
}

std::optional<mpz_class> SubgroupOrders::count(const std::vector<Permutation>& generators) const {
  if (!regular_) return make_group(degree_, generators, budget_).order.value();
  budget_.poll();
  std::vector<bool> met(degree_, false);
  std::vector<Point> reached{*regular_};
  met[*regular_] = true;
  for (std::size_t head = 0; head < reached.size(); ++head) {
    for (const Permutation& g : generators) {
      const Point y = g(reached[head]);
      if (met[y]) continue;
      met[y] = true;
      reached.push_back(y);
    }
  }
  return mpz_class(static_cast<unsigned long>(reached.size()));
}

std::vector<Permutation> find_basis(Point degree, const std::vector<Permutation>& generators, const std::vector<unsigned long>& factors,
                                    const SubgroupOrders& orders, const Budget& budget) {
  std::vector<Permutation> candidates = generators, basis;
  if (factors.size() * degree > most_images) return basis;
  if (!factors.empty()) candidates.insert(candidates.begin(), find_cyclic_generator(generators, factors.front()));
  for (std::size_t a = 0; a < generators.size() && candidates.size() < 200; ++a) {
    for (std::size_t b = 0; b < a; ++b) candidates.push_back(generators[a].after(generators[b]));
  }
  bool all = false;
  mpz_class order = 1;
  for (std::size_t k = 0; k < factors.size();) {
    const std::size_t before = basis.size();
    for (const Permutation& candidate : candidates) {
      budget.poll();
      const mpz_class own = order_of(candidate);
      if (own % factors[k] != 0) continue;
      basis.push_back(power_of(candidate, mpz_class(own / factors[k]).get_ui()));
      if (k == 0 || orders.count(basis) == mpz_class(order * factors[k])) break;
      basis.pop_back();
    }
    if (basis.size() > before) {
      order *= factors[k++];
      continue;
    }
    if (all) return {};
    candidates = list_elements(degree, generators, budget);
    all = true;
  }
  return basis;
}

}  // namespace sightline::group
