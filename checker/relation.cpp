// Colours of arcs: relative positions, and what normalised rows forget (theory 2.5, 15.8, 16.5 a).
#include <algorithm>
#include <cmath>
#include <limits>

#include "layout.hpp"

namespace checker {

std::uint32_t t5_bucket(std::int64_t offset, std::uint32_t buckets, std::uint32_t max_distance, bool bidirectional) {
  std::uint32_t start = 0;
  if (bidirectional) {
    buckets /= 2;
    start = offset > 0 ? buckets : 0;
    offset = -std::abs(offset);
  }
  const std::int64_t distance = std::max<std::int64_t>(0, -offset);
  const std::uint32_t exact = buckets / 2;
  if (distance < exact) return start + static_cast<std::uint32_t>(distance);
  if (exact == 0 || max_distance <= exact) return start + (buckets == 0 ? 0 : buckets - 1);
  // float32 as in the published code; the divisor is a double rounded to it.
  const auto scale = static_cast<float>(std::log(static_cast<double>(max_distance) / exact));
  const float above = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / scale * static_cast<float>(buckets - exact);
  if (above >= static_cast<float>(buckets - 1 - exact)) return start + buckets - 1;
  return start + exact + static_cast<std::uint32_t>(above);
}

void Relation::set_buckets() {
  const auto bucket = [&](std::int64_t offset) { return t5_bucket(offset, buckets, max_distance, bidirectional); };
  // Buckets are monotone in the distance: up to offset 0, and from 1 on.
  for (std::int64_t from = 1 - std::int64_t{tokens}; from < tokens;) {
    bucket_starts.emplace_back(from, bucket(from));
    std::int64_t same = from, beyond = from <= 0 ? 1 : std::int64_t{tokens};
    while (beyond - same > 1) (bucket(same + (beyond - same) / 2) == bucket(from) ? same : beyond) = same + (beyond - same) / 2;
    from = beyond;
  }
}

std::int64_t Relation::relative_count() const {
  const std::int64_t n = tokens, vertices = pattern->vertices, width = grid_width;
  switch (relative) {
    case RelativeKind::none: return 1;
    case RelativeKind::offset: return 2 * n;
    case RelativeKind::distance: return n + 1;
    case RelativeKind::bucket: return 1 + std::max<std::int64_t>(buckets, 1);
    case RelativeKind::grid_offset: return 1 + (2 * ((n + width - 1) / width) + 1) * (2 * width + 1);
    case RelativeKind::column: return 1 + vertices;
    case RelativeKind::pair: return 1 + vertices * vertices;
  }
  return 1;
}

std::int64_t Relation::relative_colour(std::int64_t i, std::int64_t j) const {
  const std::int64_t n = tokens, width = grid_width;
  if (relative == RelativeKind::column) return 1 + j;
  if (relative == RelativeKind::pair) return 1 + i * pattern->vertices + j;
  if (relative == RelativeKind::none || i >= n || j >= n) return 0;
  if (relative == RelativeKind::offset) return j - i + n;
  if (relative == RelativeKind::distance) return std::abs(i - j) + 1;
  if (relative == RelativeKind::grid_offset)
    return 1 + (j / width - i / width + (n + width - 1) / width) * (2 * width + 1) + j % width - i % width + width;
  const auto next = std::upper_bound(bucket_starts.begin(), bucket_starts.end(), std::pair(j - i, std::numeric_limits<std::uint32_t>::max()));
  return 1 + std::int64_t{(next - 1)->second};
}

/// The last vertex up to which colours go on in equal steps from j, in steps of `step`.
std::int64_t Relation::stretch_end(std::int64_t i, std::int64_t j, std::int64_t step) const {
  const std::int64_t n = tokens, all = pattern->vertices, width = grid_width;
  if (relative == RelativeKind::none || relative == RelativeKind::column || relative == RelativeKind::pair || i >= n || j >= n) return all;
  if (relative == RelativeKind::distance && j <= i) return i;
  if (relative == RelativeKind::grid_offset && step % width != 0) return j / width * width + width - 1;
  if (relative != RelativeKind::bucket) return n - 1;
  const auto next = std::upper_bound(bucket_starts.begin(), bucket_starts.end(), std::pair(j - i, std::numeric_limits<std::uint32_t>::max()));
  return next == bucket_starts.end() ? n - 1 : std::min(n - 1, i + next->first - 1);
}

void Relation::raw_row(Vertex i, std::vector<Run>& out) const {
  if (relative == RelativeKind::none) return pattern->row(i, out);
  thread_local std::vector<Run> runs;
  pattern->row(i, runs);
  out.clear();
  const std::int64_t count = relative_count();
  for (const Run& run : runs) {
    const std::int64_t base = 1 + (run.colour - 1) * count, step = run.step;
    for (std::int64_t j = run.first; j <= run.last;) {
      const std::int64_t last = j + (std::min<std::int64_t>(run.last, stretch_end(i, j, step)) - j) / step * step;
      const std::int64_t colour = base + relative_colour(i, j), slope = last > j ? base + relative_colour(i, j + step) - colour : 0;
      out.push_back({static_cast<Vertex>(j), static_cast<Vertex>(last), last > j ? run.step : 1, colour, slope});
      j = last + step;
    }
  }
  const auto before = [](const Run& a, const Run& b) { return a.first < b.first; };
  if (!std::is_sorted(out.begin(), out.end(), before)) std::sort(out.begin(), out.end(), before);
}

void Relation::row(Vertex i, std::vector<Run>& out) const {
  raw_row(i, out);
  if (cancels == Cancels::nothing || out.empty()) return;
  // A weight is a product of a matrix part and a relative part: a part that is single in the row cancels.
  const std::int64_t count = relative_count();
  const auto matrix_of = [&](const Run& run) { return count == 1 ? run.colour - 1 : (run.colour - 1) / count; };  // divisions cost
  const auto relative_of = [&](const Run& run) { return count == 1 ? 0 : (run.colour - 1) % count; };
  const std::int64_t first_matrix = matrix_of(out.front()), first_relative = relative_of(out.front());
  bool one_matrix = true, one_relative = true, scales = relative == RelativeKind::distance && i < tokens;
  std::int64_t smallest = count;
  for (const Run& run : out) {
    const std::int64_t part = relative_of(run), end = run.colour_step == 0 ? part : part + run.colour_step * (run.size() - std::int64_t{1});
    one_matrix = one_matrix && matrix_of(run) == first_matrix;
    one_relative = one_relative && run.colour_step == 0 && part == first_relative;
    scales = scales && run.last < tokens;
    smallest = std::min({smallest, part, end});
  }
  std::int64_t forgotten = one_matrix ? first_matrix * count : 0;
  if (cancels == Cancels::single_colour)
    forgotten += (one_relative ? first_relative : 0) + (one_matrix && one_relative ? 1 : 0);
  else
    forgotten += 1 + (scales ? smallest : 0);  // ALiBi: distances count up to one shift
  for (Run& run : out) run.colour -= forgotten;
}

std::int64_t Relation::colour(Vertex i, Vertex j) const {
  std::vector<Run> runs;
  row(i, runs);
  for (const Run& run : runs)
    if (j >= run.first && j <= run.last && (j - run.first) % run.step == 0) return run.colour + run.colour_step * std::int64_t{(j - run.first) / run.step};
  return -1;
}

}  // namespace checker
