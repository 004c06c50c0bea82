// Ways that take roots away whose views need no comparing, beside all isomorphisms of these views.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "checker/views.hpp"
#include "../unit/sight/oracle.hpp"
#include "convert.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/sight/views.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

/// Does every isomorphism of the view of this root to that of any of `all` stay within equal numbers?
inline bool stays(const Layout& layout, std::uint64_t depth, Vertex a, const std::vector<Vertex>& all, const std::vector<Vertex>& number) {
  const auto maker = make_plain_roots(layout, depth);
  const Rooted first = maker->make(a, unlimited);
  for (const group::Permutation& g : group::list_generators(symmetry::compute_automorphisms(first.structure, unlimited), ~std::size_t{0})) {
    for (Vertex j = 0; j < layout.tokens; ++j) {
      if (first.seen[j] && number[g(j)] != number[j]) return false;
    }
  }
  return std::none_of(all.begin(), all.end(), [&](Vertex b) { return b != a && symmetry::find_isomorphism(first.structure, maker->make(b, unlimited).structure, unlimited); });
}

/// Takes away, of one root per orbit of 6,000 random layouts, those of whose views it is claimed that isomorphisms stay within symmetric classes, and looks at all of these.
/// @param draw  (random): a layout. @param drop  (layout, group, depth, roots): in the library; were there any? @param drop_there  (layout, group, depth, roots): in the checker
template <class Draw, class Drop, class DropThere>
void require_dropped(std::uint64_t seed, std::uint64_t most_depth, const Draw& draw, const Drop& drop, const DropThere& drop_there) {
  std::mt19937_64 random(seed);
  int dropped = 0, of_twins = 0, kept = 0, partly = 0;
  for (int k = 0; k < 6000; ++k) {
    CAPTURE(k);
    const Layout layout = draw(random);
    const group::Group group = symmetry::compute_layout_group(layout, unlimited);
    const std::uint64_t depth = 1 + random() % most_depth;
    std::vector<Vertex> all;
    for (Vertex a = 0; a < layout.tokens; ++a) {
      if (group.orbit[a] == a) all.push_back(a);
    }
    std::vector<Vertex> left = all, theirs = all;
    const bool were_any = drop(layout, group, depth, left);
    REQUIRE(were_any == (left.size() < all.size()));
    drop_there(convert::to_checker(layout), group, depth, theirs);
    REQUIRE(theirs == left);
    const std::vector<Vertex> number = number_symmetric_classes(group);
    for (const Vertex a : all) {
      const bool is_dropped = !std::binary_search(left.begin(), left.end(), a);
      ++(is_dropped ? dropped : kept);
      of_twins += is_dropped && !group.symmetric_classes.empty();
      if (is_dropped) REQUIRE(stays(layout, depth, a, all, number));
    }
    partly += !left.empty() && left.size() < all.size();
  }
  MESSAGE(dropped, " views told, ", of_twins, " of them beside twins, ", kept, " not; ", partly, " layouts in part");
  CHECK(dropped > 3000);
  CHECK(of_twins > 800);
  CHECK(kept > 3000);
  CHECK(partly > 200);
}

}  // namespace sightline::sight
