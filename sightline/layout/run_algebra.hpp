// Union, intersection and difference of patterns, on affine runs: segments stay segments wherever the bounds of both
// sides keep their order, and only readers at which residue classes move against each other are written out.
#pragma once

#include <cstdint>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

enum class SetOperation { unite, intersect, subtract };

/// Row i is `a's row i  op  b's row i`. An arc that both have keeps the colour it has in `a`; colours play no part in
/// deciding what `subtract` and `intersect` remove. The patterns have the same number of vertices (ArgumentError).
/// Complexity: a segment of readers with A and B runs costs O(A B) for each of the O(A B) readers at most at which two
/// bounds pass each other; rows of constant runs without steps cost O(A + B).
[[nodiscard]] Pattern combine(SetOperation operation, const Pattern& a, const Pattern& b, const Budget& budget);

/// The pattern without the arcs j > i among the vertices < tokens. Keeps segments and lists as they are. O(size).
[[nodiscard]] Pattern make_causal(const Pattern& pattern, Vertex tokens, const Budget& budget);

}  // namespace sightline::layout
