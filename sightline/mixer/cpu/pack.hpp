// Moving rows of tokens into the form in which a tile works: transposed with one lane per reader, or side by side.
#pragma once

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/cpu/simd.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// Between rows that lie side by side in a workspace: rows a power of two apart fall into few sets of the caches.
template <class Real> constexpr std::int64_t row_stride(std::int64_t width) {
  const std::int64_t padded = round_up(width, Lanes<Real>::count);
  return padded * static_cast<std::int64_t>(sizeof(Real)) % 512 == 0 ? padded + Lanes<Real>::count : padded;
}

/// Bump allocator over the caller's workspace; every piece is aligned to 64 bytes.
class Arena {
public:
  explicit Arena(void* from) : next_(static_cast<char*>(from)) {}
  template <class T> T* take(std::int64_t count) {
    T* const result = reinterpret_cast<T*>(next_);
    next_ += round_up(count * static_cast<std::int64_t>(sizeof(T)), 64);
    return result;
  }

private:
  char* next_;
};

template <class Real> SIGHTLINE_INLINE Vec<Real> elu_plus_one(Vec<Real> x) {
  const Vec<Real> power = exp2<Real>(x * splat<Real>(Real(1.44269504088896340736)));
  return x > splat<Real>(0) ? x + splat<Real>(1) : power;
}

template <class Real> SIGHTLINE_INLINE bool has_non_finite(const Real* row, std::int64_t width) {
  constexpr int lanes = Lanes<Real>::count, chains = 4;
  Vec<Real> zero[chains] = {};
  std::int64_t k = 0;
  for (; k + chains * lanes <= width; k += chains * lanes) {
#pragma GCC unroll 4
    for (int c = 0; c < chains; ++c)
      zero[c] = fma(load<Real>(row + k + c * lanes), Vec<Real>{}, zero[c]);
  }
  for (; k + lanes <= width; k += lanes)
    zero[0] = fma(load<Real>(row + k), Vec<Real>{}, zero[0]);
  Real rest = add_lanes<Real>((zero[0] + zero[1]) + (zero[2] + zero[3]));
  for (; k < width; ++k)
    rest += row[k] * Real(0);
  return rest != Real(0);
}

/// A row that is wanted soon, to the first cache; or, `far`, to the second, where it may lie behind the last: nothing is read.
template <class Real> SIGHTLINE_INLINE void prefetch_row(const Real* row, std::int64_t width) {
  for (std::int64_t k = 0; k < width; k += 64 / static_cast<std::int64_t>(sizeof(Real)))
    __builtin_prefetch(row + k);
}
template <class Real> SIGHTLINE_INLINE void prefetch_far(const Real* row, std::int64_t width) {
  for (std::int64_t k = 0; k < width; k += 64 / static_cast<std::int64_t>(sizeof(Real)))
    __builtin_prefetch(row + k, 0, 2);
}

/// a . b
template <class Real> Real dot_rows(const Real* a, const Real* b, std::int64_t width) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum{};
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes)
    sum = fma(load<Real>(a + k), load<Real>(b + k), sum);
  Real result = add_lanes<Real>(sum);
  for (; k < width; ++k)
    result += a[k] * b[k];
  return result;
}

/// One row of queries or keys as the kernel sees it: prepared, then times scale.
template <class Real>
SIGHTLINE_INLINE void prepare_row(Prepare prepare, const Real* from, std::int64_t width, Real scale, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  if (prepare == Prepare::unit) {
    const Real squares = dot_rows<Real>(from, from, width);
    const Real root = sizeof(Real) == 4 ? static_cast<Real>(__builtin_sqrtf(static_cast<float>(squares)))
                                        : static_cast<Real>(__builtin_sqrt(static_cast<double>(squares)));
    scale = root == Real(0) ? Real(0) : scale / root;
  }
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes) {
    Vec<Real> x = load<Real>(from + k);
    if (prepare == Prepare::elu_plus_one)
      x = elu_plus_one<Real>(x);
    store<Real>(to + k, x * splat<Real>(scale));
  }
  if (k < width) {
    Real tail[Lanes<Real>::count] = {};
    for (std::int64_t t = k; t < width; ++t)
      tail[t - k] = from[t];
    Vec<Real> x = load<Real>(tail);
    if (prepare == Prepare::elu_plus_one)
      x = elu_plus_one<Real>(x);
    store<Real>(tail, x * splat<Real>(scale));
    for (std::int64_t t = k; t < width; ++t)
      to[t] = tail[t - k];
  }
}

/// d/d(from) of a prepared row from d/d(prepared row), times scale. `from` as given.
template <class Real>
SIGHTLINE_INLINE void prepare_gradient(Prepare prepare, const Real* from, const Real* gradient, std::int64_t width,
                                       Real scale, Real* to, bool add) {
  Real length = 1, along = 0;
  if (prepare == Prepare::unit) {
    const Real squares = dot_rows<Real>(from, from, width), dot = dot_rows<Real>(from, gradient, width);
    length = static_cast<Real>(__builtin_sqrt(static_cast<double>(squares)));
    along = squares == Real(0) ? Real(0) : dot / squares;
    scale = squares == Real(0) ? Real(0) : scale / length;
  }
  constexpr int lanes = Lanes<Real>::count;
  const auto step = [&](Vec<Real> x, Vec<Real> g, Vec<Real> old) {
    if (prepare == Prepare::unit)
      g -= splat<Real>(along) * x;
    if (prepare == Prepare::elu_plus_one)
      g = x > splat<Real>(0) ? g : g * exp2<Real>(x * splat<Real>(Real(1.44269504088896340736)));
    return add ? old + g * splat<Real>(scale) : g * splat<Real>(scale);
  };
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes)
    store<Real>(to + k, step(load<Real>(from + k), load<Real>(gradient + k), add ? load<Real>(to + k) : Vec<Real>{}));
  for (; k < width; ++k)
    to[k] = step(splat<Real>(from[k]), splat<Real>(gradient[k]), splat<Real>(add ? to[k] : Real(0)))[0];
}

