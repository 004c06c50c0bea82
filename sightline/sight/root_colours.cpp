#include <algorithm>
#include <optional>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

// A visible row, cut into runs of one colour; runs with moving colours, short ones with steps and those of further steps are cut to single vertices.
struct Piece {
  Vertex first = 0, last = 0;
  std::uint32_t step = 0;    // its number, 0 for 1
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

/// The first few steps that occur in runs that are worth it, 1 first.
class Steps {
public:
  /// The number of the step of a run of one colour; nothing when it is to be cut.
  std::optional<std::uint32_t> find(const layout::ColouredRun& run) {
    constexpr Threshold<Vertex> short_run{8, 2, "root runs"};
    constexpr Threshold<std::size_t> most_steps{5, 1, "root steps"};
    if (run.step == 1 || run.first == run.last) return 0;
    if (run.size() <= short_run) return std::nullopt;
    const auto at = std::find(steps_.begin(), steps_.end(), run.step);
    if (at == steps_.end() && steps_.size() == most_steps) return std::nullopt;
    if (at == steps_.end()) steps_.push_back(run.step);
    return static_cast<std::uint32_t>(std::find(steps_.begin(), steps_.end(), run.step) - steps_.begin());
  }
  [[nodiscard]] const std::vector<Vertex>& list() const { return steps_; }

private:
  std::vector<Vertex> steps_{1};
};

std::vector<Rows> collect_rows(const Rooted& rooted, Steps& steps, Booking& booking, const Budget& budget) {
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
      const auto find_step = [&](const layout::ColouredRun& run) { return run.colour_step == 0 || run.first == run.last ? steps.find(run) : std::nullopt; };
      std::size_t coming = 0;
      for (const layout::ColouredRun& run : row) coming += find_step(run) ? 1 : run.size();
      if (pieces_begin + coming > rows.pieces.capacity()) {
        const std::size_t grown = std::max(pieces_begin + coming, 2 * rows.pieces.capacity());
        booking.grow((grown - rows.pieces.capacity()) * sizeof(Piece));
        rows.pieces.reserve(grown);
      }
      for (const layout::ColouredRun& run : row) {
        if (const auto step = find_step(run)) {
          rows.pieces.push_back({run.first, run.last, *step, root_hash::weigh(run.colour)});
          continue;
        }
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
          rows.pieces.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j), 0, root_hash::weigh(colour)});
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
  Steps known;
  const std::vector<Rows> relations = collect_rows(rooted, known, booking, budget);
  const std::vector<Vertex>& steps = known.list();

  const auto seen = static_cast<std::size_t>(std::count(rooted.seen.begin(), rooted.seen.end(), true));
  root_hash::DistinctCounter counter(vertices);
  // By number of the step: sums and differences along it.
  std::vector<std::vector<std::uint64_t>> prefix, change;
  booking.grow(16 * std::uint64_t{vertices} * (steps.size() - 1));
  for (const Vertex step : steps) {
    prefix.emplace_back(std::size_t{vertices} + step);
    change.emplace_back(std::size_t{vertices} + step);
  }
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
      for (std::size_t s = 0; s < steps.size(); ++s) {
        for (Vertex j = 0; j < vertices; ++j) prefix[s][j + steps[s]] = prefix[s][j] + mix(hash[j] ^ salt);
        std::fill(change[s].begin(), change[s].end(), 0);
      }
      for (const Readers& group : rows.groups) {
        std::uint64_t read = 0, told = 0;
        for (std::size_t p = group.pieces_begin; p < group.pieces_end; ++p) {
          const Piece& piece = rows.pieces[p];
          read += piece.weight * (prefix[piece.step][std::size_t{piece.last} + steps[piece.step]] - prefix[piece.step][piece.first]);
        }
        for (std::size_t k = group.begin; k < group.end; ++k) {
          const Vertex i = rows.readers[k];
          hash[i] = mix(hash[i] + mix(read + 3 * salt));
          told += mix(hash[i] + salt);
        }
        for (std::size_t p = group.pieces_begin; p < group.pieces_end; ++p) {
          const Piece& piece = rows.pieces[p];
          const std::uint64_t share = piece.weight * told;
          change[piece.step][piece.first] += share;
          change[piece.step][std::size_t{piece.last} + steps[piece.step]] -= share;
        }
      }
      for (std::size_t s = 1; s < steps.size(); ++s) {
        for (Vertex j = steps[s]; j < vertices; ++j) change[s][j] += change[s][j - steps[s]];
      }
      std::uint64_t along = 0;
      for (Vertex j = 0; j < vertices; ++j) {
        along += change[0][j];
        std::uint64_t readers = along;
        for (std::size_t s = 1; s < steps.size(); ++s) readers += change[s][j];
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
