// Views on grids on which all is the same a row and a column further on, of one layer whose arcs lead down the line (theory 16.104).
//
// At depth m a root has the rows of what it sees in sight, but for its frontier: what came into sight in the last layer. Where all of a frontier share a name, rows
// name everything else, from the first token on, and isomorphisms of views keep these names. Distinct ones fix what they name; frontiers are told by their readers in
// sight; roots of different names are roots of views that are not isomorphic.
#include <algorithm>
#include <unordered_set>

#include "distinct.hpp"
#include "field.hpp"
#include "planes.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

class PlaneViews {
public:
  PlaneViews(const Layout& layout, const Plane& plane, const std::vector<std::uint32_t>& came, std::uint64_t depth, std::vector<bool> loops)
      : layout_(layout), plane_(plane), steps_(plane.steps(layout.order.front())), came_(came), depth_(depth), loops_(std::move(loops)) {
    for (Vertex up = 0; up < plane.height; ++up) {
      for (std::int64_t across = 1 - std::int64_t{plane.width}; across < plane.width; ++across) {
        if (came[plane.cell(up, across)] == depth) last_.push_back({up, across});
      }
    }
    for (const auto& [up, across] : steps_) {  // sorted
      if (!runs_.empty() && runs_.back().up == up && runs_.back().last + 1 == across) runs_.back().last = across;
      else runs_.push_back({up, across, across});
    }
  }

  [[nodiscard]] std::size_t last_size() const { return last_.size(); }

  [[nodiscard]] std::vector<Vertex> frontier(Vertex root) const {
    std::vector<Vertex> result;
    for (const auto& [up, across] : last_) {
      const std::int64_t row = std::int64_t{root / plane_.width} - up, column = root % plane_.width + across;
      if (plane_.holds(row, column)) result.push_back(static_cast<Vertex>(row * plane_.width + column));
    }
    return result;
  }

  /// Behind how many layers the root sees j.
  [[nodiscard]] std::uint32_t arrival(Vertex root, Vertex j) const {
    if (j > root) return Plane::hidden;
    return came_[plane_.cell(root / plane_.width - j / plane_.width, std::int64_t{j % plane_.width} - root % plane_.width)];
  }

  /// Gives all of the set one name, others theirs: are these distinct?
  bool name_beside(const std::vector<Vertex>& set) {
    const Vertex width = plane_.width;
    name_.assign(layout_.tokens, 0);
    for (const Vertex j : set) name_[j] = mix(0xf407, layout_.vertex_colour[j]) | 1;
    others_.clear();
    std::vector<std::uint64_t> sum(std::size_t{plane_.height} * (width + 1), 0);  // by grid row, of the columns before
    for (Vertex r = 0, i = 0; r < plane_.height; ++r) {
      poll();
      for (Vertex c = 0; c < width; ++c, ++i) {
        if (name_[i] == 0) {
          std::uint64_t read = 0;
          for (const auto& [up, first, last] : runs_) {
            const std::int64_t from = std::max<std::int64_t>(0, c + first), to = std::min<std::int64_t>(width, c + last + 1);
            if (up > r || from >= to) continue;
            const std::uint64_t* const row = sum.data() + std::size_t{r - up} * (width + 1);
            read += row[to] - row[from];
          }
          name_[i] = mix(mix(layout_.vertex_colour[i], loops_[i] ? 3 : 2), read) | 1;
          others_.push_back(i);
        }
        sum[std::size_t{r} * (width + 1) + c + 1] = sum[std::size_t{r} * (width + 1) + c] + mix(name_[i], 1);
      }
    }
    return are_distinct(others_, [this](Vertex i) { return name_[i]; }, names_);
  }
  [[nodiscard]] std::uint64_t name(Vertex i) const { return name_[i]; }

