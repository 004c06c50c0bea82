// What isomorphisms keep of each vertex alone, for all views at once.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "field.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// What a row's arcs have in common whatever runs they are written in: how many they are, the sums of their colours and of the squares of these.
std::uint64_t describe(const std::vector<Run>& row) {
  std::uint64_t count = 0, sum = 0, squares = 0;
  for (const Run& run : row) {
    const std::uint64_t size = run.size(), pairs = size * (size - 1) / 2, last = 2 * size - 1;
    const auto colour = static_cast<std::uint64_t>(run.colour), step = static_cast<std::uint64_t>(run.colour_step);
    count += size;
    sum += size * colour + pairs * step;
    squares += size * colour * colour + 2 * pairs * colour * step + (pairs % 3 == 0 ? pairs / 3 * last : pairs * (last / 3)) * step * step;
  }
  return mix(mix(mix(count) + sum) + squares);
}

}  // namespace

bool do_times_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
  constexpr std::uint64_t most_work = std::uint64_t{1} << 24;  // beyond this, comparing views by their classes is quicker
  if (has_equal_registers(layout) || std::uint64_t{roots.size()} * layout.vertices() > most_work) return false;
  const std::vector<std::uint64_t> first = first_layers(layout);
  std::vector<std::vector<std::uint64_t>> rows(layout.relations.size(), std::vector<std::uint64_t>(layout.vertices()));
  std::vector<Run> row;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (Vertex i = 0, end = 0; i < layout.vertices(); i = end) {
      end = layout.relations[r].same_row_until(i);
      layout.relations[r].row(i, row);
      std::fill(rows[r].begin() + i, rows[r].begin() + end, describe(row));
    }
  }
  std::unordered_map<std::uint64_t, Vertex> known;  // hash -> number; another number is told apart by nothing
  for (const Vertex a : roots) {
    poll_now();
    const std::vector<std::int64_t> latest = compute_latest(layout, depth, a);
    for (Vertex j = 0; j < layout.tokens; ++j) {
      if (latest[j] < 0) continue;
      const auto left = static_cast<std::uint64_t>(latest[j]);
      std::uint64_t hash = mix(mix(layout.vertex_colour[j]) + 2 * left + (j == a ? 1 : 0));
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (left >= first[r]) hash = mix(hash ^ (rows[r][j] + r));  // a relation of no layer is never in sight
      }
      if (known.try_emplace(hash, number[j]).first->second != number[j]) return false;
    }
  }
  return true;
}

}  // namespace checker
