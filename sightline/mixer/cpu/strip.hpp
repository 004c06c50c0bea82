// A strip: up to strip_columns reads of one tile with, for each, the lanes (readers) that read it.
#pragma once

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/cpu/simd.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

struct Strip {
  int count = 0;
  bool full = true;       // every active lane reads every column
  bool contiguous = true; // columns first .. first + count - 1
  bool falling = false;   // columns first .. first - count + 1
  bool late = false;      // see Segment
  bool centre = false;    // see Segment; such a strip holds all of it, and has no `halves`: gather_centre() knows them
  bool halved = false;    // some pairs count half: `halves`, lanes per column
  bool ordered = false;   // sums go through the columns in the order of `order` (places in the strip)
  int phase = 0;
  std::int32_t columns[strip_columns], order[strip_columns];
  std::uint64_t masks[strip_columns];
  std::uint64_t halves[strip_columns];
};

/// Walks over the segments of a tile, strip by strip; skips reads that do not exist.
class StripSource {
public:
  StripSource(const TileList& tile, std::uint64_t active, std::int64_t cut_begin, std::int64_t cut_end,
              const std::int32_t* order)
      : segment_(tile.segments), end_(tile.segments + tile.segment_count), shift_(tile.shift), active_(active), cut_begin_(cut_begin),
        cut_end_(cut_end), order_(order), ring_(tile.ring), first_reader_(tile.first_reader), readers_(tile.readers),
        in_place_(tile.in_place) {
    if (segment_ != end_)
      position_ = segment_->first + shift_;
  }

  bool next(Strip& strip) {
    strip.count = 0;
    strip.full = strip.contiguous = strip.falling = true;
    while (segment_ != end_ && strip.count < strip_columns) {
      if (segment_->step < 0 || differs(strip)) {
        if (strip.count > 0 && differs(strip))
          break;
        strip.phase = segment_->phase;
        strip.late = segment_->late;
        strip.centre = segment_->centre;
        if (segment_->step < 0) {
          if (!take_backward(strip))
            break;
          continue;
        }
      }
      const std::int64_t stop = segment_->first + shift_ + segment_->count;
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
      const bool breaks = breaks_here(strip, mask, piece - position_);
      const auto to_border = static_cast<int>(strip_columns - position_ % strip_columns);
      const bool takes_few = breaks && !strip.full && to_border < few_columns && strip.count + to_border <= strip_columns;
      if (breaks && !takes_few)
        break;
      int take = static_cast<int>(piece - position_ < strip_columns - strip.count ? piece - position_
                                                                                  : strip_columns - strip.count);
      if (strip.count == 0 && mask == active_ && take == strip_columns) {
        // Long runs keep to the borders of column blocks, so that one strip waits for one turn.
        if (to_border < take)
          take = to_border;
      }
      if (takes_few)
        take = to_border;
      if ((order_ != nullptr && !in_place_) || (strip.count > 0 && strip.columns[strip.count - 1] + 1 != position_))
        strip.contiguous = false;
      if (mask != active_)
        strip.full = false;
      strip.falling = false;
      const auto put = [&](int i) {
        strip.columns[strip.count + i] =
            order_ != nullptr && !in_place_ ? order_[position_ + i] : static_cast<std::int32_t>(position_ + i);
        strip.masks[strip.count + i] = mask;
      };
      if (take == 1) { // edges of windows and rings have a segment for every column: no loop in vectors for them
        put(0);
      } else {
        for (int i = 0; i < take; ++i)
          put(i);
      }
      strip.count += take;
      position_ += take;
      if (position_ >= stop) {
        advance();
        if (!strip.full && position_ == stop && cut_begin_ >= cut_end_ && order_ == nullptr)
          take_edge(strip, 1);
      } else if (take < strip_columns && strip.count < strip_columns && strip.full)
        break;
    }
    strip.ordered = in_place_ && order_ != nullptr;
    for (int c = 0; strip.ordered && c < strip.count; ++c)
      strip.order[c] = order_[strip.columns[c]] - strip.columns[0];
    strip.halved = false;
    if (ring_ > 0 && !strip.centre)
      find_halves(strip);
    return strip.count > 0;
  }

  [[nodiscard]] bool is_at_end() const { return segment_ == end_; }
  /// Columns that the next strip begins with, as far as is known without taking it: the first, and how many.
  [[nodiscard]] int find_next(std::int64_t& first) const {
    if (segment_ == end_ || segment_->step < 0 || (order_ != nullptr && !in_place_))
      return 0;
    first = position_;
    const std::int64_t left = segment_->first + shift_ + segment_->count - position_;
    return static_cast<int>(left < strip_columns ? left : strip_columns);
  }

private:
  static constexpr int few_columns = 16; // up to the border of a column block: no strip of their own

