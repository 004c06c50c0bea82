// Inside of views.hpp: views where every vertex reads itself and what stands below it (docs/theory.md 16.63). Not for other rooms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::sight {

/// Two vertices of the view of a root that nothing found out tells apart.
struct AlikeVertices {
  layout::Vertex root = 0, x = 0, y = 0;
};

struct DescendingAnswer {
  /// There are no isomorphisms between the views but identities. False may mean: not found out, registers that start equal.
  bool explained = false;
  std::optional<AlikeVertices> alike;  ///< why not, where one view is the reason
};

/// Isomorphisms between the views of these roots at this depth where rows go down: views that hold all rows of what they see are told apart by what their roots read,
/// recursively; each of the others is walked through downwards and upwards, a few times.
/// @param roots  at most one per orbit of the layout's group. Where nothing moves in any view, those are left that look like another
/// O(runs), two reaches, and O(runs) for each root that does not hold all rows of what it sees.
[[nodiscard]] DescendingAnswer explain_descending_rows(const layout::Layout& layout, std::uint64_t depth, std::vector<layout::Vertex>& roots, const Budget& budget);

/// Those of the roots that do not hold all rows of what they see, where rows go down and name tokens: the others' views move nothing and are like no other's. All of them
/// where that is not known.
[[nodiscard]] std::vector<layout::Vertex> find_partial_roots(const layout::Layout& layout, std::uint64_t depth, const std::vector<layout::Vertex>& roots, const Budget& budget);

/// Are there no isomorphisms but identities? Where rows are windows on a grid under a causal mask, of one layer (plane_views.cpp). False may mean: not found out.
/// O(runs) for each frontier, and what is last seen for each root.
[[nodiscard]] bool do_plane_views_explain(const layout::Layout& layout, std::uint64_t depth, const std::vector<layout::Vertex>& roots, const Budget& budget);

}  // namespace sightline::sight
