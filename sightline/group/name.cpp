#include "sightline/group/name.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sightline/base/error.hpp"
#include "sightline/group/blocks.hpp"
#include "sightline/group/chain.hpp"
#include "sightline/group/congruence.hpp"
#include "sightline/group/fold.hpp"
#include "sightline/group/group.hpp"
#include "sightline/group/name_parts.hpp"

namespace sightline::group {

namespace {

/// A name as its direct factors.
struct Factor {
  std::string name;
  double log10 = 0;
};
using Factors = std::vector<Factor>;
struct Named {
  Factors factors;
  NameProof proof;
};
using Name = std::optional<Named>;
using Kind = NameProof::Kind;

/// Above these, only what is cheap is tried; a missing name is never an error.
constexpr Point largest_degree = 2000;
constexpr std::size_t most_factors = 12;
constexpr std::size_t most_split_orbits = 40;
constexpr std::size_t most_generators = 64;
constexpr std::size_t name_digits = 20000;
/// What stabiliser chains may take together: some seconds.
constexpr std::uint64_t most_name_steps = 500'000'000;

std::string print_factors(Factors factors) {
  std::sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) {
    if (std::abs(a.log10 - b.log10) > 1e-9) return a.log10 > b.log10;
    return a.name < b.name;
  });
  std::string text;
  for (const Factor& factor : factors) text += (text.empty() ? "" : " x ") + factor.name;
  return text;
}

NameProof::Family take_points(std::vector<Point> points) { return {std::move(points), {}}; }

/// Another factor, which is what the group does on a family of sets.
void add_factor(Named& product, NameProof::Family family, Named factor) {
  product.proof.kind = Kind::actions;
  product.factors.insert(product.factors.end(), factor.factors.begin(), factor.factors.end());
  product.proof.families.push_back(std::move(family));
  product.proof.proofs.push_back(std::move(factor.proof));
}

/// Everything that permutes the points.
Named name_symmetric(Point degree) {
  Order order;
  order.multiply_factorial(degree);
  return {{{"S_" + std::to_string(degree), order.log10()}}, {}};
}

Named name_elements(const std::string& name, const Order& order, Kind kind, std::vector<Permutation> elements) {
  NameProof proof;
  proof.kind = kind;
  proof.elements = std::move(elements);
  return {{{name, order.log10()}}, std::move(proof)};
}

/// Do all pairs commute? Images are written out once.
bool do_commute(Point degree, const std::vector<Permutation>& generators, const Budget& budget) {
  budget.ask(std::uint64_t{degree} * generators.size() * sizeof(Point));
  std::vector<std::vector<Point>> images;
  for (const Permutation& g : generators) {
    budget.poll();
    images.push_back(g.images(degree));
    for (const std::vector<Point>& other : images) {
      for (Point x = 0; x < degree; ++x) {
        if (other[images.back()[x]] != images.back()[other[x]]) return false;
      }
    }
  }
  return true;
}

