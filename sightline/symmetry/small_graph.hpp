// Small plain structures, read once into bits: no spans, no columns, no fingerprints of runs.
#pragma once

#include <optional>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

inline constexpr Threshold<Vertex> most_small_vertices{1024, 2, "small graphs"};

/// The graph that make_run_graph, the twin quotient and complete() would give, where that is arcs over the vertices as they stand:
/// at most 1,024 vertices, every relation shown in full and of one colour, few arcs or short runs (prefers_arcs), and no twins.
/// Nothing where any of this does not hold, or does not show at once; the general way decides then. Rows are left empty:
/// search_automorphisms walks through arcs alone, and the keys of the initial cells are kept in the graph.
///
/// "No twins" is exact: twins have equal rows and columns once both own places are set, or both cleared. So when in one relation
/// no two vertices agree in a hash of either, there are none; nor are there when none agree in two or three relations together, whichever is chosen in each.
/// O(arcs + relations n^2 / 64).
[[nodiscard]] std::optional<RunGraph> make_small_graph(const Structure& structure, const Budget& budget);

}  // namespace sightline::symmetry
