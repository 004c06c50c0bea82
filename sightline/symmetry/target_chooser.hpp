// Which cell the first path splits next.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/refinement.hpp"

namespace sightline::symmetry {

/// Up to this many vertices the target cell is chosen by looking at how cells meet; above, it is the oldest cell, or of pairs the nearest.
constexpr Threshold<Vertex> careful_choice_limit{600, 2, "careful choice"};

/// Chooses target cells along the first path. Sizes only shrink there, so the oldest cell is found by a pointer.
class TargetChooser {
public:
  /// Cells of vertices with prefer[v] != 0 come first (empty: no preference).
  TargetChooser(const Refinement& tree, const std::vector<std::uint8_t>& prefer) : tree_(tree), prefer_(prefer) {}

  /// A cell of at least two vertices.
  /// @param last  the vertex that was individualised last, if any
  [[nodiscard]] Cell choose(std::optional<Vertex> last);

private:
  [[nodiscard]] bool is_preferred(Cell cell) const { return prefer_.empty() || prefer_[tree_.partition().members(cell).front()] != 0; }
  /// The cell that is neither fully joined nor fully apart from as many cells as possible, the smallest of those.
  [[nodiscard]] Cell choose_carefully();
  /// Of the neighbours of v in cells of two: the cell of one that has most neighbours in common with v. Maps that exchange v with a vertex beside it
  /// generate more than those that exchange it with one further off: on a ring all rotations at once.
  [[nodiscard]] std::optional<Cell> choose_nearest_pair(Vertex v);
  /// What v reads and is read by, relation by relation. False where that is much.
  bool list_neighbours(Vertex v, std::vector<Vertex>& out) const;
  [[nodiscard]] std::uint64_t count_joins(Vertex v);
  /// How many of the cells met are joined in part only; forgets them.
  std::uint64_t count_met();

  const Refinement& tree_;
  const std::vector<std::uint8_t>& prefer_;
  Cell oldest_ = 0, preferred_ = 0;
  std::vector<Vertex> counts_, around_, beyond_;
  std::vector<std::uint8_t> is_around_;  ///< by vertex, once pairs were compared
  std::vector<Cell> met_;
};

}  // namespace sightline::symmetry
