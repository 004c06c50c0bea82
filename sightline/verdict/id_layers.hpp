// How many layers a class of label functions on token ids needs (theory.md 15.4, 15.5, 15.8).
#pragma once

#include <optional>
#include <string>

#include "sightline/sight/labels.hpp"
#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

enum class IdFloor { none, constant_prefixes, constant_sequences, linformer, max_of_three, collision };

/// What labels say about a class and a group, whatever the feedforward can do. `layers` is exact when labels are
/// sufficient; `only_necessary` says that fewer layers (or never) is proved, but that `layers` may not be enough.
struct IdLayers {
  std::optional<std::uint64_t> layers;
  bool never = false;
  bool only_necessary = false;
  std::uint64_t low = 0, high = 0;  ///< bounds when `layers` is not known; high = 0: none
  std::string rule;                   ///< name; find_rule_text has its source and statement
  std::vector<std::string> premises;  ///< what was found here
  std::optional<sight::IdCollision> at_given, below;
  std::optional<std::uint64_t> distinct_targets;  ///< Lambda, when labels were enumerated
  IdFloor floor = IdFloor::none;
};

/// A norm inside the branch with eps = 0 keeps only the direction of what a row sums up, so that common factors cancel as if the row were
/// normalised (16.17). False where that is not settled: signed weights, a bias mixer, several heads with factors of their own, factors of either sign.
/// @param positive  the layer's kernel is positive everywhere
[[nodiscard]] bool are_directions_settled(const architecture::LayerSpec& layer, bool positive, const layout::Layout& layout, const layout::Layer& read);

/// Does the first layer add up raw ids and positions (15.8 h)? `unknown`: it could not be shown that it weighs its keys differently.
[[nodiscard]] attention_kernel::Tri adds_positions(const Context& context, const layout::Layout& seen);
/// Parallel blocks hand on sums that no feedforward has moved yet; only softmax tells such states apart by Lemma S, or a norm that is not additive.
[[nodiscard]] bool adds_up_unfree_states(const Context& context);

[[nodiscard]] IdLayers compute_id_layers(const Context& context, sight::ClassKind kind);

}  // namespace sightline::verdict
