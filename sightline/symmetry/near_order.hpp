// Numbers that put neighbours near each other: what a round of refinement touches then lies together in memory.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// The vertices in the order in which a walk from vertex 0 in breadth meets them, hubs (of many times the mean number of neighbours) last and
/// walked through by nobody. Nothing where the numbers are near enough already, or where the walk brings neighbours no nearer (random graphs, few
/// layers of many neighbours). O(arcs).
[[nodiscard]] std::optional<std::vector<Vertex>> find_near_order(const ArcLists& arcs, Vertex vertices, const Budget& budget);

/// The graph, of arcs alone (plain_graph.hpp), with vertex order[k] as number k. O(arcs).
[[nodiscard]] RunGraph renumber(const RunGraph& graph, const std::vector<Vertex>& order, const Budget& budget);

}  // namespace sightline::symmetry
