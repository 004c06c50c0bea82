#include "sightline/layout/pair_order.hpp"

namespace sightline::layout {

std::optional<std::vector<Vertex>> order_by_pairs(const std::vector<std::vector<Vertex>>& partner, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  const auto n = static_cast<Vertex>(partner.front().size());
  budget.ask(std::uint64_t{n} * 8);
  constexpr Vertex none = ~Vertex{0};
  std::vector<Vertex> order, place(n, none);
  const auto append = [&](Vertex i) {
    place[i] = static_cast<Vertex>(order.size());
    order.push_back(i);
  };
  for (Vertex start = 0; start < n; ++start) {
    if (place[start] != none) continue;
    const std::size_t begin = order.size();
    append(start);
    for (const auto& joined : partner) {
      budget.poll();
      if (place[joined[start]] != none) continue;
      for (std::size_t k = begin, end = order.size(); k < end; ++k) {
        if (place[joined[order[k]]] != none) return std::nullopt;
        append(joined[order[k]]);
      }
    }
  }
  for (const auto& joined : partner) {
    budget.poll();
    const Vertex apart = place[joined[order[0]]];
    for (Vertex k = 0; k < n; ++k) {
      if (place[joined[order[k]]] != (k ^ apart)) return std::nullopt;
    }
  }
  return order;
}

}  // namespace sightline::layout
