// A stabiliser chain (Schreier-Sims) on a dense set of points: the engine under orders and membership.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/permutation.hpp"

namespace sightline::group {

/// All images of a permutation of 0..degree-1.
using Images = std::vector<Point>;

/// x -> a(b(x)).
[[nodiscard]] Images compose(const Images& a, const Images& b);
[[nodiscard]] Images invert(const Images& a);
[[nodiscard]] bool is_identity(const Images& a);

/// Random elements of <generators> by product replacement with an accumulator. The seed is fixed, so that the same
/// generators give the same elements on every machine. The elements are members for certain, uniform only nearly.
class RandomElements {
public:
  RandomElements(Point degree, const std::vector<Images>& generators);
  [[nodiscard]] const Images& next();

private:
  std::mt19937_64 random_{0x5167687461ull};
  std::vector<Images> state_;
  Images accumulator_;
};

/// The chain G = G_0 >= G_1 >= ... of point stabilisers along a base b_0, b_1, ..., each with the orbit of b_i under G_i
/// and a shallow Schreier tree on it. Random Schreier-Sims finds it; completeness is then proved, either by the known
/// order (the product of the orbits is a lower bound of |G|) or by sifting every Schreier generator (Sims 1970: the chain
/// is complete when, for every i, the Schreier generators of level i lie in the group of level i+1).
/// Cost: about sum_i |orbit_i| |S_i| sifts of degree * base * log(degree) steps each; with a known order a few dozen sifts.
/// What is known of the order of a group before it is computed.
struct KnownOrder {
  mpz_class value;
  bool exact = true;  ///< false: an upper bound; a chain that reaches it needs no proof
};

class StabiliserChain {
public:
  /// `generators`: bijections of 0..degree-1. The base starts with `prefix` (points may be fixed or repeated).
  /// `known`: what is known of the order; InternalError when it turns out wrong. A chain from random members is a lower bound, so
  /// one that has the known order is complete.
  /// Throws BudgetExhausted when the budget ends or the proof would take more than about 10^13 steps.
  StabiliserChain(Point degree, const std::vector<Images>& generators, const std::vector<Point>& prefix,
                  const std::optional<KnownOrder>& known, const Budget& budget);

  [[nodiscard]] mpz_class order() const;
  [[nodiscard]] bool contains(const Images& permutation) const;
  /// Is there an element that maps the k-th point of the prefix to targets[k] for all k?
  [[nodiscard]] bool extends_prefix(std::vector<Point> targets) const;
  /// Indices of generators that together generate the group; the others are products of these.
  [[nodiscard]] const std::vector<std::size_t>& irredundant() const { return irredundant_; }
  /// Lengths of the orbits of the successive stabilisers on base points.
  [[nodiscard]] std::vector<std::size_t> orbit_lengths() const;

private:
  struct Level {
    Point base = 0;
    std::vector<std::uint32_t> generators;  ///< S_i, indices into elements_: they generate the group of this level
    std::vector<std::uint32_t> tree;        ///< S_i and further elements of <S_i> that make the tree shallow
    std::vector<Point> orbit;
    std::vector<std::int32_t> label;  ///< element that leads here from the parent; root, unreached: negative; empty while the orbit is the base point
    std::vector<std::uint32_t> depth;
    std::uint32_t height = 0;
  };

  void add_level(Point base);
  std::uint32_t store(const Images& g);
  void extend_orbit(Level& level, std::uint32_t element);
  void rebuild_tree(Level& level);
  /// Puts the squares, fourth powers, ... of generators into the tree: a long cycle gets a tree of logarithmic height.
  void flatten_by_powers(Level& level);
  [[nodiscard]] bool too_high(const Level& level, std::uint32_t factor) const;
  /// Replaces g by its residue and returns the level at which it fell out, levels_.size() when it passed them all.
  [[nodiscard]] std::size_t sift(Images& g, std::size_t start) const;
  /// Takes in a residue of level `at`; false when it is the identity.
  bool insert(const Images& g, std::size_t at);
  bool add_generator(const Images& g);
  /// Sifts a random element, flattening trees on the way; true when something new was learnt.
  bool take_random(Images g);
  void close_at_random(RandomElements& random, int quiet, const std::optional<mpz_class>& known_order);
  [[nodiscard]] bool verify_once();

  Point degree_ = 0;
  const Budget* budget_ = nullptr;  ///< only used while building
  std::size_t prefix_length_ = 0;
  std::vector<Images> elements_, inverses_;
  std::vector<Level> levels_;
  std::vector<std::size_t> irredundant_;
};

}  // namespace sightline::group
