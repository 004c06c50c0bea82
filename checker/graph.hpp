// Inside the checks of structures: rows and columns as arithmetic spans, quotients by twins, colour refinement.
// Fingerprints only propose (twins, cells) or prove difference; equality is always compared run by run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json.hpp"
#include "layout.hpp"

namespace checker {

using Element = std::uint64_t;  ///< an integer modulo 2^61 - 1
using Moves = std::vector<std::pair<Vertex, Vertex>>;  ///< (x, image), sorted by x
struct Structure;

/// first, first+step, .., last; x among them has the colour base + slopes[slope] x, and the weight weight * g^(slopes[slope] x).
struct Span {
  Vertex first = 0, last = 0, step = 1;
  std::uint16_t slope = 0;  ///< number of the slope, 0 for slope 0
  std::uint8_t first_moves = 0, last_moves = 0;  ///< 1 where the end is one vertex further for every next vertex of the stretch
  std::int64_t base = 0;
  Element weight = 0;
  friend bool operator==(const Span&, const Span&) = default;
  [[nodiscard]] bool contains(Vertex x) const { return x >= first && x <= last && (x - first) % step == 0; }
  [[nodiscard]] Span moved(Vertex k) const { return {first + first_moves * k, last + last_moves * k, step, slope, 0, 0, base, weight}; }
};

/// Lists of spans by vertex. Neighbours whose spans stay, or move along, are a stretch and share theirs.
struct Lists {
  struct Stretch {
    Vertex first;
    std::uint32_t begin, end;
  };
  std::vector<std::uint32_t> stretch_of;  ///< by vertex
  std::vector<Stretch> stretches;
  std::vector<Span> spans;
  [[nodiscard]] auto of(Vertex v) const {
    const Stretch& stretch = stretches[stretch_of[v]];
    return std::span(spans).subspan(stretch.begin, stretch.end - stretch.begin) |
           std::views::transform([k = v - stretch.first](const Span& span) { return span.moved(k); });
  }
  void close();  ///< the spans behind those of the last stretch are the next vertex's
};

struct Table {
  Lists rows, columns;
  std::vector<bool> visible;
  bool symmetric = false;  ///< columns are written as the rows are, and only there
};

struct Graph {
  Vertex vertices = 0;
  std::vector<std::uint64_t> colour;
  std::vector<Table> tables;
  std::vector<std::int64_t> slopes{0};
  std::vector<std::vector<Element>> powers{{}};  ///< powers[s][x] = g^(slopes[s] x)
  std::vector<Vertex> steps;  ///< of long spans, other than 1; a few of them

