// Labels of token-id sequences, computed exactly by enumeration (theory.md 15.4, Theorem D).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/reach.hpp"

namespace sightline::sight {

/// What a head's row reveals of mu(c, s) = number of read vertices with colour c and state s (theory.md 15.4).
enum class RowRule {
  multiset,   ///< L1 un-normalised, or normalised with a sink or eps
  frequency,  ///< L2 normalised without colours: one state -> "const s"; else mu/gcd
  learned,    ///< L3 learned or T5 bias: rank one -> e/gcd; else mu/gcd
  rotary,     ///< L4 mu/gcd; one state only -> "const s"
  alibi,      ///< L5 (A_s(z))_s up to a common polynomial factor and integer content; one state only -> "const s"
  set,        ///< L6 max: the set of (c, s)
  whole       ///< trained Linformer: the whole labelled input of the layer (multiset of (position-free) states with their vertices)
};

/// A layout on ids. Colours are the RAW colours of the relations (Relation::raw_row).
struct IdQuestion {
  const layout::Layout* layout = nullptr;
  std::vector<RowRule> rules;         ///< one per layout relation
  std::uint32_t vocabulary = 2;       ///< V of the enumeration: ordinary ids 0..V-1
  bool bos = false;                   ///< token 0 carries an id of its own (printed as V)
  bool absolute_positions = false;    ///< initial labels are (id, i) instead of id
  ClassKind target_class = ClassKind::all;
  const group::Group* target = nullptr;  ///< G of the targets, on tokens
};

/// Two labelled inputs that agree at every depth <= the one asked, while the target tells them apart.
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

/// Exact, by computing all labels for m = 0, 1, 2, ... until the partition is stable over a whole period (the state of the
/// partition after each layer of the list repeats). `depth` = the given number of layers (nullopt: unbounded).
/// Target equality: (X,a) ~ (Y,b) iff some g in G maps a to b and X to Y on what the class lets a depend on (all: every
/// token; causal: tokens <= a; seen: the tokens a ever sees).
[[nodiscard]] IdAnswer compute_id_labels(const IdQuestion& question, std::optional<std::uint64_t> depth, const Budget& budget);

}  // namespace sightline::sight
