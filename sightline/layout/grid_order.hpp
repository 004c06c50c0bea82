// Inside of natural_order.hpp: tokens of a grid, line after line, where each reads a window around itself.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/joined_rows.hpp"

namespace sightline::layout {

struct GridOrder {
  std::vector<Vertex> token;
  std::size_t width = 0;  ///< tokens of a line
};

/// The tokens line by line, where rows are windows on a grid of two dimensions cut off at its borders, or crosses, or neighbours alone (docs/theory.md 16.109): from a token with one of the shortest rows
/// along the border, each time on to the token whose row holds the fewest new members; then lines of equally many tokens, each time those that were met first, sorted by what they read of the line
/// before. Tokens that read a quarter of all are set aside, and come last. Nothing where that does not come out even, and where lines are lines already. O(arcs), and the squares of rows at the border.
[[nodiscard]] std::optional<GridOrder> order_as_grid(const JoinedRows& rows, const Budget& budget);

}  // namespace sightline::layout
