// Layouts looked at in another order of the tokens (docs/theory.md 16.109).
#pragma once

#include <vector>

#include "group.hpp"
#include "layout.hpp"

namespace checker {

/// The token at each place. Throws Malformed unless every token has one, Rejected where the architecture speaks of single tokens or of their order.
[[nodiscard]] std::vector<Vertex> read_places(const Json& places, const Json& architecture, Vertex tokens);
/// Vertex k of the layout is tokens[k] of the layout before. Throws Rejected for rows that move along with their readers, and where all of them only go down.
/// O(members of the lists), and sorting them.
void put_into_places(Layout& layout, const std::vector<Vertex>& tokens);
/// The permutation of places as one of tokens; empty: places are tokens.
[[nodiscard]] Permutation in_tokens(const Permutation& permutation, const std::vector<Vertex>& tokens);

}  // namespace checker
