// Labels of token-id sequences, computed exactly by enumeration (theory.md 15.4, Theorem D).
//
// Two tokens of two id sequences get the same output from every network of depth m exactly when their labels of depth m are
// equal: s^(0) = the id (and the position, where positions are absolute), s^(q) = (s^(q-1), what each head's row reveals of
// the labels it reads). So a class of targets is expressible iff equal labels imply equal targets, and with finitely many
// inputs that is decided by computing all labels.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/reach.hpp"

namespace sightline::sight {

/// What a head's row reveals of mu(k, o, s) = number of read vertices with matrix colour k, relative colour o and state s
/// (theory.md 15.4; colours are raw, Relation::raw_row). The weight of such an arc is w_k u_o kappa_s: every matrix colour
/// and every relative colour has a factor of its own, so a row is the family of polynomials A_s = sum mu(k, o, s) w_k u_o.
/// An empty row is "empty" under every rule. "Up to" a common factor means: the factor is divided out, and the integer
/// content with it; a row of one state s is therefore "const s" under every normalised rule.
enum class RowRule {
  multiset,   ///< L1 un-normalised, or normalised with a sink or eps: mu itself, over pairs (k, o)
  frequency,  ///< L2 normalised, relative colours not read: A_s up to a common factor in the w; without matrix colours mu/gcd
  learned,    ///< L3 learned or T5 bias: A_s up to a common factor. Without matrix colours (or without relative ones):
              ///< rank one as a colour x state matrix -> e/gcd; else mu/gcd
  rotary,     ///< L4 the weights u_o are generic for every state apart: mu/gcd (rank one with two states is separated); only a
              ///< factor common to all matrix colours cancels
  alibi,      ///< L5 u_o = z^|i-j| (1 on arcs that touch a register): A_s up to a common polynomial factor in z and the w
  set,        ///< L6 max: the set of (k, o, s)
  whole       ///< trained Linformer: the state of every vertex of the row, by vertex (a trained weight per column)
};

/// A layout on ids. Colours are the RAW colours of the relations (Relation::raw_row).
struct IdQuestion {
  const layout::Layout* layout = nullptr;
  std::vector<RowRule> rules;         ///< one per layout relation
  std::uint32_t vocabulary = 2;       ///< V of the enumeration, at least 2: ordinary ids 0..V-1
  bool bos = false;                   ///< token 0 carries an id of its own (printed as V)
  bool absolute_positions = false;    ///< initial labels are (id, i) instead of id
  /// When not empty, one entry per token: initial labels are (id, position_colours[i]). For fixed position tables with
  /// equal rows; absolute_positions is then ignored. Registers always start from their colour in the layout.
  std::vector<std::uint64_t> position_colours;
  ClassKind target_class = ClassKind::all;
  const group::Group* target = nullptr;  ///< G of the targets, on tokens
};

/// Two labelled inputs that agree at every depth <= the one asked, while the target tells them apart. Chosen so that x and y
/// differ in as few places as possible: x = y when some sequence has two such tokens, else one place, else the least
/// difference found from the first members of every class of equal labels; lexicographically least among those (x, a, y, b).
struct IdCollision {
  std::vector<std::uint32_t> x, y;  ///< id sequences of length n (BOS = vocabulary)
  Vertex a = 0, b = 0;              ///< F(x)_a = F(y)_b for every network
};

struct IdAnswer {
  std::optional<std::uint64_t> needed;        ///< least m with no collision, the list repeated; null: never
  std::optional<IdCollision> at_given;        ///< a collision at the asked depth, if any
  std::optional<IdCollision> below_needed;    ///< a collision at needed-1, or one that stays for ever
  std::uint64_t stable_at = 0;                ///< the partition does not change any more from this depth on
  std::uint64_t distinct_targets = 0;         ///< Lambda: number of different target labels of the class
};

/// n * V^(ordinary tokens), saturating: the enumeration's size; feasible up to 1e6.
[[nodiscard]] double count_labelled_inputs(const IdQuestion& question);

/// The number of ids that decides (theory.md 15.8 d): max(2, min(V, n)), with BOS max(2, min(V, n-1)). Once every token of
/// the class is in view, equal labels have equal sets of ids in view, so a bad pair uses at most as many ids as there are
/// ordinary tokens. `vocabulary` absent = at least n.
[[nodiscard]] std::uint32_t reduced_vocabulary(std::uint32_t tokens, std::optional<std::int64_t> vocabulary, bool bos);

/// Exact, by computing all labels for m = 0, 1, 2, ... until the partition is stable: labels only ever get finer, and what a
/// layer does depends on the partition alone, so once every layer of the list has left it as it is it stays for ever.
/// `depth` = the given number of layers (nullopt: unbounded).
///
/// Target equality: the functions of the class are those that are G-equivariant and let F(X)_a depend only on S_a (all: every
/// token; causal: tokens <= a; seen: the tokens a ever sees, the list repeated). Such functions are tied by
/// (X, a) ~ (Y, a) for X = Y on S_a, and (X, a) ~ (gX, ga), (gX)_{g(j)} = X_j, for g in G; the target labels are the classes
/// of the equivalence generated by the two, which contains every (X, a) ~ (Y, b) with g(a) = b and Y_{g(j)} = X_j on S_a.
/// With BOS only inputs with the BOS at token 0 exist, so G acts through its stabiliser of token 0.
///
/// O((n + registers) V^ordinary * row length) per layer. Throws ArgumentError when the question is malformed (rules not one per
/// relation, vocabulary below 2, alibi on a relation without distances, group of another degree, more than 2^32 labels),
/// BudgetExhausted.
[[nodiscard]] IdAnswer compute_id_labels(const IdQuestion& question, std::optional<std::uint64_t> depth, const Budget& budget);

}  // namespace sightline::sight
