// A fixed additive position table that no trained embedding can scale away (theory.md 3.9).
#pragma once

#include <optional>

#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

/// Fixed or sinusoidal rows added to raw tokens as they are.
[[nodiscard]] bool uses_fixed_table(const architecture::Architecture& architecture);

/// What a recolouring by overlap says of isomorphisms that keep the colours.
enum class Overlaps {
  exact,     ///< every component is a clique: every such isomorphism really is an overlap
  by_pairs,  ///< some pairs of a component do not overlap: those that move overlapping pairs alone are overlaps
  unsettled  ///< some rows are confused by what reads them without being equal: only the absence of isomorphisms says something
};

/// Tokens i, j may be confused on the box [-s,s]^(d n) only when their rows differ by less than 2s in every coordinate.
/// Recolours the tokens of `layout` by the connected components of that relation, so that an isomorphism of views that moves
/// tokens of one component only is a possible overlap.
[[nodiscard]] Overlaps recolour_by_overlap(const Context& context, layout::Layout& layout);

/// The permutations of a group that move every token to one whose row overlaps its own, but for those in `harmless` (docs/theory.md 16.38).
/// @param keeping_rows  those alone are harmless that move no token to a different row (docs/theory.md 16.79)
struct ExchangedRows {
  std::optional<sight::Collision> first;  ///< of fewest tokens moved, then of least images
  /// All were looked at: at most 5,040 of them, on at most 64 tokens; else transpositions alone, of neighbours on more tokens than that (up to 4,096).
  bool complete = false;
};
[[nodiscard]] ExchangedRows find_exchanged_rows(const Context& context, const group::Group& group, const group::Group& harmless, bool keeping_rows);

/// Does a norm of the stack make different rows of a fixed table equal: LayerNorm removes the mean of a row, eps = 0 its
/// length (15.5 D1, 15.8 p)? Exact on the decimals written.
[[nodiscard]] bool norms_merge_rows(const architecture::Architecture& architecture);

/// 3.9 with tau of the collision: half the volume share of the inputs that have a partner, rounded down.
[[nodiscard]] Floor make_overlap_floor(const Context& context, const std::optional<sight::Collision>& collision, bool for_every_group);

}  // namespace sightline::verdict
