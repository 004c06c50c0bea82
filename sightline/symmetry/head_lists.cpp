#include "sightline/symmetry/head_lists.hpp"

#include <algorithm>

#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

namespace {

/// So many long rows are compared at a time: each of them is read at a place of its own, and with more places than this nothing stays in the caches.
constexpr Threshold<Vertex> strip_vertices{1024, 4, "head strips"};
/// Rows must have so many heads per strip on average, or passing them by strips is the dearer way.
constexpr Threshold<std::uint64_t> least_heads_per_strip{8, 1, "head strips"};

}  // namespace

bool is_symmetric(const HeadLists& rows, Vertex n) {
  // Arcs (i, x) with x <= i, by ascending i, must meet the arcs (x, i), which stand in the row of x in that order, and leave none over.
  std::vector<std::uint32_t> next(n);
  for (Vertex x = 0; x < n; ++x) next[x] = static_cast<std::uint32_t>(std::lower_bound(rows.of(x).begin(), rows.of(x).end(), x) - rows.of(x).begin()) + rows.begin[x];
  const std::uint64_t strips = std::uint64_t{n} * least_heads_per_strip * 2 > rows.heads.size() ? 1 : rows.heads.size() / (std::uint64_t{n} * least_heads_per_strip * 2);
  const Vertex width = std::max<Vertex>(strip_vertices, static_cast<Vertex>((n + strips - 1) / strips));
  std::vector<std::uint32_t> reached(rows.begin.begin(), rows.begin.end() - 1);
  for (std::uint64_t stop = width; stop < std::uint64_t{n} + width; stop += width) {
    for (Vertex i = 0; i < n; ++i) {
      std::uint32_t k = reached[i];
      const std::uint64_t last = std::min<std::uint64_t>(stop, std::uint64_t{i} + 1);
      for (const std::uint32_t end = rows.begin[i + 1]; k < end && rows.heads[k] < last; ++k) {
        const Vertex x = rows.heads[k];
        const std::uint32_t place = next[x]++;
        if (place == rows.begin[x + 1] || rows.heads[place] != i) return false;
      }
      reached[i] = k;
    }
  }
  return std::equal(next.begin(), next.end(), rows.begin.begin() + 1);
}

HeadLists transpose(const HeadLists& rows, Vertex n) {
  HeadLists columns;
  columns.begin.assign(std::size_t{n} + 2, 0);
  for (const Vertex x : rows.heads) ++columns.begin[x + 2];
  for (Vertex v = 0; v < n; ++v) columns.begin[v + 2] += columns.begin[v + 1];
  columns.heads.resize(rows.heads.size());
  for (Vertex i = 0; i < n; ++i) {
    for (const Vertex x : rows.of(i)) columns.heads[columns.begin[x + 1]++] = i;
  }
  columns.begin.pop_back();
  return columns;
}

}  // namespace sightline::symmetry
