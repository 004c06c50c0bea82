// What joins the exponents of a strip: biases that depend on i - j come straight from their table, biases of any other
// colouring (registers, matrix colours, grids) and slopes beside registers are written out row by row from the runs of
// the rows, then transposed. Backward the same way round.
#pragma once

#include "sightline/mixer/cpu/pack.hpp"
#include "sightline/mixer/cpu/strip.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

template <class Real> SIGHTLINE_INLINE bool has_bias(const Head<Real>& head) {
  return head.offset_bias != nullptr || head.colours != nullptr;
}

/// What leaves the exponent of (reader, read) by the slope.
template <class Real>
SIGHTLINE_INLINE Real slope_of(const ColourBias<Real>& bias, std::int64_t reader, std::int64_t read) {
  if (bias.slope == Real(0) || reader >= bias.reader_tokens || read >= bias.read_tokens)
    return Real(0);
  return bias.slope * static_cast<Real>(reader < read ? read - reader : reader - read);
}

/// Numbers per column and lane: those of column c and the lanes from `lane` on at base + at[c] + lane.
template <class Real> struct StripNumbers {
  Real* base = nullptr; ///< null: there are none
  std::ptrdiff_t at[strip_columns];
  explicit operator bool() const { return base != nullptr; }
  [[nodiscard]] Vec<Real> get(int c, int lane) const { return load<Real>(base + at[c] + lane); }
  /// Adds the lanes of the mask.
  void add(int c, int lane, std::uint64_t mask, Vec<Real> amount) const {
    Real* const to = base + at[c] + lane;
    store<Real>(to, load<Real>(to) + select(mask, amount, Vec<Real>{}));
  }
};

/// Calls f(first position, count, step of positions, first colour, step of colours) for stretches of the strip's
/// columns that lie in one run, and f(position, 1, 1, colour, 0) where columns do not follow each other. `run` moves on
/// past what ends before the strip.
template <class Function>
SIGHTLINE_INLINE void for_strip_runs(const Strip& strip, const ColourRun*& run, const ColourRun* end, Function f) {
  const std::int64_t low = strip.columns[0], high = strip.columns[strip.count - 1];
  while (run != end && run->last < low)
    ++run;
  for (const ColourRun* r = run; r != end && r->first <= high; ++r) {
    if (r->last < low)
      continue;
    const std::int64_t skip = r->first >= low ? 0 : (low - r->first + r->step - 1) / r->step;
    if (strip.contiguous) {
      const std::int64_t last = r->last < high ? r->last : high;
      const std::int64_t count = (last - r->first) / r->step + 1 - skip;
      if (count > 0)
        f(static_cast<int>(r->first + skip * r->step - low), static_cast<int>(count), r->step,
          r->colour + skip * r->colour_step, r->colour_step);
      continue;
    }
    int begin = 0, stop = strip.count; // the first column that is not before the run
    while (begin < stop) {
      const int middle = (begin + stop) / 2;
      if (strip.columns[middle] < r->first)
        begin = middle + 1;
      else
        stop = middle;
    }
    for (int c = begin; c < strip.count && strip.columns[c] <= r->last; ++c) {
      const std::int32_t distance = strip.columns[c] - r->first;
      if (r->step == 1 || distance % r->step == 0)
        f(c, 1, 1, r->colour + std::int64_t{distance / r->step} * r->colour_step, 0);
    }
  }
}

