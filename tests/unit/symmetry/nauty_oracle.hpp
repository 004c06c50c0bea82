// nauty as an oracle: the order and the orbits of a structure's automorphism group.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <vector>

#include "sightline/symmetry/structure.hpp"

namespace oracle {

struct Answer {
  mpz_class order;
  std::vector<sightline::layout::Vertex> orbit;  ///< least member
};

/// Layered copies: vertex v has one copy per binary digit of an arc colour's number, copies of a vertex are joined
/// from layer to layer, and an arc of colour c is drawn in the layers of the digits of c's number. Relations have
/// layers of their own. Vertex colours, visibility and loops colour all copies. Nothing when nauty takes too long.
std::optional<Answer> compute(const sightline::symmetry::Structure& structure);

/// Are the two structures isomorphic (canonical forms agree)? Nothing when nauty takes too long.
std::optional<bool> are_isomorphic(const sightline::symmetry::Structure& a, const sightline::symmetry::Structure& b);

}  // namespace oracle
