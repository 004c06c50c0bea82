// Views on grids on which all is the same a row and a column further on, and arcs lead down the line (docs/theory.md 16.104).
//
// One layer, again and again: at depth m the rows of what a root sees are in sight but for its frontier, what it sees after m layers and not after m - 1. With one
// name for all of the frontier, rows name the rest recursively, from the first token on, and isomorphisms of views keep these names: they depend on the frontier alone.
//  1. Roots of which each sees of one set its frontier, and nothing else, are named in one pass. If names differ, everything outside of the frontier stays in place.
//  2. A token of the frontier is told from others of it by who reads it in sight.
//  3. Between two views there is no isomorphism if their roots have different names.
#include <algorithm>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/descending_views.hpp"
#include "sightline/sight/reach_planes.hpp"
#include "sightline/sight/root_hash.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

class PlaneViews {
public:
  PlaneViews(const Layout& layout, const Plane& plane, PlaneOffsets offsets, const Budget& budget)
      : layout_(layout), plane_(plane), offsets_(std::move(offsets)), budget_(budget), booking_(budget, 48 * std::uint64_t{layout.tokens}), counter_(layout.tokens) {
    const layout::Pattern& pattern = layout.relations[layout.layer(1).relations.front()].pattern();
    std::vector<layout::Run> row;
    for (Vertex i = 0; i < layout.tokens; ++i) {
      pattern.row(i, row);
      loops_.push_back(!row.empty() && row.back().last == i);
    }
  }

  /// The frontier, ascending.
  void find_frontier(Vertex root, std::vector<Vertex>& frontier) const {
    frontier.clear();
    const Vertex r = root / plane_.width;
    const std::int64_t c = root % plane_.width;
    const std::vector<PlaneOffsets::Offset>& last = offsets_.last();
    for (auto at = std::partition_point(last.begin(), last.end(), [&](const PlaneOffsets::Offset& offset) { return offset.up > r; }); at != last.end(); ++at) {
      if (c + at->across >= 0 && c + at->across < plane_.width) frontier.push_back(static_cast<Vertex>(root - at->up * plane_.width + at->across));
    }
  }

  /// Is all that the root sees of `common` its frontier, of so many?
  [[nodiscard]] bool has_frontier_within(Vertex root, std::size_t size, const std::vector<Vertex>& common) const {
    std::size_t met = 0;
    for (const Vertex j : common) {
      if (j > root) break;
      const Vertex up = root / plane_.width - j / plane_.width;
      const std::int64_t across = std::int64_t{j % plane_.width} - root % plane_.width;
      if (!offsets_.is_seen(up, across)) continue;
      if (offsets_.is_row_seen(up, across)) return false;
      ++met;
    }
    return met == size;
  }

  /// False where two tokens outside of the frontier have one name.
  bool name_tokens(const std::vector<Vertex>& frontier) {
    const Vertex width = plane_.width, tokens = layout_.tokens;
    hidden_.assign(tokens, false);
    for (const Vertex j : frontier) hidden_[j] = true;
    name_.resize(tokens);
    sum_.assign(tokens + plane_.height, 0);  // over the columns before, one more in each grid row
    for (Vertex r = 0, i = 0; r < plane_.height; ++r) {
      budget_.poll();
      for (Vertex c = 0; c < width; ++c, ++i) {
        std::uint64_t value = mix(layout_.vertex_colour[i] + (loops_[i] ? 0x1001 : 0x2002));
        if (hidden_[i]) {
          value = mix(layout_.vertex_colour[i] + 0x4004);
        } else {
          for (const Plane::Run& run : plane_.runs[layout_.order.front()]) value += run.up > r ? 0 : over(r - run.up, c + run.first, c + run.last);
          value = mix(value);
        }
        name_[i] = value;
        sum_[i + r + 1] = sum_[i + r] + mix(value + 1);
      }
    }
    return counter_.count(name_, 0, tokens, [this](std::size_t i) { return !hidden_[i]; }) + frontier.size() == tokens;
  }
  [[nodiscard]] std::uint64_t name(Vertex i) const { return name_[i]; }

