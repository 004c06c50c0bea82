#include "sightline/symmetry/even_arcs.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/even_steps.hpp"
#include "sightline/symmetry/refinement.hpp"

namespace sightline::symmetry {

namespace {

constexpr Threshold<Vertex> few_vertices{256, 3, "even arcs"};
/// Spans of so great a share of the vertices are worth it, and cells of that size.
constexpr Vertex long_share = 8, cell_share = 64;
constexpr Threshold<Vertex> least_cell{8, 2, "even arcs"}, long_enough{8, 2, "even arcs"};
/// Vertices that stay are listed for so many cells and colours.
constexpr std::size_t most_lists = 16;

std::uint64_t count_arcs(const Span& span) { return std::uint64_t{span.last - span.first} / span.step + 1; }

/// Do rows hold so much that going through them costs each level of a search all vertices?
bool are_rows_long(const RunGraph& graph) {
  std::uint64_t held = 0;
  const std::uint64_t wanted = std::uint64_t{graph.vertices} * graph.vertices / 32;
  for (const RunRelation& relation : graph.relations) {
    for (Vertex v = 0; v < graph.vertices && held < wanted; ++v) {
      for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) {
        if (span->slope == 0 && count_arcs(*span) >= graph.vertices / long_share) held += count_arcs(*span);
      }
    }
  }
  return held >= wanted;
}

class EvenArcs {
public:
  EvenArcs(const RunGraph& graph, const Partition& partition, const Budget& budget) : graph_(graph), partition_(partition), budget_(budget) {
    for (Cell cell = 0; cell < partition.cells(); ++cell) {
      if (partition.size(cell) >= std::max<Vertex>(least_cell, graph.vertices / cell_share)) large_.push_back(cell);
    }
  }

  std::optional<RunGraph> drop() {
    if (large_.empty()) return std::nullopt;
    std::vector<std::uint64_t> colour;
    for (Vertex v = 0; v < graph_.vertices; ++v) colour.push_back(partition_.cell_of(v));
    RunGraphBuilder builder(graph_.vertices, std::move(colour), budget_);
    std::vector<ColouredRun> row;
    std::uint64_t arcs = 0, dropped = 0;
    for (std::size_t r = 0; r < graph_.relations.size(); ++r) {
      const RunRelation& relation = graph_.relations[r];
      builder.begin_relation();
      for (const Cell cell : large_) find_even(relation, cell);
      for (Vertex v = 0; v < graph_.vertices; ++v) {
        budget_.poll();
        const auto even = even_.find(partition_.cell_of(v));
        const std::optional<std::uint64_t> gone = keep_rest(relation, v, even == even_.end() ? nullptr : &even->second, row, arcs);
        if (!gone) return std::nullopt;
        dropped += *gone;
        builder.add_row(row, relation.visible[v] != 0);
      }
      forget();
    }
    if (dropped < arcs / 2) return std::nullopt;
    RunGraph result = builder.take();
    complete(result, budget_);
    return result;
  }

private:
  struct Even {
    std::map<Cell, std::int64_t> colour;  ///< of the arcs that go, by the cell that is read
    std::uint64_t arcs = 0;               ///< of one reader, in all these cells
    std::map<std::int64_t, layout::EvenSteps> kept;  ///< by colour of arcs that go: the vertices that stay
  };

  /// What readers in this cell read evenly, as one of them says.
  void find_even(const RunRelation& relation, Cell cell) {
    const Vertex reader = partition_.members(cell).front();
    std::map<std::pair<Cell, std::int64_t>, std::uint64_t> met;
    for (const Span* span = relation.rows.list_begin(reader); span != relation.rows.list_end(reader); ++span) {
      if (span->slope != 0) continue;
      for (std::uint64_t x = span->first; x <= span->last; x += span->step) {
        if (x != reader && partition_.size(partition_.cell_of(static_cast<Vertex>(x))) >= least_cell) ++met[{partition_.cell_of(static_cast<Vertex>(x)), span->base}];
      }
    }
    Even even;
    for (const auto& [where, count] : met) {
      if (count != partition_.size(where.first) - (where.first == cell ? 1u : 0u)) continue;
      even.colour[where.first] = where.second;
      even.arcs += count;
    }
    if (even.arcs > 0) even_.emplace(cell, std::move(even));
  }

