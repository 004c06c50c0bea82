// Rows and columns of a coloured relation as spans, and their canonical form, which decides equality without expanding.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/layout/layout.hpp"
#include "sightline/symmetry/field.hpp"

namespace sightline::symmetry {

using layout::ColouredRun;
using layout::Vertex;

/// The vertices first, first+step, ..., last of one row (or one column); vertex x among them is joined with the colour
/// base + slope * x. A span of one vertex has slope 0 and step 1.
/// The weight of the arc with x is weight * g^(slope x) (field.hpp).
struct Span {
  Vertex first = 0;
  Vertex last = 0;
  Vertex step = 1;
  std::int32_t slope = 0;
  std::int64_t base = 0;
  field::Element weight = 0;

  [[nodiscard]] std::int64_t colour(Vertex x) const { return base + std::int64_t{slope} * x; }
  [[nodiscard]] bool contains(Vertex x) const { return x >= first && x <= last && (step == 1 || (x - first) % step == 0); }
  friend bool operator==(const Span&, const Span&) = default;
};

/// A run with a single vertex or a constant colour written in the one way we compare by.
[[nodiscard]] ColouredRun to_run(const Span& span);

/// Brings runs of disjoint vertices, in any order, into the form that depends on the set of (vertex, colour) only: runs of
/// step 1, sorted, each as long as it can be when read greedily from the left. Runs with a step > 1 are expanded.
/// O(k log k) for k runs after that expansion.
void canonicalise(std::vector<ColouredRun>& runs);

/// Colour of x in canonical runs, or -1. O(log runs).
[[nodiscard]] std::int64_t find_colour(const std::vector<ColouredRun>& canonical, Vertex x);

/// Joins neighbours of equal colour and equal gaps again: the shortest greedy list with steps, for storage.
void compress(std::vector<ColouredRun>& canonical);

/// Colours of the vertices of one canonical row after another: read off a list by vertex where the row is mostly single vertices (relabelled block masks),
/// else looked for in the row.
class RowColours {
public:
  explicit RowColours(Vertex vertices) : colours_(vertices, -1) {}

  /// `row` must live as long as it is asked about.
  void read(const std::vector<ColouredRun>& row);
  /// -1: not in the row.
  [[nodiscard]] std::int64_t of(Vertex x) const { return row_ == nullptr ? colours_[x] : find_colour(*row_, x); }

private:
  std::vector<std::int64_t> colours_;
  std::vector<Vertex> listed_;
  const std::vector<ColouredRun>* row_ = nullptr;  ///< where nothing is listed
};

}  // namespace sightline::symmetry
