// Token ids: labels of id sequences and the closed forms about them (theory 15.4, 15.5, 15.8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json.hpp"
#include "layout.hpp"
#include "sight.hpp"

namespace checker {

enum class IdFloor { none, constant_prefixes, constant_sequences, linformer, max_of_three, collision };

/// Two labelled id sequences that agree at the depth while the target tells them apart (BOS = the vocabulary; the ids enumerated when none is given).
struct IdCollision {
  std::vector<std::uint32_t> x, y;
  Vertex a = 0, b = 0;
};

/// What labels say about a class and a group, whatever the feedforward can do.
struct IdLayers {
  std::optional<std::uint64_t> layers;
  bool never = false, only_necessary = false;
  std::uint64_t low = 0, high = 0;
  std::string rule;                 ///< name in the list of rules
  std::vector<std::string> premises;
  std::optional<IdCollision> at_given, below;
  std::optional<std::uint64_t> distinct_targets;
  IdFloor floor = IdFloor::none;
};

/// What rules ask about the rows of tokens. Exact; O(runs), and the arcs of rows with T5 buckets or matrix colours while these name offsets.
struct RowFacts {
  bool nonempty = true, loops = true;                ///< every token reads something; itself
  bool causal = true, bos_in_every_row = true;       ///< no token reads a later one; every token reads token 0
  bool full = true, full_causal = true;              ///< every token reads exactly all tokens; exactly 0..i
  bool names_offsets = true;                         ///< relative colours (without any the matrix colours) say how far ahead the token read lies, one way for all rows
  bool plain = true;                                 ///< every matrix colour is 1 (rows of registers too)
  bool registers = false;                            ///< some token reads a register
};
[[nodiscard]] RowFacts row_facts(const Relation& relation, Vertex tokens);

/// A norm inside the branch with eps = 0 keeps the direction of what a row sums up alone (16.17). False where what that shows is not settled.
/// @param positive  the layer's kernel is positive everywhere
[[nodiscard]] bool are_directions_settled(const Json& layer, bool positive, const Layout& layout, const std::vector<std::uint32_t>& read);

/// Sums of id + position at the first layer (15.4 Lemma S, 15.8 h, docs/theory.md 16.22): the depths between which the needed one lies.
struct FirstSums {
  const Layout* seen = nullptr;     ///< without blind layers
  const Group* target = nullptr;
  ClassKind kind = ClassKind::all;
  bool bos = false;
  std::uint64_t period = 1;         ///< of the list of layers
};
/// Layers after which the list repeats itself, however often it is written down.
[[nodiscard]] std::uint64_t period_of(const Json& layers);
/// `proved`: the first layer is known to add up; then tokens that stand in the same sums count as confused.
[[nodiscard]] std::pair<std::uint64_t, std::uint64_t> additive_layers(const FirstSums& question, std::uint64_t reach, bool proved);

/// What the closed forms ask about the mixer of one [[layer]].
struct IdMixer {
  bool softmax = false;
  char additive_only = 'n';         ///< y, n or ?
  bool blind = false;               ///< other tokens do not matter
  bool sees_places = false;         ///< rows show more than offsets (16.37)
  bool positive = false;            ///< its kernel is positive everywhere
  bool may_weigh_nobody = false;    ///< all weights of a row may be 0 (16.92)
};

struct IdQuestion {
  const Json* architecture = nullptr;
  const Layout* layout = nullptr;
  const Sight* sight = nullptr;     ///< of `seen`
  const Group* target = nullptr;    ///< G of the targets (`&layout_group->group` when it is that); with a BOS its stabiliser of token 0
  const ConfirmedGroup* layout_group = nullptr;
  ClassKind kind = ClassKind::all;
  std::optional<std::uint64_t> given;
  const Json* evidence = nullptr;   ///< the certificate's evidence "ids": {"at_given":{"a","b","x","y"},"below":{..}}, or null
  std::vector<IdMixer> mixers;      ///< one per [[layer]]
  const Layout* seen = nullptr;     ///< the layout with the layers of blind mixers emptied (nullptr: there is none)
  bool witnesses = true;            ///< false: collisions of enumerated labels are left out, and evidence is not read
};
/// Throws Rejected("/evidence/ids/..", ..) when a collision is missing, is none, or has nothing to show; Rejected("limit", ..) beyond 2^26 labels
/// or 2^36 reads per layer.
[[nodiscard]] IdLayers id_layers(const IdQuestion& question);

}  // namespace checker
