// Arcs written out one by one: what refinement and verification walk through where rows have no long runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"
#include "sightline/symmetry/field.hpp"

namespace sightline::symmetry {

using layout::Vertex;
struct RunGraph;

/// The neighbours of every vertex, bundled by the exact kind and colour of the arc. A vertex that is read by v and reads v
/// stands in two bundles, unless the relation is symmetric; then it stands in one.
struct ArcLists {
  enum Kind : std::uint32_t { reader = 0, read = 1, both = 2 };
  struct Bundle {
    std::int64_t colour = 0;
    field::Element weight = 0;  ///< what one neighbour contributes, direction included
    std::uint32_t kind = 0;     ///< 3 relation + Kind
    std::uint32_t end = 0;      ///< one past its last neighbour; it begins where the bundle before ends
    friend bool operator==(const Bundle&, const Bundle&) = default;
  };

  std::vector<std::uint32_t> first_bundle;  ///< by vertex, and one past the last
  std::vector<Bundle> bundles;              ///< of a vertex by ascending (kind, colour)
  std::vector<Vertex> neighbours;           ///< ascending within a bundle, as the vertices were numbered first
  /// Where all arcs weigh the same and are many: one byte per pair, 1 for neighbours, rows of `stride` bytes, a multiple of
  /// 64. Neighbours in a set of vertices are then counted sixteen or more at a time. Else empty.
  std::vector<std::uint8_t> matrix;
  std::size_t stride = 0;

  [[nodiscard]] std::uint32_t begin_of(std::uint32_t bundle) const { return bundle == 0 ? 0 : bundles[bundle - 1].end; }
  /// In all bundles.
  [[nodiscard]] std::span<const Vertex> neighbours_of(Vertex v) const {
    return std::span(neighbours).subspan(begin_of(first_bundle[v]), begin_of(first_bundle[v + 1]) - begin_of(first_bundle[v]));
  }
};

/// Are so many arcs in so many spans cheaper to walk through than the spans?
[[nodiscard]] bool arcs_are_cheaper(std::uint64_t arcs, std::uint64_t spans);

/// Are the rows so short (or so few) that walking through arcs is cheaper than walking through spans? O(spans).
[[nodiscard]] bool prefers_arcs(const RunGraph& graph);

/// Fills graph.arcs, and says which relations are symmetric. Columns as spans are not needed then. O(arcs).
void add_arcs(RunGraph& graph, const Budget& budget);

/// What an arc of that colour weighs, from reader to read.
[[nodiscard]] field::Element arc_weight(std::uint32_t relation, std::int64_t colour);

/// Fills lists.matrix where it pays.
void add_matrix(ArcLists& lists, Vertex vertices);

}  // namespace sightline::symmetry