  /// Behind name_tokens: are all of the frontier read by others, of what the root has in sight?
  bool do_readers_differ(Vertex root, const std::vector<Vertex>& frontier) {
    const std::int64_t width = plane_.width, r = root / width, c = root % width;
    read_.clear();
    for (const Vertex j : frontier) {
      std::uint64_t readers = mix(layout_.vertex_colour[j]);
      for (const Plane::Run& run : plane_.runs[layout_.order.front()]) {
        const std::int64_t up = j / width + run.up;
        for (std::int64_t column = std::max<std::int64_t>(0, j % width - run.last); up <= r && column <= std::min(width - 1, j % width - run.first); ++column) {
          const std::int64_t i = up * width + column;
          if (offsets_.is_row_seen(static_cast<Vertex>(r - up), column - c)) readers += name_[static_cast<std::size_t>(i)];
        }
      }
      read_.push_back(readers);
    }
    std::sort(read_.begin(), read_.end());
    return std::adjacent_find(read_.begin(), read_.end()) == read_.end();
  }

private:
  /// The sum over columns first .. last of a grid row, as far as they are on the grid.
  [[nodiscard]] std::uint64_t over(Vertex r, std::int64_t first, std::int64_t last) const {
    first = std::max<std::int64_t>(first, 0);
    last = std::min<std::int64_t>(last, plane_.width - 1);
    const std::size_t begin = std::size_t{r} * (plane_.width + 1);
    return first > last ? 0 : sum_[begin + static_cast<std::size_t>(last) + 1] - sum_[begin + static_cast<std::size_t>(first)];
  }

  const Layout& layout_;
  const Plane& plane_;
  PlaneOffsets offsets_;
  const Budget& budget_;
  Booking booking_;
  std::vector<bool> loops_, hidden_;
  root_hash::DistinctCounter counter_;
  std::vector<std::uint64_t> name_, sum_, read_;
};

}  // namespace

bool do_plane_views_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& all_roots, const Budget& budget) {
  struct Cluster {
    std::vector<Vertex> frontier, roots;
  };
  constexpr Threshold<std::size_t> most_clusters{48, 1, "plane clusters"};
  if (layout.order.empty()) return false;
  const bool one = std::all_of(layout.order.begin(), layout.order.end(), [&](std::uint32_t l) { return l == layout.order.front(); });
  if (!one || depth == 0 || layout.layer(1).relations.size() != 1 || !layout.relations[layout.layer(1).relations.front()].is_plain()) return false;
  const std::shared_ptr<const Plane> plane = recall_plane(layout, budget);
  if (!plane) return false;
  const std::vector<Vertex> roots = find_partial_roots(layout, depth, all_roots, budget);
  std::optional<PlaneOffsets> offsets = find_plane_offsets(layout, *plane, depth, budget);
  if (!offsets || offsets->last().size() * std::uint64_t{roots.size()} > 256 * std::uint64_t{layout.tokens} + (std::uint64_t{1} << 24)) return false;
  PlaneViews views(layout, *plane, *std::move(offsets), budget);
  std::vector<Cluster> clusters;
  std::vector<Vertex> frontier;
  // Those that see the most come first: their frontiers hold what others' do.
  for (std::size_t k = roots.size(); k-- > 0;) {
    budget.poll();
    views.find_frontier(roots[k], frontier);
    const auto mine = std::find_if(clusters.begin(), clusters.end(), [&](const Cluster& cluster) { return views.has_frontier_within(roots[k], frontier.size(), cluster.frontier); });
    if (mine == clusters.end() && clusters.size() == most_clusters) return false;
    if (mine == clusters.end()) clusters.push_back({frontier, {roots[k]}});
    else mine->roots.push_back(roots[k]);
  }
  std::vector<std::uint64_t> names;
  for (const Cluster& cluster : clusters) {
    if (!views.name_tokens(cluster.frontier)) return false;
    for (const Vertex a : cluster.roots) {
      budget.poll();
      views.find_frontier(a, frontier);
      if (!views.do_readers_differ(a, frontier)) return false;
      names.push_back(views.name(a));
    }
  }
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

}  // namespace sightline::sight
