#include "sightline/symmetry/near_order.hpp"

#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

namespace {

/// Neighbours at this mean distance are near: some cells of a cache.
constexpr Threshold<std::uint64_t> near{512, 1, "near order"};
/// A new numbering must bring neighbours so many times nearer.
constexpr Threshold<std::uint64_t> least_gain{4, 1, "near order"};
/// Structures of more neighbours per vertex have no order that is worth much.
constexpr std::uint64_t most_neighbours = 128;
/// Vertices with more than so many times the mean number of neighbours are hubs.
constexpr Threshold<std::uint64_t> hub_times{8, 1, "near order"};
/// One vertex in so many is looked at to find out how near neighbours are.
constexpr Threshold<Vertex> sampled{16, 1, "near order"};

std::uint64_t distance(Vertex x, Vertex y) { return x < y ? y - x : x - y; }

}  // namespace

std::optional<std::vector<Vertex>> find_near_order(std::span<const HeadLists* const> lists, Vertex n, const Budget& budget) {
  std::uint64_t listed = 0;
  for (const HeadLists* list : lists) listed += list->heads.size();
  if (n == 0 || listed > most_neighbours * n) return std::nullopt;
  const auto count_neighbours = [&](Vertex v) {
    std::uint64_t count = 0;
    for (const HeadLists* list : lists) count += list->begin[v + 1] - list->begin[v];
    return count;
  };
  const auto for_each_neighbour = [&](Vertex v, auto&& visit) {
    for (const HeadLists* list : lists) {
      for (const Vertex y : list->of(v)) visit(y);
    }
  };
  const std::uint64_t hub = hub_times * (listed / n + 1);
  const auto is_hub = [&](Vertex v) { return count_neighbours(v) > hub; };
  std::uint64_t before = 0, after = 0, looked_at = 0;
  for (Vertex v = 0; v < n; v += sampled) {
    if (is_hub(v)) continue;
    for_each_neighbour(v, [&](Vertex y) { before += distance(v, y); });
    looked_at += count_neighbours(v);
  }
  if (before <= near * looked_at) return std::nullopt;
  budget.ask(std::uint64_t{n} * 8);
  constexpr Vertex nobody = ~Vertex{0};
  std::vector<Vertex> order, number(n, nobody), hubs;
  order.reserve(n);
  const auto meet = [&](Vertex v) {
    for (const HeadLists* list : lists) prefetch_heads(list->heads.data() + list->begin[v]);
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
      });
      if (head % sampled != 0) continue;
      for_each_neighbour(v, [&](Vertex y) {
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

}  // namespace sightline::symmetry
