// Twins: vertices whose swap is an automorphism, and the quotient in which a class of them is one vertex.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// Classes of twins, numbered by their least member; members ascending.
struct TwinClasses {
  std::vector<std::uint32_t> class_of;
  std::vector<std::uint32_t> begin;  ///< members of class k: members[begin[k]] .. members[begin[k+1]-1]
  std::vector<Vertex> members;
  /// Colour of the arcs inside class k in relation r, both ways, at inner[k * relations + r]; -1 when there are none.
  /// For a class of one vertex: the colour of its loop.
  std::vector<std::int64_t> inner;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(begin.size() - 1); }
};

inline constexpr std::uint32_t no_group = ~std::uint32_t{0};

/// Classes from the groups of vertices, no_group for a class of one.
/// @param inner  of a vertex and a relation: the inner colour of its group, or of a vertex without group the colour of its loop
template <class Inner>
[[nodiscard]] TwinClasses make_twin_classes(const std::vector<std::uint32_t>& group, std::size_t relations, Inner&& inner) {
  const auto n = static_cast<Vertex>(group.size());
  TwinClasses classes;
  classes.class_of.resize(n);
  std::uint32_t groups = 0;
  for (const std::uint32_t g : group) groups = std::max(groups, g == no_group ? 0 : g + 1);
  std::vector<std::uint32_t> class_of_group(groups, no_group), sizes;
  for (Vertex x = 0; x < n; ++x) {
    const std::uint32_t known = group[x] == no_group ? no_group : class_of_group[group[x]];
    if (known != no_group) {
      classes.class_of[x] = known;
      ++sizes[known];
      continue;
    }
    classes.class_of[x] = static_cast<std::uint32_t>(sizes.size());
    if (group[x] != no_group) class_of_group[group[x]] = classes.class_of[x];
    sizes.push_back(1);
    for (std::size_t r = 0; r < relations; ++r) classes.inner.push_back(inner(x, r));
  }
  classes.begin.assign(sizes.size() + 1, 0);
  for (std::size_t k = 0; k < sizes.size(); ++k) classes.begin[k + 1] = classes.begin[k] + sizes[k];
  classes.members.resize(n);
  std::copy(classes.begin.begin(), classes.begin.end() - 1, sizes.begin());  // from here on where the next member goes
  for (Vertex x = 0; x < n; ++x) classes.members[sizes[classes.class_of[x]]++] = x;
  return classes;
}

/// Exact names for tuples of colours, shared by all graphs that are compared with each other.
class ColourNames {
public:
  std::uint64_t name(const std::vector<std::int64_t>& tuple) { return names_.try_emplace(tuple, names_.size()).first->second; }

private:
  std::map<std::vector<std::int64_t>, std::uint64_t> names_;
};

/// The colours of the quotient's vertices: of their members, sizes, inner colours and loops.
/// @param sizes  of the classes
/// @param loop   of a vertex and a relation: the colour of its loop, -1 for none
template <class Loop>
[[nodiscard]] std::vector<std::uint64_t> name_classes(const TwinClasses& classes, const std::vector<std::uint64_t>& vertex_colour, const std::vector<std::uint32_t>& sizes,
                                                      std::size_t relations, ColourNames& names, Loop&& loop) {
  std::vector<std::uint64_t> colours(classes.size());
  std::vector<std::int64_t> tuple;
  for (std::uint32_t k = 0; k < classes.size(); ++k) {
    const Vertex x = classes.members[classes.begin[k]];
    tuple.assign({static_cast<std::int64_t>(vertex_colour[x]), sizes[k]});
    for (std::size_t r = 0; r < relations; ++r) {
      tuple.push_back(classes.inner[k * relations + r]);
      tuple.push_back(loop(x, r));
    }
    colours[k] = names.name(tuple);
  }
  return colours;
}

/// Colours that find_twins tries as inner colours, by relation: constant colours of runs in any of the graphs; none at all
/// when they are too many to try.
[[nodiscard]] std::vector<std::vector<std::int64_t>> list_inner_colours(const std::vector<const RunGraph*>& graphs);

/// x and y are twins when they have the same colour, visibility and loops, all others read them alike and are read alike by
/// them, and both read each other with one colour (or not at all). This is an equivalence relation; the swap of two twins
/// is an automorphism, so Aut contains the full symmetric group of every class, and permutes classes.
///
/// Fingerprints (field.hpp) of rows and columns propose the classes: per relation, x and y agree when
/// row(x) + k column(x) + c v(x) does, loops left out, for one inner colour c; c runs through "none" and the colours that
/// are common to all `graphs` taken together, as long as these are few (else only "none": fewer twins, same group).
/// Every class is then verified: equal canonical rows once the own colour is replaced by the inner one, and every row
/// constant on every class. Returns one set of classes per graph, or nothing when no graph has a class of two.
/// O(n log n + runs) per relation and inner colour.
[[nodiscard]] std::optional<std::vector<TwinClasses>> find_twins(const std::vector<const RunGraph*>& graphs, const Budget& budget);

/// One vertex per class, coloured by (old colour, size, inner colours, loops); arcs as between representatives. sizes[k]: of class k.
/// Aut(graph) = (product of Sym(class)) . Aut(quotient).
[[nodiscard]] RunGraph make_quotient(const RunGraph& graph, const TwinClasses& classes, const std::vector<std::uint32_t>& sizes, ColourNames& names,
                                     const Budget& budget);

}  // namespace sightline::symmetry
