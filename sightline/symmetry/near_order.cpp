#include "sightline/symmetry/near_order.hpp"

namespace sightline::symmetry {

namespace {

/// Neighbours at this mean distance are near: some cells of a cache.
constexpr std::uint64_t near = 512;
/// A new numbering must bring neighbours so many times nearer.
constexpr std::uint64_t least_gain = 4;
/// Structures of more neighbours per vertex have no order that is worth much.
constexpr std::uint64_t most_neighbours = 128;
/// Vertices with more than so many times the mean number of neighbours are hubs.
constexpr std::uint64_t hub_times = 8;
/// One vertex in so many is looked at to find out how near neighbours are.
constexpr Vertex sampled = 16;

std::uint64_t distance(Vertex x, Vertex y) { return x < y ? y - x : x - y; }

}  // namespace

std::optional<std::vector<Vertex>> find_near_order(const ArcLists& arcs, Vertex n, const Budget& budget) {
  const std::uint64_t listed = arcs.neighbours.size();
  if (n == 0 || listed > most_neighbours * n) return std::nullopt;
  const auto begin = [&](Vertex v) { return arcs.begin_of(arcs.first_bundle[v]); };
  const auto for_each_neighbour = [&](Vertex v, auto&& visit) {
    const std::uint32_t end = begin(v + 1);
    for (std::uint32_t k = begin(v); k < end; ++k) visit(arcs.neighbours[k]);
  };
  const std::uint64_t hub = hub_times * (listed / n + 1);
  const auto is_hub = [&](Vertex v) { return begin(v + 1) - begin(v) > hub; };
  std::uint64_t before = 0, after = 0, looked_at = 0;
  for (Vertex v = 0; v < n; v += sampled) {
    if (is_hub(v)) continue;
    for_each_neighbour(v, [&](Vertex y) { before += distance(v, y); });
    looked_at += begin(v + 1) - begin(v);
  }
  if (before <= near * looked_at) return std::nullopt;
  budget.ask(std::uint64_t{n} * 8);
  constexpr Vertex nobody = ~Vertex{0};
  std::vector<Vertex> order, number(n, nobody), hubs;
  order.reserve(n);
  const auto meet = [&](Vertex v) {
    number[v] = static_cast<Vertex>(order.size());
    order.push_back(v);
  };
  for (Vertex v = 0; v < n; ++v) {
    if (!is_hub(v)) continue;
    number[v] = n;  // until all others are met
    hubs.push_back(v);
  }
  before = 0;
  for (Vertex start = 0, head = 0; start < n; ++start) {
    if (number[start] != nobody) continue;
    for (meet(start); head < order.size(); ++head) {
      const Vertex v = order[head];
      if (head % 64 == 0) budget.poll();
      for_each_neighbour(v, [&](Vertex y) {
        if (number[y] == nobody) meet(y);
        if (number[y] == n) return;
        before += distance(v, y);
        after += distance(head, number[y]);
      });
    }
  }
  if (after * least_gain > before) return std::nullopt;
  for (const Vertex v : hubs) meet(v);
  return order;
}

RunGraph renumber(const RunGraph& graph, const std::vector<Vertex>& order, const Budget& budget) {
  const ArcLists& old = *graph.arcs;
  const Vertex n = graph.vertices;
  budget.ask(old.neighbours.size() * sizeof(Vertex) + old.bundles.size() * sizeof(ArcLists::Bundle) + std::uint64_t{n} * 24);
  std::vector<Vertex> number(n);
  for (Vertex k = 0; k < n; ++k) number[order[k]] = k;
  RunGraph result;
  result.vertices = n;
  result.relations = graph.relations;
  ArcLists arcs;
  arcs.first_bundle.reserve(std::size_t{n} + 1);
  arcs.bundles.reserve(old.bundles.size());
  arcs.neighbours.resize(old.neighbours.size());
  result.vertex_colour.reserve(n);
  result.initial_keys.reserve(n);
  Vertex* out = arcs.neighbours.data();
  for (Vertex k = 0; k < n; ++k) {
    if (k % 64 == 0) budget.poll();
    const Vertex v = order[k];
    result.vertex_colour.push_back(graph.vertex_colour[v]);
    result.initial_keys.push_back(graph.initial_keys[v]);
    arcs.first_bundle.push_back(static_cast<std::uint32_t>(arcs.bundles.size()));
    std::uint32_t m = old.begin_of(old.first_bundle[v]);
    for (std::uint32_t b = old.first_bundle[v]; b < old.first_bundle[v + 1]; ++b) {
      for (; m < old.bundles[b].end; ++m) *out++ = number[old.neighbours[m]];
      arcs.bundles.push_back(old.bundles[b]);
      arcs.bundles.back().end = static_cast<std::uint32_t>(out - arcs.neighbours.data());
    }
  }
  arcs.first_bundle.push_back(static_cast<std::uint32_t>(arcs.bundles.size()));
  result.arcs = std::move(arcs);
  return result;
}

}  // namespace sightline::symmetry
