#include <algorithm>
#include <cmath>
#include <limits>

#include "sightline/base/error.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::layout {

std::uint32_t compute_t5_bucket(std::int64_t offset, const Relative& relative) {
  std::uint32_t buckets = relative.buckets, bucket = 0;
  std::int64_t distance = 0;
  if (relative.bidirectional) {
    buckets /= 2;
    if (offset > 0) bucket = buckets;
    distance = offset < 0 ? -offset : offset;
  } else {
    distance = offset < 0 ? -offset : 0;
  }
  if (buckets == 0) return bucket;
  const std::uint32_t max_exact = buckets / 2;
  if (distance < std::int64_t{max_exact}) return bucket + static_cast<std::uint32_t>(distance);
  if (max_exact == 0 || relative.max_distance <= max_exact) return bucket + buckets - 1;
  // The library's order of operations: a float32 tensor, and a divisor taken in double and rounded to float32.
  const auto scale = static_cast<float>(std::log(static_cast<double>(relative.max_distance) / max_exact));
  const float share = std::log(static_cast<float>(distance) / static_cast<float>(max_exact)) / scale;
  const float above = share * static_cast<float>(buckets - max_exact);
  if (above >= static_cast<float>(buckets - 1 - max_exact)) return bucket + buckets - 1;
  return bucket + max_exact + static_cast<std::uint32_t>(above);
}

Relation::Relation(Pattern pattern, Relative relative, Cancels cancels, Vertex tokens)
    : pattern_(std::move(pattern)), relative_(relative.kind == RelativeKind::none ? Relative{} : relative),
      cancels_(cancels), tokens_(tokens) {
  if (tokens_ > pattern_.vertex_count()) throw ArgumentError("a relation has at least as many vertices as tokens");
  const std::int64_t n = tokens_;
  switch (relative_.kind) {
  case RelativeKind::none: break;
  case RelativeKind::offset: relative_count_ = 2 * n; break;
  case RelativeKind::distance: relative_count_ = n + 1; break;
  case RelativeKind::bucket: {
    relative_count_ = std::int64_t{1} + std::max<std::int64_t>(relative_.buckets, 1);
    // Buckets grow with the distance, so each one begins where bisection finds the first distance beyond the last.
    const auto find_starts = [&](std::int64_t from, std::int64_t sign, std::vector<BucketStart>& starts) {
      for (std::int64_t distance = from; distance < n;) {
        const std::uint32_t bucket = compute_t5_bucket(sign * distance, relative_);
        starts.push_back({distance, bucket});
        std::int64_t same = distance, beyond = n;
        while (beyond - same > 1) {
          const std::int64_t middle = same + (beyond - same) / 2;
          (compute_t5_bucket(sign * middle, relative_) == bucket ? same : beyond) = middle;
        }
        distance = beyond;
      }
    };
    find_starts(0, -1, before_);
    find_starts(1, 1, after_);
    break;
  }
  case RelativeKind::grid_offset: {
    if (relative_.grid_width == 0) throw ArgumentError("offsets on a grid need its width");
    const std::int64_t width = relative_.grid_width, height = (n + width - 1) / width;
    relative_count_ = 1 + (2 * height + 1) * (2 * width + 1);
    break;
  }
  case RelativeKind::column: relative_count_ = 1 + std::int64_t{vertex_count()}; break;
  case RelativeKind::pair: relative_count_ = 1 + std::int64_t{vertex_count()} * vertex_count(); break;
  }
  std::int64_t largest = 1;
  for (const AffineRun& run : pattern_.affine_runs()) largest = std::max<std::int64_t>(largest, run.colour);
  if (largest > std::numeric_limits<std::int64_t>::max() / relative_count_ - 1) {
    throw ArgumentError("matrix and relative colours do not fit 63 bits");
  }
  plain_ = find_plain();
}

namespace {

// Single vertices have one spelling, so that equal rows of single vertices are equal as values.
void append(std::vector<ColouredRun>& out, std::int64_t first, std::int64_t last, Vertex step, std::int64_t colour,
            std::int64_t colour_step) {
  if (first == last) {
    step = 1;
    colour_step = 0;
  }
  out.push_back({static_cast<Vertex>(first), static_cast<Vertex>(last), step, colour, colour_step});
}

bool is_sorted_by_first(const std::vector<ColouredRun>& row) {
  return std::is_sorted(row.begin(), row.end(), [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; });
}

}  // namespace

