#include "sightline/layout/steady_rows.hpp"

#include <algorithm>
#include <utility>

namespace sightline::layout {

namespace {

/// The first reader behind i, at most `end`, for which the run, which is `here` for i, may be another.
Vertex find_change(const AffineRun& run, const Run& here, Vertex i, Vertex end) {
  if (run.lo_moves || run.floor_moves) return i + 1;
  if (!run.hi_moves) return end;
  // The next member comes in with the reader that moves the end there, if ever.
  const std::int64_t next = std::int64_t{here.last} + run.step;
  if (next >= run.limit) return end;
  return static_cast<Vertex>(std::clamp<std::int64_t>(next - run.hi_base, std::int64_t{i} + 1, end));
}

}  // namespace

bool SteadyRows::go_to(Vertex i) {
  if (i < end_) return false;
  const auto& segments = pattern_.segments();
  if (i == segment_end_) {
    segment_end_ = ++next_segment_ < segments.size() ? segments[next_segment_].begin : pattern_.vertex_count();
    is_constant_ = segment_end_ == i + 1 || pattern_.is_constant(segments[next_segment_ - 1].list);
  }
  end_ = i + 1;
  steady_.clear();
  moving_.clear();
  const Pattern::RunList& list = pattern_.lists()[segments[next_segment_ - 1].list];
  if (segment_end_ - i < fewest_readers || list.runs_count + list.shared_count < fewest_runs_) return true;
  Vertex change = segment_end_;
  for (const auto& [begin, count] : {std::pair{list.runs_begin, list.runs_count}, {list.shared_begin, list.shared_count}}) {
    for (std::uint32_t k = begin; k < begin + count; ++k) {
      const AffineRun& run = pattern_.affine_runs()[k];
      const auto here = evaluate(run, i);
      const Vertex until = here ? find_change(run, *here, i, segment_end_) : i;
      if (until < i + fewest_readers) {
        moving_.push_back(run);
        continue;
      }
      steady_.push_back(*here);
      change = std::min(change, until);
    }
  }
  if (steady_.size() < fewest_runs_) steady_.clear();
  else end_ = change;
  return true;
}

void SteadyRows::rest(Vertex i, std::vector<Run>& out) const {
  if (steady_.empty()) {
    pattern_.row_by(pattern_.lists()[pattern_.segments()[next_segment_ - 1].list], i, out);
    return;
  }
  out.clear();
  for (const AffineRun& run : moving_) {
    if (const auto here = evaluate(run, i)) out.push_back(*here);
  }
  std::sort(out.begin(), out.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
}

}  // namespace sightline::layout
