#include "sightline/group/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/group/chain.hpp"
#include "sightline/group/congruence.hpp"

namespace sightline::group {

namespace {

constexpr std::uint64_t most_regular_elements = 200000;
constexpr std::uint64_t most_regular_images = 100000000;

/// A group from parts whose joint order is known: the classes' factorials stay, the rest becomes one integer if short.
Group assemble(Point degree, std::vector<std::vector<Point>> classes, std::vector<Permutation> generators, const Order& order) {
  Group group;
  group.degree = degree;
  std::sort(classes.begin(), classes.end());
  group.symmetric_classes = std::move(classes);
  std::erase_if(generators, [](const Permutation& g) { return g.is_identity(); });
  group.generators = std::move(generators);
  std::map<std::uint32_t, std::uint64_t> left = order.factorials();
  bool accounted = true;
  for (const auto& members : group.symmetric_classes) {
    const auto entry = left.find(static_cast<std::uint32_t>(members.size()));
    if (entry == left.end() || entry->second == 0) {
      accounted = false;
      break;
    }
    --entry->second;
  }
  group.order = order;
  if (accounted) {
    Order rest(order.rest()), whole;
    for (const auto& [k, exponent] : left) rest.multiply_factorial(k, exponent);
    for (const auto& members : group.symmetric_classes) whole.multiply_factorial(static_cast<std::uint32_t>(members.size()));
    if (const auto value = rest.value()) {
      whole.multiply(*value);
      group.order = whole;
    }
  }
  group.orbit = compute_orbits(degree, group.symmetric_classes, group.generators);
  return group;
}

/// A transposition and a cycle for every class, then the generators: few permutations however large the classes are.
std::vector<Permutation> few_generators(const Group& group) {
  std::vector<Permutation> result;
  for (const auto& members : group.symmetric_classes) {
    result.push_back(Permutation::transposition(members[0], members[1]));
    if (members.size() == 2) continue;
    std::vector<Point> image(members.begin() + 1, members.end());
    image.push_back(members.front());
    result.push_back(Permutation::from_support(members, std::move(image)));
  }
  result.insert(result.end(), group.generators.begin(), group.generators.end());
  return result;
}

Permutation shift(const Permutation& g, Point by) {
  std::vector<Point> moved = g.moved(), image = g.image();
  for (Point& x : moved) x += by;
  for (Point& x : image) x += by;
  return Permutation::from_support(std::move(moved), std::move(image));
}

/// point -> images[point / stride % images.size()] in that coordinate of a row-major array of `degree` points.
Permutation act_on_coordinate(const Permutation& g, Point length, Point stride, Point degree) {
  std::vector<Point> moved, image;
  for (Point high = 0; high < degree; high += length * stride) {
    for (std::size_t k = 0; k < g.moved().size(); ++k) {
      for (Point low = 0; low < stride; ++low) {
        moved.push_back(high + g.moved()[k] * stride + low);
        image.push_back(high + g.image()[k] * stride + low);
      }
    }
  }
  return Permutation::from_support(std::move(moved), std::move(image));
}

Permutation rotation(Point n) {
  std::vector<Point> images(n);
  for (Point x = 0; x < n; ++x) images[x] = (x + 1) % n;
  return Permutation::from_images(images);
}

Permutation reflection(Point n) {
  std::vector<Point> images(n);
  for (Point x = 0; x < n; ++x) images[x] = (n - x) % n;
  return Permutation::from_images(images);
}

}  // namespace

Group make_cyclic_group(Point degree) {
  if (degree <= 2) return make_symmetric_group(degree);
  return assemble(degree, {}, {rotation(degree)}, Order(mpz_class(degree)));
}

Group make_dihedral_group(Point degree) {
  if (degree <= 3) return make_symmetric_group(degree);
  return assemble(degree, {}, {rotation(degree), reflection(degree)}, Order(2 * mpz_class(degree)));
}

Group make_alternating_group(Point degree) {
  if (degree < 3) return make_trivial_group(degree);
  Order order;
  order.multiply_factorial(degree - 2);
  order.multiply(mpz_class(degree) * (degree - 1) / 2);
  std::vector<Permutation> generators{Permutation::from_support({0, 1, 2}, {1, 2, 0})};
  if (degree > 3) {
    // The longest cycle of odd length; with (0 1 2) it generates A_n.
    std::vector<Point> images(degree);
    const Point first = degree % 2 == 0 ? 1 : 0;
    images[0] = 0;
    for (Point x = first; x < degree; ++x) images[x] = x + 1 < degree ? x + 1 : first;
    generators.push_back(Permutation::from_images(images));
  }
  return assemble(degree, {}, std::move(generators), order);
}

Group make_lattice_group(const std::vector<LatticeSide>& sides, const Budget& budget) {
  std::uint64_t degree = 1;
  for (const LatticeSide& side : sides) degree *= side.length;
  if (degree > (std::uint64_t{1} << 31)) throw ArgumentError("a lattice has too many points");
  // Prime factors as coordinates: a point's coordinates, and the point of given coordinates, are read from strides of a
  // renumbered lattice in which every cycle of four is a pair of edges in Gray code.
  struct Prime {
    LatticeSide kind;
    std::size_t side;
    unsigned bit;
  };
  std::vector<Prime> primes;
  for (std::size_t k = 0; k < sides.size(); ++k) {
    const LatticeSide& side = sides[k];
    if (side.length == 1) continue;
    if (side.length == 2) {
      primes.push_back({{2, false}, k, 0});
    } else if (side.cyclic && side.length == 4) {
      primes.push_back({{2, false}, k, 0});
      primes.push_back({{2, false}, k, 1});
    } else {
      primes.push_back({side, k, 0});
    }
  }
  auto coordinates_of = [&](Point point) {
    std::vector<Point> by_side(sides.size());
    for (std::size_t k = sides.size(); k-- > 0;) {
      by_side[k] = point % sides[k].length;
      point /= sides[k].length;
    }
    std::vector<Point> result;
    for (const Prime& prime : primes) {
      const Point c = by_side[prime.side];
      const bool four = sides[prime.side].cyclic && sides[prime.side].length == 4;
      result.push_back(four ? ((c ^ (c >> 1)) >> prime.bit) & 1u : c);
    }
    return result;
  };
  auto point_of = [&](const std::vector<Point>& coordinates) {
    std::vector<Point> by_side(sides.size(), 0);
    for (std::size_t k = 0; k < primes.size(); ++k) by_side[primes[k].side] |= coordinates[k] << primes[k].bit;
    Point point = 0;
    for (std::size_t k = 0; k < sides.size(); ++k) {
      const bool four = sides[k].cyclic && sides[k].length == 4;
      const Point c = four ? by_side[k] ^ (by_side[k] >> 1) : by_side[k];
      point = point * sides[k].length + c;
    }
    return point;
  };
  budget.ask(degree * sizeof(Point) * 2 * (2 * primes.size() + 1));
  auto permutation = [&](auto&& change) {
    std::vector<Point> images(degree);
    for (Point x = 0; x < degree; ++x) {
      budget.poll();
      auto coordinates = coordinates_of(x);
      change(coordinates);
      images[x] = point_of(coordinates);
    }
    return Permutation::from_images(images);
  };
  std::vector<Permutation> generators;
  std::map<std::pair<Point, bool>, std::size_t> last;
  std::map<std::pair<Point, bool>, std::uint32_t> count;
  Order order;
  for (std::size_t k = 0; k < primes.size(); ++k) {
    const LatticeSide kind = primes[k].kind;
    const auto key = std::pair{kind.length, kind.cyclic};
    // Copies of a kind are exchanged, so that one of them carries the automorphisms of all.
    if (const auto previous = last.find(key); previous != last.end()) {
      const std::size_t other = previous->second;
      generators.push_back(permutation([&](std::vector<Point>& c) { std::swap(c[other], c[k]); }));
    } else {
      if (kind.cyclic) generators.push_back(permutation([&](std::vector<Point>& c) { c[k] = (c[k] + 1) % kind.length; }));
      generators.push_back(permutation([&](std::vector<Point>& c) { c[k] = kind.cyclic ? (kind.length - c[k]) % kind.length : kind.length - 1 - c[k]; }));
    }
    last[key] = k;
    order.multiply(mpz_class(kind.cyclic ? 2 * kind.length : 2) * ++count[key]);
  }
  if (degree <= 6) {
    // Small lattices may be complete graphs or have twins: let the classes be found.
    Group group = make_group(static_cast<Point>(degree), generators, budget);
    if (!(group.order == order)) throw InternalError("the automorphisms of a small lattice do not have the order of their formula");
    return group;
  }
  return assemble(static_cast<Point>(degree), {}, std::move(generators), order);
}

Group make_disjoint_product(const Group& a, const Group& b) {
  auto classes = a.symmetric_classes;
  for (const auto& members : b.symmetric_classes) {
    classes.push_back(members);
    for (Point& x : classes.back()) x += a.degree;
  }
  auto generators = a.generators;
  for (const Permutation& g : b.generators) generators.push_back(shift(g, a.degree));
  Order order = a.order;
  order.multiply(b.order);
  return assemble(a.degree + b.degree, std::move(classes), std::move(generators), order);
}

Group make_pair_product(const Group& a, const Group& b) {
  if (b.degree == 1) return a;
  if (a.degree == 1) return b;
  const Point degree = a.degree * b.degree;
  std::vector<Permutation> generators;
  for (const Permutation& g : few_generators(a)) generators.push_back(act_on_coordinate(g, a.degree, b.degree, degree));
  for (const Permutation& g : few_generators(b)) generators.push_back(act_on_coordinate(g, b.degree, 1, degree));
  Order order = a.order;
  order.multiply(b.order);
  return assemble(degree, {}, std::move(generators), order);
}

Group make_wreath_product(const Group& a, const Group& b) {
  if (a.degree == 1) return b;
  const Point degree = a.degree * b.degree;
  std::vector<std::vector<Point>> classes;
  std::vector<Permutation> generators;
  for (Point block = 0; block < b.degree; ++block) {
    for (const auto& members : a.symmetric_classes) {
      classes.push_back(members);
      for (Point& x : classes.back()) x += block * a.degree;
    }
    if (b.orbit[block] != block) continue;  // B brings the generators of one block per orbit to the others
    for (const Permutation& g : a.generators) generators.push_back(shift(g, block * a.degree));
  }
  for (const Permutation& g : few_generators(b)) generators.push_back(act_on_coordinate(g, b.degree, a.degree, degree));
  Order order = a.order;
  order.raise(b.degree);
  order.multiply(b.order);
  return assemble(degree, std::move(classes), std::move(generators), order);
}

Group make_regular_group(const Group& a, const Budget& budget) {
  const auto order = a.order.value(20);
  if (!order || *order > most_regular_elements || *order * a.degree > most_regular_images) {
    throw OutOfReach(fmt::format("regular(...) of a group of order {} on {} points is beyond its limit ({} elements)", a.order.factored(), a.degree, most_regular_elements));
  }
  const auto size = static_cast<Point>(order->get_ui());
  budget.ask(static_cast<std::uint64_t>(size) * a.degree * 8);
  std::vector<Images> generators;
  for (const Permutation& g : list_generators(a, a.degree + a.generators.size())) generators.push_back(g.images(a.degree));
  std::map<Images, Point> number;
  std::vector<const Images*> elements;
  auto meet = [&](Images element) {
    const auto [place, fresh] = number.emplace(std::move(element), static_cast<Point>(elements.size()));
    if (fresh) elements.push_back(&place->first);
    return place->second;
  };
  (void)meet(Permutation().images(a.degree));
  std::vector<std::vector<Point>> left(generators.size());
  for (std::size_t x = 0; x < elements.size(); ++x) {
    budget.poll();
    for (std::size_t k = 0; k < generators.size(); ++k) left[k].push_back(meet(compose(generators[k], *elements[x])));
  }
  if (elements.size() != size) throw InternalError("a group has another number of elements than its order says");
  if (size <= 2) return make_symmetric_group(size);
  std::vector<Permutation> result;
  for (const auto& images : left) result.push_back(Permutation::from_images(images));
  return assemble(size, {}, std::move(result), Order(*order));
}

}  // namespace sightline::group
