// A fixed additive position table that no trained embedding can scale away (theory.md 3.9).
#pragma once

#include <optional>

#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

/// Fixed or sinusoidal rows added to raw tokens as they are.
[[nodiscard]] bool uses_fixed_table(const architecture::Architecture& architecture);

/// Tokens i, j may be confused on the box [-s,s]^(d n) only when their rows differ by less than 2s in every coordinate.
/// Recolours the tokens of `layout` by the connected components of that relation, so that an isomorphism of views that moves
/// tokens of one component only is a possible overlap. Returns true when every component is a clique: then every such
/// isomorphism really is an overlap; otherwise the absence of isomorphisms still certifies.
[[nodiscard]] bool recolour_by_overlap(const Context& context, layout::Layout& layout);

/// Does a norm of the stack make different rows of a fixed table equal: LayerNorm removes the mean of a row, eps = 0 its
/// length (15.5 D1, 15.8 p)? Exact on the decimals written.
[[nodiscard]] bool norms_merge_rows(const architecture::Architecture& architecture);

/// 3.9 with tau of the collision: half the volume share of the inputs that have a partner, rounded down.
[[nodiscard]] Floor make_overlap_floor(const Context& context, const std::optional<sight::Collision>& collision, bool for_every_group);

}  // namespace sightline::verdict
