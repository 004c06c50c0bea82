// Patterns on an h x w grid of tokens, row-major. Every one is a product: the grid rows that a token reads depend on its
// own grid row only, the columns on its own column only.
#include <algorithm>

#include <fmt/format.h>

#include "sightline/layout/generators.hpp"

namespace sightline::layout {

namespace {

enum class Axis { full, own, window, blocks };

struct AxisRule {
  Axis kind = Axis::full;
  std::int64_t extent = 0, reach = 0;
  bool wrap = false;
  std::vector<std::vector<Interval>> blocks;

  // What position x of this axis reads, as sorted disjoint intervals.
  [[nodiscard]] std::vector<Interval> read(std::int64_t x) const {
    switch (kind) {
    case Axis::full: return {{0, extent - 1}};
    case Axis::own: return {{x, x}};
    case Axis::window: {
      if (2 * reach + 1 >= extent && wrap) return {{0, extent - 1}};
      const std::int64_t lo = x - reach, hi = x + reach;
      if (wrap && lo < 0) return {{0, hi}, {lo + extent, extent - 1}};
      if (wrap && hi >= extent) return {{0, hi - extent}, {lo, extent - 1}};
      return {{std::max<std::int64_t>(lo, 0), std::min(hi, extent - 1)}};
    }
    case Axis::blocks: {
      // Joined end pieces stand at both ends of the list; the last entry begins with its second piece.
      std::size_t k = 0, end = blocks.size();
      while (end - k > 1) {
        const std::size_t middle = k + (end - k) / 2;
        (blocks[middle].back().lo <= x ? k : end) = middle;
      }
      return blocks[k];
    }
    }
    return {};
  }
};

// Columns begin .. end-1 whose column intervals have the same bounds, each either a constant or moving with the column.
struct ColumnSegment {
  std::int64_t begin = 0, end = 0;
  bool lo_moves = false, hi_moves = false;
  std::vector<Interval> intervals;  // offsets where a bound moves, columns where it does not
};

std::vector<Interval> spell(std::vector<Interval> intervals, std::int64_t x, bool lo_moves, bool hi_moves) {
  for (Interval& interval : intervals) {
    if (lo_moves) interval.lo -= x;
    if (hi_moves) interval.hi -= x;
  }
  return intervals;
}

// `singles_below`: border stretches up to this length are written column by column, all moving, so that every grid row
// shares their lists; a constant bound would need lists for each grid row.
std::vector<ColumnSegment> split_columns(const AxisRule& columns, std::int64_t singles_below) {
  std::vector<ColumnSegment> segments;
  for (std::int64_t x = 0; x < columns.extent;) {
    ColumnSegment best;
    for (const auto& [lo_moves, hi_moves] : {std::pair{true, true}, {false, false}, {false, true}, {true, false}}) {
      ColumnSegment segment{x, x + 1, lo_moves, hi_moves, spell(columns.read(x), x, lo_moves, hi_moves)};
      while (segment.end < columns.extent &&
             spell(columns.read(segment.end), segment.end, lo_moves, hi_moves) == segment.intervals) {
        ++segment.end;
      }
      if (segment.end - segment.begin > best.end - best.begin) best = segment;
    }
    if (!(best.lo_moves && best.hi_moves) && best.end - best.begin <= singles_below) {
      best = {x, x + 1, true, true, spell(columns.read(x), x, true, true)};
    }
    x = best.end;
    segments.push_back(std::move(best));
  }
  return segments;
}

class GridWriter {
public:
  GridWriter(std::int64_t height, std::int64_t width) : height_(height), width_(width) {}

  std::vector<AffineRun> write(std::int64_t y, const std::vector<Interval>& rows, const ColumnSegment& segment) const {
    std::vector<AffineRun> runs;
    const Interval& first = segment.intervals.front();
    if (!segment.lo_moves && !segment.hi_moves && first.lo == 0 && first.hi == width_ - 1) {
      for (const Interval& band : rows) runs.push_back(make_constant_run(band.lo * width_, (band.hi + 1) * width_ - 1));
      return runs;
    }
    std::int64_t row_count = 0, column_count = 0;
    for (const Interval& band : rows) row_count += band.hi - band.lo + 1;
    if (segment.lo_moves == segment.hi_moves) {
      for (const Interval& part : segment.intervals) column_count += part.hi - part.lo + 1;
    }
    if (column_count > 0 && column_count < row_count) {
      write_columns(y, rows, segment, runs);
      return runs;
    }
    for (const Interval& band : rows) {
      for (std::int64_t row = band.lo; row <= band.hi; ++row) {
        for (const Interval& part : segment.intervals) {
          AffineRun run;
          run.lo_moves = segment.lo_moves;
          run.hi_moves = segment.hi_moves;
          run.lo_base = part.lo + (run.lo_moves ? row - y : row) * width_;
          run.hi_base = part.hi + (run.hi_moves ? row - y : row) * width_;
          run.limit = height_ * width_;
          runs.push_back(run);
        }
      }
    }
    return runs;
  }

private:
  // Few columns of many rows: one run down each column. A band that reaches the border is written beyond it, where the
  // clipping of affine runs cuts it, so that more grid rows share the list.
  void write_columns(std::int64_t y, const std::vector<Interval>& rows, const ColumnSegment& segment,
                     std::vector<AffineRun>& runs) const {
    for (const Interval& band : rows) {
      const std::int64_t up = band.lo == 0 ? height_ : y - band.lo, down = band.hi == height_ - 1 ? height_ : band.hi - y;
      for (const Interval& part : segment.intervals) {
        for (std::int64_t column = part.lo; column <= part.hi; ++column) {
          AffineRun run;
          if (segment.lo_moves) {
            run = make_moving_run(column - up * width_, column + down * width_, height_ * width_);
          } else {
            run = make_constant_run(column + band.lo * width_, column + band.hi * width_);
          }
          run.step = static_cast<Vertex>(width_);
          runs.push_back(run);
        }
      }
    }
  }

