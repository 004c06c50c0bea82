// What is concluded about all views at once, beside all isomorphisms there are, listed one by one.
#pragma once

#include <doctest/doctest.h>

#include "../unit/sight/oracle.hpp"
#include "sightline/sight/isomorphisms.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

/// Calls visit(a, seen, map) for every isomorphism of the view of a to any other: map[j] is the image of j where seen[j]. Stops when a visit returns false, and then does so.
template <class Visit>
bool each_isomorphism(const Layout& layout, std::uint64_t depth, const Visit& visit) {
  const Vertex n = layout.tokens;
  ViewQuestion question;
  question.layout = &layout;
  const auto classes = list_isomorphisms(question, depth, 1'000'000, unlimited);
  REQUIRE(classes);
  const auto seen = oracle::see(layout, depth);
  std::vector<Vertex> back(n), composed(n);
  for (const RootClass& alike : *classes) {
    for (const auto& [a, from] : alike.to) {
      // Maps a -> b are those root -> b behind one of a -> root.
      for (Vertex j = 0; j < n; ++j) {
        if (seen[alike.root][j]) back[from.front()[j]] = j;
      }
      for (const auto& [b, maps] : alike.to) {
        for (const std::vector<Vertex>& map : maps) {
          for (Vertex j = 0; j < n; ++j) {
            if (seen[a][j]) composed[j] = map[back[j]];
          }
          if (!visit(a, seen[a], composed)) return false;
        }
      }
    }
  }
  return true;
}

/// Is the map the identity, or the reflection where that is allowed?
inline bool is_identity_or_reflection(const std::vector<bool>& seen, const std::vector<Vertex>& map, bool reflections) {
  const auto n = static_cast<Vertex>(map.size());
  bool same = true, reflected = reflections;
  for (Vertex j = 0; j < n; ++j) {
    if (!seen[j]) continue;
    same = same && map[j] == j;
    reflected = reflected && map[j] == n - 1 - j;
  }
  return same || reflected;
}

/// Is every isomorphism of views the identity, or the reflection where that is allowed? @param but  sorted; of the views of these roots nothing is asked
inline bool is_so(const Layout& layout, std::uint64_t depth, bool reflections, const std::vector<Vertex>& but = {}) {
  return each_isomorphism(layout, depth, [&](Vertex a, const auto& seen, const auto& map) {
    return std::binary_search(but.begin(), but.end(), a) || is_identity_or_reflection(seen, map, reflections);
  });
}

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

/// How many views were taken away, and how many of these of layouts with twins; layouts of which some were.
struct Dropped {
  int views = 0, beside_twins = 0, kept = 0, partly = 0;
};

/// Takes away, of one root per orbit, those of whose views it is claimed that isomorphisms stay within symmetric classes, and looks at all of these.
/// @param drop  (number, roots): in the library; were there any? @param drop_there  (number, roots): in the checker
template <class Drop, class DropThere>
void require_dropped(const Layout& layout, std::uint64_t depth, const group::Group& group, const Drop& drop, const DropThere& drop_there, Dropped& counts) {
  std::vector<Vertex> all;
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if (group.orbit[a] == a) all.push_back(a);
  }
  std::vector<Vertex> left = all, theirs = all;
  const std::vector<Vertex> number = number_symmetric_classes(group);
  const bool were_any = drop(number, left);
  REQUIRE(were_any == (left.size() < all.size()));
  drop_there(number, theirs);
  REQUIRE(theirs == left);
  for (const Vertex a : all) {
    const bool is_dropped = !std::binary_search(left.begin(), left.end(), a);
    ++(is_dropped ? counts.views : counts.kept);
    counts.beside_twins += is_dropped && !group.symmetric_classes.empty();
    if (is_dropped) REQUIRE(stays(layout, depth, a, all, number));
  }
  counts.partly += !left.empty() && left.size() < all.size();
}

}  // namespace sightline::sight
