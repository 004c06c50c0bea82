// The other direction of sight: which tokens come to see a given one.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::sight {

/// For depth q = 0, 1, .., `depth` (fewer when nothing changes over a whole period): the vertices that have seen `token`
/// after q layers, as sorted disjoint runs of step 1. O(depth * runs of a layer).
[[nodiscard]] std::vector<std::vector<layout::Run>> compute_influence(const layout::Layout& layout, std::uint64_t depth, layout::Vertex token,
                                                                      const Budget& budget);

}  // namespace sightline::sight
