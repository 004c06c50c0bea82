// What a G-equivariant target of a class may ask of each token, and whether it is in view.
#pragma once

#include <cstdint>
#include <optional>

#include "sightline/sight/views.hpp"

namespace sightline::sight {

/// Least m (the list repeated) at which every token sees all that a G-equivariant target of the class can use. When G moves
/// the class (class causal with a symmetry that exchanges tokens), only W(a) = the tokens j with g(j) in the class's set of g(a) for
/// every g in G counts. @param ordinary_only  token 0 is a BOS and need not be seen.
/// Throws OutOfReach when G moves the class on more than 8,192 tokens, or 8,192 stretches that move as one where the class is causal (wanted_pairs.hpp), and for some 70,000 tokens
/// in any case; but for causal targets with a transitive group, or one that permutes parts of the layout (parted_class.hpp).
[[nodiscard]] Connected compute_wanted_reach(const ViewQuestion& question, bool ordinary_only, const Budget& budget);

/// A depth from which on no view grows.
[[nodiscard]] std::uint64_t compute_stable_depth(const Layout& layout, const Budget& budget);

/// How many pairs (token, wanted token) are out of view after `depth` layers (nullopt: for ever), and the first of them.
struct UnseenPairs {
  std::uint64_t count = 0;
  std::optional<UnreachablePair> first;
};
[[nodiscard]] UnseenPairs find_unseen_pairs(const ViewQuestion& question, std::optional<std::uint64_t> depth, bool ordinary_only,
                                            const Budget& budget);

}  // namespace sightline::sight
