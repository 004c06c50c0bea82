// What names are put together from: restrictions, components, elements of abelian groups.
#pragma once

#include <gmpxx.h>

#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

/// The group restricted to an invariant set of points (sorted), renumbered. `order` is left for the caller when told.
[[nodiscard]] Group restrict_to(const Group& group, const std::vector<Point>& points, const Order* order, const Budget& budget);

/// Points grouped by what classes and generators tie together; fixed points are left out.
[[nodiscard]] std::vector<std::vector<Point>> find_components(const Group& group);

[[nodiscard]] mpz_class order_of(const Permutation& g);
[[nodiscard]] Permutation power_of(const Permutation& g, unsigned long exponent);

/// An element of order `order`, the least common multiple of the orders of the commuting generators: for every prime, a power of
/// a generator that carries the whole of it.
[[nodiscard]] Permutation find_cyclic_generator(const std::vector<Permutation>& generators, unsigned long order);

/// Orders of subgroups of one abelian group. Where an orbit of it has as many points as it has elements, each of its elements is known by where
/// it takes one of these points, and a subgroup has as many as that point's orbit under it; elsewhere a stabiliser chain counts.
class SubgroupOrders {
public:
  SubgroupOrders(const Group& group, const mpz_class& order, const Budget& budget);
  /// Nothing where the order is too large to be written out.
  [[nodiscard]] std::optional<mpz_class> count(const std::vector<Permutation>& generators) const;

private:
  const Budget& budget_;
  Point degree_;
  std::optional<Point> regular_;
};

/// Elements of the orders `factors` (every one divides the one before) of which the abelian group is the direct product; nothing
/// when they are not found. An element of the largest order splits off, and so does, in what is left, every further one that is
/// independent of those before: so none is ever taken back. Generators and their products are tried first, then all
/// elements, if they have at most 4 million images together. Nothing when the basis itself has more than 2^22: nobody checks that.
[[nodiscard]] std::vector<Permutation> find_basis(Point degree, const std::vector<Permutation>& generators, const std::vector<unsigned long>& factors,
                                                  const SubgroupOrders& orders, const Budget& budget);

}  // namespace sightline::group