/// A row of `canonical` numbers.
template <class Real> SIGHTLINE_INLINE void make_canonical(Real* row, std::int64_t width) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes)
    store<Real>(row + k, canonical<Real>(load<Real>(row + k)));
  for (; k < width; ++k)
    row[k] = row[k] == row[k] ? row[k] + Real(0) : Real(__builtin_nan(""));
}

/// rows [lane][stride] -> columns [width][tile_readers], times scale, which is finite; lanes without a bit in `active` become
/// 0. Vectors without a lane below `readers` are left as they are.
template <class Real>
void pack_lanes(const Real* rows, std::ptrdiff_t stride, std::uint64_t active, std::int64_t width, Real* to,
                Real scale = Real(1), int readers = tile_readers) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> factor = splat<Real>(scale);
  for (int base = 0; base < readers; base += lanes) {
    const bool all_active = (~active >> base & ((std::uint64_t{1} << lanes) - 1)) == 0;
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes) {
      Vec<Real> block[lanes];
      if (all_active) {
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i)
          block[i] = load<Real>(rows + (base + i) * stride + k);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i)
          block[i] = (active >> (base + i) & 1) != 0 ? load<Real>(rows + (base + i) * stride + k) : Vec<Real>{};
      }
      transpose<Real>(block);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        store<Real>(to + (k + i) * tile_readers + base, block[i] * factor);
    }
    for (; k < width; ++k) {
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        to[k * tile_readers + base + i] = (active >> (base + i) & 1) != 0 ? rows[(base + i) * stride + k] * scale : Real(0);
    }
  }
}

/// Columns that join others (unpack_lanes), which become columns * shrink + from * shrink_from; or none.
template <class Real> struct OtherLanes {
  const Real *from = nullptr, *shrink = nullptr, *shrink_from = nullptr;
  SIGHTLINE_INLINE Vec<Real> join(Vec<Real> x, std::int64_t at, int base) const {
    return x * load<Real>(shrink + base) + load<Real>(from + at) * load<Real>(shrink_from + base);
  }
};
template <class Real, bool joined>
void unpack_lanes_as(const Real* from, const OtherLanes<Real>& other, const Real* factor, int readers, std::int64_t width,
                     Real* rows, std::ptrdiff_t stride) {
  constexpr int lanes = Lanes<Real>::count;
  for (int base = 0; base < readers; base += lanes) {
    const Vec<Real> scale = load<Real>(factor + base);
    const int count = readers - base < lanes ? readers - base : lanes;
    const auto column = [&](std::int64_t k) {
      const std::int64_t at = k * tile_readers + base;
      const Vec<Real> x = load<Real>(from + at);
      return (joined ? other.join(x, at, base) : x) * scale;
    };
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes) {
      Vec<Real> block[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        block[i] = column(k + i);
      transpose<Real>(block);
      for (int i = 0; i < count; ++i)
        store<Real>(rows + (base + i) * stride + k, block[i]);
    }
    for (; k < width; ++k) {
      const Vec<Real> x = column(k);
      for (int i = 0; i < count; ++i)
        rows[(base + i) * stride + k] = x[i];
    }
  }
}
/// Sums with a row for every reader, [reader][width], with others where there are some, times a factor each -> rows. For vectors
/// that divide the width.
template <class Real>
void finish_rows_of(const Real* from, const OtherLanes<Real>& other, const Real* factor, int readers, std::int64_t width,
                    bool is_canonical, Real* rows, std::ptrdiff_t stride) {
  constexpr int lanes = Lanes<Real>::count;
  for (int i = 0; i < readers; ++i) {
    const Vec<Real> scale = splat<Real>(factor[i]);
    for (std::int64_t k = 0; k < width; k += lanes) {
      Vec<Real> x = load<Real>(from + i * width + k);
      if (other.from != nullptr)
        x = x * splat<Real>(other.shrink[i]) + load<Real>(other.from + i * width + k) * splat<Real>(other.shrink_from[i]);
      x *= scale;
      store<Real>(rows + i * stride + k, is_canonical ? canonical<Real>(x) : x);
    }
  }
}
/// The way back: columns [width][tile_readers], with others where there are some, times a factor per lane -> rows; lanes >=
/// readers are left alone.
template <class Real>
void unpack_lanes(const Real* from, const Real* factor, int readers, std::int64_t width, Real* rows, std::ptrdiff_t stride,
                  const OtherLanes<Real>& other = {}) {
  if (other.from != nullptr)
    unpack_lanes_as<Real, true>(from, other, factor, readers, width, rows, stride);
  else
    unpack_lanes_as<Real, false>(from, other, factor, readers, width, rows, stride);
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