/// Commuting generators: the number of cyclic factors of order divisible by p^(i+1) is log_p |G^(p^i) : G^(p^(i+1))|.
Name name_abelian(const Group& group, const std::vector<Permutation>& generators, const mpz_class& order, const Budget& budget) {
  mpz_class exponent = 1, most = 1;
  for (const Permutation& g : generators) exponent = lcm(exponent, order_of(g));
  for (std::size_t k = 0; k < most_factors; ++k) most *= exponent;
  if (most < order) return std::nullopt;
  if (order >= mpz_class(1) << 62) return std::nullopt;
  if (exponent == order) {
    return name_elements("C_" + order.get_str(), group.order, Kind::abelian, {find_cyclic_generator(generators, order.get_ui())});
  }
  const SubgroupOrders orders(group, order, budget);
  std::vector<unsigned long> factors;
  unsigned long rest = order.get_ui();
  for (unsigned long p = 2; rest > 1; ++p) {
    if (p > rest / p) p = rest;
    if (rest % p != 0) continue;
    while (rest % p == 0) rest /= p;
    std::vector<Permutation> powers = generators;
    mpz_class size = order;
    while (size % p == 0) {
      for (Permutation& g : powers) g = power_of(g, p);
      const auto next = orders.count(powers);
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
  auto basis = find_basis(group.degree, generators, factors, orders, budget);
  if (basis.empty()) return std::nullopt;
  Named result = name_elements("", group.order, Kind::abelian, std::move(basis));
  result.factors.clear();
  for (const unsigned long factor : factors) result.factors.push_back({"C_" + std::to_string(factor), std::log10(static_cast<double>(factor))});
  return result;
}

/// Generators that do not commute: <c, s> with c of order n >= 3, s of order 2 and s c s = c^-1 is dihedral of order 2n; when |G| = 2n it is G.
Name name_dihedral(const Group& group, const std::vector<Permutation>& generators, const mpz_class& order) {
  if (order < 6 || order % 2 != 0) return std::nullopt;
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
        return name_elements(half == 3 ? "S_3" : "D_" + half.get_str(), group.order, Kind::dihedral, {c, s});
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

Name name_factor(const Group& group, const Budget& budget);

Name name_wreath(Named inside, std::vector<std::vector<Point>> blocks, const Order& order) {
  const std::string text = print_factors(inside.factors), count = std::to_string(blocks.size());
  Named result{{{"", order.log10()}}, {}};
  // C_2 wr S_k is the hyperoctahedral group; its smallest case is a square's group.
  if (text == "S_2" || text == "C_2") result.factors[0].name = blocks.size() == 2 ? "D_4" : "B_" + count;
  else result.factors[0].name = (text.find(' ') == std::string::npos ? text : "(" + text + ")") + " wr S_" + count;
  result.proof.kind = Kind::blocks;
  result.proof.blocks = std::move(blocks);
  result.proof.proofs.push_back(std::move(inside.proof));
  return result;
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
  std::vector<std::vector<Point>> members;
  const Group inside = make_group(group.degree / blocks.count, act_inside_block(blocks, generators, budget, &members), budget);
  if (inside.is_trivial() || inside.order.value(name_digits) != inside_order) return std::nullopt;
  Name name = name_factor(inside, budget);
  return name ? name_wreath(std::move(*name), std::move(members), group.order) : std::nullopt;
}

/// The cube's group on pairs of opposite facets: points have numbers whose bits say on which side they lie.
Name name_cube(const std::vector<Point>& corner, Point dimension, const Order& order) {
  NameProof::Family facets;
  std::vector<std::vector<Point>> pairs;
  for (Point axis = 0; axis < dimension; ++axis) {
    pairs.push_back({2 * axis, 2 * axis + 1});
    for (const Point side : {0u, 1u}) {
      facets.sets.emplace_back();
      for (Point x = 0; x < corner.size(); ++x) {
        if (((corner[x] >> axis) & 1u) == side) facets.sets.back().push_back(x);
      }
    }
  }
  Named result;
  add_factor(result, std::move(facets), *name_wreath(name_symmetric(2), std::move(pairs), order));
  return result;
}

/// The blocks as a family of sets.
NameProof::Family take_blocks(const BlockSystem& blocks) {
  NameProof::Family family;
  family.sets.resize(blocks.count);
  for (Point x = 0; x < blocks.block_of.size(); ++x) family.sets[blocks.block_of[x]].push_back(x);
  return family;
}

/// A transitive group of at most `largest_degree` points.
Name name_transitive(const Group& group, const mpz_class& order, const Budget& budget) {
  const Point n = group.degree;
  if (order == factorial(n)) return name_symmetric(n);
  const auto generators = list_generators(group, static_cast<std::size_t>(n) + group.generators.size());
  if (n >= 8 && (n & (n - 1)) == 0) {
    unsigned long dimension = 0;
    while ((Point{1} << dimension) < n) ++dimension;
    if (order == n * factorial(dimension)) {
      const std::vector<Point> corner = find_cube(n, generators, budget);
      if (!corner.empty()) return name_cube(corner, static_cast<Point>(dimension), group.order);
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
      Name left_name = name_factor(left, budget), right_name = name_factor(right, budget);
      if (!left_name || !right_name || left.is_trivial() || right.is_trivial()) continue;
      Named product;
      add_factor(product, take_blocks(systems[a]), std::move(*left_name));
      add_factor(product, take_blocks(systems[b]), std::move(*right_name));
      return product;
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
    Name left_name = name_factor(left, budget), right_name = name_factor(right, budget);
    if (!left_name || !right_name) return std::nullopt;
    Named product;
    add_factor(product, take_points(inside), std::move(*left_name));
    add_factor(product, take_points(outside), std::move(*right_name));
    return product;
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
    std::vector<std::pair<Point, Point>> moves;  // a few: there may be as many generators as classes
    for (std::size_t k = 0; k < g.moved().size(); ++k) moves.emplace_back(class_of[g.moved()[k]], class_of[g.image()[k]]);
    std::sort(moves.begin(), moves.end());
    moves.erase(std::unique(moves.begin(), moves.end()), moves.end());
    std::vector<Point> from, to;
    for (const auto& [c, image] : moves) {
      from.push_back(c);
      to.push_back(image);
    }
    quotient.push_back(Permutation::from_support(std::move(from), std::move(to)));
  }
  const Fold fold = find_fold(count, quotient, budget);
  std::vector<Point> block_of(count, 0), first;  // of a class; the first class of every kind
  Point blocks = 0;
  Order expected;
  for (Point c = 0; c < count; ++c) {
    if (fold.base[c] == c) block_of[c] = blocks++;
    if (fold.orbit[c] != c) continue;
    if (fold.base[c] == c && c != 0) return std::nullopt;  // a second orbit that is no copy
    first.push_back(c);
  }
  if (blocks < 2 || first.size() > most_factors) return std::nullopt;
  for (const Point members : size) expected.multiply_factorial(members);
  expected.multiply_factorial(blocks);
  if (!(expected == group.order)) return std::nullopt;
  // A block lists its points kind by kind.
  std::vector<std::vector<Point>> points(count), members(blocks);
  for (Point x = 0; x < group.degree; ++x) points[class_of[x]].push_back(x);
  Named inside;
  Point position = 0;
  for (const Point kind : first) {
    for (Point c = 0; c < count; ++c) {
      auto& block = members[block_of[fold.base[c]]];
      if (fold.orbit[c] == kind) block.insert(block.end(), points[c].begin(), points[c].end());
    }
    std::vector<Point> positions(size[kind]);
    std::iota(positions.begin(), positions.end(), position);
    position += size[kind];
    if (size[kind] > 1) add_factor(inside, take_points(positions), name_symmetric(size[kind]));
  }
  if (inside.proof.proofs.size() == 1 && first.size() == 1) inside.proof = NameProof(inside.proof.proofs[0]);
  return name_wreath(std::move(inside), std::move(members), group.order);
}

/// One component: everything is tied together, and nothing is fixed.
Name name_component(const Group& group, const Budget& budget) {
  const auto& classes = group.symmetric_classes;
  if (classes.size() == 1 && classes[0].size() == group.degree) return name_symmetric(group.degree);
  if (const Name name = name_blocks_of_classes(group, budget)) return name;
  const auto order = group.order.value(name_digits);
  if (!order) return std::nullopt;
  if (*order == 2) return name_elements("C_2", group.order, Kind::abelian, list_generators(group, 1));
  const bool large = group.degree > largest_degree;
  std::vector<Permutation> generators = large && !group.symmetric_classes.empty() ? std::vector<Permutation>()
                                                                                   : list_generators(group, group.degree + group.generators.size());
  const auto orbits = list_classes(group.orbit);
  if (!large) {
    if (const Name name = name_product(group, orbits, *order, budget)) return name;
  }
  if (generators.empty()) return std::nullopt;
  if (generators.size() <= most_generators) {
    const Budget own = budget;
    if (Name name = do_commute(group.degree, generators, own) ? name_abelian(group, generators, *order, budget) : name_dihedral(group, generators, *order)) return name;
  }
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
    if (Name name = name_factor(action, budget)) {
      Named result;
      add_factor(result, take_points(*orbit), std::move(*name));
      return result;
    }
  }
  const auto blocks = find_common_blocks(group.degree, generators, orbits, budget);
  return blocks ? name_by_blocks(group, *order, *blocks, generators, budget) : std::nullopt;
}

Name name_factor(const Group& group, const Budget& budget) {
  budget.poll();
  if (group.is_trivial()) return Named{};
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
  Named product;
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
    const bool whole = components[c].size() == group.degree;
    Name name = whole ? name_component(group, budget) : name_component(restrict_to(group, components[c], known ? &*known : nullptr, budget), budget);
    if (!name || (components[c].size() == group.degree && name->factors.size() <= most_factors)) return name;
    add_factor(product, take_points(components[c]), std::move(*name));
  }
  if (product.factors.size() > most_factors) return std::nullopt;
  return product;
}

}  // namespace

std::optional<ProvedName> find_proved_name(const Group& group, const Budget& callers_budget) {
  if (group.is_trivial()) return ProvedName{"trivial", {}};
  // S_2 is said of two points; elsewhere an involution on its own is C_2.
  if (group.degree > 2 && group.order == Order(mpz_class(2))) {
    return ProvedName{"C_2", name_elements("", group.order, Kind::abelian, list_generators(group, 1)).proof};
  }
  std::uint64_t steps = most_name_steps;
  Budget budget = callers_budget;
  budget.steps_left = &steps;
  try {
    Name name = name_factor(group, budget);
    if (!name) return std::nullopt;
    return ProvedName{print_factors(name->factors), std::move(name->proof)};
  } catch (const BudgetExhausted&) {
    return std::nullopt;  // a name is decoration: work beyond the limits of a proof leaves it out
  }
}

std::optional<std::string> find_name(const Group& group, const Budget& budget) {
  auto name = find_proved_name(group, budget);
  return name ? std::optional(std::move(name->text)) : std::nullopt;
}

}  // namespace sightline::group
