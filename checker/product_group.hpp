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

}  // namespace checker
