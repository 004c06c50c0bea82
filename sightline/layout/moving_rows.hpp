// Rows that move along with their readers, a stretch of readers at a time: butterflies, and windows away from their ends.
#pragma once

#include <algorithm>

#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// The readers of begin .. end-1 for whom each of these runs is empty, or moves along and is not cut off anywhere: an interval.
template <class Runs>
std::pair<Vertex, Vertex> find_moving(const Runs& runs, Vertex begin, Vertex end) {
  std::int64_t from = begin, to = end;
  for (const AffineRun& run : runs) {
    if (!run.lo_moves || !run.hi_moves || run.floor_moves) return {begin, begin};
    if (run.lo_base > run.hi_base) continue;
    from = std::max({from, -run.lo_base, run.floor_base - run.lo_base});
    to = std::min(to, run.limit - run.hi_base);
  }
  if (from >= to) return {begin, begin};
  return {static_cast<Vertex>(from), static_cast<Vertex>(to)};
}

/// Calls visit(begin, end, moves), readers in order, until it says false: readers begin .. end-1 have one row, or, where it moves, each of them the row of
/// the one before with every vertex one further. Colours of the pattern itself. Says whether visit never did. O(stretches) besides.
template <class Visit>
bool visit_stretches(const Pattern& pattern, const Visit& visit) {
  const auto& segments = pattern.segments();
  std::vector<AffineRun> runs;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Vertex begin = segments[s].begin, end = s + 1 < segments.size() ? segments[s + 1].begin : pattern.vertex_count();
    if (end - begin == 1 || pattern.is_constant(segments[s].list)) {
      if (!visit(begin, end, false)) return false;
      continue;
    }
    const Pattern::RunList& list = pattern.lists()[segments[s].list];
    const auto all = pattern.affine_runs().begin();
    runs.assign(all + list.runs_begin, all + list.runs_begin + list.runs_count);
    runs.insert(runs.end(), all + list.shared_begin, all + list.shared_begin + list.shared_count);
    const auto [from, to] = find_moving(runs, begin, end);
    for (Vertex i = begin; i < end;) {
      const bool moves = i == from && to - from > 1;
      const Vertex next = moves ? to : i + 1;
      if (!visit(i, next, moves)) return false;
      i = next;
    }
  }
  return true;
}

}  // namespace sightline::layout
