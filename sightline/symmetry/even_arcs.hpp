// Arcs that say nothing once refinement is done: all those from one cell to another, where there is every one of them.
#pragma once

#include <optional>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// `graph` with the cells of its equitable partition as colours, and without the arcs from a cell A to a cell C that hold, in one colour of one
/// relation, every pair but loops. Automorphisms keep cells, so they keep such arcs as well: the group is the same, and so is every refinement
/// of the cells (docs/theory.md 16.97). Nothing where fewer than half of the arcs would go, or where no row holds much of the graph.
///
/// Summaries that everybody reads cost every level of the search all vertices; without these arcs it costs what is near the vertex that is named.
/// O(refinement + runs + arcs that are left). `graph` must be complete(); the result is.
[[nodiscard]] std::optional<RunGraph> drop_even_arcs(const RunGraph& graph, const Budget& budget);

}  // namespace sightline::symmetry
