// Colour refinement on spans, in rounds, with a trace that isomorphic structures share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/partition.hpp"
#include "sightline/symmetry/place_marks.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// What every round found, as one number per round. Equal for isomorphic structures treated alike.
using Trace = std::vector<std::uint64_t>;

/// A partition of the vertices of a RunGraph, refined by what cells read and are read by.
///
/// Every cell number has a fixed random value. The signature of a vertex is a linear function of the values of its
/// neighbours (each weighted by the colour of the arc and by its direction), so when a cell splits only differences are
/// added: over short spans vertex by vertex, over long ones as changes at their ends, or, where many spans with steps change,
/// with difference arrays. Colours in arithmetic progression multiply the difference by a power per vertex, so such
/// spans are not expanded either. Cells are then split by the differences of this round; the largest part keeps its
/// number and costs nothing (Hopcroft). The result depends on the structure only up to isomorphism; a collision of
/// fingerprints makes it coarser, never wrong, because every map found with it is verified.
///
/// Complexity: a round costs O(spans of the vertices that changed + vertices touched, times a logarithm).
class Refinement {
public:
  /// `graph` must be complete(). The first refine() starts from the initial cells.
  Refinement(const RunGraph& graph, const Budget& budget);

  [[nodiscard]] const Partition& partition() const { return partition_; }
  [[nodiscard]] const RunGraph& graph() const { return graph_; }

  /// Refines the initial partition. With `expected` it stops at the first difference and returns false; otherwise the
  /// trace is written to `recorded`.
  bool refine_initial(Trace* recorded, const Trace* expected);
  /// Gives v, of a cell of size >= 2, a cell of its own, and refines.
  bool individualise(Vertex v, Trace* recorded, const Trace* expected);
  void undo_to(std::size_t splits) { partition_.undo_to(splits); }

private:
  struct Record {
    field::Element difference;
    Vertex vertex;
  };

  /// What a round did to a cell of at least two vertices.
  struct Tally {
    field::Element difference = 0;
    Vertex touched = 0;
    Vertex place = 0;  ///< where its records go
    bool mixed = false;
  };

  class Adder;

  [[nodiscard]] std::span<const Vertex> touched() const { return {touched_list_.data(), touched_count_}; }
  bool run(std::size_t from, bool initial, Trace* recorded, const Trace* expected);
  void spread_initial();
  void spread_evenly(field::Element value);
  void spread_cell(Cell cell, field::Element difference);
  void spread_spans(std::span<const Vertex> members, field::Element difference);
  void spread_counted(std::span<const Vertex> members, field::Element difference);
  void spread_arcs(std::span<const Vertex> members, field::Element difference);
  void spread_list(Adder& add, const Span* begin, const Span* end, field::Element difference);
  void spread_progression(Adder& add, const Span& span, field::Element value);
  /// The ends of spans of one step, as changes at places. In the order of its step (by residue, then by size) a span has no gaps.
  struct Ends {
    Vertex step;
    Vertex width;  ///< places of one residue, two more than it has vertices
    std::vector<std::vector<field::Element>> changes;  ///< [slope index][place], empty until there are any
    PlaceMarks marks;
    [[nodiscard]] Vertex places(Vertex vertices) const { return step == 1 ? vertices + 1 : step * width; }
    [[nodiscard]] Vertex place(Vertex x) const { return step == 1 ? x : x % step * width + x / step; }
    [[nodiscard]] std::size_t vertex(Vertex place) const { return step == 1 ? place : std::size_t{place} % width * step + place / width; }
  };
  /// Difference arrays by (slope index, step).
  struct Dense {
    std::uint32_t slope_index;
    Vertex step;
    std::vector<field::Element> steps;
    bool used;
  };
  /// Null beyond the first few.
  [[nodiscard]] Ends* find_ends(Vertex step);
  [[nodiscard]] Dense* find_dense(std::uint32_t slope_index, Vertex step);
  static void mark_change(Ends& ends, Vertex place, std::vector<field::Element>& changes, field::Element value);
  void collect_ends(Ends& ends);
  bool move_to_dense(Ends& ends);
  void collect_dense();
  /// What the round did to every cell, and the number that it adds to the trace.
  [[nodiscard]] std::uint64_t tally_round();
  void forget_round();
  void split_touched();
  void split_cell(Cell cell, std::span<Record> records);
  void extend_values();
  [[nodiscard]] bool prefers_dense(std::size_t from) const;

  const RunGraph& graph_;
  const Budget& budget_;
  std::vector<std::uint64_t> initial_keys_;
  Partition partition_;
  std::vector<field::Element> difference_;  ///< 0: not touched (Adder)
  std::vector<Vertex> touched_list_;  ///< room for all vertices and one more
  std::size_t touched_count_ = 0;
  std::uint32_t walked_ = 0;  ///< vertices, so that not each of them asks for the time
  std::vector<Ends> ends_;  ///< those of step 1 first
  bool stepped_ = false;  ///< is any span with a step > 1 walked through?
  bool dense_ = false;
  std::vector<Dense> dense_arrays_;
  std::vector<Record> records_;
  std::vector<Tally> tallies_;
  std::vector<Cell> touched_cells_;
  std::vector<field::Element> values_;  ///< of cells, as far as there ever were any
  std::vector<Vertex> part_members_, part_sizes_;
};

/// The keys of the initial partition: vertex colour, visibility of the row in every relation, colour of the loop.
[[nodiscard]] std::vector<std::uint64_t> compute_initial_keys(const RunGraph& graph);

}  // namespace sightline::symmetry