  [[nodiscard]] bool differs(const Strip& strip) const {
    return segment_->phase != strip.phase || segment_->late != strip.late || segment_->centre != strip.centre;
  }
  /// Edges of windows and rings have a segment for every column: those that only some lanes read go without the questions that
  /// longer segments ask.
  void take_edge(Strip& strip, int step) {
    while (segment_ != end_ && segment_->count == 1 && segment_->step == step && strip.count < strip_columns && !differs(strip)) {
      const std::uint64_t mask = segment_->mask & active_;
      if (mask == 0 || mask == active_)
        return;
      strip.columns[strip.count] = static_cast<std::int32_t>(position_);
      strip.masks[strip.count++] = mask;
      const std::int64_t behind = position_ + step;
      advance();
      if (position_ != behind)
        return;
    }
  }
  // Columns by falling number; nothing is cut in exact mode, which alone asks for this. False: they begin another strip.
  bool take_backward(Strip& strip) {
    const std::int64_t stop = segment_->first + shift_ - segment_->count;
    const std::uint64_t mask = segment_->mask & active_;
    if (mask != 0 && breaks_here(strip, mask, position_ - stop))
      return false;
    if (mask == 0)
      position_ = stop;
    else
      strip.contiguous = false;
    if (mask != active_)
      strip.full = false;
    if (strip.count > 0 && strip.columns[strip.count - 1] - 1 != position_)
      strip.falling = false;
    for (; position_ > stop && strip.count < strip_columns; --position_) {
      strip.columns[strip.count] = static_cast<std::int32_t>(position_);
      strip.masks[strip.count++] = mask;
    }
    if (position_ == stop) {
      advance();
      if (!strip.full && position_ == stop)
        take_edge(strip, -1);
    }
    return true;
  }
  /// What every lane reads and what only some read are worth strips of their own, where both are long: masks cost time.
  [[nodiscard]] bool breaks_here(const Strip& strip, std::uint64_t mask, std::int64_t rest) const {
    constexpr int least = 32;
    if (strip.count < least || strip.full == (mask == active_) || strip.centre)
      return false;
    if (!strip.full)
      return rest >= least;
    for (const Segment* s = segment_ + 1; s != end_ && rest < least; ++s)
      rest += s->count;
    return rest >= least;
  }
  void find_halves(Strip& strip) const {
    const bool even = ring_ % 2 == 0;
    if (strip.contiguous || strip.falling) { // most strips hold neither the readers nor their antipodes
      const std::int64_t low = strip.columns[strip.contiguous ? 0 : strip.count - 1], high = low + strip.count;
      const auto meets = [&](std::int64_t first) { return low < first + readers_ && high > first; };
      const std::int64_t across = first_reader_ + ring_ / 2;
      if (!meets(first_reader_) && !(even && (meets(across) || meets(across - ring_))))
        return;
    }
    for (int c = 0; c < strip.count; ++c) {
      std::uint64_t lanes = 0;
      const std::int64_t own = strip.columns[c] - first_reader_;
      if (own >= 0 && own < readers_)
        lanes |= std::uint64_t{1} << own;
      const std::int64_t turned = own + ring_ / 2, antipode = turned < 0 ? turned + ring_ : turned < ring_ ? turned : turned - ring_;
      if (even && antipode < readers_)
        lanes |= std::uint64_t{1} << antipode;
      strip.halves[c] = lanes & strip.masks[c];
      strip.halved = strip.halved || strip.halves[c] != 0;
    }
  }
  void advance() {
    ++segment_;
    if (segment_ != end_)
      position_ = segment_->first + shift_;
  }
  const Segment *segment_, *end_;
  std::int64_t shift_;
  std::uint64_t active_;
  std::int64_t cut_begin_, cut_end_, position_ = 0;
  const std::int32_t* order_;
  std::int64_t ring_, first_reader_;
  int readers_;
  bool in_place_;
};

/// The column whose turn it is in sums.
SIGHTLINE_INLINE int column_at(const Strip& strip, int place) { return strip.ordered ? strip.order[place] : place; }

/// From the first to the last lane that some column of a group reads, by `step` lanes.
struct LaneRange {
  int begin = 0, end = 0;
  friend bool operator==(const LaneRange&, const LaneRange&) = default;
};
template <int step> SIGHTLINE_INLINE LaneRange find_range(std::uint64_t mask) {
  if (mask == 0)
    return {};
  return {__builtin_ctzll(mask) / step, (63 - __builtin_clzll(mask)) / step + 1};
}

/// Some lane of vector v reads column c.
template <class Real> SIGHTLINE_INLINE bool is_read(const Strip& strip, int c, int v) {
  constexpr int lanes = Lanes<Real>::count;
  return strip.full || ((strip.masks[c] >> (v * lanes)) & ((std::uint64_t{1} << lanes) - 1)) != 0;
}

/// From the first to the last column that some lane of vector v reads.
struct ColumnRange {
  int begin = 0, end = 0;
  friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
};
template <class Real> SIGHTLINE_INLINE ColumnRange find_columns(const Strip& strip, int v) {
  ColumnRange found{0, strip.count};
  if (strip.full)
    return found;
  while (found.begin < found.end && !is_read<Real>(strip, found.begin, v))
    ++found.begin;
  while (found.end > found.begin && !is_read<Real>(strip, found.end - 1, v))
    --found.end;
  return found;
}

/// Calls f(column) for those before and behind `columns`.
template <class Function> SIGHTLINE_INLINE void for_others(const Strip& strip, ColumnRange columns, Function f) {
  for (int c = 0; c < columns.begin; ++c)
    f(c);
  for (int c = columns.end; c < strip.count; ++c)
    f(c);
}

/// A weight (or what is proportional to it) of column c for the lanes from `lane` on.
template <class Real> SIGHTLINE_INLINE Vec<Real> halve(const Strip& strip, int c, int lane, Vec<Real> weight) {
  return strip.halved ? select(strip.halves[c] >> lane, weight * splat<Real>(Real(0.5)), weight) : weight;
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
