#include <algorithm>
#include <cmath>
#include <string>

#include "sightline/base/error.hpp"
#include "sightline/group/blocks.hpp"
#include "sightline/group/chain.hpp"
#include "sightline/group/congruence.hpp"
#include "sightline/group/fold.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

namespace {

/// A name as its direct factors.
struct Factor {
  std::string name;
  double log10 = 0;
};
using Factors = std::vector<Factor>;
using Name = std::optional<Factors>;

/// Above these, only what is cheap is tried; a missing name is never an error.
constexpr Point largest_degree = 2000;
constexpr std::size_t most_factors = 12;
constexpr std::size_t most_split_orbits = 40;
constexpr std::size_t most_generators = 64;
constexpr std::size_t name_digits = 20000;

std::string print_factors(Factors factors) {
  std::sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) {
    if (std::abs(a.log10 - b.log10) > 1e-9) return a.log10 > b.log10;
    return a.name < b.name;
  });
  std::string text;
  for (const Factor& factor : factors) text += (text.empty() ? "" : " x ") + factor.name;
  return text;
}

Factors join_factors(Factors left, const Factors& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// The group restricted to an invariant set of points (sorted), renumbered. `order` is left for the caller when told.
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
    return make_group(classes.degree, std::move(all), budget);
  }
  classes.generators = std::move(generators);
  classes.order = *order;
  classes.orbit = compute_orbits(classes.degree, classes.symmetric_classes, classes.generators);
  return classes;
}

