// What sums of id + position leave open at the first layer (theory.md 15.4 Lemma S, 15.8 h; docs/theory.md 16.22).
#pragma once

#include <cstdint>

#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

/// Depths [low, high] among which the needed number of layers lies; equal when it is known.
struct AdditiveLayers {
  std::uint64_t low = 0, high = 0;
};

/// Every row of layer 1 shows, for each of its colours, the multiset of ids it reads; all later layers show rows exactly. A root
/// whose time left at a token is positive knows the token's own id; the others it has to work out from those multisets. Up to 400
/// tokens every root is looked at, above that the last one. O(roots times arcs times layers).
/// @param seen  the layout without blind layers  @param reach  layers until every token sees what it needs
/// @param proved  the first layer is known to add up: then what stays open counts as not expressible
[[nodiscard]] AdditiveLayers compute_additive_layers(const Context& context, const layout::Layout& seen, sight::ClassKind kind, std::uint64_t reach, bool proved);

}  // namespace sightline::verdict
