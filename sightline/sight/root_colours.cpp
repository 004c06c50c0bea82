#include <algorithm>

#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// One visible row, cut into runs of one colour; longer runs with steps or moving colours are cut to single vertices.
struct Piece {
  Vertex reader = 0, first = 0, last = 0;
  std::uint64_t weight = 0;  // of the colour, odd
};

struct Rows {
  std::vector<Piece> pieces;     // sorted by reader
  std::vector<Vertex> readers;   // visible ones
};

std::vector<Rows> collect_rows(const Rooted& rooted, const Budget& budget) {
  std::vector<Rows> result;
  std::vector<layout::ColouredRun> row;
  for (const symmetry::VisibleRelation& relation : rooted.structure.relations) {
    Rows rows;
    for (Vertex i = 0; i < rooted.structure.vertices; ++i) {
      if (!rooted.seen[i] || (!relation.visible.empty() && !relation.visible[i])) continue;
      budget.poll();
      rows.readers.push_back(i);
      relation.relation->row(i, row);
      for (const layout::ColouredRun& run : row) {
        const auto weight = [](std::int64_t colour) { return mix(static_cast<std::uint64_t>(colour) ^ 0x51ab5ead) | 1; };
        if (run.step == 1 && (run.colour_step == 0 || run.first == run.last)) {
          rows.pieces.push_back({i, run.first, run.last, weight(run.colour)});
          continue;
        }
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
          rows.pieces.push_back({i, static_cast<Vertex>(j), static_cast<Vertex>(j), weight(colour)});
        }
      }
    }
    result.push_back(std::move(rows));
  }
  return result;
}

}  // namespace

RootColours compute_root_colours(const Rooted& rooted, const Budget& budget) {
  constexpr int most_rounds = 64;
  const Vertex vertices = rooted.structure.vertices;
  RootColours result;
  result.hash.resize(vertices);
  for (Vertex j = 0; j < vertices; ++j) result.hash[j] = mix(rooted.structure.vertex_colour[j]);
  const std::vector<Rows> relations = collect_rows(rooted, budget);

  std::vector<std::uint64_t> sorted, next(vertices), prefix(static_cast<std::size_t>(vertices) + 1),
      change(static_cast<std::size_t>(vertices) + 1), read(vertices);
  std::size_t seen = 0, colours = 0;
  for (int round = 0;; ++round) {
    budget.poll();
    sorted.clear();
    for (Vertex j = 0; j < vertices; ++j) {
      if (rooted.seen[j]) sorted.push_back(result.hash[j]);
    }
    seen = sorted.size();
    std::sort(sorted.begin(), sorted.end());
    std::uint64_t invariant = 0;
    for (const std::uint64_t h : sorted) invariant = mix(invariant ^ h);
    const auto distinct = static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
    result.invariant = invariant;
    if (distinct == seen || distinct == colours || round == most_rounds) break;
    colours = distinct;

    for (Vertex j = 0; j < vertices; ++j) next[j] = mix(result.hash[j]);
    result.work += vertices;
    std::uint64_t salt = 1;
    for (const Rows& rows : relations) {
      salt = mix(salt);
      result.work += 3 * std::uint64_t{vertices} + 2 * rows.pieces.size();
      // Sum over what is read, by prefix sums; sum over the readers, by differences.
      for (Vertex j = 0; j < vertices; ++j) prefix[j + 1] = prefix[j] + mix(result.hash[j] ^ salt);
      std::fill(change.begin(), change.end(), 0);
      std::fill(read.begin(), read.end(), 0);
      for (const Piece& piece : rows.pieces) {
        read[piece.reader] += piece.weight * (prefix[piece.last + 1] - prefix[piece.first]);
        const std::uint64_t told = piece.weight * mix(result.hash[piece.reader] + salt);
        change[piece.first] += told;
        change[piece.last + 1] -= told;
      }
      std::uint64_t readers = 0;
      for (Vertex j = 0; j < vertices; ++j) {
        readers += change[j];
        next[j] += mix(readers ^ salt);
      }
      for (const Vertex i : rows.readers) next[i] += mix(read[i] + 3 * salt);
    }
    for (Vertex j = 0; j < vertices; ++j) result.hash[j] = rooted.seen[j] ? mix(next[j]) : result.hash[j];
  }
  std::vector<std::uint64_t> check;
  for (Vertex j = 0; j < vertices; ++j) {
    if (rooted.seen[j]) check.push_back(result.hash[j]);
  }
  std::sort(check.begin(), check.end());
  result.discrete = std::adjacent_find(check.begin(), check.end()) == check.end();
  return result;
}

}  // namespace sightline::sight
