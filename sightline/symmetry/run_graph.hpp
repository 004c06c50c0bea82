// The engine's own copy of a structure: rows and columns as spans with their weights, built once.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/arc_lists.hpp"
#include "sightline/symmetry/span.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::symmetry {

/// Lists of spans, one per vertex; vertices with equal lists may share them.
struct SpanLists {
  std::vector<std::uint32_t> begin, end;
  std::vector<Span> spans;
  bool stepped = false;  ///< may a span of a row have a step > 1?

  [[nodiscard]] const Span* list_begin(Vertex v) const { return spans.data() + begin[v]; }
  [[nodiscard]] const Span* list_end(Vertex v) const { return spans.data() + end[v]; }
};

/// One relation: what every visible reader reads, and the same arcs by who is read. A hidden reader's list is empty, and
/// columns do not mention it.
struct RunRelation {
  SpanLists rows;
  SpanLists columns;  ///< empty when symmetric (use by_read()), or where the graph has arcs
  std::vector<std::uint8_t> visible;
  /// Columns are written with the same spans as rows (so a reads b with the colour with which b reads a).
  bool symmetric = false;

  [[nodiscard]] const SpanLists& by_read() const { return symmetric ? rows : columns; }

  /// The span of row i that holds j, or null. O(log spans) without steps.
  [[nodiscard]] const Span* find(Vertex i, Vertex j) const;
  [[nodiscard]] std::int64_t colour(Vertex i, Vertex j) const;
};

/// Finds the span of a row that holds its reader, quickly where readers of long shared lists are asked about in ascending order.
class OwnSpans {
public:
  explicit OwnSpans(const RunRelation& relation) : relation_(relation) {}

  /// Null where the reader does not read itself.
  [[nodiscard]] const Span* find(Vertex v) {
    const SpanLists& rows = relation_.rows;
    return rows.stepped || rows.end[v] - rows.begin[v] <= short_list ? relation_.find(v, v) : find_in_long_list(v);
  }
  /// -1: none.
  [[nodiscard]] std::int64_t colour(Vertex v) {
    const Span* const span = find(v);
    return span == nullptr ? -1 : span->colour(v);
  }

private:
  static constexpr Threshold<std::uint32_t> short_list{8, 1, "short lists"};  ///< lists of so many spans are looked through by halves
  [[nodiscard]] const Span* find_in_long_list(Vertex v);

  const RunRelation& relation_;
  std::vector<std::uint32_t> passed_;  ///< by the place where a list begins, once there is a long list: spans before the one that was found last
};

/// A coloured relational structure in spans. Memory O(n + runs): a column costs as many spans as there are maximal
/// arithmetic progressions of readers whose colours along the column are arithmetic too.
struct RunGraph {
  Vertex vertices = 0;
  std::vector<std::uint64_t> vertex_colour;  ///< compared by value
  std::vector<RunRelation> relations;
  /// Slopes other than 0 that occur in rows or columns, and the powers g^(slope x), x = 0 .. vertices-1.
  std::vector<std::int32_t> slopes;
  std::vector<std::vector<field::Element>> powers;
  /// After complete(), where rows are mostly single vertices.
  std::optional<ArcLists> arcs;
  /// The keys of the initial cells, where rows were never written as spans (small_graph.hpp); else empty.
  std::vector<std::uint64_t> initial_keys;

  /// Index into `slopes` plus 1; 0 for slope 0.
  [[nodiscard]] std::uint32_t slope_index(std::int32_t slope) const {
    if (slope == 0) return 0;
    for (std::uint32_t k = 0; k < slopes.size(); ++k) {
      if (slopes[k] == slope) return k + 1;
    }
    return 0;
  }
  /// g^(slope x).
  [[nodiscard]] field::Element power(std::uint32_t slope_index, Vertex x) const { return slope_index == 0 ? 1 : powers[slope_index - 1][x]; }
};

/// What tells vertices apart before anything is refined: colour, visibility of the row in every relation, colour of the loop.
class InitialKey {
public:
  explicit InitialKey(std::uint64_t vertex_colour) : value_(field::mix(vertex_colour)) {}
  /// The next relation; `loop` -1: none.
  void add(bool visible, std::int64_t loop) { value_ = field::mix(value_, visible ? static_cast<std::uint64_t>(loop) + 2 : 0); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_;
};

/// Adds relations row by row, then columns.
class RunGraphBuilder {
public:
  RunGraphBuilder(Vertex vertices, std::vector<std::uint64_t> vertex_colour, const Budget& budget);

  void begin_relation();
  /// Makes room for about so many spans of the relation begun.
  void expect_spans(std::uint64_t count);
  /// Rows in the order of readers 0, 1, ...; runs disjoint, colours >= 0.
  void add_row(const std::vector<ColouredRun>& runs, bool visible);
  /// The next reader has the row of an earlier one, and its visibility.
  void repeat_row(Vertex earlier);
  /// What was added, without columns and powers: enough to look for twins.
  [[nodiscard]] RunGraph take() { return std::move(graph_); }

private:
  bool keep_slope(std::int64_t slope);
  /// An earlier reader of the present relation with the row in row_, when that is worth looking for.
  [[nodiscard]] std::optional<Vertex> find_equal_row();

  const Budget& budget_;
  RunGraph graph_;
  std::vector<Span> row_;
  std::unordered_map<std::uint64_t, Vertex> first_reader_;  ///< of rows with steps, by hash
  std::uint64_t rows_met_ = 0;                              ///< among those that were looked for
};

/// The rows of a structure. O(runs).
[[nodiscard]] RunGraph make_run_graph(const Structure& structure, const Budget& budget);

/// How refinement walks from a vertex to its neighbours. Both find the same; `cheaper` decides by the lengths of the runs.
enum class Walk { cheaper, spans, arcs };

/// Fills arcs where they are the cheaper way, else columns (if absent) and powers. O(n + runs + changes between successive
/// rows + size of the columns), or O(n + arcs).
void complete(RunGraph& graph, const Budget& budget, Walk walk = Walk::cheaper);

}  // namespace sightline::symmetry
