// The algebra of a group's orbitals: reach and refinement of patterns without looking at single points.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/design/orbitals.hpp"

namespace sightline::design {

/// A set of at most 64 orbitals, by number.
using OrbitalSet = std::uint64_t;

/// The intersection numbers of at most 64 orbitals: for a pair (i, j) of orbital T, the number of points k with (i, k) in R
/// and (k, j) in S, which is the same for all pairs of T (Higman's coherent configurations).
/// What it decides for unions of orbitals is exact, and independent of the number of points.
class Configuration {
public:
  /// O(rank * degree + rank^3). Throws ArgumentError above 64 orbitals.
  Configuration(const Orbitals& orbitals, const Budget& budget);

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] OrbitalSet everything() const { return rank_ == 64 ? ~OrbitalSet{0} : (OrbitalSet{1} << rank_) - 1; }
  [[nodiscard]] OrbitalSet diagonal() const { return diagonal_; }
  /// Pairs i != j of the set.
  [[nodiscard]] std::uint64_t count_pairs(OrbitalSet set) const;
  /// The set turned round.
  [[nodiscard]] OrbitalSet turn(OrbitalSet set) const;

  /// Who has seen whom after one more layer: view + layer o view (theory.md 1.9; the left factor is the later layer).
  [[nodiscard]] OrbitalSet extend_view(OrbitalSet layer, OrbitalSet view) const;
  /// Least m such that `layers`, repeated, connect every pair within m layers; 0 when they never do.
  [[nodiscard]] std::uint64_t compute_reach(const std::vector<OrbitalSet>& layers) const;

  /// The stable colouring (2-dimensional refinement) of the orbitals that starts from "in which layers, this way and turned
  /// round, and on the diagonal or not". Any automorphism of the layers preserves every class; two lists of layers with the
  /// same partition have the same automorphisms. When every orbital is alone, the automorphisms are exactly the 2-closure.
  [[nodiscard]] std::vector<std::uint8_t> refine(const std::vector<OrbitalSet>& layers) const;

private:
  std::uint32_t rank_ = 0;
  OrbitalSet diagonal_ = 0;
  std::vector<std::uint64_t> size_;
  std::vector<std::uint32_t> paired_;
  std::vector<OrbitalSet> product_;     ///< [R * rank + S]: the T with a positive intersection number
  struct Term {
    std::uint8_t r, s;
    std::uint32_t count;
  };
  std::vector<std::vector<Term>> terms_;  ///< by T
};

}  // namespace sightline::design
