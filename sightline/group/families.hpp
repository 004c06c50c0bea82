// The groups of the group language, built with their orders in closed form, and the products of groups.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

/// x -> x + c on Z_n, n >= 1.
[[nodiscard]] Group make_cyclic_group(Point degree);
/// x -> c + x and c - x on Z_n: order 2n for n >= 3, and what is left of it on 2 points (order 2) and 1 (order 1).
[[nodiscard]] Group make_dihedral_group(Point degree);
/// Even permutations: order n!/2 for n >= 2.
[[nodiscard]] Group make_alternating_group(Point degree);

/// One side of a lattice: a path or a cycle on `length` >= 1 points.
struct LatticeSide {
  Point length = 1;
  bool cyclic = false;
};
/// All automorphisms of the Cartesian product of paths and cycles on row-major points (the last side runs fastest). A
/// cycle of 1 or 2 points is a point or an edge, as in a simple graph.
/// Sabidussi and Vizing: a connected graph has one factorisation into prime graphs, and its automorphisms are those of the
/// factors and the exchanges of isomorphic factors. Paths (>= 2 points) and cycles are prime, but for the cycle of 4,
/// which is two edges. So |Aut| = product over kinds of factors of |Aut(factor)|^m m!. The cube is k sides of 2 points.
[[nodiscard]] Group make_lattice_group(const std::vector<LatticeSide>& sides, const Budget& budget);

/// A x B on the disjoint union: A's points first.
[[nodiscard]] Group make_disjoint_product(const Group& a, const Group& b);
/// A * B on pairs, row-major: (i, j) is i * degree(B) + j.
[[nodiscard]] Group make_pair_product(const Group& a, const Group& b);
/// A wr B: degree(B) blocks of degree(A) consecutive points, a copy of A inside each, B moves the blocks.
[[nodiscard]] Group make_wreath_product(const Group& a, const Group& b);
/// A on itself, g: x -> g x. Points are the elements in breadth-first order from the identity (point 0), products by the
/// generators from the left, in the order of list_generators: regular(C_n) is C_n. Throws BudgetExhausted above 200,000
/// elements or 10^8 stored images.
[[nodiscard]] Group make_regular_group(const Group& a, const Budget& budget);

}  // namespace sightline::group
