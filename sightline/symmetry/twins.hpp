// Twins: vertices whose swap is an automorphism, and the quotient in which a class of them is one vertex.
#pragma once

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

/// Exact names for tuples of colours, shared by all graphs that are compared with each other.
class ColourNames {
public:
  std::uint64_t name(const std::vector<std::int64_t>& tuple) { return names_.try_emplace(tuple, names_.size()).first->second; }

private:
  std::map<std::vector<std::int64_t>, std::uint64_t> names_;
};

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
