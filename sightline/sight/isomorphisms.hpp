// All isomorphisms of rooted views of a small layout, one by one: what group averaging needs (theory.md 3.2).
#pragma once

#include "sightline/sight/views.hpp"

namespace sightline::sight {

/// Outputs that share a view: one root, and for every b with a view like its own all of Iso_m(root, b), as images of the tokens.
struct RootClass {
  Vertex root = 0;
  std::vector<std::pair<Vertex, std::vector<std::vector<Vertex>>>> to;
};

/// The classes of all tokens at depth m, for class `all` when (R) holds. Nothing when there are more than 64 tokens or more than `most`
/// isomorphisms, when registers start equal, or beyond four million steps. By backtracking over refined views.
[[nodiscard]] std::optional<std::vector<RootClass>> list_isomorphisms(const ViewQuestion& question, std::uint64_t depth, std::uint64_t most, const Budget& budget);

}  // namespace sightline::sight
