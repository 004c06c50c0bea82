// Inside of views.hpp: views of large depth from views of small depth (docs/theory.md 16.40). Not for other rooms.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::sight {

/// Are there no isomorphisms between the views of these roots at this depth but identities? Shown where at some smaller depth, by which all relations have occurred,
/// nothing moves in any view, and where what is near the roots or how much they see differs. False may mean: not found out.
/// @param orbit  of each token under the layout's group, its least member. @param roots  at most one per orbit
/// O(what is seen at the smaller depth, for all orbits) and one reach.
[[nodiscard]] bool do_local_views_explain(const layout::Layout& layout, const std::vector<layout::Vertex>& orbit, std::uint64_t depth,
                                          const std::vector<layout::Vertex>& roots, const Budget& budget);

}  // namespace sightline::sight
