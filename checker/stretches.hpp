// Inside of reach and of structures: large block masks on two vertices per stretch.
#pragma once

#include <optional>
#include <vector>

#include "layout.hpp"
#include "structure.hpp"

namespace checker {

/// A stretch: neighbours with one row in every relation, none of which a run of any row tells from the next. The members of a stretch are exchangeable, so
/// two of them, the first and the second, say how any two read each other and how each of them and any other vertex do.
struct Stretches {
  std::vector<Relation> relations;  ///< on the vertices that are kept; relative positions left out
  std::vector<Vertex> first;        ///< by vertex that is kept: it stands for first .. first + count - 1
  std::vector<Vertex> count;
  std::vector<Vertex> lead;         ///< the first vertex of its stretch
  [[nodiscard]] Vertex place_of(Vertex x) const;  ///< what stands for x
};

/// Nothing for few vertices, or when more than an eighth of them would remain. Vertices from `tokens` on are stretches of their own. With `shown`, a structure of
/// these relations, colours and visibility are the same within a stretch as well, and relations have no relative positions.
/// O(vertices + segments and runs of the patterns).
[[nodiscard]] std::optional<Stretches> find_stretches(Vertex vertices, Vertex tokens, const std::vector<const Relation*>& relations, const Structure* shown);

/// Where evidence names one stage of twins and nothing else, and a few passes over the rows tell all stretches apart but those that are twins: the classes of
/// two members and more. Their permutations are all automorphisms that there are (docs/theory.md 16.46). Nothing where that is not found out (apart.cpp).
[[nodiscard]] std::optional<std::vector<std::vector<Vertex>>> find_stretches_apart(const Structure& structure, const Json& evidence);

}  // namespace checker
