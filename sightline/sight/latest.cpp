#include <algorithm>
#include <numeric>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

// The next vertex of j, j + step, .. that is not yet seen, for each of the first few steps that occur. What is seen is found out on the way, so
// that every vertex is passed once per step, however many runs hold it.
class Unseen {
public:
  explicit Unseen(const std::vector<std::int64_t>& latest) : latest_(latest) {}

  template <class See>
  void visit(const layout::Run& run, const See& see) {
    std::vector<Vertex>* const next = find_step(run.step);
    if (next == nullptr) {
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
        if (latest_[j] < 0) see(static_cast<Vertex>(j));
      }
      return;
    }
    for (Vertex j = from(*next, run.first, run.step); j <= run.last; j = from(*next, j, run.step)) see(j);
  }

private:
  Vertex from(std::vector<Vertex>& next, Vertex j, Vertex step) const {
    Vertex end = j;
    while (true) {
      if (next[end] != end) end = next[end];
      else if (end < latest_.size() && latest_[end] >= 0) end = next[end] = end + step;
      else break;
    }
    while (next[j] != end) j = std::exchange(next[j], end);
    return end;
  }

  std::vector<Vertex>* find_step(Vertex step) {
    constexpr Threshold<std::size_t> most_steps{4, 1, "latest steps"};
    const auto at = std::find_if(next_.begin(), next_.end(), [step](const auto& entry) { return entry.first == step; });
    if (at != next_.end()) return &at->second;
    if (next_.size() == most_steps) return nullptr;
    std::vector<Vertex>& next = next_.emplace_back(step, std::vector<Vertex>(latest_.size() + step)).second;
    std::iota(next.begin(), next.end(), Vertex{0});
    return &next;
  }

  const std::vector<std::int64_t>& latest_;
  std::vector<std::pair<Vertex, std::vector<Vertex>>> next_;
};

}  // namespace

std::vector<std::int64_t> compute_latest(const Layout& layout, std::uint64_t depth, Vertex root, const Budget& budget) {
  return compute_latest_after(layout, 0, depth, root, budget);
}

std::vector<std::int64_t> compute_latest_after(const Layout& layout, std::uint64_t skip, std::uint64_t depth, Vertex root,
                                               const Budget& budget) {
  if (root >= layout.vertices()) throw ArgumentError("compute_latest: the root is not a vertex of the layout");
  return compute_latest_from(layout, skip, {{root, static_cast<std::int64_t>(depth)}}, budget);
}

std::vector<std::int64_t> compute_latest_from(const Layout& layout, std::uint64_t skip, const std::vector<LateSource>& sources, const Budget& budget) {
  std::vector<std::int64_t> latest(layout.vertices(), -1);
  std::vector<Vertex> active;
  std::size_t started = 0;
  const auto start = [&](std::int64_t q) {
    for (; started < sources.size() && sources[started].time >= q; ++started) {
      if (std::exchange(latest[sources[started].vertex], std::max(latest[sources[started].vertex], sources[started].time)) < 0) active.push_back(sources[started].vertex);
    }
  };
  if (layout.order.empty() || sources.empty()) {
    start(0);
    return latest;
  }
  Unseen unseen(latest);
  // Once layer q of kind l has handed time q-1 to a row, an earlier layer of the same kind has nothing better to give:
  // every vertex is expanded once per distinct layer, going down in q.
  std::vector<std::size_t> expanded(layout.layers.size(), 0);
  const std::vector<bool> used = layout.used_layers();
  std::vector<layout::Run> row;
  Vertex read_from = 0, read_until = 0;  // readers of one row of this layer, which was read already
  for (std::int64_t q = sources.front().time; q >= 1; --q) {
    start(q);
    if (active.size() == layout.vertices()) break;
    const std::uint32_t l = layout.order[(skip + static_cast<std::uint64_t>(q) - 1) % layout.order.size()];
    const std::size_t end = active.size();
    if (expanded[l] == end) {
      bool pending = started < sources.size();
      for (std::size_t k = 0; k < expanded.size(); ++k) pending = pending || (used[k] && expanded[k] != end);
      if (!pending) break;
      continue;
    }
    read_until = 0;
    for (; expanded[l] < end; ++expanded[l]) {
      const Vertex reader = active[expanded[l]];
      if (reader >= read_from && reader < read_until) continue;
      budget.poll();
      read_from = reader;
      read_until = layout.vertices();
      for (const std::uint32_t r : layout.layers[l].relations) {
        const layout::Pattern& pattern = layout.relations[r].pattern();
        read_until = std::min(read_until, pattern.same_row_until(reader));
        pattern.row(reader, row);
        for (const layout::Run& run : row) {
          unseen.visit(run, [&](Vertex j) {
            latest[j] = q - 1;
            active.push_back(j);
          });
        }
      }
    }
  }
  start(0);
  return latest;
}

}  // namespace sightline::sight
