#include "sightline/sight/reflection.hpp"

#include <algorithm>
#include <utility>

namespace sightline::sight {

namespace {

using layout::Vertex;
using Row = std::vector<layout::ColouredRun>;

/// The same coloured set? Runs may be divided differently. @param work  grows by the vertices that are gone through one by one
bool is_same_row(const Row& a, const Row& b, std::uint64_t& work) {
  if (a == b) return true;
  const auto is_solid = [](const layout::ColouredRun& run) { return run.step == 1; };
  if (std::all_of(a.begin(), a.end(), is_solid) && std::all_of(b.begin(), b.end(), is_solid)) {
    std::size_t x = 0, y = 0;
    std::uint64_t j = 0;  // both are the same below
    while (x < a.size() && y < b.size()) {
      const std::uint64_t begin = std::max<std::uint64_t>(j, a[x].first);
      if (begin != std::max<std::uint64_t>(j, b[y].first)) return false;
      const auto colour = [begin](const layout::ColouredRun& run) { return run.colour + run.colour_step * static_cast<std::int64_t>(begin - run.first); };
      const std::uint64_t end = std::min(a[x].last, b[y].last);
      if (colour(a[x]) != colour(b[y]) || (end > begin && a[x].colour_step != b[y].colour_step)) return false;
      j = end + 1;
      if (a[x].last == end) ++x;
      if (b[y].last == end) ++y;
    }
    return x == a.size() && y == b.size();
  }
  const auto write = [&work](const Row& row) {
    std::vector<std::pair<Vertex, std::int64_t>> arcs;
    for (const layout::ColouredRun& run : row) {
      work += run.size();
      for (std::int64_t k = 0; k < std::int64_t{run.size()}; ++k) arcs.emplace_back(static_cast<Vertex>(run.first + k * run.step), run.colour + k * run.colour_step);
    }
    std::sort(arcs.begin(), arcs.end());
    return arcs;
  };
  return write(a) == write(b);
}

/// Leaves what the row holds of low .. high.
void cut(Row& row, std::int64_t low, std::int64_t high) {
  std::size_t kept = 0;
  for (layout::ColouredRun run : row) {
    const std::int64_t first = run.first, step = run.step;
    const std::int64_t from = first < low ? (low - first + step - 1) / step : 0;
    const std::int64_t to = first > high ? -1 : std::min<std::int64_t>(run.size() - 1, (high - first) / step);
    if (from > to) continue;
    run.first = static_cast<Vertex>(first + from * step);
    run.last = static_cast<Vertex>(first + to * step);
    run.colour += from * run.colour_step;
    row[kept++] = run;
  }
  row.resize(kept);
}

}  // namespace

bool is_token_reflected(const layout::Layout& layout, const std::vector<std::uint64_t>& first, Vertex p, Vertex low, Vertex high, std::uint64_t layers, ReflectedRows& rows, std::uint64_t& work) {
  const Vertex last = layout.tokens - 1;
  if (layout.vertex_colour[p] != layout.vertex_colour[last - p]) return false;
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] == 0 || first[r] > layers) continue;
    layout.relations[r].row(p, rows.row);
    layout.relations[r].row(last - p, rows.image);
    if (low > 0 || high < last) {
      cut(rows.row, low, high);
      cut(rows.image, last - high, last - low);
    }
    for (layout::ColouredRun& run : rows.row) {
      run.colour += run.colour_step * (std::int64_t{run.size()} - 1);
      run.colour_step = -run.colour_step;
      run.first = last - std::exchange(run.last, last - run.first);
    }
    std::sort(rows.row.begin(), rows.row.end(), [](const layout::ColouredRun& a, const layout::ColouredRun& b) { return a.first < b.first; });
    if (!is_same_row(rows.row, rows.image, work)) return false;
  }
  return true;
}

std::optional<bool> is_line_reflected(const layout::Layout& layout, const std::vector<std::uint64_t>& first, std::uint64_t& work, std::uint64_t most_work, const Budget& budget) {
  const Vertex last = layout.tokens - 1;
  ReflectedRows rows;
  // The image of the image is the token itself, so one of each two is enough.
  for (Vertex p = 0; p <= last - p; ++p) {
    budget.poll();
    if (!is_token_reflected(layout, first, p, 0, last, ~std::uint64_t{0}, rows, work)) return false;
    if (work > most_work) return std::nullopt;
  }
  return true;
}

}  // namespace sightline::sight
