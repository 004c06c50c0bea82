// A strip: up to strip_columns reads of one tile with, for each, the lanes (readers) that read it.
#pragma once

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/cpu/simd.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

struct Strip {
  int count = 0;
  bool full = true;       // every active lane reads every column
  bool contiguous = true; // columns first .. first + count - 1
  int phase = 0;
  std::int32_t columns[strip_columns];
  std::uint64_t masks[strip_columns];
};

/// Walks over the segments of a tile, strip by strip; skips reads that do not exist.
class StripSource {
public:
  StripSource(const TileList& tile, std::uint64_t active, std::int64_t cut_begin, std::int64_t cut_end,
              const std::int32_t* order)
      : segment_(tile.segments), end_(tile.segments + tile.segment_count), active_(active), cut_begin_(cut_begin),
        cut_end_(cut_end), order_(order) {
    if (segment_ != end_)
      position_ = segment_->first;
  }

  bool next(Strip& strip) {
    strip.count = 0;
    strip.full = strip.contiguous = true;
    while (segment_ != end_ && strip.count < strip_columns) {
      if (segment_->step < 0 || segment_->phase != strip.phase) {
        if (strip.count > 0 && segment_->phase != strip.phase)
          break;
        strip.phase = segment_->phase;
        if (segment_->step < 0) {
          take_backward(strip);
          continue;
        }
      }
      const std::int64_t stop = std::int64_t{segment_->first} + segment_->count;
      const std::uint64_t mask = segment_->mask & active_;
      if (position_ >= cut_begin_ && position_ < cut_end_)
        position_ = cut_end_ < stop ? cut_end_ : stop;
      if (mask == 0)
        position_ = stop;
      const std::int64_t piece = position_ < cut_begin_ && cut_begin_ < stop ? cut_begin_ : stop;
      if (position_ >= piece) {
        advance();
        continue;
      }
      int take = static_cast<int>(piece - position_ < strip_columns - strip.count ? piece - position_
                                                                                  : strip_columns - strip.count);
      if (strip.count == 0 && mask == active_ && take == strip_columns) {
        // Long runs keep to the borders of column blocks, so that one strip waits for one turn.
        const int to_border = static_cast<int>(strip_columns - position_ % strip_columns);
        if (to_border < take)
          take = to_border;
      }
      if (order_ != nullptr || (strip.count > 0 && strip.columns[strip.count - 1] + 1 != position_))
        strip.contiguous = false;
      if (mask != active_)
        strip.full = false;
      for (int i = 0; i < take; ++i) {
        strip.columns[strip.count + i] =
            order_ != nullptr ? order_[position_ + i] : static_cast<std::int32_t>(position_ + i);
        strip.masks[strip.count + i] = mask;
      }
      strip.count += take;
      position_ += take;
      if (position_ >= stop)
        advance();
      else if (take < strip_columns && strip.count < strip_columns && strip.full)
        break;
    }
    return strip.count > 0;
  }

  [[nodiscard]] bool is_at_end() const { return segment_ == end_; }

private:
  // Columns by falling number; nothing is cut in exact mode, which alone asks for this.
  void take_backward(Strip& strip) {
    const std::int64_t stop = std::int64_t{segment_->first} - segment_->count;
    const std::uint64_t mask = segment_->mask & active_;
    if (mask == 0)
      position_ = stop;
    else
      strip.contiguous = false;
    if (mask != active_)
      strip.full = false;
    for (; position_ > stop && strip.count < strip_columns; --position_) {
      strip.columns[strip.count] = static_cast<std::int32_t>(position_);
      strip.masks[strip.count++] = mask;
    }
    if (position_ == stop)
      advance();
  }
  void advance() {
    ++segment_;
    if (segment_ != end_)
      position_ = segment_->first;
  }
  const Segment *segment_, *end_;
  std::uint64_t active_;
  std::int64_t cut_begin_, cut_end_, position_ = 0;
  const std::int32_t* order_;
};

/// The lanes, in vectors, that some column of a group reads.
struct VectorRange {
  int begin = 0, end = 0;
  friend bool operator==(const VectorRange&, const VectorRange&) = default;
};

template <class Real> SIGHTLINE_INLINE VectorRange find_vectors(std::uint64_t mask) {
  constexpr int lanes = Lanes<Real>::count;
  if (mask == 0)
    return {};
  return {__builtin_ctzll(mask) / lanes, (63 - __builtin_clzll(mask)) / lanes + 1};
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
