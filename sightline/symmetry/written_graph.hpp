// Large plain structures with hardly any row twice (relabelled, random, read from files): arcs from the first step on, twins included.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/head_lists.hpp"
#include "sightline/symmetry/plain_graph.hpp"
#include "sightline/symmetry/structure.hpp"
#include "sightline/symmetry/twins.hpp"

namespace sightline::symmetry {

/// A PlainRelation (plain_graph.hpp) by heads.
struct WrittenRelation {
  HeadLists rows, columns;  ///< no columns where symmetric, and none before they are asked for
  std::vector<std::uint32_t> readers;  ///< how many each vertex has, where they were counted
  std::vector<std::uint8_t> loops;
  std::int64_t colour = 0;
  bool symmetric = false;

  [[nodiscard]] bool has_loop(Vertex v) const { return loops[v] != 0; }
  void prefetch(Vertex v) const {
    prefetch_heads(rows.heads.data() + rows.begin[v]);
    if (!symmetric) prefetch_heads(columns.heads.data() + columns.begin[v]);
  }
  [[nodiscard]] std::uint32_t row_size(Vertex v) const { return rows.begin[v + 1] - rows.begin[v]; }
  Vertex* copy_row(Vertex v, Vertex* out) const { return std::copy(rows.of(v).begin(), rows.of(v).end(), out); }
  Vertex* copy_column(Vertex v, Vertex* out) const { return std::copy(columns.of(v).begin(), columns.of(v).end(), out); }
};

/// What RunGraph is to structures of spans: find_twins, make_quotient and list_inner_colours (twins.hpp) with the same results, on heads.
class WrittenGraph {
public:
  /// More than 1,024 vertices in a few plain relations shown in full, most rows written by themselves, arcs cheaper than spans. Nothing elsewhere.
  /// O(arcs).
  [[nodiscard]] static std::optional<WrittenGraph> read(const Structure& structure, const Budget& budget);

  /// Do a few rounds of hashes tell all vertices apart (number of readers first, then what is read, and what that reads ..)? Then there are no
  /// twins and no automorphisms: equal vertices have equal hashes, whatever collides. Columns are not needed. O(arcs) a round.
  [[nodiscard]] bool is_surely_rigid(const Budget& budget) const;
  /// Finds the columns; to be called before all that follows.
  void add_columns(const Budget& budget);
  /// Nothing where there are none. Two hashes of every vertex propose (its row and column with the own place set, and cleared); lists are compared.
  /// O(arcs + n log n).
  [[nodiscard]] std::optional<TwinClasses> find_twins(const Budget& budget) const;
  [[nodiscard]] std::vector<std::vector<std::int64_t>> list_inner_colours() const;
  [[nodiscard]] WrittenGraph make_quotient(const TwinClasses& classes, const std::vector<std::uint32_t>& sizes, ColourNames& names, const Budget& budget) const;
  /// near_order.hpp, for make_graph.
  [[nodiscard]] std::optional<std::vector<Vertex>> find_near_order(const Budget& budget) const;
  /// Ready to be searched (plain_graph.hpp), vertex order[k] as number k. What was read goes over into it.
  [[nodiscard]] RunGraph make_graph(const std::optional<std::vector<Vertex>>& order, const Budget& budget) &&;

  /// With what was read of all relations, rows alone.
  WrittenGraph(const Structure& structure, std::vector<WrittenRelation> relations);

private:
  WrittenGraph() = default;
  /// Proposed classes: by vertex, group and inner colours.
  struct Proposal;
  [[nodiscard]] std::uint64_t count_listed() const;
  [[nodiscard]] std::uint64_t make_initial_key(Vertex v) const;
  [[nodiscard]] std::optional<Proposal> propose(const Budget& budget) const;
  [[nodiscard]] bool are_twins(Vertex x, Vertex y, const std::int64_t* inner) const;

  Vertex vertices_ = 0;
  std::vector<std::uint64_t> vertex_colour_;
  std::vector<WrittenRelation> relations_;
};

}  // namespace sightline::symmetry
