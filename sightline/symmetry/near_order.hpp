// Numbers that put neighbours near each other: what a round of refinement touches then lies together in memory.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/head_lists.hpp"

namespace sightline::symmetry {

/// The vertices in the order in which a walk from vertex 0 in breadth meets them, hubs (of many times the mean number of neighbours) last and
/// walked through by nobody. Neighbours are what `lists` hold of a vertex, all of them together. Nothing where the numbers are near enough already, or
/// where the walk brings neighbours no nearer (random graphs, few layers of many neighbours). O(arcs).
[[nodiscard]] std::optional<std::vector<Vertex>> find_near_order(std::span<const HeadLists* const> lists, Vertex vertices, const Budget& budget);

}  // namespace sightline::symmetry
