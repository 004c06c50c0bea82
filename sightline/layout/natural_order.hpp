// Layouts whose tokens are numbered without regard to who reads whom: clusters, windows listed one after another, files in any order.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::layout {

/// The same layout on other numbers: its vertex k is vertex token[k] of the layout before.
struct Reordered {
  Layout layout;
  std::vector<Vertex> token;
};

inline constexpr Threshold<Vertex> least_reordered{4096, 1, "natural order"}, least_by_readers{256, 1, "natural order"};

/// Numbers that make the rows few runs, where these are lists of scattered tokens (docs/theory.md 16.109): lists are visited one after another, each
/// next one among those with most tokens of the one before, and tokens are sorted by the lists that they read and by how many read them. Where rows are mostly different, each token
/// comes next to one whose row is most like its own (likeness_chain.hpp): windows and circles; where every row holds the next shorter one (a causal mask along an order of its own), by how
/// many read them; windows and shifted blocks on grids are gone through line by line (grid_order.hpp, cell_order.hpp), butterflies by
/// bits (pair_order.hpp), strided rows by who reads most of those that were met (neighbour_chain.hpp). Any order is as right as any other; nothing unless half of the runs or less are left or lines of a grid or bits are found.
/// Nothing for registers, for relative colours, for rows that move along or only go down, and for few tokens.
/// O(members of the lists), and sorting them.
[[nodiscard]] std::optional<Reordered> find_natural_order(const Layout& layout, const Budget& budget);

}  // namespace sightline::layout
