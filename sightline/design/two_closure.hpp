// The 2-closure of a permutation group: what patterns on the tokens alone can tell (theory.md 8).
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/design/orbitals.hpp"
#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::design {

/// The pattern of some orbitals on `degree` vertices; colours[k] >= 1 is the colour of orbitals[k] (empty: all 1).
/// O(sum of their sizes), times the depth of the spanning trees above 5,000 points. Throws OutOfReach above 2 * 10^8
/// pairs.
[[nodiscard]] layout::Pattern make_orbital_pattern(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                                   const std::vector<std::uint32_t>& colours, const Budget& budget);

/// The automorphism group of a union of orbitals, each with a colour of its own, and of the orbits on points as
/// colours.
[[nodiscard]] group::Group compute_automorphisms_of(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                                    const Budget& budget);

/// G^(2), the largest group with the orbitals of G: the automorphisms of the complete digraph coloured by them. Exact.
/// 1. Two points: the closure moves a and b, a fixed, where G moves them, because that is what orbitals are. Where
/// colour refinement with a and b fixed
///    tells all points apart, both have order |orbit of a| |orbital of b at a|, and G is 2-closed.
/// 2. Up to 24 orbitals: a few of them whose stable colouring tells all orbitals apart (configuration.hpp); their
/// automorphisms are G^(2).
/// 3. From above: automorphisms of the smallest orbitals; when that group has the order of G it is G, otherwise
///    the smallest orbital that one of its generators breaks is added. So the whole coloured digraph is needed only
///    when every part of it is. Throws OutOfReach when generators must be checked on more than 20,000 points;
///    BudgetExhausted.
[[nodiscard]] group::Group compute_two_closure(const group::Group& group, const Orbitals& orbitals,
                                               const Budget& budget);
/// The same from generators, without their group's order.
[[nodiscard]] group::Group compute_two_closure(const std::vector<group::Permutation>& generators,
                                               const Orbitals& orbitals, const Budget& budget);
/// The order of the 2-closure of what the generators generate, an upper bound for their own: most groups that are asked
/// for are 2-closed, and where the base is long (S_m on pairs) a proof of the order takes far longer than the closure.
/// Nothing below 200 points, where a proof is quick, above 5,000, or when the closure is out of reach.
[[nodiscard]] std::optional<group::Order> bound_order(group::Point degree,
                                                      const std::vector<group::Permutation>& generators,
                                                      const Budget& budget);

} // namespace sightline::design
