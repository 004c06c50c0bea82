// Is the swap of two tokens a symmetry of what is visible? Asked for the pairs that hashes propose, so it must not cost a pass over all arcs.
#include <algorithm>

#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/span.hpp"

namespace sightline::sight {

namespace {

using Row = std::vector<layout::ColouredRun>;

/// Colour of the arc to j, -1 when absent.
std::int64_t find_colour(const Row& row, Vertex j) {
  for (const layout::ColouredRun& run : row) {
    if (j >= run.first && j <= run.last && (j - run.first) % run.step == 0) return run.colour;
  }
  return -1;
}

/// The row without x and y, without steps, neighbouring runs of one colour as one.
Row leave_out(Row row, Vertex x, Vertex y) {
  if (std::any_of(row.begin(), row.end(), [](const layout::ColouredRun& run) { return run.step > 1; })) symmetry::canonicalise(row);
  const Vertex low = std::min(x, y), high = std::max(x, y);
  Row rest;
  const auto add = [&](std::uint64_t first, std::uint64_t end, std::int64_t colour) {
    if (first >= end) return;
    if (!rest.empty() && rest.back().last + std::uint64_t{1} == first && rest.back().colour == colour) {
      rest.back().last = static_cast<Vertex>(end - 1);
    } else {
      rest.push_back({static_cast<Vertex>(first), static_cast<Vertex>(end - 1), 1, colour, 0});
    }
  };
  for (const layout::ColouredRun& run : row) {
    const std::uint64_t first = run.first, end = std::uint64_t{run.last} + 1;
    add(first, std::min<std::uint64_t>(end, low), run.colour);
    add(std::max<std::uint64_t>(first, std::uint64_t{low} + 1), std::min<std::uint64_t>(end, high), run.colour);
    add(std::max<std::uint64_t>(first, std::uint64_t{high} + 1), end, run.colour);
  }
  return rest;
}

bool has_positions(const Row& row) {
  return std::any_of(row.begin(), row.end(), [](const layout::ColouredRun& run) { return run.colour_step != 0; });
}

}  // namespace

std::optional<bool> is_swap_symmetric(const Layout& layout, const std::vector<std::int64_t>& latest, Vertex x, Vertex y, const Budget& budget) {
  if (layout.vertex_colour[x] != layout.vertex_colour[y] || (!latest.empty() && latest[x] != latest[y])) return false;
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  Row row, other;
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    const layout::Relation& relation = layout.relations[r];
    // Without times the question is about the layout, in which every relation counts.
    if (first[r] == 0 && !latest.empty()) continue;
    const auto visible = [&](Vertex i) { return latest.empty() || (latest[i] >= 0 && static_cast<std::uint64_t>(latest[i]) >= first[r]); };
    if (visible(x)) {
      relation.row(x, row);
      relation.row(y, other);
      if (has_positions(row) || has_positions(other)) return std::nullopt;
      if (find_colour(row, x) != find_colour(other, y) || find_colour(row, y) != find_colour(other, x) || leave_out(row, x, y) != leave_out(other, x, y)) return false;
    }
    for (Vertex i = 0, end = 0; i < layout.vertices(); i = end) {
      budget.poll();
      end = relation.same_row_until(i);
      Vertex shown = i;
      while (shown < end && (!visible(shown) || shown == x || shown == y)) ++shown;
      if (shown == end) continue;
      relation.row(shown, row);
      if (has_positions(row)) return std::nullopt;
      if (find_colour(row, x) != find_colour(row, y)) return false;
    }
  }
  return true;
}

}  // namespace sightline::sight
