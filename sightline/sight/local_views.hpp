// Inside of views.hpp: views of large depth from views of small depth (docs/theory.md 16.40). Not for other rooms.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::sight {

/// Fixed numbers, so that the same input gets the same answer everywhere.
inline constexpr std::uint64_t few_local_steps = std::uint64_t{1} << 24, most_local_steps = std::uint64_t{1} << 29;

/// Takes away the roots whose views at this depth have no symmetries and are like no other's. Found where at some smaller depth, by which all relations have occurred,
/// nothing moves in any view: those near which, or in how much they see, they are alone. Is none left?
/// @param orbit  of each token under the layout's group, its least member. @param roots  at most one per orbit
/// @param most_work  steps it may take; few where other ways are tried next
/// O(what is seen at the smaller depth, for all orbits) and one reach.
bool drop_by_local_views(const layout::Layout& layout, const std::vector<layout::Vertex>& orbit, std::uint64_t depth, std::vector<layout::Vertex>& roots, const Budget& budget,
                         std::uint64_t most_work = most_local_steps);

}  // namespace sightline::sight
