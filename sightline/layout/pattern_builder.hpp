// Writes a pattern segment by segment: run lists first, then the readers that use them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// A stretch of runs that any number of lists may end in.
struct SharedRuns {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// Builds one Pattern. The builder books with the budget exactly what the pattern it builds occupies (memory_bytes());
/// whoever drops a pattern before the end may give that many bytes back.
class PatternBuilder {
public:
  PatternBuilder(Vertex vertex_count, const Budget& budget) : vertex_count_(vertex_count), budget_(&budget) {}
  PatternBuilder(const PatternBuilder&) = delete;
  PatternBuilder& operator=(const PatternBuilder&) = delete;

  /// Makes room for that many lists of `vertices` written vertices together, one segment each: rows listed one by one are moved once less.
  void expect_written(std::uint64_t lists, std::uint64_t vertices);
  SharedRuns add_shared(std::span<const AffineRun> runs);
  /// A new list; the caller answers for disjoint runs. Returns its number.
  std::uint32_t add_list(std::span<const AffineRun> runs, SharedRuns shared = {});
  /// The list with exactly these runs, new only if this function has not seen it before. O(runs) expected.
  std::uint32_t add_list_once(std::span<const AffineRun> runs);
  /// A new list of sorted distinct vertices with their colours (all 1 when `colours` is empty), as runs or written out, whatever
  /// is shorter. O(vertices).
  std::uint32_t add_row(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours = {});
  /// The same, new only if this function or add_list_once has not seen it before. O(vertices) expected.
  std::uint32_t add_row_once(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours = {});
  /// Readers from `begin` on use `list`. Segments come in increasing order; equal neighbours become one.
  void add_segment(Vertex begin, std::uint32_t list);
  /// The runs of a list, its shared stretch not among them.
  [[nodiscard]] std::span<const AffineRun> runs_of(std::uint32_t list) const;

  [[nodiscard]] Pattern build();

private:
  void book();
  std::uint32_t add_written(std::span<const Vertex> vertices);

  Vertex vertex_count_;
  const Budget* budget_;
  std::uint64_t booked_bytes_ = 0;
  std::vector<Pattern::Segment> segments_;
  std::vector<Pattern::RunList> lists_;
  std::vector<AffineRun> runs_;
  std::vector<Vertex> written_;
  std::vector<AffineRun> row_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> seen_, seen_written_;
};

/// A plain run of constant bounds first .. last (step 1).
[[nodiscard]] inline AffineRun make_constant_run(std::int64_t first, std::int64_t last, std::uint32_t colour = 1) {
  AffineRun run;
  run.lo_base = first;
  run.hi_base = last;
  run.limit = last + 1;
  run.colour = colour;
  return run;
}

/// The plain run reader + lo .. reader + hi in steps, cut to [0, limit).
[[nodiscard]] inline AffineRun make_moving_run(std::int64_t lo, std::int64_t hi, std::int64_t limit, Vertex step = 1) {
  AffineRun run;
  run.lo_base = lo;
  run.hi_base = hi;
  run.limit = limit;
  run.step = step;
  run.lo_moves = run.hi_moves = true;
  return run;
}

/// Sorted distinct vertices with their colours (all 1 when `colours` is empty) as runs: stretches of neighbours, and
/// stretches of at least three members with equal gaps as stepped runs.
void append_runs(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours, std::vector<AffineRun>& out);

}  // namespace sightline::layout