void Relation::append_buckets(const Run& run, Vertex i, std::int64_t base, std::vector<ColouredRun>& out) const {
  const std::int64_t step = run.step;
  for (std::int64_t j = run.first; j <= run.last;) {
    const bool right = j > i;
    const std::vector<BucketStart>& starts = right ? after_ : before_;
    const std::int64_t distance = right ? j - i : std::int64_t{i} - j;
    const auto next = std::upper_bound(starts.begin(), starts.end(), distance,
                                       [](std::int64_t d, const BucketStart& start) { return d < start.distance; });
    const BucketStart& start = *(next - 1);
    // To the left distances fall as j grows: the bucket ends at its own start; to the right before the next one's.
    std::int64_t end = right ? (next == starts.end() ? run.last : i + next->distance - 1) : i - start.distance;
    end = std::min<std::int64_t>(end, run.last);
    const std::int64_t last = j + (end - j) / step * step;
    append(out, j, last, run.step, base + 1 + start.bucket, 0);
    j = last + step;
  }
}

void Relation::append_grid(const Run& run, Vertex i, std::int64_t base, std::vector<ColouredRun>& out) const {
  const std::int64_t step = run.step, width = relative_.grid_width, height = (std::int64_t{tokens_} + width - 1) / width;
  const auto colour = [&](std::int64_t j) {
    return base + 1 + (j / width - i / width + height) * (2 * width + 1) + (j % width - i % width + width);
  };
  if (step % width == 0) {
    append(out, run.first, run.last, run.step, colour(run.first), step / width * (2 * width + 1));
    return;
  }
  for (std::int64_t j = run.first; j <= run.last;) {
    const std::int64_t end = std::min<std::int64_t>(run.last, (j / width + 1) * width - 1);
    const std::int64_t last = j + (end - j) / step * step;
    append(out, j, last, run.step, colour(j), step);
    j = last + step;
  }
}

void Relation::append_relative(const Run& run, Vertex i, std::vector<ColouredRun>& out) const {
  const std::int64_t base = 1 + (std::int64_t{run.colour} - 1) * relative_count_;
  const std::int64_t step = run.step;
  if (relative_.kind == RelativeKind::column || relative_.kind == RelativeKind::pair) {
    const std::int64_t row_start = relative_.kind == RelativeKind::pair ? std::int64_t{i} * vertex_count() : 0;
    append(out, run.first, run.last, run.step, base + 1 + row_start + run.first, step);
    return;
  }
  if (relative_.kind == RelativeKind::none || i >= tokens_ || run.first >= tokens_) {
    append(out, run.first, run.last, run.step, base, 0);
    return;
  }
  if (run.last >= tokens_) {
    const std::int64_t last = run.first + (std::int64_t{tokens_} - 1 - run.first) / step * step;
    append_relative({run.first, static_cast<Vertex>(last), run.step, run.colour}, i, out);
    append(out, last + step, run.last, run.step, base, 0);
    return;
  }
  switch (relative_.kind) {
  case RelativeKind::none:
  case RelativeKind::column:
  case RelativeKind::pair: break;
  case RelativeKind::offset:
    append(out, run.first, run.last, run.step, base + run.first - std::int64_t{i} + tokens_, step);
    break;
  case RelativeKind::distance: {
    std::int64_t right = run.first;
    if (right <= i) {
      const std::int64_t last = right + (std::min<std::int64_t>(run.last, i) - right) / step * step;
      append(out, right, last, run.step, base + 1 + i - right, -step);
      right = last + step;
    }
    if (right <= run.last) append(out, right, run.last, run.step, base + 1 + right - i, step);
    break;
  }
  case RelativeKind::bucket: append_buckets(run, i, base, out); break;
  case RelativeKind::grid_offset: append_grid(run, i, base, out); break;
  }
}

void Relation::raw_row(Vertex i, std::vector<ColouredRun>& out) const {
  if (relative_.kind == RelativeKind::none) {  // the commonest case
    return pattern_.row_by(pattern_.list_at(i), i, out, [](const Run& run) { return ColouredRun{run.first, run.last, run.step, run.colour, 0}; });
  }
  thread_local std::vector<Run> runs;
  pattern_.row(i, runs);
  out.clear();
  for (const Run& run : runs) append_relative(run, i, out);
  if (!is_sorted_by_first(out)) {
    std::sort(out.begin(), out.end(), [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; });
  }
}

