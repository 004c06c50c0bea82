// Inside of views: the views of a grid of products, decided from the two factors (docs/theory.md 16.26).
#pragma once

#include <functional>

#include "grid.hpp"
#include "group.hpp"

namespace checker {

/// Is every isomorphism between the views of these roots (one per orbit under automorphisms of the layout) one of the symmetries that `holds`
/// confirms to be in the group, times a permutation within equal numbers? False may mean: not found out.
/// @param grid  of this layout, nullptr: none   @param holds  is this automorphism of the layout in the group? none: all are
/// O(tokens * different kinds of views), and the views of both factors.
[[nodiscard]] bool do_products_explain(const Layout& layout, const Grid* grid, std::uint64_t depth, const std::vector<Vertex>& roots,
                                       const std::vector<Vertex>& number, const std::function<bool(const Permutation&)>& holds);

}  // namespace checker
