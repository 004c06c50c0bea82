// The input of the symmetry engine: vertices with colours and a few coloured relations given as runs.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/layout/layout.hpp"

namespace sightline::symmetry {

using layout::Vertex;

/// A relation of which only some rows count. `visible` empty: all rows. A hidden row is no information at all (not even
/// "empty"), so hide exactly rows that vertex colours tell apart from shown ones, or that are hidden on purpose (views).
struct VisibleRelation {
  const layout::Relation* relation = nullptr;
  std::vector<bool> visible;
};

/// A coloured relational structure on 0 .. vertices-1. An isomorphism preserves vertex colours, and for every relation
/// the visibility of each row and every coloured arc of visible rows.
struct Structure {
  Vertex vertices = 0;
  std::vector<std::uint64_t> vertex_colour;
  std::vector<VisibleRelation> relations;
};

/// The structure whose automorphisms are the layout's (format.md, `layout`): every row of every relation.
[[nodiscard]] Structure make_structure(const layout::Layout& layout);

}  // namespace sightline::symmetry
