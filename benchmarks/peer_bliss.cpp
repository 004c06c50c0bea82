#include <bliss/graph.hh>

#include <cmath>

#include "child.hpp"
#include "peer_graph.hpp"

namespace bench {

Solved solve_with_bliss(const PeerGraph& graph, bool largest_first, const std::function<void()>& start_clock) {
  bliss::Digraph digraph(graph.vertices);
  for (std::uint32_t v = 0; v < graph.vertices; ++v) digraph.change_color(v, graph.colour[v]);
  for (std::uint32_t v = 0; v < graph.vertices; ++v) {
    for (std::size_t k = graph.begin[v]; k < graph.begin[v + 1]; ++k) digraph.add_edge(v, graph.head[k]);
  }
  digraph.set_splitting_heuristic(largest_first ? bliss::Digraph::shs_fl : bliss::Digraph::shs_fsm);
  bliss::Stats stats;
  start_clock();
  const double start = processor_time();
  digraph.find_automorphisms(stats, nullptr, nullptr);
  Solved solved;
  solved.seconds = processor_time() - start;
  const long double order = stats.get_group_size_approx();
  if (std::isfinite(order)) solved.order = "~" + std::to_string(static_cast<double>(std::log10(order)));
  return solved;
}

}  // namespace bench
