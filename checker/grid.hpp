// Inside of reach: layouts on a grid whose rows are products.
#pragma once

#include <optional>

#include "layout.hpp"

namespace checker {

/// Vertex (r, c) = r width + c. In every layer (r, c) reads the product of what r reads in `down` and c reads in
/// `across`, itself among it. Then so are the views: by induction R_q[(r, c)] = D_q[r] x C_q[c], because a union of
/// products D[r'] x C[c'] over all r' in A, c' in B is the product of the unions.
struct Grid {
  Vertex width = 0;
  Layout down, across;
};

/// A width that the rows suggest and all of them confirm; nothing when there is none, and with registers. O(runs).
[[nodiscard]] std::optional<Grid> find_grid(const Layout& layout);

class ReachMemory;
/// The same for the layout of a memory, found once; nullptr for nothing.
[[nodiscard]] const Grid* find_grid(ReachMemory& memory);
/// What find_grid(layout) gave for the layout of the memory, so that it is not looked for again.
void keep_grid(ReachMemory& memory, std::optional<Grid> grid);

} // namespace checker