/// Points grouped by what classes and generators tie together; fixed points are left out.
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
  for (std::size_t k = 0; k < moved.size(); ++k) {
    unsigned long length = 0;
    for (std::size_t at = k; !done[at]; ++length) {
      done[at] = true;
      at = static_cast<std::size_t>(std::lower_bound(moved.begin(), moved.end(), g.image()[at]) - moved.begin());
    }
    if (length > 0) mpz_lcm_ui(order.get_mpz_t(), order.get_mpz_t(), length);
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

/// Abelian groups: the number of cyclic factors of order divisible by p^(i+1) is log_p |G^(p^i) : G^(p^(i+1))|.
Name name_abelian(const Group& group, const std::vector<Permutation>& generators, const mpz_class& order, const Budget& budget) {
  if (generators.size() > most_generators) return std::nullopt;
  mpz_class exponent = 1;
  for (std::size_t a = 0; a < generators.size(); ++a) {
    budget.poll();
    for (std::size_t b = 0; b < a; ++b) {
      if (generators[a].after(generators[b]) != generators[b].after(generators[a])) return std::nullopt;
    }
    exponent = lcm(exponent, order_of(generators[a]));
  }
  if (exponent == order) return Factors{{"C_" + order.get_str(), group.order.log10()}};
  if (!order.fits_ulong_p()) return std::nullopt;
  std::vector<unsigned long> factors;
  unsigned long rest = order.get_ui();
  for (unsigned long p = 2; rest > 1; ++p) {
    if (p > rest / p) p = rest;
    if (rest % p != 0) continue;
    while (rest % p == 0) rest /= p;
    std::vector<Permutation> powers = generators;
    mpz_class size = order;
    for (unsigned long prime_power = p; size % p == 0; prime_power *= p) {
      for (Permutation& g : powers) g = power_of(g, p);
      const auto next = make_group(group.degree, powers, budget).order.value();
      if (!next) return std::nullopt;
      mpz_class index = size / *next;
      for (std::size_t count = 0; index > 1; index /= p, ++count) {
        if (factors.size() <= count) factors.push_back(1);
        factors[count] *= p;
      }
      size = *next;
    }
  }
  if (factors.size() > most_factors) return std::nullopt;
  Factors result;
  for (const unsigned long factor : factors) result.push_back({"C_" + std::to_string(factor), std::log10(static_cast<double>(factor))});
  return result;
}

/// <c, s> with c of order n >= 3, s of order 2 and s c s = c^-1 is dihedral of order 2n; when |G| = 2n it is G.
Name name_dihedral(const Group& group, const std::vector<Permutation>& generators, const mpz_class& order) {
  if (order < 6 || order % 2 != 0 || generators.size() > most_generators) return std::nullopt;
  const mpz_class half = order / 2;
  std::vector<Permutation> candidates = generators;
  for (std::size_t a = 0; a < generators.size() && candidates.size() < 4 * most_generators; ++a) {
    for (std::size_t b = 0; b < a; ++b) candidates.push_back(generators[a].after(generators[b]));
  }
  if (group.degree <= largest_degree) {
    std::vector<Images> dense;
    for (const Permutation& g : generators) dense.push_back(g.images(group.degree));
    RandomElements random(group.degree, dense);
    for (int k = 0; k < 60; ++k) candidates.push_back(Permutation::from_images(random.next()));
  }
  for (const Permutation& c : candidates) {
    if (order_of(c) != half) continue;
    const Permutation back = c.inverse();
    for (const Permutation& s : generators) {
      if (!s.is_identity() && s.after(s).is_identity() && s.after(c).after(s) == back) {
        return Factors{{half == 3 ? "S_3" : "D_" + half.get_str(), group.order.log10()}};
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

Name name_factor(const Group& group, const Budget& budget);

Name name_wreath(const Factors& factors, Point count, const Order& order) {
  const std::string inside = print_factors(factors);
  const double log10 = order.log10();
  // C_2 wr S_k is the hyperoctahedral group; its smallest case is a square's group.
  if (inside == "S_2" || inside == "C_2") return Factors{{count == 2 ? "D_4" : "B_" + std::to_string(count), log10}};
  return Factors{{(inside.find(' ') == std::string::npos ? inside : "(" + inside + ")") + " wr S_" + std::to_string(count), log10}};
}

mpz_class factorial(unsigned long k) {
  mpz_class result;
  mpz_fac_ui(result.get_mpz_t(), k);
  return result;
}

/// G = A wr S_count for these blocks, when the orders agree and A has a name.
Name name_by_blocks(const Group& group, const mpz_class& order, const BlockSystem& blocks, const std::vector<Permutation>& generators, const Budget& budget) {
  const mpz_class outside = factorial(blocks.count);
  if (order % outside != 0) return std::nullopt;
  mpz_class inside_order;
  if (mpz_root(inside_order.get_mpz_t(), mpz_class(order / outside).get_mpz_t(), blocks.count) == 0) return std::nullopt;
  const Group inside = make_group(group.degree / blocks.count, act_inside_block(blocks, generators, budget), budget);
  if (inside.order.value(name_digits) != inside_order) return std::nullopt;
  const Name name = name_factor(inside, budget);
  return name ? name_wreath(*name, blocks.count, group.order) : std::nullopt;
}

/// A transitive group of at most `largest_degree` points.
Name name_transitive(const Group& group, const mpz_class& order, const Budget& budget) {
  const Point n = group.degree;
  if (order == factorial(n)) return Factors{{"S_" + std::to_string(n), group.order.log10()}};
  const auto generators = list_generators(group, static_cast<std::size_t>(n) + group.generators.size());
  if (n >= 8 && (n & (n - 1)) == 0) {
    unsigned long dimension = 0;
    while ((Point{1} << dimension) < n) ++dimension;
    if (order == n * factorial(dimension) && preserves_cube(n, generators, budget)) {
      return Factors{{"B_" + std::to_string(dimension), group.order.log10()}};
    }
  }
  auto systems = find_block_systems(n, generators, budget);
  std::sort(systems.begin(), systems.end(), [](const BlockSystem& a, const BlockSystem& b) { return a.count > b.count; });
  for (const BlockSystem& blocks : systems) {
    if (const Name name = name_by_blocks(group, order, blocks, generators, budget)) return name;
  }
  // Two block systems whose blocks meet in single points: G embeds in the product of its actions on the two.
  for (std::size_t a = 0; a < systems.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (static_cast<std::uint64_t>(systems[a].count) * systems[b].count != n) continue;
      std::vector<std::pair<Point, Point>> pairs;
      for (Point x = 0; x < n; ++x) pairs.emplace_back(systems[a].block_of[x], systems[b].block_of[x]);
      std::sort(pairs.begin(), pairs.end());
      if (std::adjacent_find(pairs.begin(), pairs.end()) != pairs.end()) continue;
      const Group left = make_group(systems[a].count, act_on_blocks(systems[a], generators), budget);
      const Group right = make_group(systems[b].count, act_on_blocks(systems[b], generators), budget);
      const auto left_order = left.order.value(name_digits), right_order = right.order.value(name_digits);
      if (!left_order || !right_order || *left_order * *right_order != order) continue;
      const Name left_name = name_factor(left, budget), right_name = name_factor(right, budget);
      if (left_name && right_name) return join_factors(*left_name, *right_name);
    }
  }
  return std::nullopt;
}

/// Splits off sets of orbits on which the group is a direct factor, which the orders prove: |G| = |G on X| |G on the rest|.
Name name_product(const Group& group, const std::vector<std::vector<Point>>& orbits, const mpz_class& order, const Budget& budget) {
  if (orbits.size() < 2 || orbits.size() > most_split_orbits) return std::nullopt;
  const bool subsets = orbits.size() <= 6;
  const std::size_t choices = subsets ? (std::size_t{1} << (orbits.size() - 1)) - 1 : orbits.size();
  for (std::size_t choice = 1; choice <= choices; ++choice) {
    std::vector<Point> inside, outside;
    for (std::size_t k = 0; k < orbits.size(); ++k) {
      const bool chosen = subsets ? ((choice >> k) & 1u) != 0 : k + 1 == choice;
      auto& part = chosen ? inside : outside;
      part.insert(part.end(), orbits[k].begin(), orbits[k].end());
    }
    std::sort(inside.begin(), inside.end());
    std::sort(outside.begin(), outside.end());
    const Group left = restrict_to(group, inside, nullptr, budget);
    const auto left_order = left.order.value(name_digits);
    if (!left_order || *left_order == order || order % *left_order != 0) continue;
    const Group right = restrict_to(group, outside, nullptr, budget);
    const auto right_order = right.order.value(name_digits);
    if (!right_order || *right_order * *left_order != order) continue;
    const Name left_name = name_factor(left, budget), right_name = name_factor(right, budget);
    if (!left_name || !right_name) return std::nullopt;
    return join_factors(*left_name, *right_name);
  }
  return std::nullopt;
}

/// Blocks made of one class (or single point) of every orbit, permuted freely, however many points there are. Every orbit
/// of classes is a copy of one orbit of k classes, so the classes that stand for one another form k blocks, and G lies in
/// (product of Sym(size)) wr S_k; equal orders prove equality.
Name name_blocks_of_classes(const Group& group, const Budget& budget) {
  if (group.symmetric_classes.empty()) return std::nullopt;
  std::vector<Point> class_of(group.degree, 0), size;
  for (const auto& members : group.symmetric_classes) {
    size.push_back(static_cast<Point>(members.size()));
    for (const Point x : members) class_of[x] = static_cast<Point>(size.size());
  }
  for (Point& c : class_of) {
    if (c == 0) {
      size.push_back(1);
      c = static_cast<Point>(size.size());
    }
    --c;
  }
  const auto count = static_cast<Point>(size.size());
  std::vector<Permutation> quotient;
  for (const Permutation& g : group.generators) {
    auto images = Permutation().images(count);
    for (std::size_t k = 0; k < g.moved().size(); ++k) images[class_of[g.moved()[k]]] = class_of[g.image()[k]];
    quotient.push_back(Permutation::from_images(images));
  }
  const Fold fold = find_fold(count, quotient, budget);
  Point blocks = 0;
  Order expected;
  Factors inside;
  for (Point c = 0; c < count; ++c) {
    if (fold.base[c] == c) ++blocks;
    if (fold.orbit[c] != c) continue;
    if (fold.base[c] == c && c != 0) return std::nullopt;  // a second orbit that is no copy
    Order one;
    one.multiply_factorial(size[c]);
    if (size[c] > 1) inside.push_back({"S_" + std::to_string(size[c]), one.log10()});
  }
  if (blocks < 2 || inside.size() > most_factors) return std::nullopt;
  for (const Point members : size) expected.multiply_factorial(members);
  expected.multiply_factorial(blocks);
  if (!(expected == group.order)) return std::nullopt;
  return name_wreath(inside, blocks, group.order);
}

/// One component: everything is tied together, and nothing is fixed.
Name name_component(const Group& group, const Budget& budget) {
  if (group.symmetric_classes.size() == 1 && group.symmetric_classes[0].size() == group.degree) return Factors{{"S_" + std::to_string(group.degree), group.order.log10()}};
  if (const Name name = name_blocks_of_classes(group, budget)) return name;
  const auto order = group.order.value(name_digits);
  if (!order) return std::nullopt;
  if (*order == 2) return Factors{{"C_2", group.order.log10()}};
  const bool large = group.degree > largest_degree;
  std::vector<Permutation> generators = large && !group.symmetric_classes.empty() ? std::vector<Permutation>()
                                                                                   : list_generators(group, group.degree + group.generators.size());
  const auto orbits = list_classes(group.orbit);
  if (!large) {
    if (const Name name = name_product(group, orbits, *order, budget)) return name;
  }
  if (generators.empty()) return std::nullopt;
  if (const Name name = name_abelian(group, generators, *order, budget)) return name;
  if (const Name name = name_dihedral(group, generators, *order)) return name;
  if (large) return std::nullopt;
  if (orbits.size() == 1) return name_transitive(group, *order, budget);
  // An orbit on which the group acts faithfully carries the whole group; the smallest says it best.
  std::vector<const std::vector<Point>*> by_size;
  for (const auto& orbit : orbits) by_size.push_back(&orbit);
  std::stable_sort(by_size.begin(), by_size.end(), [](const auto* a, const auto* b) { return a->size() < b->size(); });
  std::size_t tried = 0;
  for (const auto* orbit : by_size) {
    if (++tried > most_split_orbits) break;
    const Group action = restrict_to(group, *orbit, nullptr, budget);
    if (!(action.order == group.order)) continue;
    if (const Name name = name_factor(action, budget)) return name;
  }
  const auto blocks = find_common_blocks(group.degree, generators, orbits, budget);
  return blocks ? name_by_blocks(group, *order, *blocks, generators, budget) : std::nullopt;
}

Name name_factor(const Group& group, const Budget& budget) {
  budget.poll();
  if (group.is_trivial()) return Factors{};
  const auto components = find_components(group);
  if (components.size() > most_factors) return std::nullopt;
  // What the classes do not account for belongs to the only component that has generators.
  Order classes_order;
  for (const auto& members : group.symmetric_classes) classes_order.multiply_factorial(static_cast<std::uint32_t>(members.size()));
  std::size_t active = 0;
  std::vector<bool> has_generators(components.size(), false);
  std::vector<std::size_t> component_of(group.degree, 0);
  for (std::size_t c = 0; c < components.size(); ++c) {
    for (const Point x : components[c]) component_of[x] = c;
  }
  for (const Permutation& g : group.generators) {
    const std::size_t c = component_of[g.moved().front()];
    if (!has_generators[c]) ++active;
    has_generators[c] = true;
  }
  const bool accounted = active <= 1 && classes_order.factorials() == group.order.factorials();
  Factors factors;
  for (std::size_t c = 0; c < components.size(); ++c) {
    std::optional<Order> known;
    if (components.size() == 1) {
      known = group.order;
    } else if (accounted || !has_generators[c]) {
      known.emplace();
      for (const auto& members : group.symmetric_classes) {
        if (component_of[members.front()] == c) known->multiply_factorial(static_cast<std::uint32_t>(members.size()));
      }
      if (has_generators[c]) known->multiply(group.order.rest());
    } else if (components[c].size() > largest_degree) {
      return std::nullopt;
    }
    const Group part = restrict_to(group, components[c], known ? &*known : nullptr, budget);
    const Name name = name_component(part, budget);
    if (!name) return std::nullopt;
    factors = join_factors(std::move(factors), *name);
  }
  if (factors.size() > most_factors) return std::nullopt;
  return factors;
}

}  // namespace

std::optional<std::string> find_name(const Group& group, const Budget& budget) {
  if (group.is_trivial()) return "trivial";
  // S_2 is said of two points; elsewhere an involution on its own is C_2.
  if (group.degree > 2 && group.order == Order(mpz_class(2))) return "C_2";
  try {
    const Name name = name_factor(group, budget);
    return name ? std::optional(print_factors(*name)) : std::nullopt;
  } catch (const BudgetExhausted&) {
    return std::nullopt;  // a name is decoration: work beyond the limits of a proof leaves it out
  }
}

}  // namespace sightline::group
