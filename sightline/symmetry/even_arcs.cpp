#include "sightline/symmetry/even_arcs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sightline/symmetry/refinement.hpp"

namespace sightline::symmetry {

namespace {

constexpr Vertex few_vertices = 256;
/// Spans of so great a share of the vertices are worth it, and cells of that size.
constexpr Vertex long_share = 8, cell_share = 64;
constexpr Vertex least_cell = 8;
/// Places to go on from are listed for so many steps of so many cells.
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
      if (partition.size(cell) >= std::max(least_cell, graph.vertices / cell_share)) large_.push_back(cell);
    }
  }
  ~EvenArcs() { budget_.give_back(asked_); }
  EvenArcs(const EvenArcs&) = delete;
  EvenArcs& operator=(const EvenArcs&) = delete;

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
    std::set<std::int64_t> colours;       ///< these
    std::uint64_t arcs = 0;  ///< of one reader, in all these cells
    std::map<std::pair<Vertex, std::int64_t>, std::vector<Vertex>> next;  ///< by step and colour: the first vertex along the step, from each on, that stays
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
      even.colours.insert(where.second);
      even.arcs += count;
    }
    if (even.arcs > 0) even_.emplace(cell, std::move(even));
  }

  [[nodiscard]] bool is_even(const Even& even, Vertex x, std::int64_t colour) const {
    const auto at = even.colour.find(partition_.cell_of(x));
    return at != even.colour.end() && at->second == colour;
  }

  /// Null when there are too many lists already.
  const std::vector<Vertex>* find_next(Even& even, Vertex step, std::int64_t colour) {
    const auto known = even.next.find({step, colour});
    if (known != even.next.end()) return &known->second;
    if (lists_++ == most_lists) return nullptr;
    budget_.ask(graph_.vertices * sizeof(Vertex));
    asked_ += graph_.vertices * sizeof(Vertex);
    std::vector<Vertex>& next = even.next[{step, colour}];
    next.resize(graph_.vertices);
    for (Vertex x = graph_.vertices; x-- > 0;) {
      if (!is_even(even, x, colour)) next[x] = x;
      else next[x] = step < graph_.vertices - x ? next[x + step] : graph_.vertices;
    }
    return &next;
  }

  /// The row without even arcs: how many went, nothing when rows of one cell differ in them or there are too many steps.
  std::optional<std::uint64_t> keep_rest(const RunRelation& relation, Vertex v, Even* even, std::vector<ColouredRun>& row, std::uint64_t& arcs) {
    row.clear();
    std::uint64_t dropped = 0;
    for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) {
      arcs += count_arcs(*span);
      if (even == nullptr || span->slope != 0 || !even->colours.contains(span->base)) {
        row.push_back(to_run(*span));
        continue;
      }
      const std::vector<Vertex>* const next = find_next(*even, span->step, span->base);
      if (next == nullptr) return std::nullopt;
      std::uint64_t kept = 0;
      const bool loop = span->contains(v) && is_even(*even, v, span->base);
      if (loop) row.push_back({v, v, 1, span->base, 0});
      for (std::uint64_t x = (*next)[span->first]; x <= span->last && x < graph_.vertices; ++kept) {
        const auto here = static_cast<Vertex>(x);
        if (!row.empty() && kept > 0 && !loop && row.back().last + span->step == here && (row.back().step == span->step || row.back().first == row.back().last)) {
          row.back().step = span->step;
          row.back().last = here;
        } else {
          row.push_back({here, here, 1, span->base, 0});
        }
        x = x + span->step < graph_.vertices ? (*next)[here + span->step] : graph_.vertices;
      }
      dropped += count_arcs(*span) - kept - (loop ? 1 : 0);
    }
    if (dropped != (even == nullptr ? 0 : even->arcs)) return std::nullopt;
    std::sort(row.begin(), row.end(), [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; });
    return dropped;
  }

  void forget() {
    even_.clear();
    lists_ = 0;
    budget_.give_back(std::exchange(asked_, 0));
  }

  const RunGraph& graph_;
  const Partition& partition_;
  const Budget& budget_;
  std::vector<Cell> large_;
  std::map<Cell, Even> even_;  ///< of the present relation, by the cell of the reader
  std::size_t lists_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace

std::optional<RunGraph> drop_even_arcs(const RunGraph& graph, const Budget& budget) {
  if (graph.vertices < few_vertices || graph.arcs || !graph.initial_keys.empty() || !are_rows_long(graph)) return std::nullopt;
  Refinement refinement(graph, budget);
  refinement.refine_initial(nullptr, nullptr);
  return EvenArcs(graph, refinement.partition(), budget).drop();
}

}  // namespace sightline::symmetry
