#include <algorithm>
#include <numeric>

#include "reach.hpp"
#include "threshold.hpp"

namespace checker {

std::vector<std::int64_t> compute_latest(const Layout& layout, std::uint64_t depth, Vertex root, std::uint64_t skip) {
  return compute_latest_from(layout, {{static_cast<std::int64_t>(depth), root}}, skip);
}

std::vector<std::int64_t> compute_latest_from(const Layout& layout, std::vector<std::pair<std::int64_t, Vertex>> sources, std::uint64_t skip) {
  std::vector<std::int64_t> latest(layout.vertices(), -1);
  if (sources.empty()) return latest;
  std::sort(sources.begin(), sources.end());
  const auto depth = static_cast<std::uint64_t>(sources.back().first);
  std::vector<Vertex> seen;
  // Sources wait, at the end the next one, until no more layers are left than they have.
  const auto start = [&](std::uint64_t q) {
    for (; !sources.empty() && static_cast<std::uint64_t>(sources.back().first) >= q; sources.pop_back()) {
      if (latest[sources.back().second] < 0) seen.push_back(sources.back().second);
      latest[sources.back().second] = std::max(latest[sources.back().second], sources.back().first);
    }
  };
  if (layout.order.empty()) {
    start(0);
    return latest;
  }
  // By step: the next vertex along it that is not yet seen, which is found out on the way. A few steps, further ones are gone through.
  constexpr Threshold<std::size_t> most_steps{4, 1, "latest steps"};
  std::vector<std::pair<Vertex, std::vector<Vertex>>> nexts;
  const auto find_next = [&](Vertex step) -> std::vector<Vertex>* {
    for (auto& [known, next] : nexts) {
      if (known == step) return &next;
    }
    if (nexts.size() == most_steps) return nullptr;
    std::vector<Vertex>& next = nexts.emplace_back(step, std::vector<Vertex>(std::size_t{layout.vertices()} + step)).second;
    std::iota(next.begin(), next.end(), Vertex{0});
    return &next;
  };
  const auto unseen_from = [&](std::vector<Vertex>& next, Vertex j, Vertex step) {
    while (j < layout.vertices() && latest[j] >= 0) {
      if (next[j] == j) next[j] = j + step;
      j = next[j] = next[next[j]];
    }
    return j;
  };
  // Going down in q, a vertex hands on its time once per distinct layer: an earlier layer of the same kind has nothing better.
  std::vector<std::size_t> expanded(layout.layers.size(), 0);
  std::vector<Run> row;
  Vertex read_from = 0, read_until = 0;  // readers of one row, the last one that was read
  std::uint32_t read_layer = 0;
  std::size_t idle = 0;
  for (std::uint64_t q = depth; q >= 1 && (idle < layout.order.size() || !sources.empty()); --q) {
    const std::size_t before = seen.size();
    start(q);
    if (seen.size() == layout.vertices()) break;
    const std::uint32_t l = layout.order[(skip + q - 1) % layout.order.size()];
    const std::size_t end = seen.size();
    for (; expanded[l] < end; ++expanded[l]) {
      const Vertex reader = seen[expanded[l]];
      if (reader >= read_from && reader < read_until && read_layer == l) continue;  // all that it reads is seen
      read_layer = l;
      read_from = reader;
      read_until = layout.vertices();
      for (const std::uint32_t r : layout.layers[l]) {
        const Pattern& pattern = *layout.relations[r].pattern;
        pattern.row(reader, row);
        read_until = std::min(read_until, pattern.same_row_until(reader));
        for (const Run& run : row) {
          std::vector<Vertex>* const next = find_next(run.step);
          for (Vertex j = run.first; j <= run.last; j += run.step) {
            if (next != nullptr && (j = unseen_from(*next, j, run.step)) > run.last) break;
            if (latest[j] >= 0) continue;
            latest[j] = static_cast<std::int64_t>(q - 1);
            seen.push_back(j);
          }
        }
      }
    }
    idle = seen.size() == before ? idle + 1 : 0;
  }
  start(0);
  return latest;
}

}  // namespace checker
