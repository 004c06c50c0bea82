#include "sightline/layout/moving_segments.hpp"

#include <algorithm>
#include <utility>

namespace sightline::layout {

void MovingSegments::add(std::span<const AffineRun> runs) {
  if (end_ == begin_ + 1 && runs.size() == last_.size()) {  // the second one says how runs move, if it follows
    std::vector<Moves> moves(runs.size());
    for (std::size_t k = 0; k < runs.size(); ++k) moves[k] = {runs[k].lo_base == last_[k].lo_base + 1, runs[k].hi_base == last_[k].hi_base + 1};
    if (follows(runs, moves)) moves_ = std::move(moves);
  }
  if (end_ == begin_ || !follows(runs, moves_)) {
    flush();
    first_.assign(runs.begin(), runs.end());
    moves_.assign(runs.size(), {});
  }
  last_.assign(runs.begin(), runs.end());
  ++end_;
}

bool MovingSegments::follows(std::span<const AffineRun> runs, const std::vector<Moves>& moves) const {
  if (runs.size() != last_.size()) return false;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const AffineRun &before = last_[k], &now = runs[k];
    if (now.lo_base != before.lo_base + (moves[k].lo ? 1 : 0) || now.hi_base != before.hi_base + (moves[k].hi ? 1 : 0) || now.step != before.step || now.colour != before.colour) return false;
    if (moves[k].lo != moves[k].hi && now.step != 1) return false;
  }
  return true;
}

void MovingSegments::flush() {
  if (end_ == begin_) return;
  std::uint64_t members = 0;
  for (const AffineRun& run : first_) members += static_cast<std::uint64_t>((run.hi_base - run.lo_base) / run.step + 1);
  const bool stays = std::ranges::none_of(moves_, [](const Moves& moves) { return moves.lo || moves.hi; });
  constexpr std::size_t few = 4;  // lists that short come again: butterflies
  if (stays || (first_.size() > few && first_.size() * sizeof(AffineRun) >= members * sizeof(Vertex) * (end_ - begin_))) {
    write_out();
  } else {
    std::vector<AffineRun> runs = first_;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      runs[k].lo_moves = moves_[k].lo;
      runs[k].hi_moves = moves_[k].hi;
      if (moves_[k].lo) runs[k].lo_base -= begin_;
      if (moves_[k].hi) runs[k].hi_base -= begin_;
      runs[k].limit = vertices_;
    }
    builder_.add_segment(begin_, builder_.add_list_once(runs));
  }
  begin_ = end_;
}

void MovingSegments::write_out() {
  std::vector<Vertex> members;
  std::vector<std::uint32_t> colours;
  for (Vertex reader = begin_; reader < end_; ++reader) {
    members.clear();
    colours.clear();
    bool is_plain = true;
    for (std::size_t k = 0; k < first_.size(); ++k) {
      const std::int64_t steps = reader - begin_;
      for (std::int64_t j = first_[k].lo_base + (moves_[k].lo ? steps : 0), end = first_[k].hi_base + (moves_[k].hi ? steps : 0); j <= end; j += first_[k].step) {
        members.push_back(static_cast<Vertex>(j));
        colours.push_back(first_[k].colour);
      }
      is_plain = is_plain && first_[k].colour == 1;
    }
    if (is_plain) colours.clear();
    builder_.add_segment(reader, builder_.add_row_once(members, colours));
  }
}

}  // namespace sightline::layout