void Relation::forget(Vertex i, std::vector<ColouredRun>& row) const {
  if (row.empty() || cancels_ == Cancels::nothing) return;
  if (cancels_ == Cancels::single_colour) {
    // Weights are products of a matrix part and a relative part (docs/theory.md 16.5 a): each part that is single cancels.
    const auto matrix_part = [&](std::int64_t colour) { return (colour - 1) / relative_count_; };
    const auto relative_part = [&](std::int64_t colour) { return (colour - 1) % relative_count_; };
    const std::int64_t colour = row.front().colour;
    bool one_matrix = true, one_relative = true;
    for (const ColouredRun& run : row) {
      one_matrix = one_matrix && matrix_part(run.colour) == matrix_part(colour);
      one_relative = one_relative && run.colour_step == 0 && relative_part(run.colour) == relative_part(colour);
    }
    const std::int64_t forgotten = (one_matrix ? matrix_part(colour) * relative_count_ : 0) + (one_relative ? relative_part(colour) : 0) +
                                   (one_matrix && one_relative ? 1 : 0);
    for (ColouredRun& run : row) run.colour -= forgotten;
    return;
  }
  const auto matrix_colour = [&](const ColouredRun& run) { return (run.colour - 1) / relative_count_; };
  const std::int64_t first_colour = matrix_colour(row.front());
  bool one_matrix_colour = true, scales = relative_.kind == RelativeKind::distance && i < tokens_;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const ColouredRun& run : row) {
    one_matrix_colour = one_matrix_colour && matrix_colour(run) == first_colour;
    scales = scales && run.last < tokens_;
    const std::int64_t end = run.colour + run.colour_step * (run.size() - std::int64_t{1});
    smallest = std::min(smallest, (std::min(run.colour, end) - 1) % relative_count_);
  }
  const std::int64_t forgotten = 1 + (scales ? smallest : 0) + (one_matrix_colour ? first_colour * relative_count_ : 0);
  for (ColouredRun& run : row) run.colour -= forgotten;
}

void Relation::row(Vertex i, std::vector<ColouredRun>& out) const {
  raw_row(i, out);
  if (relative_.kind != RelativeKind::none) return forget(i, out);
  // What forget would do where there is no relative part, without divisions.
  if (cancels_ == Cancels::nothing || out.empty()) return;
  const bool one_colour = std::all_of(out.begin(), out.end(), [&](const ColouredRun& run) { return run.colour == out.front().colour; });
  const std::int64_t forgotten = one_colour ? out.front().colour : cancels_ == Cancels::single_colour ? 0 : 1;
  for (ColouredRun& run : out) run.colour -= forgotten;
}

std::int64_t Relation::colour(Vertex i, Vertex j) const {
  std::vector<ColouredRun> runs;
  row(i, runs);
  for (const ColouredRun& run : runs) {
    if (j >= run.first && j <= run.last && (j - run.first) % run.step == 0) {
      return run.colour + run.colour_step * std::int64_t{(j - run.first) / run.step};
    }
  }
  return -1;
}

bool Relation::find_plain() const {
  if (relative_.kind == RelativeKind::none) {
    const auto& runs = pattern_.affine_runs();
    const std::uint32_t colour = pattern_.written_vertices().empty() && !runs.empty() ? runs.front().colour : 1;
    if (std::all_of(runs.begin(), runs.end(), [&](const AffineRun& run) { return run.colour == colour; })) return true;
  }
  std::int64_t colour = -1;
  std::vector<ColouredRun> runs;
  for (Vertex i = 0; i < vertex_count(); ++i) {
    row(i, runs);
    for (const ColouredRun& run : runs) {
      if (colour < 0) colour = run.colour;
      if (run.colour != colour || run.colour_step != 0) return false;
    }
  }
  return true;
}

bool operator==(const Relation& a, const Relation& b) {
  return a.tokens_ == b.tokens_ && a.cancels_ == b.cancels_ && a.relative_ == b.relative_ && a.pattern_ == b.pattern_;
}

}  // namespace sightline::layout
