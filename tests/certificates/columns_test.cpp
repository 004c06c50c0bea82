// Rows and columns of the checker's graphs, kept by stretches: every arc once in a row and once in a column, with its colour.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "checker/graph.hpp"

namespace {

using checker::Graph;
using checker::Lists;
using checker::Run;
using checker::Span;
using checker::Vertex;

std::int64_t colour_in(const Graph& graph, const Lists& lists, Vertex v, Vertex x) {
  std::int64_t found = -1;
  for (const Span& span : lists.of(v)) {
    if (!span.contains(x)) continue;
    if (found >= 0) return -2;  // twice
    found = span.base + graph.slopes[span.slope] * std::int64_t{x};
  }
  return found;
}

/// A run whose ends stay or move from reader to reader, cut at the ends.
struct Moving {
  int lo, hi, lo_moves, hi_moves;
  Vertex step;
};

/// Rows of a few segments, written out, and their arcs.
void compare(Vertex n, int segments, int runs_per_row, Vertex most_steps, std::mt19937_64& random) {
  const auto draw = [&](int limit) { return static_cast<int>(random() % static_cast<std::uint64_t>(limit)); };
  Graph graph;
  graph.vertices = n;
  graph.colour.assign(n, 0);
  graph.add_table();
  std::vector<std::vector<std::int64_t>> arcs(n, std::vector<std::int64_t>(n, -1));
  std::vector<Moving> moving;
  for (Vertex i = 0, next = 0, from = 0; i < n; ++i) {
    if (i == next) {
      from = i;
      next = i + 1 + static_cast<Vertex>(draw(2 * static_cast<int>(n) / segments));
      moving.clear();
      for (int k = 0; k < runs_per_row; ++k) {
        const int lo = draw(static_cast<int>(n)) - static_cast<int>(n) / 4;
        moving.push_back({lo, lo + draw(static_cast<int>(n) / 3), draw(2), draw(2), 1 + static_cast<Vertex>(draw(static_cast<int>(most_steps)))});
      }
    }
    std::vector<Run> row;
    for (std::size_t k = 0; k < moving.size(); ++k) {
      const Moving& run = moving[k];
      const int by = static_cast<int>(i - from), colour = 1 + static_cast<int>(k % 2);
      int first = run.lo + run.lo_moves * by, last = run.hi + run.hi_moves * by;
      while (first < 0) first += static_cast<int>(run.step);
      last = std::min(last, static_cast<int>(n) - 1);
      if (first > last) continue;
      last = first + (last - first) / static_cast<int>(run.step) * static_cast<int>(run.step);
      bool free = true;
      for (int j = first; j <= last; j += static_cast<int>(run.step)) free = free && arcs[i][static_cast<std::size_t>(j)] < 0;
      if (!free) continue;
      for (int j = first; j <= last; j += static_cast<int>(run.step)) arcs[i][static_cast<std::size_t>(j)] = colour;
      row.push_back({static_cast<Vertex>(first), static_cast<Vertex>(last), first == last ? 1 : run.step, colour, 0});
    }
    std::sort(row.begin(), row.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
    graph.add_rows(row, true, 1);
  }
  graph.complete();
  const checker::Table& table = graph.tables[0];
  const Lists& columns = table.symmetric ? table.rows : table.columns;
  std::size_t wrong = 0;
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) wrong += colour_in(graph, table.rows, i, j) != arcs[i][j] || colour_in(graph, columns, j, i) != arcs[i][j] ? 1 : 0;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("columns of a graph are its rows read the other way") {
  std::mt19937_64 random(20);
  for (int k = 0; k < 300; ++k) compare(160, 2, 2, 1, random);   // a few regions with straight sides
  for (int k = 0; k < 100; ++k) compare(97, 30, 4, 1, random);   // reader by reader
  for (int k = 0; k < 100; ++k) compare(120, 3, 3, 5, random);   // with steps
  for (int k = 0; k < 60; ++k) compare(480, 1, 2, 50, random);   // with so few members that each is a region
}

TEST_CASE("columns that are read by the last tokens of every block are as many runs as these") {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 40; ++trial) {
    CAPTURE(trial);
    const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
    const Vertex block = 4 + draw(9), n = block * (70 + draw(30)) + draw(block), hidden = 1 + draw(block - 2);
    const Vertex odd = draw(3) == 0 ? draw(n) : n;  // does not read what all others read
    Graph graph;
    graph.vertices = n;
    graph.colour.assign(n, 0);
    graph.add_table();
    std::vector<std::vector<std::int64_t>> arcs(n, std::vector<std::int64_t>(n, -1));
    for (Vertex i = 0; i < n; ++i) {
      const bool visible = i % block >= hidden;
      std::vector<Run> row;
      const Vertex begin = i - i % block, end = std::min(n, begin + block);
      const auto stepped = [&](Vertex from, Vertex until) {  // the last of each block
        if (from + block - 1 >= until) return;
        const Vertex first = from + block - 1, last = first + (until - 1 - first) / block * block;
        row.push_back({first, last, first == last ? 1 : block, 1, 0});
      };
      if (i != odd) stepped(0, begin);
      row.push_back({begin, end - 1, 1, 1, 0});
      if (i != odd) stepped(end, n);
      for (const Run& run : row) {
        for (Vertex j = run.first; visible && j <= run.last; j += run.step) arcs[i][j] = 1;
      }
      graph.add_rows(row, visible, 1);
    }
    graph.complete();
    const checker::Table& table = graph.tables[0];
    REQUIRE_FALSE(table.symmetric);
    std::size_t wrong = 0;
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) wrong += colour_in(graph, table.columns, j, i) != arcs[i][j] ? 1 : 0;
    }
    CHECK(wrong == 0);
    CHECK(table.columns.spans.size() < std::size_t{n} * 4 * block);  // each block apart: n times the blocks
  }
}

TEST_CASE("equal rows are one stretch, and so are rows that move along") {
  Graph graph;
  graph.vertices = 1000;
  graph.colour.assign(1000, 0);
  graph.add_table();
  for (Vertex i = 0; i < 500; ++i) graph.add_rows({{i, i + 20, 1, 1, 0}}, true, 1);
  graph.add_rows({{3, 9, 1, 1, 0}}, true, 500);
  CHECK(graph.tables[0].rows.stretches.size() == 2);
  graph.complete();
  CHECK(graph.tables[0].columns.stretches.size() < 10);
}

TEST_CASE("arcs that say nothing go where all readers of a cell have them in spans of one colour") {
  for (const bool some_are_mixed : {false, true}) {
    constexpr Vertex n = 320, readers = 64;
    Graph graph;
    graph.vertices = n;
    graph.colour.assign(n, 0);
    graph.add_table();
    for (Vertex i = 0; i < readers; ++i) {  // colour 1 for even vertices, 2 for odd ones
      std::vector<Run> row{{readers, n - 2, 2, 1, 0}, {readers + 1, n - 1, 2, 2, 0}};
      if (some_are_mixed && i % 2 == 1) {
        row.clear();
        for (Vertex j = readers; j < n; j += 2) row.push_back({j, j + 1, 1, 1, 1});
      }
      graph.add_rows(row, true, 1);
    }
    graph.add_rows({}, true, n - readers);
    graph.complete();
    CHECK(checker::drop_even_arcs(graph).has_value() == !some_are_mixed);
  }
}
