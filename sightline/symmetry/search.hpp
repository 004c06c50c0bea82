// Individualisation-refinement: automorphisms and isomorphisms of one RunGraph without twins to speak of.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/order.hpp"
#include "sightline/symmetry/orbits.hpp"
#include "sightline/symmetry/refinement.hpp"

namespace sightline::symmetry {

/// One step of the first path: which cell was split, at which vertex, and what refinement then found.
struct PathLevel {
  Cell target = 0;
  Vertex chosen = 0;
  std::size_t splits_before = 0;
  Trace trace;
};

/// The first path of the search tree, from the refined root to a discrete partition. `leaf[c]` is the vertex of cell c there,
/// children[children_begin[c]] .. children[children_begin[c+1]-1] are the cells that split off from cell c, oldest first.
struct Path {
  Trace root;
  std::vector<PathLevel> levels;
  std::vector<Vertex> leaf;
  std::vector<std::uint32_t> children_begin;
  std::vector<Cell> children;
};

/// Follows the first path from a fresh Refinement. Cells of vertices with prefer[v] != 0 are individualised first (empty: no
/// preference), so the chain of stabilisers fixes those vertices before the others.
[[nodiscard]] Path follow_first_path(Refinement& tree, const std::vector<std::uint8_t>& prefer, const Budget& budget);

/// The automorphism group of a graph: strong generators along the first path, and its order as orbit-stabiliser product.
struct Automorphisms {
  std::vector<MovedPairs> generators;
  /// Of what the group does to the preferred vertices; the order of the group where all were preferred or none asked for.
  group::Order order;
  std::vector<Vertex> path;  ///< the preferred vertices that the first path individualised
  /// Along `path`, every target cell is one orbit of the generators that fix what comes before: they and refinement prove each other,
  /// and no subtree had to be refuted.
  bool is_tight = true;
};

/// Exact and complete. At every level of the first path, from the bottom up, every vertex of the target cell that is not
/// known to lie in the orbit of the chosen one is either reached by a verified automorphism or its whole subtree is
/// searched in vain. Maps are proposed at every node, not only at leaves: what lies in cells of the same number on both sides
/// stays, the rest of each cell goes to the rest of its counterpart in order. Subtrees that fail are pruned by orbits of
/// stabilisers of what is known.
/// Worst case exponential (as for every known practical method); polynomial on everything that a few individualised vertices
/// make discrete.
[[nodiscard]] Automorphisms search_automorphisms(const RunGraph& graph, const std::vector<std::uint8_t>& prefer, const Budget& budget);

/// Images of an isomorphism a -> b, verified, or nothing when there is none.
[[nodiscard]] std::optional<std::vector<Vertex>> search_isomorphism(const RunGraph& a, const RunGraph& b, const Budget& budget);

}  // namespace sightline::symmetry
