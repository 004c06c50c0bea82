// Inside of natural_order.hpp: tokens numbered by bits, where each layer joins those that differ in one of them.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// partner[layer][i]: the one token that i reads there beside itself, or i. The tokens in an order in which the one at place k is joined in each layer with the one at place k ^ c, for a number c of the
/// layer's own (butterflies; docs/theory.md 16.109): the line is doubled by a layer at a time, until nobody in it is joined with anybody else. Nothing where that does not come out. O(n) for each layer.
[[nodiscard]] std::optional<std::vector<Vertex>> order_by_pairs(const std::vector<std::vector<Vertex>>& partner, const Budget& budget);

}  // namespace sightline::layout
