#include <algorithm>
#include <queue>

#include "sightline/design/sources.hpp"

namespace sightline::design {

namespace {

using group::Point;
constexpr Point nobody = ~Point{0};

/// Edmonds' blossom algorithm for one augmenting path (the classical O(V E) search by breadth with contracted bases).
class Augmenter {
public:
  explicit Augmenter(std::vector<std::vector<Point>> neighbours) : neighbours_(std::move(neighbours)) {}

  /// Is there an alternating path from the exposed vertex `root` to another exposed vertex that is not removed?
  bool exists(Point root, const std::vector<Point>& mate, const std::vector<bool>& removed) {
    const std::size_t n = neighbours_.size();
    used_.assign(n, false);
    parent_.assign(n, nobody);
    base_.resize(n);
    for (Point v = 0; v < n; ++v) base_[v] = v;
    used_[root] = true;
    std::queue<Point> open;
    open.push(root);
    while (!open.empty()) {
      const Point v = open.front();
      open.pop();
      for (const Point to : neighbours_[v]) {
        if (removed[to] || base_[v] == base_[to] || mate[v] == to) continue;
        if (to == root || (mate[to] != nobody && parent_[mate[to]] != nobody)) {
          contract(v, to, mate, open);
        } else if (parent_[to] == nobody) {
          parent_[to] = v;
          if (mate[to] == nobody) return true;
          used_[mate[to]] = true;
          open.push(mate[to]);
        }
      }
    }
    return false;
  }

  std::vector<std::vector<Point>> neighbours_;

private:
  Point find_common_base(Point a, Point b, const std::vector<Point>& mate) const {
    std::vector<bool> seen(neighbours_.size(), false);
    for (;;) {
      a = base_[a];
      seen[a] = true;
      if (mate[a] == nobody) break;
      a = parent_[mate[a]];
    }
    for (;;) {
      b = base_[b];
      if (seen[b]) return b;
      b = parent_[mate[b]];
    }
  }

  void mark_path(Point v, Point base, Point child, const std::vector<Point>& mate, std::vector<bool>& blossom) {
    while (base_[v] != base) {
      blossom[base_[v]] = blossom[base_[mate[v]]] = true;
      parent_[v] = child;
      child = mate[v];
      v = parent_[mate[v]];
    }
  }

  void contract(Point v, Point to, const std::vector<Point>& mate, std::queue<Point>& open) {
    const Point base = find_common_base(v, to, mate);
    std::vector<bool> blossom(neighbours_.size(), false);
    mark_path(v, base, to, mate, blossom);
    mark_path(to, base, v, mate, blossom);
    for (Point i = 0; i < neighbours_.size(); ++i) {
      if (!blossom[base_[i]]) continue;
      base_[i] = base;
      if (used_[i]) continue;
      used_[i] = true;
      open.push(i);
    }
  }

  std::vector<bool> used_;
  std::vector<Point> parent_, base_;
};

}  // namespace

std::vector<bool> find_flexible_bonds(std::size_t atoms, const std::vector<std::pair<Point, Point>>& edges, const std::vector<bool>& double_bond) {
  // Conjugated atoms: exactly one double bond each. (Two, as in C=C=C: the double bonds are no matching there.)
  std::vector<std::size_t> doubles(atoms, 0);
  for (std::size_t k = 0; k < edges.size(); ++k) {
    if (double_bond[k]) {
      ++doubles[edges[k].first];
      ++doubles[edges[k].second];
    }
  }
  std::vector<Point> mate(atoms, nobody);
  for (std::size_t k = 0; k < edges.size(); ++k) {
    const auto [a, b] = edges[k];
    if (!double_bond[k] || doubles[a] != 1 || doubles[b] != 1) continue;
    mate[a] = b;
    mate[b] = a;
  }
  std::vector<std::vector<Point>> neighbours(atoms);
  for (const auto& [a, b] : edges) {
    if (mate[a] == nobody || mate[b] == nobody) continue;
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  Augmenter augmenter(std::move(neighbours));
  std::vector<bool> flexible(edges.size(), false), removed(atoms, false);
  // Atoms outside the system are exposed and must not be reached.
  for (Point v = 0; v < atoms; ++v) removed[v] = mate[v] == nobody;
  for (std::size_t k = 0; k < edges.size(); ++k) {
    const auto [a, b] = edges[k];
    if (mate[a] == nobody || mate[b] == nobody) continue;
    std::vector<Point> without = mate;
    if (mate[a] == b) {
      // Used by the written matching; is there one without it? Match a and b otherwise, the edge itself forbidden.
      without[a] = without[b] = nobody;
      std::erase(augmenter.neighbours_[a], b);
      std::erase(augmenter.neighbours_[b], a);
      flexible[k] = augmenter.exists(a, without, removed);
      augmenter.neighbours_[a].push_back(b);
      augmenter.neighbours_[b].push_back(a);
    } else {
      // Not used by it; is there one with it? Take the edge, and match the two partners left behind.
      const Point c = mate[a], d = mate[b];
      without[c] = without[d] = nobody;
      removed[a] = removed[b] = true;
      flexible[k] = augmenter.exists(c, without, removed);
      removed[a] = removed[b] = false;
    }
  }
  return flexible;
}

}  // namespace sightline::design
