// What is concluded about all views at once, beside all isomorphisms there are, listed one by one.
#pragma once

#include <doctest/doctest.h>

#include "../unit/sight/oracle.hpp"
#include "sightline/sight/isomorphisms.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

/// Is every isomorphism of views the identity, or the reflection where that is allowed?
inline bool is_so(const Layout& layout, std::uint64_t depth, bool reflections) {
  const Vertex n = layout.tokens;
  ViewQuestion question;
  question.layout = &layout;
  const auto classes = list_isomorphisms(question, depth, 1'000'000, unlimited);
  REQUIRE(classes);
  const auto seen = oracle::see(layout, depth);
  for (const RootClass& alike : *classes) {
    for (const auto& [b, maps] : alike.to) {
      for (const std::vector<Vertex>& map : maps) {
        bool same = true, reflected = true;
        for (Vertex j = 0; j < n; ++j) {
          if (!seen[alike.root][j]) continue;
          same = same && map[j] == j;
          reflected = reflected && map[j] == n - 1 - j;
        }
        if (!same && !(reflections && reflected)) return false;
      }
    }
  }
  return true;
}

}  // namespace sightline::sight
