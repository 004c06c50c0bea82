// Graphs that come apart into equal components one after the other, or one between the other: segments of a sequence, residues of a dilated window.
#pragma once

#include <optional>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/run_graph.hpp"
#include "sightline/symmetry/search.hpp"

namespace sightline::symmetry {

/// `count` connected components, each the same as `first` when its vertices are numbered in their order: vertex t of component c is `stride` t + `apart` c.
/// Automorphisms permute the components, and each that maps one to another is, but for an automorphism of the latter, the map that keeps numbers: the group is that of
/// `first`, wreathed with all permutations of the components.
struct EqualComponents {
  RunGraph first;  ///< without columns (complete() adds them)
  Vertex count = 0, stride = 1, apart = 1;

  /// The group of the whole from that of `first`: what it does in each component, and exchanges of neighbouring components. Its path goes through one component
  /// after the other: refinement tells a connected component of which one vertex is known from all others, so that a cell of the whole is one of `first` in all
  /// components that are left, and a tight path stays tight.
  [[nodiscard]] Automorphisms make_whole(const Automorphisms& of_first, const Budget& budget) const;
};

inline constexpr Threshold<Vertex> least_with_equal_components{4096, 2, "equal components"};
/// Nothing where there is one component, where they are not that alike, where rows were never written as spans, and below `least_vertices`. O(n + spans).
[[nodiscard]] std::optional<EqualComponents> find_equal_components(const RunGraph& graph, const Budget& budget, Vertex least_vertices = least_with_equal_components);

}  // namespace sightline::symmetry
