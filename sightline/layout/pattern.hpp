// A sparsity pattern: for every vertex (token or register) the set of vertices it reads, as runs, never as n^2 bits.
//
// Storage is a list of segments of consecutive readers. All readers of a segment share one list of affine runs: run
// bounds are either constants or move with the reader (slope 0 or 1), and are clipped to [0, limit). So a window of a
// million tokens, its causal half or a full mask is one segment and one run, and block masks share one run list per block.
#pragma once

#include <cstdint>
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

/// A run whose bounds may move with the reader i: { lo, lo+step, ... <= hi } intersected with [0, limit), where
/// lo = lo_base + (lo_moves ? i : 0), hi = hi_base + (hi_moves ? i : 0). A negative lo is clipped upwards in whole steps.
struct AffineRun {
  std::int64_t lo_base = 0;
  std::int64_t hi_base = 0;
  std::int64_t limit = 0;
  Vertex step = 1;
  std::uint32_t colour = 1;
  bool lo_moves = false;
  bool hi_moves = false;
  friend bool operator==(const AffineRun&, const AffineRun&) = default;
};

/// Which vertices each vertex reads. Immutable once built (PatternBuilder). Copies share nothing but are cheap when
/// the pattern is structured; pass by const reference.
///
/// Invariant: the runs of one row are pairwise disjoint as sets and sorted by `first`. Two equal rows may still be
/// written with different runs; compare with same_row().
class Pattern {
public:
  struct Segment {
    Vertex begin = 0;           ///< first reader; the segment ends where the next begins
    std::uint32_t runs_begin = 0;  ///< index into affine_runs()
    std::uint32_t runs_count = 0;
  };

  Pattern() = default;
  Pattern(Vertex vertex_count, std::vector<Segment> segments, std::vector<AffineRun> runs);

  [[nodiscard]] Vertex vertex_count() const { return vertex_count_; }
  /// Writes the row of reader i to `out` (cleared first). O(runs of the row).
  void row(Vertex i, std::vector<Run>& out) const;
  [[nodiscard]] std::vector<Run> row(Vertex i) const;
  /// Colour of the arc (i reads j), 0 when absent.
  [[nodiscard]] std::uint32_t colour(Vertex i, Vertex j) const;
  [[nodiscard]] bool reads(Vertex i, Vertex j) const { return colour(i, j) != 0; }
  /// Number of vertices that i reads.
  [[nodiscard]] std::uint64_t degree(Vertex i) const;
  /// Number of arcs, and number of runs over all rows (the n and the size that complexity figures speak of).
  [[nodiscard]] std::uint64_t arc_count() const;
  [[nodiscard]] std::uint64_t run_count() const;
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<AffineRun>& affine_runs() const { return runs_; }
  /// True when every arc of every row has colour 1.
  [[nodiscard]] bool is_plain() const;

  /// Same arcs with the same colours (semantic, not representation). Used to share equal layers and heads.
  friend bool operator==(const Pattern& a, const Pattern& b);

private:
  Vertex vertex_count_ = 0;
  std::vector<Segment> segments_;
  std::vector<AffineRun> runs_;
};

/// Same set of (vertex, colour), whatever the runs.
[[nodiscard]] bool same_row(const std::vector<Run>& a, const std::vector<Run>& b);

/// The pattern with the given explicit rows: rows[i] lists what i reads, in any order, without repeats.
/// colours, when not empty, is parallel to rows. Throws ArgumentError on a repeat or an index out of range.
[[nodiscard]] Pattern make_pattern_from_rows(Vertex vertex_count, const std::vector<std::vector<Vertex>>& rows,
                                             const std::vector<std::vector<std::uint32_t>>& colours = {});

}  // namespace sightline::layout
