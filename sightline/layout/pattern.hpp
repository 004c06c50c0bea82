// A sparsity pattern: for every vertex (token or register) the set of vertices it reads, as runs, never as n^2 bits.
//
// Storage is a list of segments of consecutive readers. All readers of a segment share one list of affine runs: run
// bounds are either constants or move with the reader (slope 0 or 1), and are clipped to [0, limit). So a window of a
// million tokens, its causal half or a full mask is one segment and one run, and block masks share one run list per block.
// A list may end in a second stretch of runs that other lists use as well (the global columns of a window, the summary
// columns of a fixed pattern), so that a few columns read by everybody are stored once. A list of mostly single plain
// vertices (explicit and random rows) is written out instead, four bytes a vertex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sightline::layout {

using Vertex = std::uint32_t;

/// The vertices first, first+step, ..., last (last included, reachable from first by steps), all with one colour.
/// step >= 1; colour >= 1 (1 = plain).
struct Run {
  Vertex first = 0;
  Vertex last = 0;
  Vertex step = 1;
  std::uint32_t colour = 1;

  [[nodiscard]] Vertex size() const { return (last - first) / step + 1; }
  [[nodiscard]] bool contains(Vertex j) const { return j >= first && j <= last && (j - first) % step == 0; }
  friend bool operator==(const Run&, const Run&) = default;
};

/// A run whose bounds may move with the reader i: { lo, lo+step, ... <= hi } intersected with [floor, limit) and with the
/// vertices >= 0, where lo = lo_base + (lo_moves ? i : 0), hi = hi_base + (hi_moves ? i : 0) and
/// floor = floor_base + (floor_moves ? i : 0). What lies below floor or 0 is cut off in whole steps, so lo also says which
/// residue class the run has. The run may be empty for some readers; row() leaves it out there.
struct AffineRun {
  std::int64_t lo_base = 0;
  std::int64_t hi_base = 0;
  std::int64_t limit = 0;
  Vertex step = 1;
  std::uint32_t colour = 1;
  bool lo_moves = false;
  bool hi_moves = false;
  bool floor_moves = false;
  std::int64_t floor_base = std::numeric_limits<std::int32_t>::min();  ///< default: far below every vertex
  friend bool operator==(const AffineRun&, const AffineRun&) = default;
};

/// Which vertices each vertex reads. Immutable once built (pattern_builder.hpp), so copies share what is stored: a layout of a
/// hundred megabytes is copied, kept and recognised at no cost.
///
/// Invariant: the runs of one row are pairwise disjoint as sets, and row() gives them sorted by `first` (the affine runs
/// of a list are in any order). A run of one vertex has step 1. Two equal rows may still be written with different runs;
/// compare with same_row().
class Pattern {
public:
  /// Two stretches of affine_runs() that make up one row list, or a stretch of written_vertices() alone: sorted, of colour 1,
  /// read as the runs of split_into_runs.
  struct RunList {
    std::uint32_t runs_begin = 0;
    std::uint32_t runs_count = 0;
    std::uint32_t shared_begin = 0;
    std::uint32_t shared_count = 0;
    std::uint32_t written_begin = 0;
    std::uint32_t written_count = 0;
    friend bool operator==(const RunList&, const RunList&) = default;
  };
  struct Segment {
    Vertex begin = 0;        ///< first reader; the segment ends where the next begins
    std::uint32_t list = 0;  ///< index into lists()
    friend bool operator==(const Segment&, const Segment&) = default;
  };

  Pattern();
  /// Throws ArgumentError unless the segments start at 0, increase and refer to lists and runs that exist.
  Pattern(Vertex vertex_count, std::vector<Segment> segments, std::vector<RunList> lists, std::vector<AffineRun> runs,
          std::vector<Vertex> written = {});

  [[nodiscard]] Vertex vertex_count() const { return vertex_count_; }
  /// Writes the row of reader i to `out` (cleared first). O(runs of the row).
  void row(Vertex i, std::vector<Run>& out) const;
  [[nodiscard]] std::vector<Run> row(Vertex i) const;
  /// The row of a reader whose list is known.
  void row_by(const RunList& list, Vertex i, std::vector<Run>& out) const;
  /// The same with make(run) in place of each run; what is made has `first` as well.
  template <class Made, class Make>
  void row_by(const RunList& list, Vertex i, std::vector<Made>& out, Make&& make) const;
  /// The list of reader i. O(log segments), O(1) where all segments are equally long. Throws ArgumentError for a reader out of range.
  [[nodiscard]] const RunList& list_at(Vertex i) const { return body_->lists[body_->segments[find_segment(i)].list]; }
  /// End of the readers i, i+1, ... that are known to have the row of i: those of its segment when none of its runs moves with
  /// the reader, else i + 1. O(log segments + runs of the list).
  [[nodiscard]] Vertex same_row_until(Vertex i) const;
  /// The number of the list that reader i uses. O(log segments), O(1) where every reader has a segment.
  [[nodiscard]] std::uint32_t list_of(Vertex i) const;
  /// Does no run of the list move with the reader? Then its readers have one row.
  [[nodiscard]] bool is_constant(std::uint32_t list) const;
  /// Colour of the arc (i reads j), 0 when absent.
  [[nodiscard]] std::uint32_t colour(Vertex i, Vertex j) const;
  [[nodiscard]] bool reads(Vertex i, Vertex j) const { return colour(i, j) != 0; }
  /// Number of vertices that i reads.
  [[nodiscard]] std::uint64_t degree(Vertex i) const;
  /// Number of arcs, and number of runs over all rows (the n and the size that complexity figures speak of).
  /// O(runs) where bounds are clipped, O(1) per run of a segment where they are not.
  [[nodiscard]] std::uint64_t arc_count() const;
  [[nodiscard]] std::uint64_t run_count() const;
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] const std::vector<Segment>& segments() const { return body_->segments; }
  [[nodiscard]] const std::vector<RunList>& lists() const { return body_->lists; }
  [[nodiscard]] const std::vector<AffineRun>& affine_runs() const { return body_->runs; }
  [[nodiscard]] const std::vector<Vertex>& written_vertices() const { return body_->written; }
  [[nodiscard]] std::span<const Vertex> written(const RunList& list) const { return std::span(body_->written).subspan(list.written_begin, list.written_count); }
  /// The runs of a list, its shared stretch not among them; made in `room` where the list is written out.
  [[nodiscard]] std::span<const AffineRun> own_runs(const RunList& list, std::vector<AffineRun>& room) const;
  /// The same segments, lists and runs (so the same arcs). O(1) for copies of one pattern.
  [[nodiscard]] bool is_written_as(const Pattern& other) const;
  /// True when every arc of every row has colour 1.
  [[nodiscard]] bool is_plain() const { return !has_other_colour(1); }
  /// True when all arcs of all rows have one colour, whichever it is.
  [[nodiscard]] bool has_one_colour() const;

  /// Same arcs with the same colours (semantic, not representation). Used to share equal layers and heads. O(size of the
  /// representation) when the representations agree, else O(runs of all rows) up to the first row that differs.
  friend bool operator==(const Pattern& a, const Pattern& b);

