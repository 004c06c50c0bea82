// A structure reduced by twins until none are left, with the way back to the original vertices.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/orbits.hpp"
#include "sightline/symmetry/search.hpp"
#include "sightline/symmetry/structure.hpp"
#include "sightline/symmetry/twins.hpp"

namespace sightline::symmetry {

/// A class of at least two twins of one stage, as fibres: lists of `length` original vertices, one after another. Every
/// permutation of the fibres, position by position, is an automorphism of the original structure.
struct TwinFibres {
  std::vector<Vertex> vertices;
  std::uint32_t length = 1;

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(vertices.size() / length); }
};

/// `graph` is the last quotient; `fibre(v)` the original vertices under its vertex v, the least one first, in an order that agrees between
/// vertices of one colour, so that a colour-preserving map of the quotient lifts position by position.
class TwinTower {
public:
  explicit TwinTower(RunGraph graph);
  /// The tower of a structure, shrunk. Large block masks never stand there with all their vertices: their first stage is divided on two
  /// vertices of every stretch of neighbours that are alike (short_start.cpp), with the same result.
  [[nodiscard]] static TwinTower make_shrunk(const Structure& structure, const Budget& budget);
  /// make_shrunk and complete_for_search, without spans where small_graph.hpp or written_graph.hpp do.
  [[nodiscard]] static TwinTower make_for_search(const Structure& structure, Vertex tokens, const Budget& budget);
  /// The same where it is cheap: many vertices share each row, and a small quotient without twins is left. Nothing elsewhere, soon.
  [[nodiscard]] static std::optional<TwinTower> make_listed(const Structure& structure, const Budget& budget);

  [[nodiscard]] const RunGraph& graph() const { return graph_; }
  [[nodiscard]] RunGraph& graph() { return graph_; }
  [[nodiscard]] const std::vector<TwinFibres>& twins() const { return twins_; }
  /// twins(), no longer kept here.
  [[nodiscard]] std::vector<TwinFibres> take_twins() { return std::move(twins_); }
  /// The inner colours tried at every stage, by relation: what the classes of the stage are defined by.
  [[nodiscard]] const std::vector<std::vector<std::vector<std::int64_t>>>& inner_colours() const { return inner_colours_; }
  [[nodiscard]] std::span<const Vertex> fibre(Vertex v) const { return std::span(fibre_).subspan(begin_[v], begin_[v + 1] - begin_[v]); }
  /// How many fibres there are: vertices of the last quotient.
  [[nodiscard]] Vertex fibres() const { return static_cast<Vertex>(begin_.size() - 1); }
  [[nodiscard]] Vertex first_of_fibre(Vertex v) const { return fibre_[begin_[v]]; }
  /// The lift of a map of quotient vertices, here -> there.
  [[nodiscard]] MovedPairs lift(const MovedPairs& moved) const;

  /// complete(graph()), to be searched with tokens first. Where all vertices are tokens, rows that many of them share become vertices of the
  /// graph, behind those that stand for fibres (shared_rows.hpp).
  void complete_for_search(Vertex tokens, const Budget& budget);
  /// By vertex of graph(): does it stand for tokens? Empty: all do.
  [[nodiscard]] std::vector<std::uint8_t> prefer_tokens(Vertex tokens) const;
  /// search_automorphisms of graph() as complete_for_search leaves it, without what generators do to rows.
  [[nodiscard]] Automorphisms search(Vertex tokens, const Budget& budget) const;

  /// Shrinks towers that are compared with each other, stage by stage, until there are no twins or sizes differ (then the
  /// structures do). Vertices that become twins only at a later stage have fibres that were joined at the stage before, so
  /// fibres at least double from stage to stage: there are at most log2(n) + 1 stages.
  static void shrink(const std::vector<TwinTower*>& towers, const Budget& budget);

private:
  /// Begins with `graph` on vertices that stand for first[k] .. first[k+1]-1, the last ones for what is left.
  TwinTower(RunGraph graph, const std::vector<Vertex>& first, Vertex vertices);
  /// The first stage of a structure of long stretches. Nothing where there are none, or where some stretch is no part of one class.
  /// @param may_be_rigid  nobody asks for the graph where nothing moves but within classes of stretches
  [[nodiscard]] static std::optional<TwinTower> start_short(const Structure& structure, bool may_be_rigid, ColourNames& names, const Budget& budget);
  /// The first stage where many vertices share each row (listed_twins.hpp).
  /// @param may_be_complete  nobody asks for rows as spans: a small quotient may be complete, and is the last one then
  [[nodiscard]] static std::optional<TwinTower> start_listed(const Structure& structure, Vertex most_classes, bool may_be_complete, ColourNames& names, const Budget& budget);
  [[nodiscard]] static TwinTower make_shrunk(const Structure& structure, bool is_for_search, const Budget& budget);
  /// The tower of a structure with hardly any row twice, shrunk and complete (written_graph.hpp). Nothing elsewhere.
  [[nodiscard]] static std::optional<TwinTower> make_written(const Structure& structure, const Budget& budget);
  static void shrink_on(const std::vector<TwinTower*>& towers, ColourNames& names, const Budget& budget);
  /// Joins the fibres of every class; the sizes of classes, for make_quotient.
  std::vector<std::uint32_t> join(const TwinClasses& classes);
  void apply(const TwinClasses& classes, ColourNames& names, const Budget& budget);
  /// Is nothing left to be done before the search?
  [[nodiscard]] bool is_ready() const { return is_rigid_ || graph_.arcs; }
  /// Vertex order[k] of the graph is vertex k from now on (near_order.hpp). The graph itself is made so (plain_graph.hpp).
  void renumber(const std::vector<Vertex>& order);

  RunGraph graph_;
  bool is_rigid_ = false;  ///< found out on the way: nothing moves, and graph_ holds no arcs
  bool is_renumbered_ = false;
  std::vector<std::uint32_t> begin_;
  std::vector<Vertex> fibre_;
  std::vector<TwinFibres> twins_;
  std::vector<std::vector<std::vector<std::int64_t>>> inner_colours_;
};

}  // namespace sightline::symmetry
