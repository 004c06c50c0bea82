// Stretches of neighbours that patterns do not tell apart: what block masks of a million tokens are made of.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/even_steps.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// `width` neighbours at first, first + step, .., count times: runs of one step and length that lie side by side.
struct WideRun {
  Vertex first = 0, width = 1, step = 1, count = 1;
  std::int64_t colour = 1;
};
/// The runs of a row, sorted by first, those side by side as one. @tparam Runs  with one colour each (Run; ColouredRun without positions)
template <class Runs>
void widen(const Runs& row, std::vector<WideRun>& out) {
  out.clear();
  for (const auto& run : row) {
    const bool stepped = run.step > 1;
    if (stepped && !out.empty() && out.back().step == run.step && out.back().count == run.size() && out.back().colour == run.colour &&
        out.back().first + out.back().width == run.first && out.back().width + 1 < run.step) {
      ++out.back().width;
    } else {
      out.push_back({run.first, stepped ? 1 : run.size(), run.step, stepped ? run.size() : 1, run.colour});
    }
  }
}

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
  /// False when there are too many stretches by now. O(segments and runs of lists + stretches).
  [[nodiscard]] bool mark_rows(const Pattern& pattern, const Budget& budget);
  [[nodiscard]] bool too_many() const { return count_ > most_; }
  /// The first vertex of every stretch, ascending.
  [[nodiscard]] std::vector<Vertex> list() const;

private:
  std::vector<bool> begins_;
  std::size_t count_ = 0, most_;
  std::set<std::tuple<Vertex, Vertex, Vertex, Vertex>> stepped_;  ///< wide runs that are marked already, where they have a step
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

/// Wide runs on the vertices that are kept: with a step where copies lie evenly there too, written out where they do not.
/// O(vertices) for each of the first few steps, then O(pieces) for a run.
class KeptRuns {
public:
  struct Run {
    Vertex first, last, step;
  };
  /// `kept` must live as long. @param vertices  of the layout
  KeptRuns(const KeptVertices& kept, Vertex vertices, const Budget& budget);
  /// Appends them. @pre the run is one that the stretches were marked with
  void append(const WideRun& run, std::vector<Run>& out);

private:
  const std::vector<Vertex>& place_;
  EvenSteps even_;  ///< the beginnings of stretches, and the end, by their places
};

}  // namespace sightline::layout
