// The graph that general solvers get: a layered digraph, one copy of the tokens per distinct pattern.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sightline/layout/layout.hpp"

namespace bench {

/// Vertex `layer * vertices + v`; arcs of the pattern of each layer without loops, and one arc from every copy of a vertex to
/// the next one. Colours: layer, loop, and the vertex's own colour. For plain relations only.
struct PeerGraph {
  std::uint32_t vertices = 0;
  std::vector<std::size_t> begin;    ///< vertices + 1
  std::vector<std::uint32_t> head;
  std::vector<std::uint32_t> colour;  ///< 0, 1, ... without gaps
};

/// Nothing when there would be more than `most_arcs` arcs.
[[nodiscard]] std::optional<PeerGraph> make_peer_graph(const sightline::layout::Layout& layout, std::uint64_t most_arcs);

/// What a solver found: the time of its call alone, and the order in decimal ("~" and its log10 when only that is known).
struct Solved {
  double seconds = 0;
  std::string order;
};

/// nauty on the sparse digraph, with or without its adjacency invariant. start_clock is called when the conversion is done.
[[nodiscard]] Solved solve_with_nauty(const PeerGraph& graph, bool with_invariant, const std::function<void()>& start_clock);
/// bliss, splitting the first smallest cell with most joins, or the first largest.
[[nodiscard]] Solved solve_with_bliss(const PeerGraph& graph, bool largest_first, const std::function<void()>& start_clock);

}  // namespace bench
