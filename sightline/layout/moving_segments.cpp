#include "sightline/layout/moving_segments.hpp"

#include <algorithm>

namespace sightline::layout {

void MovingSegments::add(std::span<const AffineRun> runs) {
  if (end_ > begin_ && (moves_.empty() ? is_first_step(runs) : follows(runs))) {
    last_.assign(runs.begin(), runs.end());
  } else {
    flush();
    first_.assign(runs.begin(), runs.end());
    last_ = first_;
  }
  ++end_;
}

/// Whether the row follows that of the only reader so far; how its runs move then.
bool MovingSegments::is_first_step(std::span<const AffineRun> runs) {
  if (runs.size() != last_.size() || runs.empty()) return false;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const std::int64_t lo = runs[k].lo_base - last_[k].lo_base, hi = runs[k].hi_base - last_[k].hi_base;
    if (lo < 0 || lo > 1 || hi < 0 || hi > 1 || (lo != hi && runs[k].step != 1)) {
      moves_.clear();
      return false;
    }
    moves_.push_back({lo == 1, hi == 1});
  }
  if (follows(runs)) return true;
  moves_.clear();
  return false;
}

bool MovingSegments::follows(std::span<const AffineRun> runs) const {
  const auto continues = [](const AffineRun& before, const AffineRun& now, const Moves& moves) {
    return now.lo_base == before.lo_base + (moves.lo ? 1 : 0) && now.hi_base == before.hi_base + (moves.hi ? 1 : 0) && now.step == before.step && now.colour == before.colour;
  };
  if (runs.size() != last_.size()) return false;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    if (!continues(last_[k], runs[k], moves_[k])) return false;
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
  moves_.clear();
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
      const bool lo = !moves_.empty() && moves_[k].lo, hi = !moves_.empty() && moves_[k].hi;
      for (std::int64_t j = first_[k].lo_base + (lo ? steps : 0), end = first_[k].hi_base + (hi ? steps : 0); j <= end; j += first_[k].step) {
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
