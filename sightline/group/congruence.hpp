// Invariant equivalences: which points must be merged when some already are, and what is left after merging.
#pragma once

#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/permutation.hpp"

namespace sightline::group {

/// Union-find with path halving; the root of a class is its least point.
class UnionFind {
public:
  explicit UnionFind(Point size);
  [[nodiscard]] Point find(Point x) const;
  /// True when x and y were in different classes.
  bool unite(Point x, Point y);

private:
  mutable std::vector<Point> parent_;
};

/// least[x] = least point of x's orbit under <generators, Sym(class) for every class>.
[[nodiscard]] std::vector<Point> compute_orbits(Point degree, const std::vector<std::vector<Point>>& classes,
                                                const std::vector<Permutation>& generators);

/// For every point, the generators that move it and where to: the index behind compute_congruence.
class MovesByPoint {
public:
  MovesByPoint(Point degree, const std::vector<Permutation>& generators, const Budget& budget);
  struct Move {
    std::uint32_t generator;
    Point image;
  };
  [[nodiscard]] Point degree() const { return static_cast<Point>(start_.size() - 1); }
  [[nodiscard]] const Move* begin(Point x) const { return moves_.data() + start_[x]; }
  [[nodiscard]] const Move* end(Point x) const { return moves_.data() + start_[x + 1]; }

private:
  std::vector<std::size_t> start_;
  std::vector<Move> moves_;
};

/// The finest equivalence that contains `pairs` and is invariant under the generators (Atkinson 1975): class label =
/// least point. Cost: every one of at most degree - 1 unions looks at the generators that move the two points.
[[nodiscard]] std::vector<Point> compute_congruence(Point degree, const MovesByPoint& moves, std::vector<std::pair<Point, Point>> pairs,
                                                    const Budget& budget);

/// Classes of size >= 2 of a labelling, sorted by least point.
[[nodiscard]] std::vector<std::vector<Point>> list_classes(const std::vector<Point>& label);

}  // namespace sightline::group