  /// Are no two of the root's frontier read by the same, of those whose rows it has in sight?
  bool tells_apart(Vertex root, const std::vector<Vertex>& frontier) {
    const std::int64_t width = plane_.width, row = root / width, column = root % width;
    return are_distinct(frontier, [&](Vertex j) {
      const std::int64_t above = row - j / width, at = j % width;
      std::uint64_t readers = mix(layout_.vertex_colour[j]);
      for (const auto& [up, across] : steps_) {
        const std::int64_t c = at - across;
        if (up > above || c < 0 || c >= width) continue;
        if (came_[plane_.cell(static_cast<Vertex>(above - up), c - column)] < depth_) readers += name_[static_cast<std::size_t>(j + up * width - across)];
      }
      return readers;
    }, names_);
  }

private:
  const Layout& layout_;
  const Plane& plane_;
  const Plane::Offsets& steps_;
  const std::vector<std::uint32_t>& came_;
  std::uint64_t depth_;
  std::vector<bool> loops_;
  Plane::Offsets last_;
  struct Run {
    Vertex up;
    std::int64_t first, last;
  };
  std::vector<Run> runs_;  ///< of steps
  std::vector<Vertex> others_;
  std::vector<std::uint64_t> name_;
  Distinct names_;
};

}  // namespace

bool do_plane_views_explain(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex> roots, ReachMemory& memory) {
  struct Cluster {
    std::vector<Vertex> frontier, roots;
  };
  constexpr std::size_t most_clusters = 64;
  if (layout.order.empty()) return false;
  const std::uint32_t l = layout.order.front();
  if (layout.vertices() != layout.tokens || layout.tokens < 2 || depth == 0 || depth >= Plane::hidden || layout.layers[l].size() != 1 || std::ranges::any_of(layout.order, [&](std::uint32_t k) { return k != l; })) return false;
  const Relation& relation = layout.relations[layout.layers[l].front()];
  if (relation.relative != RelativeKind::none) return false;
  std::vector<bool> loops(layout.tokens, false);
  std::vector<checker::Run> row;
  std::optional<std::int64_t> colour;
  for (Vertex i = 0; i < layout.tokens; ++i) {
    poll();
    relation.row(i, row);
    for (const checker::Run& run : row) {
      if (run.colour_step != 0 || run.colour != colour.value_or(run.colour)) return false;
      colour = run.colour;
      loops[i] = loops[i] || run.last == i;
    }
  }
  const Plane* const plane = find_plane(memory);
  const std::vector<std::uint32_t>* const came = plane != nullptr ? plane->arrivals(0) : nullptr;
  if (came == nullptr) return false;
  leave_out_whole_views(layout, orbit, depth, roots, memory);
  PlaneViews views(layout, *plane, *came, depth, std::move(loops));
  if (roots.size() * std::uint64_t{views.last_size()} > 1024 * std::uint64_t{layout.tokens} + (std::uint64_t{1} << 26)) return false;
  std::vector<Cluster> clusters;
  for (auto a = roots.rbegin(); a != roots.rend(); ++a) {
    poll();
    const std::vector<Vertex> frontier = views.frontier(*a);
    // What the root sees of the cluster's is its own frontier.
    const auto fits = [&](const Cluster& cluster) {
      std::size_t met = 0;
      for (const Vertex j : cluster.frontier) {
        const std::uint32_t when = views.arrival(*a, j);
        if (when < depth) return false;
        met += when == depth ? 1 : 0;
      }
      return met == frontier.size();
    };
    const auto home = std::ranges::find_if(clusters, fits);
    if (home != clusters.end()) home->roots.push_back(*a);
    else if (clusters.size() < most_clusters) clusters.push_back({frontier, {*a}});
    else return false;
  }
  std::unordered_set<std::uint64_t> met;
  return std::ranges::all_of(clusters, [&](const Cluster& cluster) {
    return views.name_beside(cluster.frontier) && std::ranges::all_of(cluster.roots, [&](Vertex a) {
      poll();
      return met.insert(views.name(a)).second && views.tells_apart(a, views.frontier(a));
    });
  });
}

}  // namespace checker
