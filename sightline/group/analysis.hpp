// A permutation group taken apart: full symmetric groups on classes are divided out before anything is searched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/chain.hpp"
#include "sightline/group/order.hpp"
#include "sightline/group/permutation.hpp"

namespace sightline::group {

struct Fold;

/// One level of the decomposition of G = <Sym(seed) for every seed, generators> on 0..degree-1.
///
/// 1. Let ~ be the finest G-invariant equivalence that contains the seeds and the pairs of transpositions among the
///    generators. Since g Sym(C) g^-1 = Sym(g C) and Sym(C), Sym(D) generate Sym(C u D) when C meets D, G contains
///    N = product of Sym(class of ~), and N is normal because G permutes the classes.
/// 2. G acts on the quotient set {classes} u {other points}. An element that acts trivially there maps every class to
///    itself and fixes every other point, so it is in N: |G| = |N| |G/N| exactly, p is in G iff p respects ~ and its
///    quotient is in G/N, and a partial map extends iff its quotient is a partial map that extends (N does the rest).
/// 3. Orbits of the quotient that are copies of one another (fold.hpp) are folded into one, on which G/N acts faithfully.
/// 4. G/N is a product over the connected components of the generators' supports. Where a component is the full
///    symmetric group (a transposition, or Jordan's theorem) it becomes a class of the next level; the alternating group
///    is recognised too; what is left is told by smaller groups (reduction.hpp), or gets a stabiliser chain.
class Analysis {
public:
  /// `seeds`: sets of points, which may meet. `known_order`: when known, exactly or as an upper bound.
  Analysis(Point degree, const std::vector<std::vector<Point>>& seeds, const std::vector<Permutation>& generators,
           const Order* known_order, bool exact, const Budget& budget);
  ~Analysis();
  Analysis(Analysis&&) noexcept;
  Analysis& operator=(Analysis&&) noexcept;

  /// The classes of ~ of size >= 2: at the top level x ~ y exactly when the transposition (x y) is in G, except that
  /// transpositions which no generator shows may be missed in components of more than 2,000 points.
  [[nodiscard]] const std::vector<std::vector<Point>>& classes() const { return classes_; }
  /// Indices of generators that generate G together with the classes.
  [[nodiscard]] std::vector<std::size_t> irredundant() const;
  /// product over the classes of |class|!, times the order of G/N as an integer when it has at most 1,000 digits.
  [[nodiscard]] Order order() const;
  [[nodiscard]] bool contains(const Permutation& permutation) const;
  [[nodiscard]] bool extends(const std::vector<Point>& from, const std::vector<Point>& to) const;

private:
  struct Component;

  [[nodiscard]] Order quotient_order() const;
  [[nodiscard]] std::optional<Permutation> to_quotient(const Permutation& permutation) const;
  void number_quotient(const std::vector<Permutation>& generators);
  void fold_quotient(const Fold& fold);
  /// The action on next_'s points, or nothing when copies do not move alike.
  [[nodiscard]] std::optional<Permutation> to_folded(const Permutation& quotient) const;
  /// Sets next_ and returns classes of it that are symmetric on single points of this level: they belong to classes_.
  [[nodiscard]] std::vector<std::vector<Point>> descend(const std::vector<std::vector<Point>>& symmetric, const std::vector<Permutation>& generators,
                                                        const std::optional<KnownOrder>& known, const Budget& budget);
  /// Splits G/N and returns classes of the quotient that turned out to be symmetric (then nothing else was set up).
  [[nodiscard]] std::vector<std::vector<Point>> split(const std::vector<Permutation>& generators, const std::optional<KnownOrder>& known, const Budget& budget);

  Point degree_ = 0;
  std::vector<std::vector<Point>> classes_;
  std::vector<Point> quotient_of_;    ///< quotient point of x, or none
  std::vector<Point> least_of_;       ///< least member of a quotient point
  std::vector<Point> size_of_;        ///< number of members of a quotient point
  std::vector<std::size_t> generator_index_;  ///< of the generators that act on the quotient
  std::vector<std::size_t> useful_;   ///< all generators but transpositions that others make superfluous
  std::vector<Point> folded_;         ///< quotient point -> point of next_; empty: the same number
  std::vector<Point> orbit_;          ///< of quotient points, when folded
  std::vector<Point> copies_;         ///< quotient points per point of next_, when folded
  std::unique_ptr<Analysis> next_;    ///< the quotient, folded, when it has symmetric classes of its own or copies
  std::vector<Component> components_; ///< the quotient otherwise
  std::vector<std::pair<std::uint32_t, Point>> place_;  ///< quotient point -> component, point in it
};

}  // namespace sightline::group