private:
  struct Body {
    std::vector<Segment> segments;
    std::vector<RunList> lists;
    std::vector<AffineRun> runs;
    std::vector<Vertex> written;
  };
  [[nodiscard]] std::size_t find_segment(Vertex i) const;
  [[nodiscard]] bool has_other_colour(std::uint32_t colour) const;

  Vertex vertex_count_ = 0;
  std::shared_ptr<const Body> body_;  ///< never null
};

/// Sorted distinct vertices as runs, read greedily from the left: stretches of neighbours, and stretches of at least three
/// members with equal gaps as stepped runs. Calls visit(first, last, step) for each.
template <class Visit>
void split_into_runs(std::span<const Vertex> vertices, Visit&& visit) {
  for (std::size_t k = 0; k < vertices.size();) {
    std::size_t end = k + 1;
    Vertex step = 1;
    if (end < vertices.size()) {
      step = vertices[end] - vertices[k];
      while (end < vertices.size() && vertices[end] - vertices[end - 1] == step) ++end;
      if (step > 1 && end - k < 3) {
        end = k + 1;
        step = 1;
      }
    }
    visit(vertices[k], vertices[end - 1], step);
    k = end;
  }
}

/// The run of reader i, absent when it is empty there.
[[nodiscard]] inline std::optional<Run> evaluate(const AffineRun& run, Vertex i) {
  std::int64_t lo = run.lo_base + (run.lo_moves ? std::int64_t{i} : 0);
  const std::int64_t hi = std::min(run.hi_base + (run.hi_moves ? std::int64_t{i} : 0), run.limit - 1);
  const std::int64_t floor = std::max<std::int64_t>(0, run.floor_base + (run.floor_moves ? std::int64_t{i} : 0));
  if (lo < floor) lo = run.step == 1 ? floor : lo + (floor - lo + run.step - 1) / run.step * run.step;
  if (lo > hi) return std::nullopt;
  const auto first = static_cast<Vertex>(lo), end = static_cast<Vertex>(hi);
  const Vertex last = run.step == 1 ? end : first + (end - first) / run.step * run.step;
  return Run{first, last, last == first ? 1 : run.step, run.colour};
}

template <class Made, class Make>
void Pattern::row_by(const RunList& list, Vertex i, std::vector<Made>& out, Make&& make) const {
  out.resize(std::max(list.written_count, list.runs_count + list.shared_count));  // written into place: rows are read many times
  Made* next = out.data();
  bool is_sorted = true;
  const auto take = [&](const Run& run) {
    is_sorted = is_sorted && (next == out.data() || next[-1].first < run.first);
    *next++ = make(run);
  };
  const auto take_all = [&](std::uint32_t begin, std::uint32_t count) {
    for (std::uint32_t k = begin; k < begin + count; ++k) {
      if (const auto run = evaluate(body_->runs[k], i)) take(*run);
    }
  };
  if (list.written_count != 0) {
    split_into_runs(written(list), [&](Vertex first, Vertex last, Vertex step) { take({first, last, step, 1}); });
  } else {
    take_all(list.runs_begin, list.runs_count);
    take_all(list.shared_begin, list.shared_count);
  }
  out.resize(static_cast<std::size_t>(next - out.data()));
  if (!is_sorted) std::sort(out.begin(), out.end(), [](const Made& a, const Made& b) { return a.first < b.first; });
}

/// Same set of (vertex, colour), whatever the runs. Both lists hold disjoint runs. O(a + b) for runs of step 1, else
/// O(a log a + min(a b, vertices)).
[[nodiscard]] bool same_row(const std::vector<Run>& a, const std::vector<Run>& b);

/// The pattern with the given explicit rows: rows[i] lists what i reads, in any order, without repeats.
/// colours, when not empty, is parallel to rows, and every colour is >= 1. Equal rows share storage.
/// Throws ArgumentError on a repeat, an index out of range, a colour 0 or a wrong number of rows.
[[nodiscard]] Pattern make_pattern_from_rows(Vertex vertex_count, const std::vector<std::vector<Vertex>>& rows,
                                             const std::vector<std::vector<std::uint32_t>>& colours = {});

}  // namespace sightline::layout
