#include "sightline/layout/run_algebra.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/layout/run_pieces.hpp"

namespace sightline::layout {

namespace {

std::span<const AffineRun> stretch(const Pattern& pattern, std::uint32_t begin, std::uint32_t count) {
  return std::span(pattern.affine_runs()).subspan(begin, count);
}

// The pieces of one side. Those of a list whose bounds do not move are the same for every interval of readers, and kept.
class Side {
public:
  explicit Side(const Pattern& pattern) : pattern_(&pattern) {}

  const std::vector<Piece>& find_pieces(std::uint32_t list, RowAlgebra& algebra) {
    if (kept_list_ == list) return pieces_;
    const Pattern::RunList& runs = pattern_->lists()[list];
    const auto own = pattern_->own_runs(runs, room_);
    const auto tail = stretch(*pattern_, runs.shared_begin, runs.shared_count);
    const auto moves = [](const AffineRun& run) { return run.lo_moves || run.hi_moves || run.floor_moves; };
    pieces_.clear();
    kept_list_.reset();
    algebra.append_pieces(own, pieces_);
    if (!algebra.split()) algebra.append_pieces(tail, pieces_);
    if (algebra.split()) return pieces_;
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.lo.base < b.lo.base; });
    if (std::none_of(own.begin(), own.end(), moves) && std::none_of(tail.begin(), tail.end(), moves)) kept_list_ = list;
    return pieces_;
  }

private:
  const Pattern* pattern_;
  std::vector<Piece> pieces_;
  std::vector<AffineRun> room_;
  std::optional<std::uint32_t> kept_list_;
};

}  // namespace

Pattern combine(SetOperation operation, const Pattern& a, const Pattern& b, const Budget& budget) {
  if (a.vertex_count() != b.vertex_count()) throw ArgumentError("patterns to combine have the same number of vertices");
  const Vertex vertices = a.vertex_count();
  PatternBuilder builder(vertices, budget);
  Side side_a(a), side_b(b);
  std::vector<AffineRun> runs;
  std::vector<Vertex> ends;  // of the intervals still to do, the nearest last
  std::size_t segment_a = 0, segment_b = 0;
  for (Vertex begin = 0; begin < vertices;) {
    const auto end_of = [&](const Pattern& pattern, std::size_t segment) {
      return segment + 1 < pattern.segments().size() ? pattern.segments()[segment + 1].begin : vertices;
    };
    ends.assign(1, std::min(end_of(a, segment_a), end_of(b, segment_b)));
    while (!ends.empty()) {
      budget.poll();
      const Vertex end = ends.back();
      RowAlgebra algebra(begin, end);
      const std::vector<Piece>& pieces_a = side_a.find_pieces(a.segments()[segment_a].list, algebra);
      std::vector<Piece> result;
      if (!algebra.split()) {
        const std::vector<Piece>& pieces_b = side_b.find_pieces(b.segments()[segment_b].list, algebra);
        if (!algebra.split()) {
          result = operation == SetOperation::unite       ? algebra.unite(pieces_a, pieces_b)
                   : operation == SetOperation::intersect ? algebra.intersect(pieces_a, pieces_b)
                                                          : algebra.subtract(pieces_a, pieces_b);
        }
      }
      if (algebra.split()) {
        ends.push_back(*algebra.split());
        continue;
      }
      runs.clear();
      algebra.append_runs(std::move(result), vertices, runs);
      builder.add_segment(begin, builder.add_list_once(runs));
      begin = end;
      ends.pop_back();
    }
    if (begin == end_of(a, segment_a)) ++segment_a;
    if (begin < vertices && segment_b + 1 < b.segments().size() && begin == b.segments()[segment_b + 1].begin) ++segment_b;
  }
  return builder.build();
}

Pattern make_causal(const Pattern& pattern, Vertex tokens, const Budget& budget) {
  const Vertex vertices = pattern.vertex_count();
  PatternBuilder builder(vertices, budget);
  if (tokens < vertices && std::any_of(pattern.affine_runs().begin(), pattern.affine_runs().end(), [&](const AffineRun& run) {
        return run.floor_moves && run.limit > tokens;
      })) {
    // A run has one floor only: cutting such a run at the first register takes the general way.
    AffineRun past = make_constant_run(0, std::int64_t{tokens} - 1);
    past.hi_base = 0;
    past.hi_moves = true;
    const AffineRun registers = make_constant_run(tokens, std::int64_t{vertices} - 1);
    const AffineRun all = make_constant_run(0, std::int64_t{vertices} - 1);
    if (tokens > 0) builder.add_segment(0, builder.add_list(std::vector{past, registers}));
    builder.add_segment(tokens, builder.add_list(std::vector{all}));
    return combine(SetOperation::intersect, pattern, builder.build(), budget);
  }
  const auto cut = [&](std::span<const AffineRun> runs) {
    std::vector<AffineRun> out;
    for (AffineRun run : runs) {
      if (run.limit > tokens) {
        AffineRun registers = run;
        registers.floor_base = std::max<std::int64_t>(tokens, run.floor_base);
        if (run.hi_moves || run.hi_base >= tokens) out.push_back(registers);
        run.limit = tokens;
      }
      if (run.hi_moves) {
        run.hi_base = std::min<std::int64_t>(run.hi_base, 0);
      } else {
        run.limit = std::min(run.limit, run.hi_base + 1);
        run.hi_moves = true;
        run.hi_base = 0;
      }
      out.push_back(run);
    }
    return out;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, SharedRuns> shared;
  std::vector<AffineRun> room;
  // Lists of token readers, and the untouched lists of registers.
  std::vector<std::uint32_t> cut_lists(pattern.lists().size(), UINT32_MAX), kept_lists = cut_lists;
  for (std::size_t s = 0; s < pattern.segments().size(); ++s) {
    const Pattern::Segment& segment = pattern.segments()[s];
    const Pattern::RunList& list = pattern.lists()[segment.list];
    const Vertex end = s + 1 < pattern.segments().size() ? pattern.segments()[s + 1].begin : vertices;
    const auto own = pattern.own_runs(list, room);
    const auto tail = stretch(pattern, list.shared_begin, list.shared_count);
    if (segment.begin < tokens) {
      std::uint32_t& known = cut_lists[segment.list];
      if (known == UINT32_MAX) {
        SharedRuns stored;
        if (!tail.empty()) {
          const auto [it, is_new] = shared.try_emplace({list.shared_begin, list.shared_count});
          if (is_new) it->second = builder.add_shared(cut(tail));
          stored = it->second;
        }
        known = builder.add_list(cut(own), stored);
      }
      builder.add_segment(segment.begin, known);
    }
    if (end > tokens) {
      std::uint32_t& known = kept_lists[segment.list];
      if (known == UINT32_MAX) {
        std::vector<AffineRun> runs(own.begin(), own.end());
        runs.insert(runs.end(), tail.begin(), tail.end());
        known = builder.add_list(runs);
      }
      builder.add_segment(std::max(segment.begin, tokens), known);
    }
  }
  return builder.build();
}

}  // namespace sightline::layout
