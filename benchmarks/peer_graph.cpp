#include "peer_graph.hpp"

#include <map>
#include <tuple>

namespace bench {

using sightline::layout::Run;
using sightline::layout::Vertex;

std::optional<PeerGraph> make_peer_graph(const sightline::layout::Layout& layout, std::uint64_t most_arcs) {
  const std::size_t n = layout.vertices(), layers = layout.relations.size();
  std::uint64_t arcs = n * (layers - 1);
  for (const auto& relation : layout.relations) {
    if (!relation.is_plain()) return std::nullopt;
    arcs += relation.pattern().arc_count();
  }
  if (arcs > most_arcs) return std::nullopt;
  PeerGraph graph;
  graph.vertices = static_cast<std::uint32_t>(n * layers);
  graph.begin.reserve(n * layers + 1);
  graph.head.reserve(arcs);
  std::map<std::tuple<std::size_t, std::uint64_t, std::uint64_t>, std::uint32_t> names;
  std::vector<std::tuple<std::size_t, std::uint64_t, std::uint64_t>> keys;
  std::vector<Run> row;
  std::vector<std::uint64_t> loops(n, 0);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (Vertex i = 0; i < n; ++i) loops[i] |= std::uint64_t{layout.relations[layer].pattern().reads(i, i)} << layer;
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (Vertex i = 0; i < n; ++i) {
      graph.begin.push_back(graph.head.size());
      layout.relations[layer].pattern().row(i, row);
      for (const Run& run : row) {
        for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
          if (j != i) graph.head.push_back(static_cast<std::uint32_t>(layer * n + j));
        }
      }
      if (layer + 1 < layers) graph.head.push_back(static_cast<std::uint32_t>((layer + 1) * n + i));
      keys.emplace_back(layer, layout.vertex_colour[i], loops[i]);
      names.emplace(keys.back(), 0);
    }
  }
  graph.begin.push_back(graph.head.size());
  std::uint32_t next = 0;
  for (auto& [key, name] : names) name = next++;
  for (const auto& key : keys) graph.colour.push_back(names.at(key));
  return graph;
}

}  // namespace bench