  std::int64_t height_, width_;
};

AxisRule make_window_axis(std::int64_t extent, std::int64_t reach, bool wrap) {
  AxisRule rule{Axis::window, extent, std::min(reach, extent), wrap, {}};
  if (rule.reach >= extent - 1) rule.kind = Axis::full;
  return rule;
}

}  // namespace

Pattern make_grid(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const auto pair = [&](std::string_view key, const std::vector<std::int64_t>& values, std::int64_t least) {
    if (values.size() != 2) fail(spec, key, "two integers", fmt::format("{}", values.size()));
    for (const std::int64_t value : values) {
      if (value < least) fail(spec, key, fmt::format("integers >= {}", least), fmt::format("{}", value));
    }
  };
  pair("shape", spec.shape, 1);
  const std::int64_t h = spec.shape[0], w = spec.shape[1], n = size.tokens;
  if (h > n || w > n || h * w != n) fail(spec, "shape", fmt::format("h x w = {} tokens", n), fmt::format("{} x {}", h, w));
  const int kinds = !spec.grid_window.empty() + !spec.grid_blocks.empty() + spec.grid_rows + spec.grid_columns;
  if (kinds != 1) fail(spec, "", "one of window, rows, columns and blocks", fmt::format("{}", kinds));
  const bool wrap = spec.wrap.value_or(false);
  AxisRule rows{Axis::own, h, 0, false, {}}, columns{Axis::own, w, 0, false, {}};
  std::int64_t singles_below = 0;
  if (spec.grid_rows) {
    columns.kind = Axis::full;
  } else if (spec.grid_columns) {
    rows.kind = Axis::full;
  } else if (!spec.grid_window.empty()) {
    pair("window", spec.grid_window, 0);
    rows = make_window_axis(h, spec.grid_window[0], wrap);
    columns = make_window_axis(w, spec.grid_window[1], wrap);
    // A segment costs 8 bytes and a run of a list 48.
    singles_below = 6 * (2 * std::min(spec.grid_window[0], h) + 1);
  } else {
    pair("blocks", spec.grid_blocks, 1);
    std::vector<std::int64_t> shift = spec.grid_shift;
    if (shift.empty()) shift = {0, 0};
    if (shift.size() != 2) fail(spec, "shift", "two integers", fmt::format("{}", shift.size()));
    rows = {Axis::blocks, h, 0, wrap, make_blocks(h, spec.grid_blocks[0], shift[0], wrap)};
    columns = {Axis::blocks, w, 0, wrap, make_blocks(w, spec.grid_blocks[1], shift[1], wrap)};
  }
  const std::vector<ColumnSegment> segments = split_columns(columns, singles_below);
  const bool all_constant =
      std::none_of(segments.begin(), segments.end(), [](const ColumnSegment& s) { return s.lo_moves || s.hi_moves; });
  const GridWriter writer(h, w);
  PatternBuilder builder(size.tokens + size.registers, budget);
  std::vector<std::uint32_t> lists(segments.size());
  std::vector<Interval> bands, previous;
  for (std::int64_t y = 0; y < h; ++y) {
    bands = rows.read(y);
    const bool same = y > 0 && all_constant && bands == previous;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      // Constant bounds differ from one band of rows to the next, so looking for equal lists would be in vain.
      if (!same) {
        const auto runs = writer.write(y, bands, segments[s]);
        lists[s] = all_constant ? builder.add_list(runs) : builder.add_list_once(runs);
      }
      builder.add_segment(static_cast<Vertex>(y * w + segments[s].begin), lists[s]);
    }
    previous = bands;
  }
  return finish(builder, size);
}

}  // namespace sightline::layout
