// Our automorphism group of a structure beside nauty's.
#pragma once

#include <doctest/doctest.h>

#include <optional>

#include "nauty_oracle.hpp"
#include "sightline/group/group.hpp"
#include "sightline/symmetry/automorphism.hpp"

/// False when nauty gave up; then only the generators are checked.
inline bool check_against_nauty(const sightline::symmetry::Structure& structure) {
  namespace symmetry = sightline::symmetry;
  const sightline::Budget budget;
  const sightline::group::Group group = symmetry::compute_automorphisms(structure, budget);
  const std::optional<oracle::Answer> expected = oracle::compute(structure);
  if (!expected) {
    for (const auto& generator : group.generators) REQUIRE(symmetry::is_automorphism(structure, generator, budget));
    return false;
  }
  REQUIRE(group.order == sightline::group::Order(expected->order));
  REQUIRE(group.orbit == expected->orbit);
  return true;
}
