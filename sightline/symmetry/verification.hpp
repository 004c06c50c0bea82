// Exact check that a map preserves a structure, on spans.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// A bijection given where it moves something, in stretches x -> x + c or x -> c - x, so that a run is mapped stretch by
/// stretch: reflections and rotations of a million tokens have one or two.
class StretchMap {
public:
  /// Pairs (x, image), sorted by x, of all x that move; `limit` = number of vertices.
  StretchMap(std::vector<std::pair<Vertex, Vertex>> moved, Vertex limit);

  [[nodiscard]] const std::vector<std::pair<Vertex, Vertex>>& moved() const { return moved_; }
  [[nodiscard]] Vertex operator()(Vertex x) const {
    const std::size_t k = find(x);
    return k < moved_.size() && moved_[k].first == x ? moved_[k].second : x;
  }
  /// Does it exchange pairs?
  [[nodiscard]] bool is_involution() const {
    return std::all_of(moved_.begin(), moved_.end(), [this](const auto& pair) { return (*this)(pair.second) == pair.first; });
  }
  /// The image of a whole run with a step, when it moves nowhere, or when its members go to equal gaps again.
  [[nodiscard]] std::optional<ColouredRun> map_stepped(const ColouredRun& run) const;
  /// The image of an interval, when it moves nowhere or lies in one stretch.
  [[nodiscard]] std::optional<std::pair<Vertex, Vertex>> map_interval(Vertex first, Vertex last) const {
    const std::size_t k = find(first);
    if (k == moved_.size() || moved_[k].first > last) return std::pair(first, last);
    if (moved_[k].first != first || stretch_end_[k] - k < last - first) return std::nullopt;
    return std::minmax({moved_[k].second, moved_[k + (last - first)].second});
  }
  /// Appends the images of a run (with its colours).
  void map(const ColouredRun& run, std::vector<ColouredRun>& out) const;

private:
  /// From a vertex x on, x + step, x + 2 step, .. up to `last` move and have images `gap` apart.
  struct Chain {
    Vertex last;
    std::int64_t gap;
  };
  /// Index of the first pair that moves x or more.
  [[nodiscard]] std::size_t find(Vertex x) const {
    if (moved_.size() == limit_) return x;
    if (!index_.empty()) return index_[x];
    return static_cast<std::size_t>(
        std::lower_bound(moved_.begin(), moved_.end(), x, [](const auto& pair, Vertex v) { return pair.first < v; }) - moved_.begin());
  }
  /// Chains of a step by index of moved(), made when first asked for; null beyond the first few steps.
  [[nodiscard]] const std::vector<Chain>* find_chains(Vertex step) const;

  std::vector<std::pair<Vertex, Vertex>> moved_;
  std::vector<std::uint32_t> stretch_end_;  ///< last index of the stretch that index k belongs to
  std::vector<std::uint32_t> index_;        ///< find() by table, when much moves
  Vertex limit_;
  mutable std::vector<std::pair<Vertex, std::vector<Chain>>> chains_;
};

/// Is `map` an isomorphism from `a` to `b` (vertex colours, visibility, every coloured arc)? Both complete() when `local`:
/// then only rows and columns of moved vertices are compared, which is enough when a and b are the same graph.
[[nodiscard]] bool is_isomorphism(const RunGraph& a, const RunGraph& b, const StretchMap& map, bool local, const Budget& budget);

/// is_isomorphism on arcs, for many maps between the same two graphs: no run is mapped, and what fails fails at its first arc.
class ArcComparison {
public:
  /// Both graphs complete; they must outlive this object.
  ArcComparison(const RunGraph& a, const RunGraph& b, const Budget& budget);
  /// Have both graphs arcs, written down alike?
  [[nodiscard]] bool is_usable() const { return usable_; }
  /// `moved`: all pairs that move, sorted. `local` as above. O(arcs of the vertices compared).
  [[nodiscard]] bool is_isomorphism(const std::vector<std::pair<Vertex, Vertex>>& moved, bool local);

private:
  [[nodiscard]] bool same_vertex(Vertex x, Vertex y);

  const RunGraph& a_;
  const RunGraph& b_;
  const Budget& budget_;
  bool usable_ = false;
  std::vector<Vertex> images_;
  std::vector<std::uint32_t> marks_;
  std::uint32_t stamp_ = 0;
};

/// The pairs of a full list of images that move.
[[nodiscard]] std::vector<std::pair<Vertex, Vertex>> to_moved(const std::vector<Vertex>& images);

}  // namespace sightline::symmetry
