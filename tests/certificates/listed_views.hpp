// What is concluded about all views at once, beside all isomorphisms there are, listed one by one.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "../unit/sight/oracle.hpp"
#include "sightline/sight/isomorphisms.hpp"
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

}  // namespace sightline::sight
