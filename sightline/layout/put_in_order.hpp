// Inside of natural_order.hpp: the layout written down anew, in the order that was found.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/natural_order.hpp"
#include "sightline/layout/token_kinds.hpp"
#include "sightline/layout/token_lists.hpp"

namespace sightline::layout {

struct Order {
  std::vector<Vertex> token;
  bool is_grid = false;  ///< is it better whatever it does to the number of runs?
  bool is_few_runs = false;  ///< is no other worth looking for?
  std::optional<TokenKinds> kinds;  ///< where few, tokens of most of which stand together
};

/// Nothing where that is not worth it. O(members of the lists).
[[nodiscard]] std::optional<Reordered> put_in_order(const Layout& layout, TokenLists& lists, const Order& order, const Budget& budget);

}  // namespace sightline::layout