  [[nodiscard]] bool is_even(const Even& even, Vertex x, std::int64_t colour) const {
    const auto at = even.colour.find(partition_.cell_of(x));
    return at != even.colour.end() && at->second == colour;
  }

  /// The vertices that arcs of this colour keep; null where there are too many lists already.
  layout::EvenSteps* find_kept(Even& even, std::int64_t colour) {
    const auto known = even.kept.find(colour);
    if (known != even.kept.end()) return &known->second;
    if (lists_++ == most_lists) return nullptr;
    std::vector<Vertex> number(graph_.vertices);
    for (Vertex x = 0; x < graph_.vertices; ++x) number[x] = is_even(even, x, colour) ? layout::EvenSteps::unnumbered : x;
    return &even.kept.try_emplace(colour, std::move(number), budget_).first->second;
  }

  /// The row without even arcs: how many went, nothing when rows of one cell differ in them or there are too many steps.
  std::optional<std::uint64_t> keep_rest(const RunRelation& relation, Vertex v, Even* even, std::vector<ColouredRun>& row, std::uint64_t& arcs) {
    row.clear();
    std::uint64_t dropped = 0;
    for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) {
      arcs += count_arcs(*span);
      const bool goes = even != nullptr && span->slope == 0 && std::any_of(even->colour.begin(), even->colour.end(), [&](const auto& entry) { return entry.second == span->base; });
      if (!goes) {
        row.push_back(to_run(*span));
        continue;
      }
      layout::EvenSteps* const kept = find_kept(*even, span->base);
      if (kept == nullptr) return std::nullopt;
      const bool is_long = count_arcs(*span) >= long_enough;  // others have steps of all kinds
      const std::vector<Vertex>* const along = is_long ? kept->along(span->step) : nullptr;
      if (is_long && along == nullptr) return std::nullopt;
      dropped += count_arcs(*span);
      if (span->contains(v) && !kept->is_numbered(v)) {  // loops stay
        row.push_back({v, v, 1, span->base, 0});
        --dropped;
      }
      for (std::uint64_t x = span->first; x <= span->last;) {
        const auto here = static_cast<Vertex>(x);
        if (!kept->is_numbered(here)) {
          x = is_long ? (*along)[here] : x + span->step;
          continue;
        }
        const Vertex last = is_long ? std::min(span->last, (*along)[here]) : here;
        row.push_back({here, last, last > here ? span->step : 1, span->base, 0});
        dropped -= (last - here) / span->step + 1;
        x = std::uint64_t{last} + span->step;
      }
    }
    if (dropped != (even == nullptr ? 0 : even->arcs)) return std::nullopt;
    std::sort(row.begin(), row.end(), [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; });
    return dropped;
  }

  void forget() {
    even_.clear();
    lists_ = 0;
  }

  const RunGraph& graph_;
  const Partition& partition_;
  const Budget& budget_;
  std::vector<Cell> large_;
  std::map<Cell, Even> even_;  ///< of the present relation, by the cell of the reader
  std::size_t lists_ = 0;
};

}  // namespace

std::optional<RunGraph> drop_even_arcs(const RunGraph& graph, const Budget& budget) {
  if (graph.vertices < few_vertices || graph.arcs || !graph.initial_keys.empty() || !are_rows_long(graph)) return std::nullopt;
  Refinement refinement(graph, budget);
  refinement.refine_initial(nullptr, nullptr);
  return EvenArcs(graph, refinement.partition(), budget).drop();
}

}  // namespace sightline::symmetry