/// The biases of one tile, strip after strip by rising columns.
template <class Real> class TileBias {
public:
  TileBias(Arena& arena, const Head<Real>& head, const TileList& tile, std::uint64_t active, Real* offset_sums,
           Real* colour_sums)
      : head_(head), tile_(tile), active_(active), offset_sums_(offset_sums), colour_sums_(colour_sums) {
    by_offset_ = goes_by_offset<Real>(head, tile.first_reader, tile.readers);
    const bool used = head.colours != nullptr && !by_offset_;
    rows_ = arena.take<Real>(used ? tile_readers * length : 0);
    block_ = arena.take<Real>(used ? strip_columns * tile_readers : 0);
    sums_block_ = arena.take<Real>(used && colour_sums != nullptr ? strip_columns * tile_readers : 0);
    runs_ = arena.take<const ColourRun*>(used ? tile_readers : 0);
    for (int i = 0; used && i < tile_readers; ++i)
      runs_[i] = tile.rows != nullptr ? tile.rows[i].begin : nullptr;
    for (std::int64_t k = 0; used && k < tile_readers * length; ++k)
      rows_[k] = 0;
  }

  StripNumbers<Real> biases, sums; ///< of the strip found last; sums collect d loss / d exponent

  void find(const Strip& strip) {
    if (by_offset_) {
      biases.base = const_cast<Real*>(head_.offset_bias); // only read
      sums.base = offset_sums_;
      for (int c = 0; c < strip.count; ++c) {
        const bool is_register = head_.colours != nullptr && strip.columns[c] >= head_.offset_tokens;
        biases.at[c] = sums.at[c] = is_register ? head_.offset_registers : tile_.first_reader - strip.columns[c];
      }
      return;
    }
    if (head_.colours == nullptr)
      return;
    biases.base = block_;
    sums.base = colour_sums_ == nullptr ? nullptr : sums_block_;
    for (int c = 0; c < strip.count; ++c)
      biases.at[c] = sums.at[c] = c * tile_readers;
    for (int i = 0; i < tile_.readers; ++i) {
      if ((active_ >> i & 1) != 0)
        fill_row(strip, i);
    }
    pack_lanes<Real>(rows_, length, active_, round_up(strip.count, Lanes<Real>::count), block_);
    for (std::int64_t k = 0; sums.base != nullptr && k < strip.count * tile_readers; ++k)
      sums_block_[k] = 0;
  }

  /// Takes what the strip found last has collected to the colours.
  void collect(const Strip& strip, const Real* ones) {
    if (sums.base == nullptr || sums.base != sums_block_)
      return;
    unpack_lanes<Real>(sums_block_, ones, tile_.readers, strip.count, rows_, length);
    for (int i = 0; i < tile_.readers; ++i) {
      if ((active_ >> i & 1) == 0)
        continue;
      const Real* const row = rows_ + i * length;
      const ColourRun* run = runs_[i];
      for_strip_runs(strip, run, tile_.rows[i].end,
                     [&](int at, int count, std::int64_t step, std::int64_t colour, std::int64_t colour_step) {
                       if (colour_step == 0) {
                         double sum = 0; // all reads of a row may have one colour, and cancel
                         for (int k = 0; k < count; ++k)
                           sum += static_cast<double>(row[at + k * step]);
                         colour_sums_[colour] += static_cast<Real>(sum);
                       } else if (step == 1 && colour_step == 1) {
                         for (int k = 0; k < count; ++k)
                           colour_sums_[colour + k] += row[at + k];
                       } else {
                         for (int k = 0; k < count; ++k)
                           colour_sums_[colour + k * colour_step] += row[at + k * step];
                       }
                     });
    }
  }

private:
  void fill_row(const Strip& strip, int i) {
    const ColourBias<Real>& bias = *head_.colours;
    Real* const row = rows_ + i * length;
    if (bias.table == nullptr) {
      for (int c = 0; c < strip.count; ++c)
        row[c] = 0;
    } else {
      for_strip_runs(strip, runs_[i], tile_.rows[i].end,
                     [&](int at, int count, std::int64_t step, std::int64_t colour, std::int64_t colour_step) {
                       const Real* const from = bias.table + colour;
                       if (step == 1 && colour_step == 0) {
                         for (int k = 0; k < count; ++k)
                           row[at + k] = from[0];
                       } else if (step == 1 && colour_step == 1) {
                         for (int k = 0; k < count; ++k)
                           row[at + k] = from[k];
                       } else {
                         for (int k = 0; k < count; ++k)
                           row[at + k * step] = from[k * colour_step];
                       }
                     });
    }
    const std::int64_t reader = tile_.first_reader + i;
    if (bias.slope == Real(0) || reader >= bias.reader_tokens)
      return;
    for (int c = 0; c < strip.count; ++c)
      row[c] -= slope_of(bias, reader, strip.columns[c]);
  }

  static constexpr std::int64_t length = strip_columns + Lanes<Real>::count;
  const Head<Real>& head_;
  const TileList& tile_;
  std::uint64_t active_;
  bool by_offset_ = false;
  Real *offset_sums_, *colour_sums_, *rows_, *block_, *sums_block_;
  const ColourRun** runs_;
};

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
