// Inside of natural_order.hpp: rows written one after the other, those that move along with their readers as one segment.
#pragma once

#include <span>
#include <vector>

#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

/// Takes the rows of readers 0, 1, ... in turn. A stretch of readers is one segment where each end of each run stays where it is or moves one place for each of them, and where that is shorter than its rows
/// written out, or few runs. O(runs).
class MovingSegments {
public:
  MovingSegments(PatternBuilder& builder, Vertex vertices) : builder_(builder), vertices_(vertices) {}

  /// Disjoint runs whose ends do not move, sorted.
  void add(std::span<const AffineRun> runs);
  void finish() { flush(); }

private:
  struct Moves {
    bool lo = false, hi = false;
  };

  /// Is that the row of the reader behind the last one, if its runs move so?
  [[nodiscard]] bool follows(std::span<const AffineRun> runs, const std::vector<Moves>& moves) const;
  void flush();
  void write_out();

  PatternBuilder& builder_;
  Vertex vertices_;
  Vertex begin_ = 0, end_ = 0;  ///< the readers of the stretch
  std::vector<AffineRun> first_, last_;  ///< the rows of its first reader and of its last one
  std::vector<Moves> moves_;  ///< by run; none as long as there is one reader
};

}  // namespace sightline::layout
