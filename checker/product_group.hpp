// The layout's group on a grid of products, decided from the two factors (docs/theory.md 16.35).
#pragma once

#include <optional>

#include "grid.hpp"
#include "structure.hpp"

namespace checker {

/// GroupProof of a layout whose rows are products, without a graph of its tokens: classes are those of places with equal rows and equal readers,
/// generators are pairs of maps of the factors, and numbers of walks bound the orbits of the path. Nothing where the evidence is not of this kind, or
/// these numbers leave something open: then nothing is concluded. O(tokens * vertices of the path * layers), and the arcs of both factors.
[[nodiscard]] std::optional<ConfirmedGroup> confirm_product_group(const Layout& layout, const Grid& grid, const Json& evidence);

/// The same where every relation is one of: whole grid rows, whole columns, everything, the own token; with both of the first two. Generators that permute
/// rows or columns, strong along the path. Or where, instead of whole columns, part of them is read, in each in the same way, which leaves the identity or the reflection of
/// their places; or the same for rows. O(tokens), four moves each.
[[nodiscard]] std::optional<ConfirmedGroup> confirm_line_group(const Layout& layout, const Grid& grid, const std::vector<std::uint32_t>& relations, const Json& evidence);

/// confirm_product_group for layouts large enough for it to matter. @param grid  what was found of it on the way
[[nodiscard]] std::optional<ConfirmedGroup> confirm_on_grid(const Layout& layout, const Json& evidence, std::optional<std::optional<Grid>>& grid);

}  // namespace checker