  void add_table();
  void add_rows(const std::vector<Run>& runs, bool visible, Vertex count);  ///< of the last table, equal for so many readers
  void complete();                                           ///< columns; O(spans + changes from reader to reader)
  [[nodiscard]] Element power(std::uint32_t slope, Vertex x) const { return slope == 0 ? 1 : powers[slope][x]; }
  [[nodiscard]] Run run(const Span& span) const;
  [[nodiscard]] std::vector<Run> row(const Table& table, Vertex i) const;
  [[nodiscard]] std::int64_t find_colour(std::size_t table, Vertex i, Vertex j) const;  ///< -1 when absent
  std::uint32_t find_slope(std::int64_t slope);  ///< number of the slope, or none when there are too many
  void append(Lists& lists, Element scale, const Run& run);
};

/// x -> image in stretches x + c or c - x, so that runs are mapped whole; where much moves, also by vertex, and runs of the given steps along which
/// images are evenly spaced.
class StretchMap {
public:
  StretchMap(const Moves& moves, Vertex vertices, const std::vector<Vertex>& steps);
  void map(const Run& run, std::vector<Run>& out) const;
  /// Of all vertices; empty where little moves.
  [[nodiscard]] const std::vector<Vertex>& images() const { return image_; }

private:
  struct Stretch {
    Vertex first, last, image;
    int direction;
  };
  void map_stepped(const Run& run, const std::vector<Vertex>& until, std::vector<Run>& out) const;
  void chain(Vertex step);
  std::vector<Stretch> stretches_;
  std::vector<std::pair<Vertex, std::vector<Vertex>>> chained_;  ///< where little moves, by step and stretch: where the last one begins along the step that moves as it does
  std::vector<Vertex> image_;                               ///< of all vertices; empty: little moves
  std::vector<std::pair<Vertex, std::vector<Vertex>>> even_;  ///< by step: how far from every vertex images are evenly spaced
};
/// Same coloured set, whatever the runs; both lists are left in some other form.
[[nodiscard]] bool same_runs(std::vector<Run>& a, std::vector<Run>& b);
/// Is the bijection an isomorphism a -> b? `local`: a and b are the same complete graph, where rows and columns of what moves decide.
[[nodiscard]] bool maps(const Graph& a, const Graph& b, const Moves& moves, bool local);

/// A graph divided by twins stage by stage. Twins: equal colours, visibility and loops; others read them and are read by them alike,
/// and they read each other with one colour, absent or in the stage's list. Whatever the list, automorphisms permute the classes, so
/// |Aut| = product of |class|! . |Aut(quotient)|, and a map of quotient vertices lifts fibre by fibre, position by position.
class Tower {
public:
  Tower(const Structure& structure, std::vector<std::uint64_t> colour);
  /// The quotient, from large block masks by way of their stretches.
  Tower(const Structure& structure, const Json& inner, const std::string& claim);
  /// inner = [stage: [relation: [colour, ..], ..], ..] (evidence). Throws Rejected when proposed twins are none.
  static void shrink(const std::vector<Tower*>& towers, const Json& inner, const std::string& claim);
  /// Makes rows of the quotient that many share vertices of the graph, behind those that stand for fibres. Where there are tables with at most one
  /// different row per eight vertices; automorphisms go on to rows in exactly one way, so the group is the same.
  void name_rows();
  /// Moves of fibres with what the rows must do then; nothing when they cannot.
  [[nodiscard]] std::optional<Moves> move_rows(Moves moves) const;
  struct Twins {
    std::vector<Vertex> vertices;  ///< fibres one after another
    std::size_t length = 1;
  };
  Graph graph;
  std::vector<Twins> twins;
  [[nodiscard]] Vertex fibres() const { return static_cast<Vertex>(begin_.size() - 1); }
  [[nodiscard]] std::vector<Vertex> fibre(Vertex v) const { return {fibre_.begin() + begin_[v], fibre_.begin() + begin_[v + 1]}; }
  [[nodiscard]] Vertex first(Vertex v) const { return fibre_[begin_[v]]; }

private:
  void add_rows(const Structure& structure);
  bool divide(const Json& inner, std::map<std::vector<std::int64_t>, std::uint64_t>& names, const std::string& claim);
  bool start_short(const Structure& structure);
  std::vector<std::uint32_t> begin_;
  std::vector<Vertex> fibre_;
  std::vector<Vertex> lead_;  ///< before the first stage on stretches: the vertex that leads each one's
};

using Trace = std::vector<std::uint64_t>;

/// Cells of vertices, refined by what cells read and are read by; numbers of cells and traces are the same for isomorphic graphs that
/// are treated alike, so different traces prove that no isomorphism exists.
class Refiner {
public:
  explicit Refiner(const Graph& graph);
  /// False at the first difference from `expected`; the trace goes to `recorded`.
  bool start(Trace* recorded, const Trace* expected);
  bool individualise(Vertex v, Trace* recorded, const Trace* expected);
  [[nodiscard]] std::size_t mark() const { return log_.size(); }
  void undo(std::size_t mark);
  [[nodiscard]] std::uint32_t cell(Vertex v) const { return cell_[v]; }
  [[nodiscard]] std::uint32_t cells() const { return static_cast<std::uint32_t>(size_.size()); }
  [[nodiscard]] Vertex size(std::uint32_t cell) const { return size_[cell]; }
  [[nodiscard]] const Vertex* members(std::uint32_t cell) const { return elements_.data() + start_[cell]; }
  /// Linear sums over what each vertex reads and is read by in one table, loops left out: equal for twins without inner colour.
  [[nodiscard]] std::vector<Element> fingerprints(std::size_t table);
  [[nodiscard]] bool is_discrete() const { return size_.size() == elements_.size(); }

private:
  struct Split {
    std::uint32_t cell;
    Vertex start, size;
    std::uint32_t fresh;
  };
  struct Long {
    Vertex first, last, step;
    std::uint32_t slope;
    Element value;
  };
  /// How a cell is touched in one round, and where its next record goes.
  struct Tally {
    Element difference;
    Vertex touched;
    std::uint32_t next;
    bool mixed;
  };
  struct Dense {
    Vertex step;
    std::uint32_t slope;
    bool used;
    std::vector<Element> steps;
  };
  bool run(std::size_t from, bool initial, Trace* recorded, const Trace* expected);
  void spread(const Table& table, Vertex v, Element value);
  void spread_list(const Lists& lists, Vertex v, Element value);
  void spread_dense(const Long& span);
  void collect();
  void collect_ends(std::span<const Long> spans);
  void add(Vertex x, Element value);
  [[nodiscard]] Element at_power(Element value, std::uint32_t slope, Vertex x) const;
  std::uint64_t split_touched();
  void split(std::uint32_t cell, std::span<const std::pair<Element, Vertex>> touched);
  void relabel(std::uint32_t cell, Vertex start, Vertex size);

  const Graph& graph_;
  std::vector<std::uint64_t> keys_;
  std::vector<Vertex> elements_, position_, start_, size_, touched_;
  std::vector<std::uint32_t> cell_, touched_cells_;
  std::vector<Split> log_;
  std::vector<Element> difference_;
  std::vector<std::uint8_t> is_touched_;
  std::vector<Tally> tallies_;  ///< by cell
  std::vector<std::pair<Element, Vertex>> records_;
  std::vector<std::pair<Vertex, Vertex>> parts_;
  std::vector<Long> long_;
  std::vector<Dense> dense_arrays_;
  std::uint64_t work_ = 0;
  bool dense_ = false;
};

/// The graph with the cells of its refinement as colours, without the arcs that go from all of one cell to all of another in one colour: its path of
/// individualised vertices costs what is near them where summaries are read by everybody. Nothing where rows are short, or nothing goes.
[[nodiscard]] std::optional<Graph> drop_even_arcs(const Graph& graph);

}  // namespace checker
