// Patterns given arc by arc: graph, rows, matrix; and random rows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "sightline/layout/generators.hpp"
#include "sightline/layout/sampling.hpp"

namespace sightline::layout {

Pattern make_graph(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t n = size.tokens;
  std::vector<std::pair<Vertex, Vertex>> arcs;
  for (const auto& [u, v] : spec.edges) {
    for (const std::int64_t end : {u, v}) {
      if (end < 0 || end >= n) fail(spec, "edges", fmt::format("tokens from 0 to {}", n - 1), fmt::format("{}", end));
    }
    arcs.emplace_back(static_cast<Vertex>(u), static_cast<Vertex>(v));
    if (!spec.directed) arcs.emplace_back(static_cast<Vertex>(v), static_cast<Vertex>(u));
  }
  if (spec.loops) {
    for (Vertex i = 0; i < size.tokens; ++i) arcs.emplace_back(i, i);
  }
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
  PatternBuilder builder(size.tokens + size.registers, budget);
  std::vector<Vertex> row;
  auto arc = arcs.begin();
  for (Vertex i = 0; i < size.tokens; ++i) {
    row.clear();
    for (; arc != arcs.end() && arc->first == i; ++arc) row.push_back(arc->second);
    builder.add_segment(i, builder.add_row_once(row));
  }
  return finish(builder, size);
}

Pattern make_listed_rows(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t vertices = std::int64_t{size.tokens} + size.registers;
  if (std::ssize(spec.rows) != vertices) {
    fail(spec, "rows", fmt::format("{} rows (tokens and registers)", vertices), fmt::format("{}", spec.rows.size()));
  }
  PatternBuilder builder(static_cast<Vertex>(vertices), budget);
  std::vector<Vertex> row;
  for (Vertex i = 0; i < vertices; ++i) {
    row.clear();
    for (const std::int64_t j : spec.rows[i]) {
      if (j < 0 || j >= vertices) fail(spec, fmt::format("rows/{}", i), fmt::format("indices from 0 to {}", vertices - 1), fmt::format("{}", j));
      row.push_back(static_cast<Vertex>(j));
    }
    std::sort(row.begin(), row.end());
    const auto repeat = std::adjacent_find(row.begin(), row.end());
    if (repeat != row.end()) fail(spec, fmt::format("rows/{}", i), "every index once", fmt::format("{} twice", *repeat));
    builder.add_segment(i, builder.add_row_once(row));
  }
  return builder.build();
}

Pattern make_matrix(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t vertices = std::int64_t{size.tokens} + size.registers;
  if (std::ssize(spec.matrix) != vertices) {
    fail(spec, "matrix", fmt::format("{} rows (tokens and registers)", vertices), fmt::format("{}", spec.matrix.size()));
  }
  PatternBuilder builder(static_cast<Vertex>(vertices), budget);
  std::vector<Vertex> row;
  std::vector<std::uint32_t> colours;
  for (Vertex i = 0; i < vertices; ++i) {
    const auto& entries = spec.matrix[i];
    if (std::ssize(entries) != vertices) {
      fail(spec, fmt::format("matrix/{}", i), fmt::format("{} entries", vertices), fmt::format("{}", entries.size()));
    }
    row.clear();
    colours.clear();
    for (Vertex j = 0; j < vertices; ++j) {
      if (entries[j] == 0) continue;
      if (entries[j] < 0 || entries[j] > std::numeric_limits<std::uint32_t>::max()) {
        fail(spec, fmt::format("matrix/{}/{}", i, j), "0 or a colour from 1 to 4294967295", fmt::format("{}", entries[j]));
      }
      row.push_back(j);
      colours.push_back(static_cast<std::uint32_t>(entries[j]));
    }
    builder.add_segment(i, builder.add_row_once(row, colours));
  }
  return builder.build();
}

Pattern make_random(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t n = size.tokens;
  if (spec.degree.has_value() == spec.density.has_value()) {
    fail(spec, "", "either degree or density", spec.degree ? "both" : "neither");
  }
  if (spec.degree && (*spec.degree < 0 || *spec.degree > n - 1)) {
    fail(spec, "degree", fmt::format("0 to {} others per row", n - 1), fmt::format("{}", *spec.degree));
  }
  if (spec.density && !(*spec.density >= 0 && *spec.density <= 1)) {
    fail(spec, "density", "a number from 0 to 1", fmt::format("{}", *spec.density));
  }
  std::mt19937_64 engine(spec.seed);
  PatternBuilder builder(size.tokens + size.registers, budget);
  std::vector<Vertex> row;
  std::vector<bool> chosen(size.tokens);
  // Of rows this thin hardly any two members are neighbours.
  if (spec.degree && *spec.degree <= n / 64) builder.expect_written(size.tokens, std::uint64_t{size.tokens} * static_cast<std::uint64_t>(*spec.degree));
  for (Vertex i = 0; i < size.tokens; ++i) {
    row.clear();
    if (spec.degree) {
      append_sample(engine, size.tokens, static_cast<Vertex>(*spec.degree), i, chosen, row);
    } else {
      // The top 53 bits of a draw are an exact double in [0, 1).
      for (Vertex j = 0; j < size.tokens; ++j) {
        if (j == i) continue;
        if ((j & 0xfffu) == 0) budget.poll();
        if (std::ldexp(static_cast<double>(engine() >> 11), -53) < *spec.density) row.push_back(j);
      }
    }
    builder.add_segment(i, builder.add_row(row));
  }
  return finish(builder, size);
}

}  // namespace sightline::layout
