// Inside of natural_order.hpp: tokens in a row, each the one that reads most of those before it.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/joined_rows.hpp"

namespace sightline::layout {

/// The tokens in the order of a walk from one of the shortest rows, on to the token that reads most of those that were met (maximum adjacency), of several to one of the shortest rows, then to the one
/// whose row has most in common with the last one; and back again from where that ends. Windows with far tokens beside, which make nearly every row a little like every other (strided rows both ways), come out in their order
/// (docs/theory.md 16.109). Tokens that read a quarter of all are set aside, and come last. Nothing where too many are alike too often. O(arcs), and the rows of those that are alike.
[[nodiscard]] std::optional<std::vector<Vertex>> chain_by_neighbours(const JoinedRows& rows, const Budget& budget);

}  // namespace sightline::layout
