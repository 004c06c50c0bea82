// Orbits on which a group acts alike, folded to one: S_100 that moves the members of several orbits together is S_100 on one of them.
#pragma once

#include <optional>
#include <vector>

#include "group.hpp"

namespace checker {

/// Orbits A and B are copies when a bijection f of A to B has f(g x) = g f(x) for every generator g, hence for every element: what an element does
/// on A then says what it does on B, so the group is the one that acts on A alone, order and membership alike. The bijections are
/// proposed by following the generators from one point of A and one of B, and shown generator by generator; what is not found is not folded.
class Copies {
public:
  /// @return nothing when no orbit is found to be a copy of another. Linear in the generators' moves, times a constant.
  static std::optional<Copies> find(const Group& group);

  [[nodiscard]] const Group& folded() const { return folded_; }  ///< on the points of all orbits but the copies, named in order
  /// The permutation of the folded group's points that `permutation` is, when it moves copies as it moves what they are copies of.
  [[nodiscard]] std::optional<Permutation> fold(const Permutation& permutation) const;
  /// from[k] -> to[k] as wishes for an element of the folded group; nothing when a point would leave its orbit.
  [[nodiscard]] std::optional<std::pair<std::vector<Vertex>, std::vector<Vertex>>> fold(const std::vector<Vertex>& from, const std::vector<Vertex>& to) const;

private:
  Group folded_;
  std::vector<Vertex> orbit_;    ///< the least point of the orbit, one per point
  std::vector<Vertex> same_;     ///< the folded group's name of x, or of the point that x is a copy of
  std::vector<bool> copy_;       ///< is x in an orbit that is a copy of another?
};

}  // namespace checker
