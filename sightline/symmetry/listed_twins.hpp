// Twins of structures in which many vertices share each row: block masks, whatever the numbers of their tokens.
#pragma once

#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/structure.hpp"
#include "sightline/symmetry/twins.hpp"

namespace sightline::symmetry {

/// What find_twins and make_quotient find, from lists alone.
struct ListedTwins {
  TwinClasses classes;
  std::vector<std::vector<std::int64_t>> inner_colours;  ///< list_inner_colours of the structure
  std::vector<layout::Relation> quotient;                ///< by relation: classes that read classes

  /// The quotient as a structure, its vertices coloured as make_quotient colours them; it lives as long as these twins.
  [[nodiscard]] Structure make_structure(const std::vector<std::uint64_t>& vertex_colour, const std::vector<std::uint32_t>& sizes, ColourNames& names) const;
};

/// Plain relations, shown in full, whose rows are few lists that do not move with the reader. Vertices of one colour whose lists are the same, and that
/// stand together in every list or are missing in it, are twins, and these classes are found exactly by splitting along lists and along their readers.
/// Twins of another kind (each reads itself and not the other, or the other way round) are the only readers of their lists.
/// Nothing elsewhere, where there are more than `most_classes`, where there are no twins, and where two lists, or two such readers, look alike.
/// O(members of the lists + vertices), per relation.
[[nodiscard]] std::optional<ListedTwins> find_listed_twins(const Structure& structure, Vertex most_classes, const Budget& budget);

}  // namespace sightline::symmetry
