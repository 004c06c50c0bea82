// Inside of natural_order.hpp: tokens in a row, each next to one whose rows are most like its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/joined_rows.hpp"

namespace sightline::layout {

/// The tokens in the order of a walk that goes on, from one of the shortest rows, to the token not yet met whose row differs least from the last one: windows and circles of them come out in their order,
/// dilated ones residue by residue. Members that many rows hold, and tokens that read many, are set aside; these tokens come last. Where that takes too long to follow, or rows have no more than half in
/// common, they are chained by neighbours (neighbour_chain.hpp). Nothing where neighbours have less (random graphs). O(arcs that change from step to step, and tokens with a member in common).
[[nodiscard]] std::optional<std::vector<Vertex>> chain_by_likeness(const JoinedRows& rows, std::uint32_t columns, const Budget& budget);

}  // namespace sightline::layout
