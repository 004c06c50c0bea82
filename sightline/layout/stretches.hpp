// Stretches of neighbours that patterns do not tell apart: what block masks of a million tokens are made of.
#pragma once

#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// Where stretches begin. Neighbours lie in one stretch as long as nothing marks a place between them; asked to mark the rows of patterns,
/// every reader of a stretch has one row, and every row reads all of a stretch in one run or nothing of it.
class StretchMarks {
public:
  /// @param most  beyond so many stretches marking them has no use
  StretchMarks(Vertex vertices, std::size_t most) : begins_(std::size_t{vertices} + 1, false), most_(most) {
    mark(0);
    mark(vertices);
  }
  /// A stretch begins at this vertex.
  void mark(std::uint64_t vertex) {
    if (begins_[vertex]) return;
    begins_[vertex] = true;
    ++count_;
  }
  /// False when there are too many stretches by now, or runs with a step that would be cut into their members. O(segments and runs of lists).
  [[nodiscard]] bool mark_rows(const Pattern& pattern, const Budget& budget);
  [[nodiscard]] bool too_many() const { return count_ > most_; }
  /// The first vertex of every stretch, ascending.
  [[nodiscard]] std::vector<Vertex> list() const;

private:
  std::vector<bool> begins_;
  std::size_t count_ = 0, most_;
};

/// At most two vertices of every stretch, the first and the second, in order: the second stands for all but the first, so how any two vertices
/// read each other is how some two of these do.
struct KeptVertices {
  std::vector<Vertex> first;  ///< the vertex kept
  std::vector<Vertex> count;  ///< of how many it stands for, itself included
  std::vector<Vertex> lead;   ///< number of the first that is kept of its stretch
  std::vector<Vertex> place;  ///< by vertex that begins a stretch, and at the end: how many are kept below; elsewhere anything
};
[[nodiscard]] KeptVertices keep_two(const StretchMarks& marks, Vertex vertices);

}  // namespace sightline::layout
