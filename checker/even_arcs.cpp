// Arcs that say nothing once cells are known: from a cell to another, every one that there can be (docs/theory.md 16.97).
#include <algorithm>
#include <map>
#include <utility>

#include "even_steps.hpp"
#include "graph.hpp"
#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

constexpr Threshold<Vertex> few_vertices{256, 3, "even arcs"}, least_cell{8, 2, "even arcs"}, short_span{8, 2, "even arcs"};
constexpr Vertex long_share = 8, cell_share = 64;
constexpr std::size_t most_lists = 16;

/// Do rows hold so much that going through them costs every level of a path all vertices?
bool are_rows_long(const Graph& graph) {
  std::uint64_t held = 0;
  for (const Table& table : graph.tables) {
    for (Vertex v = 0; v < graph.vertices; ++v) {
      for (const Span& span : table.rows.of(v)) {
        const Vertex size = (span.last - span.first) / span.step + 1;
        if (span.slope == 0 && size >= graph.vertices / long_share) held += size;
      }
    }
  }
  return held >= std::uint64_t{graph.vertices} * graph.vertices / 32;
}

/// Readers of one cell: the colour in which they read all of other cells, by cell, and by colour the vertices that stay.
struct Even {
  std::map<std::uint32_t, std::int64_t> colour;
  std::uint64_t arcs = 0;  ///< of one reader, in all these cells
  std::map<std::int64_t, EvenSteps> kept;
};

Even find_even(const Refiner& cells, const Table& table, Vertex reader) {
  std::map<std::pair<std::uint32_t, std::int64_t>, Vertex> met;
  for (const Span& span : table.rows.of(reader)) {
    if (span.slope != 0) continue;
    for (std::uint64_t x = span.first; x <= span.last; x += span.step) {
      const std::uint32_t cell = cells.cell(static_cast<Vertex>(x));
      if (x != reader && cells.size(cell) >= least_cell) ++met[{cell, span.base}];
    }
  }
  Even even;
  for (const auto& [where, count] : met) {
    if (count != cells.size(where.first) - (where.first == cells.cell(reader) ? 1 : 0)) continue;
    even.colour[where.first] = where.second;
    even.arcs += count;
  }
  return even;
}

/// The vertices that arcs of a colour keep.
EvenSteps& find_kept(const Graph& graph, const Refiner& cells, Even& even, std::int64_t colour) {
  const auto known = even.kept.find(colour);
  if (known != even.kept.end()) return known->second;
  std::vector<Vertex> number(graph.vertices);
  for (Vertex x = 0; x < graph.vertices; ++x) {
    const auto goes = even.colour.find(cells.cell(x));
    number[x] = goes == even.colour.end() || goes->second != colour ? x : none;
  }
  return even.kept.try_emplace(colour, std::move(number)).first->second;
}

}  // namespace

// Whatever goes is all arcs of one colour from one cell to another, so automorphisms of the graph keep it, cells and the rest: cells and traces
// of what is left hold for the graph.
std::optional<Graph> drop_even_arcs(const Graph& graph) {
  if (graph.vertices < few_vertices || !are_rows_long(graph)) return std::nullopt;
  Refiner cells(graph);
  cells.start(nullptr, nullptr);
  Graph fewer;
  fewer.vertices = graph.vertices;
  for (Vertex v = 0; v < graph.vertices; ++v) fewer.colour.push_back(cells.cell(v));
  std::vector<Run> row;
  bool goes = false;
  for (const Table& table : graph.tables) {
    std::map<std::uint32_t, Even> even;  // by cell of the reader
    for (std::uint32_t cell = 0; cell < cells.cells(); ++cell) {
      if (cells.size(cell) >= std::max<Vertex>(least_cell, graph.vertices / cell_share)) even.emplace(cell, find_even(cells, table, cells.members(cell)[0]));
    }
    std::size_t lists = 0;
    fewer.add_table();
    for (Vertex v = 0; v < graph.vertices; ++v) {
      poll();
      row.clear();
      const auto own = even.find(cells.cell(v));
      std::uint64_t dropped = 0;
      for (const Span& span : table.rows.of(v)) {
        const bool stays = own == even.end() || span.slope != 0 || std::ranges::none_of(own->second.colour, [&](const auto& entry) { return entry.second == span.base; });
        if (stays) {
          row.push_back(graph.run(span));
          continue;
        }
        if (!own->second.kept.contains(span.base) && lists++ == most_lists) return std::nullopt;
        EvenSteps& kept = find_kept(graph, cells, own->second, span.base);
        const bool is_long = (span.last - span.first) / span.step >= short_span;  // others have steps of all kinds
        const std::vector<Vertex>* const along = is_long ? kept.along(span.step) : nullptr;
        if (is_long && along == nullptr) return std::nullopt;
        dropped += (span.last - span.first) / span.step + 1;
        if (span.contains(v) && !kept.is_numbered(v)) {  // loops stay
          row.push_back({v, v, 1, span.base, 0});
          --dropped;
        }
        for (std::uint64_t x = span.first; x <= span.last;) {
          const auto here = static_cast<Vertex>(x);
          if (!kept.is_numbered(here)) {
            x = is_long ? (*along)[here] : x + span.step;
            continue;
          }
          const Vertex last = is_long ? std::min(span.last, (*along)[here]) : here;
          row.push_back({here, last, last > here ? span.step : 1, span.base, 0});
          dropped -= (last - here) / span.step + 1;
          x = std::uint64_t{last} + span.step;
        }
        goes = true;
      }
      // Another reader of the cell may have some of these arcs in spans of changing colours, which stay: then what goes is not all.
      if (dropped != (own == even.end() ? 0 : own->second.arcs)) return std::nullopt;
      std::ranges::sort(row, {}, &Run::first);
      fewer.add_rows(row, table.visible[v], 1);
    }
  }
  if (!goes) return std::nullopt;
  fewer.complete();
  return fewer;
}

}  // namespace checker
