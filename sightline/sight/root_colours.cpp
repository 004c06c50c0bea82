#include <algorithm>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

// A visible row, cut into runs of one colour; longer runs with steps or moving colours are cut to single vertices.
struct Piece {
  Vertex first = 0, last = 0;
  std::uint64_t weight = 0;  // of the colour, odd
};

// Visible readers that follow each other and share one row.
struct Readers {
  std::size_t begin = 0, end = 0;                // among Rows::readers
  std::size_t pieces_begin = 0, pieces_end = 0;
};

struct Rows {
  std::vector<Piece> pieces;
  std::vector<Vertex> readers;   // visible ones
  std::vector<Readers> groups;
};

std::vector<Rows> collect_rows(const Rooted& rooted, Booking& booking, const Budget& budget) {
  std::vector<Rows> result;
  std::vector<layout::ColouredRun> row;
  for (const symmetry::VisibleRelation& relation : rooted.structure.relations) {
    Rows rows;
    Vertex same_until = 0;
    for (Vertex i = 0; i < rooted.structure.vertices; ++i) {
      if (!rooted.seen[i] || (!relation.visible.empty() && !relation.visible[i])) continue;
      budget.poll();
      rows.readers.push_back(i);
      if (i < same_until) {
        ++rows.groups.back().end;
        continue;
      }
      same_until = relation.relation->same_row_until(i);
      relation.relation->row(i, row);
      const std::size_t pieces_begin = rows.pieces.size();
      std::size_t coming = 0;
      for (const layout::ColouredRun& run : row) coming += run.step == 1 && run.colour_step == 0 ? 1 : run.size();
      if (pieces_begin + coming > rows.pieces.capacity()) {
        const std::size_t grown = std::max(pieces_begin + coming, 2 * rows.pieces.capacity());
        booking.grow((grown - rows.pieces.capacity()) * sizeof(Piece));
        rows.pieces.reserve(grown);
      }
      for (const layout::ColouredRun& run : row) {
        if (run.step == 1 && (run.colour_step == 0 || run.first == run.last)) {
          rows.pieces.push_back({run.first, run.last, root_hash::weigh(run.colour)});
          continue;
        }
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
          rows.pieces.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j), root_hash::weigh(colour)});
        }
      }
      rows.groups.push_back({rows.readers.size() - 1, rows.readers.size(), pieces_begin, rows.pieces.size()});
    }
    result.push_back(std::move(rows));
  }
  return result;
}

}  // namespace

RootColours compute_root_colours(const Rooted& rooted, const Budget& budget) {
  const Vertex vertices = rooted.structure.vertices;
  RootColours result;
  result.hash.resize(vertices);
  for (Vertex j = 0; j < vertices; ++j) result.hash[j] = mix(rooted.structure.vertex_colour[j]);
  Booking booking(budget, 64 * std::uint64_t{vertices});
  const std::vector<Rows> relations = collect_rows(rooted, booking, budget);

  const auto seen = static_cast<std::size_t>(std::count(rooted.seen.begin(), rooted.seen.end(), true));
  root_hash::DistinctCounter counter(vertices);
  std::vector<std::uint64_t> prefix(static_cast<std::size_t>(vertices) + 1), change(static_cast<std::size_t>(vertices) + 1);
  std::size_t colours = 0;
  for (int round = 0;; ++round) {
    budget.poll();
    const std::size_t distinct = counter.count(result.hash, rooted.seen);
    result.discrete = distinct == seen;
    if (result.discrete || distinct == colours || round == root_hash::most_rounds) break;
    colours = distinct;

    std::uint64_t salt = 1;
    std::vector<std::uint64_t>& hash = result.hash;
    for (const Rows& rows : relations) {
      salt = mix(salt);
      result.work += 3 * std::uint64_t{vertices} + 2 * rows.pieces.size();
      // Sum over what is read, by prefix sums; then, with the readers' new hashes, sum over the readers by differences. What
      // is found out at one vertex thus travels two steps in a round.
      for (Vertex j = 0; j < vertices; ++j) prefix[j + 1] = prefix[j] + mix(hash[j] ^ salt);
      std::fill(change.begin(), change.end(), 0);
      for (const Readers& group : rows.groups) {
        std::uint64_t read = 0, told = 0;
        for (std::size_t p = group.pieces_begin; p < group.pieces_end; ++p) read += rows.pieces[p].weight * (prefix[rows.pieces[p].last + 1] - prefix[rows.pieces[p].first]);
        for (std::size_t k = group.begin; k < group.end; ++k) {
          const Vertex i = rows.readers[k];
          hash[i] = mix(hash[i] + mix(read + 3 * salt));
          told += mix(hash[i] + salt);
        }
        for (std::size_t p = group.pieces_begin; p < group.pieces_end; ++p) {
          const std::uint64_t share = rows.pieces[p].weight * told;
          change[rows.pieces[p].first] += share;
          change[rows.pieces[p].last + 1] -= share;
        }
      }
      std::uint64_t readers = 0;
      for (Vertex j = 0; j < vertices; ++j) {
        readers += change[j];
        if (rooted.seen[j]) hash[j] = mix(hash[j] + mix(readers ^ salt));
      }
    }
  }
  for (Vertex j = 0; j < vertices; ++j) {
    if (rooted.seen[j]) result.invariant += mix(result.hash[j] + 5);
  }
  return result;
}

}  // namespace sightline::sight
