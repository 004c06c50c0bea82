// Inside of wanted.hpp and view_sweep.hpp: pairs of tokens that a class allows, whatever a group makes of them. Not for other rooms.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::sight {

using layout::Vertex;

/// Pairs (a, j) such that for every g in G the class lets output g(a) depend on token g(j). Tokens are taken together in units that G permutes: stretches of the line that all of G takes to
/// stretches token by token, forward or backward, and symmetric classes; one bit for two units says it of all their tokens (docs/theory.md 16.118).
class WantedPairs {
public:
  /// By point, of a list of permutations: which of them move it, ascending, and where to.
  using Moves = std::vector<std::vector<std::pair<std::uint32_t, Vertex>>>;

  /// Of the class causal: j <= a. Throws OutOfReach where units are more than 8,192, or moving all their pairs takes more than 10^9 steps.
  [[nodiscard]] static WantedPairs make_causal(const group::Group& group, const Budget& budget);
  /// Of sets that the class gives to each token, itself among them. Every token is a unit.
  [[nodiscard]] static WantedPairs make(const group::Group& group, std::vector<std::vector<bool>> sets, const Budget& budget);

  [[nodiscard]] bool holds(Vertex a, Vertex j) const {
    const Vertex u = unit_of_[a], v = unit_of_[j];
    return u == v ? a == j || (in_order_[u] && j < a) : sets_[u][v];
  }
  /// The tokens j with holds(a, j).
  [[nodiscard]] std::vector<bool> list(Vertex a) const;
  /// holds(a, j) for j = a only?
  [[nodiscard]] bool own_only(Vertex a) const { return is_apart_[unit_of_[a]] && (!in_order_[unit_of_[a]] || a == units_[unit_of_[a]].least); }
  /// For all a?
  [[nodiscard]] bool own_only() const;

private:
  struct Unit {
    Vertex least = 0, most = 0, size = 0;  ///< of its tokens; a stretch holds all between
    bool is_class = false;
  };
  /// False where generators do not take symmetric classes to such.
  bool unite(const group::Group& group);
  /// Every token a unit.
  void separate(Vertex tokens);
  /// Of units; tells which stretches stay in order.
  [[nodiscard]] Moves list_moves(const group::Group& group);
  void shrink(const Moves& moves, const Budget& budget);
  /// Throws where there are too many units, or moving all pairs of them takes too long.
  void check_steps(const Moves& moves) const;

  std::vector<Vertex> unit_of_;
  std::vector<Unit> units_;
  std::vector<bool> in_order_;           ///< by unit: may a token depend on those before it?
  std::vector<bool> is_apart_;           ///< by unit: on none of other units?
  std::vector<std::vector<bool>> sets_;  ///< by two units
};

}  // namespace sightline::sight
