#include <algorithm>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

// For every vertex (how many it reads) * (how many read it), over the distinct layers.
std::vector<double> compute_traffic(const Layout& layout, const Budget& budget) {
  const Vertex vertices = layout.vertices();
  std::vector<double> reads(vertices, 0), change(static_cast<std::size_t>(vertices) + 1, 0), single(vertices, 0);
  std::vector<layout::Run> row;
  for (const layout::Layer& layer : layout.layers) {
    for (const std::uint32_t r : layer.relations) {
      for (Vertex i = 0; i < vertices; ++i) {
        budget.poll();
        layout.relations[r].pattern().row(i, row);
        for (const layout::Run& run : row) {
          reads[i] += run.size();
          if (run.step == 1) {
            change[run.first] += 1;
            change[run.last + 1] -= 1;
          } else {
            for (std::uint64_t j = run.first; j <= run.last; j += run.step) single[j] += 1;
          }
        }
      }
    }
  }
  double readers = 0;
  for (Vertex j = 0; j < vertices; ++j) {
    readers += change[j];
    reads[j] *= readers + single[j];
  }
  return reads;
}

// The least number of layers after which h sees every wanted column.
std::optional<std::uint64_t> find_full_view(const ReachQuestion& question, Vertex h, const Budget& budget) {
  const auto full = [&](std::uint64_t depth) {
    const auto latest = compute_latest_after(*question.layout, question.skip, depth, h, budget);
    for (Vertex j = 0; j < latest.size(); ++j) {
      if (latest[j] < 0 && is_wanted(question, h, j)) return false;
    }
    return true;
  };
  constexpr std::uint64_t patience = 256;
  std::uint64_t high = 1;
  while (high <= patience && !full(high)) high *= 2;
  if (high > patience) return std::nullopt;
  std::uint64_t low = high / 2;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (full(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::optional<ReachAnswer> answer_by_hubs(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (question.wanted.kind != ClassKind::all || layout.order.empty() || layout.tokens < 2) return std::nullopt;
  const std::vector<double> traffic = compute_traffic(layout, budget);

  // Columns from all over the layout, the least read ones among them.
  std::vector<Vertex> by_traffic(layout.tokens);
  for (Vertex i = 0; i < layout.tokens; ++i) by_traffic[i] = i;
  const Vertex first = question.wanted.ordinary_only ? 1 : 0;
  std::vector<Vertex> columns;
  const Vertex quiet = std::min<Vertex>(16, layout.tokens);
  std::partial_sort(by_traffic.begin(), by_traffic.begin() + quiet, by_traffic.end(), [&](Vertex a, Vertex b) {
    return traffic[a] != traffic[b] ? traffic[a] < traffic[b] : a < b;
  });
  for (Vertex k = 0; k < quiet; ++k) columns.push_back(std::max(first, by_traffic[k]));
  for (std::uint64_t k = 0; k < 48; ++k) {
    columns.push_back(std::max(first, static_cast<Vertex>((layout.tokens - 1) * k / 47)));
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  ReachQuestion sampled = question;
  sampled.count_unseen = false;
  sampled.find_layers = true;
  ReachAnswer below = answer_by_bits(sampled, budget, &columns);
  if (!below.reach.layers) return below;

  std::vector<Vertex> hubs(layout.vertices());
  for (Vertex i = 0; i < layout.vertices(); ++i) hubs[i] = i;
  const Vertex tries = std::min<Vertex>(3, layout.vertices());
  std::partial_sort(hubs.begin(), hubs.begin() + tries, hubs.end(), [&](Vertex a, Vertex b) {
    return traffic[a] != traffic[b] ? traffic[a] > traffic[b] : a < b;
  });
  for (Vertex k = 0; k < tries; ++k) {
    const auto gathered = find_full_view(question, hubs[k], budget);
    if (!gathered || *gathered >= *below.reach.layers) continue;
    ReachQuestion spread = sampled;
    spread.skip = question.skip + *gathered;
    spread.registers_too = true;
    spread.wanted = {};
    const std::vector<Vertex> hub{hubs[k]};
    const ReachAnswer after = answer_by_bits(spread, budget, &hub);
    if (after.reach.layers && *gathered + *after.reach.layers == *below.reach.layers) return below;
  }
  return std::nullopt;
}

}  // namespace sightline::sight
