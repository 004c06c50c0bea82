// Inside of natural_order.hpp: tokens of a grid, line after line, where they read blocks of it, and shifted ones in turns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// The tokens line by line, where `block` and `shifted` are the classes that each token is in, and those in one class of both (cells) lie on a grid on which classes are two cells high and wide, or one
/// at the border (docs/theory.md 16.109). Cells have a height and a width, about the same, whose product counts their tokens; tokens of a cell are alike. Nothing where that does not come out even, and where
/// cells are in lines already. O(n).
[[nodiscard]] std::optional<std::vector<Vertex>> order_by_cells(const std::vector<std::uint32_t>& block, const std::vector<std::uint32_t>& shifted, const Budget& budget);

}  // namespace sightline::layout
