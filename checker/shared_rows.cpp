// Rows that many readers share, as vertices of their own (docs/certificate.md, "Groups"): what comes apart then touches the rows that hold it, and
// not every vertex through them.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "field.hpp"
#include "graph.hpp"
#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

constexpr Threshold<Vertex> few_vertices{4096, 2, "shared rows"};
constexpr Vertex share = 8;

/// Different rows of a table, as sets with colours, by reader (none where the row is hidden); `first`: their first readers, or none at all
/// when there are too many rows.
struct DifferentRows {
  std::vector<std::uint32_t> of;
  std::vector<Vertex> first;

  DifferentRows(const Graph& graph, const Table& table) {
    std::vector<std::pair<Vertex, std::vector<std::uint64_t>>> sums;  // by step: over the members of x's residue up to x, at x + step
    // Rows of colours that name offsets differ from reader to reader: soon given up.
    std::uint64_t walked = 0;
    const auto too_many = [&] { return first.size() * share > graph.vertices || walked > 64 * std::uint64_t{graph.vertices}; };
    const auto print = [&](const std::vector<Run>& row) {
      std::uint64_t all = 0;
      for (const Run& run : row) {
        auto at = std::ranges::find(sums, run.step, [](const auto& entry) { return entry.first; });
        if (at == sums.end() && run.colour_step == 0 && sums.size() < 3) {
          at = sums.emplace(at, run.step, std::vector<std::uint64_t>(std::size_t{graph.vertices} + run.step, 0));
          for (std::size_t x = 0; x < graph.vertices; ++x) at->second[x + run.step] = at->second[x] + mix(x);
        }
        const auto weight = [&](Vertex k) { return mix(static_cast<std::uint64_t>(run.colour + k * run.colour_step)) | 1; };
        if (at != sums.end() && run.colour_step == 0) {
          all += weight(0) * (at->second[std::size_t{run.last} + run.step] - at->second[run.first]);
        } else {
          if (run.colour_step != 0) walked += run.size();
          for (Vertex k = 0; k < run.size(); ++k) all += weight(k) * mix(std::uint64_t{run.first} + k * run.step);
        }
      }
      return all;
    };
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> known;
    of.assign(graph.vertices, none);
    for (Vertex v = 0; v < graph.vertices; ++v) {
      poll();
      if (!table.visible[v]) continue;
      if (v > 0 && of[v - 1] != none && std::ranges::equal(table.rows.of(v - 1), table.rows.of(v))) {
        of[v] = of[v - 1];
        continue;
      }
      std::vector<std::uint32_t>& alike = known[print(graph.row(table, v))];
      const auto same = std::ranges::find_if(alike, [&](std::uint32_t row) {
        if (std::ranges::equal(table.rows.of(first[row]), table.rows.of(v))) return true;
        std::vector<Run> a = graph.row(table, first[row]), b = graph.row(table, v);
        return same_runs(a, b);
      });
      of[v] = same == alike.end() ? static_cast<std::uint32_t>(first.size()) : *same;
      if (same != alike.end()) continue;
      alike.push_back(of[v]);
      first.push_back(v);
      if (too_many()) break;
    }
    if (too_many()) first.clear();
  }
};

}  // namespace

void Tower::name_rows() {
  const Vertex n = graph.vertices;
  if (n < few_vertices) return;
  std::vector<DifferentRows> different;
  Graph named;
  named.vertices = n;
  for (const Table& table : graph.tables) named.vertices += static_cast<Vertex>(different.emplace_back(graph, table).first.size());
  if (named.vertices == n) return;
  // Colours: those there were, with the colours of loops, then one for the rows of each table.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> names;
  std::pair<std::uint64_t, std::uint64_t> last{0, 0};
  for (Vertex v = 0; v < n; ++v) {
    std::pair<std::uint64_t, std::uint64_t> key{graph.colour[v], 1};
    for (std::size_t r = 0; r < graph.tables.size(); ++r) key.second = mix(key.second, static_cast<std::uint64_t>(graph.find_colour(r, v, v)));
    named.colour.push_back(v > 0 && key == last ? named.colour.back() : names.try_emplace(key, names.size()).first->second);
    last = key;
  }
  Vertex begin = n;
  for (std::size_t r = 0; r < graph.tables.size(); ++r) {
    const Table& table = graph.tables[r];
    const DifferentRows& rows = different[r];
    const auto end = static_cast<Vertex>(begin + rows.first.size());
    named.colour.resize(end, names.size() + r);
    const std::int64_t colour = table.rows.spans.empty() ? 0 : graph.run(table.rows.spans.front()).colour;  // mostly that of all
    named.add_table();
    for (Vertex v = 0; v < n; ++v) {
      const Vertex at = begin + rows.of[v];
      named.add_rows(rows.first.empty() || !table.visible[v] ? graph.row(table, v) : std::vector<Run>{{at, at, 1, colour, 0}}, table.visible[v], 1);
    }
    named.add_rows({}, true, begin - n);
    for (const Vertex v : rows.first) named.add_rows(graph.row(table, v), true, 1);
    named.add_rows({}, true, named.vertices - end);
    begin = end;
  }
  graph = std::move(named);
}

std::optional<Moves> Tower::move_rows(Moves moves) const {
  const std::size_t count = moves.size();
  const auto row_of = [&](const Table& table, Vertex v) {
    const auto spans = table.rows.of(v);
    return spans.empty() || spans.front().first < fibres() ? none : spans.front().first;
  };
  for (std::size_t k = 0; graph.vertices != fibres() && k < count; ++k) {
    for (const Table& table : graph.tables) {
      const Vertex from = row_of(table, moves[k].first), to = row_of(table, moves[k].second);
      if (from != to && from != none && to != none) moves.emplace_back(from, to);
    }
  }
  if (moves.size() == count) return moves;
  std::sort(moves.begin(), moves.end());
  moves.erase(std::unique(moves.begin(), moves.end()), moves.end());
  // One image each, and the same rows: then a map that keeps rows and columns of all that moves is an automorphism.
  std::vector<Vertex> images;
  for (const auto& [x, y] : moves) images.push_back(y);
  std::sort(images.begin(), images.end());
  for (std::size_t k = 0; k < moves.size(); ++k) {
    if (images[k] != moves[k].first) return std::nullopt;
  }
  return moves;
}

}  // namespace checker
