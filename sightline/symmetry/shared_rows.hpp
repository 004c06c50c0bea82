// Rows that many readers share as vertices of their own.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/orbits.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// `graph` with a vertex for every row of each relation that has at most one different row per eight vertices: readers read the vertex of
/// their row, and it reads what they did. Nothing where there is no such relation, and below `least_vertices`.
///
/// Different rows are different sets and every one has a reader, so each automorphism of `graph` goes on to the new vertices in exactly one
/// way, and those of the new graph are these. Refinement of the new graph costs what changes: a row and a column of a grid that come apart
/// from the others touch the other rows and columns once each, and not all vertices through them.
///
/// New vertices follow the old ones, relation by relation, by their first readers. The graph comes without columns (complete() adds them).
/// O(n + runs).
struct NamedRows {
  RunGraph graph;
  Vertex vertices = 0;                        ///< that were there
  std::vector<std::vector<Vertex>> row_of;    ///< by relation that was named, by reader; `hidden` where there is none
  static constexpr Vertex hidden = ~Vertex{0};

  /// A map of the vertices that were there, with what the rows must do then; nothing when they cannot. O(moved log moved).
  [[nodiscard]] std::optional<MovedPairs> extend(MovedPairs moved) const;
};
/// The checker's path has these vertices where the search's has them.
inline constexpr Threshold<Vertex> least_with_named_rows{4096, 2, "shared rows"};
[[nodiscard]] std::optional<NamedRows> name_shared_rows(const RunGraph& graph, const Budget& budget, Vertex least_vertices = least_with_named_rows);

}  // namespace sightline::symmetry
