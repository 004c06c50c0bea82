// Sums whose result does not depend on the order of their terms (exact mode, SummationOrder::Kind::value): nothing is
// rounded but every term by itself. Two passes. The first finds the largest magnitude of each entry's terms, which has
// no order. The second brings every term to a whole multiple of one unit, a power of two that depends on that magnitude
// and on the number of terms alone, and adds those as whole numbers: t + anchor with anchor = 1.5 * 2^52 units leaves
// t / unit, rounded, in the low bits of a double, and the bits of doubles are added as integers. 50 - log2(number of
// terms) bits below the largest magnitude are kept, in double precision twice as many: what a term loses to its first
// unit goes to a sum of its own.
// Many floats without weights become whole numbers of 27 bits below that power of two instead, 16 of which are added in
// 32 bits: at least 24 bits below the largest magnitude are kept, as plain sums keep of every term.
#pragma once

#include "sightline/mixer/cpu/backward_tile.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Bits of a double.
SIGHTLINE_INLINE std::int64_t bits_of(double x) {
  std::int64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
SIGHTLINE_INLINE double double_of(std::int64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

/// Magnitudes are compared as whole numbers: what is not a number is larger than infinity, and that than all others.
template <class Real> struct Magnitude;
template <> struct Magnitude<float> {
  static constexpr std::int32_t mask = 0x7fffffff, infinite = 0x7f800000;
  static constexpr int mantissa = 23, bias = 127;
};
template <> struct Magnitude<double> {
  static constexpr std::int64_t mask = 0x7fffffffffffffff, infinite = 0x7ff0000000000000;
  static constexpr int mantissa = 52, bias = 1023;
};
template <class Real> SIGHTLINE_INLINE typename Lanes<Real>::Integer magnitude_of(Real x) {
  typename Lanes<Real>::Integer bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits & Magnitude<Real>::mask;
}

/// As many numbers of a row as a vector of doubles holds.
SIGHTLINE_INLINE Vec<double> load_doubles(const double* from) { return load<double>(from); }
SIGHTLINE_INLINE Vec<double> load_doubles(const float* from) {
#if defined(SIGHTLINE_USE_AVX512)
  return _mm512_cvtps_pd(_mm256_loadu_ps(from));
#elif defined(SIGHTLINE_USE_AVX2)
  return _mm256_cvtps_pd(_mm_loadu_ps(from));
#else
  typedef float Half __attribute__((vector_size(SIGHTLINE_SIMD_BYTES / 2), aligned(4), may_alias));
  typedef float Aligned __attribute__((vector_size(SIGHTLINE_SIMD_BYTES / 2)));
  const Aligned half = *reinterpret_cast<const Half*>(from);
  return __builtin_convertvector(half, Vec<double>);
#endif
}

/// The nearest whole numbers of 32 bits.
SIGHTLINE_INLINE IntVec<float> nearest_whole(Vec<float> x) {
#if defined(SIGHTLINE_USE_AVX512)
  return (IntVec<float>)_mm512_maskz_cvtps_epi32(0xffff, x);
#elif defined(SIGHTLINE_USE_AVX2)
  return (IntVec<float>)_mm256_cvtps_epi32(x);
#else
  return __builtin_convertvector(x + (x < 0 ? splat<float>(-0.5F) : splat<float>(0.5F)), IntVec<float>);
#endif
}

/// The unit of sums of at most `count` terms, as the anchor of the first sum; the second's is that times `finer`.
class Grid {
public:
  explicit Grid(std::int64_t count) {
    int log = 0;
    while (log < 30 && (std::int64_t{1} << log) < count)
      ++log;
    bits_ = 50 - log;
  }
  [[nodiscard]] double finer() const { return double_of(std::int64_t{1023 - bits_} << 52); }
  /// exponent: the largest magnitude is below 2^exponent.
  [[nodiscard]] double anchor(int exponent) const {
    constexpr int least = -860; // the second sum's unit is still a normal number
    const int e = exponent < least ? least : (exponent + step - 1) & -step;
    return double_of((std::int64_t{1023 + 52 + e - bits_} << 52) | (std::int64_t{1} << 51));
  }
  /// The same for exponents that floats have.
  [[nodiscard]] Vec<double> anchors(IntVec<double> exponents) const {
    return (Vec<double>)(((((exponents + (step - 1)) & -step) + (1023 + 52 - bits_)) << 52) | (std::int64_t{1} << 51));
  }
  /// Exponents are rounded up to multiples of this: most terms of a sum then promise the same unit as all.
  static constexpr int step = 4;

private:
  int bits_;
};

/// Sums of a row of `width` entries. measure() all terms, settle(), add() the same terms, finish(). A term is a weight
/// times an entry of a row, or the entry itself where there are no weights.
template <class Real> class FreeSums {
public:
  static std::int64_t bytes(std::int64_t width) {
    return (round_up(width, 16) + 16) * static_cast<std::int64_t>(sizeof(Real) * 3 + sizeof(double) * 4) + 64 * 7;
  }
  FreeSums(Arena& arena, std::int64_t width) : width_(width) {
    const std::int64_t padded = round_up(width, 16);
    tops_ = arena.take<Integer>(padded);
    special_ = arena.take<Real>(padded);
    factors_ = arena.take<Real>(padded);
    anchors_ = arena.take<double>(padded);
    scales_ = arena.take<double>(padded);
    sums_ = arena.take<std::int64_t>(padded);
    rests_ = arena.take<std::int64_t>(padded);
  }

  void begin() {
    is_whole_ = is_special_ = false;
    for (std::int64_t k = 0; k < width_; ++k) {
      tops_[k] = 0;
      sums_[k] = rests_[k] = 0;
      special_[k] = 0;
    }
  }

  /// columns null: rows 0, 1, .. ; weights null: all are 1.
  void measure(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, const Real* weights, int count) {
    constexpr int lanes = Lanes<Real>::count;
    std::int64_t k = 0;
    for (; k + 4 * lanes <= width_; k += 4 * lanes) {
      if (weights != nullptr)
        measure_vectors<4, true>(base, stride, columns, weights, count, k);
      else
        measure_vectors<4, false>(base, stride, columns, weights, count, k);
    }
    for (; k + lanes <= width_; k += lanes) {
      if (weights != nullptr)
        measure_vectors<1, true>(base, stride, columns, weights, count, k);
      else
        measure_vectors<1, false>(base, stride, columns, weights, count, k);
    }
    for (; k < width_; ++k) {
      for (int a = 0; a < count; ++a) {
        const Integer size = magnitude_of<Real>(term(base, stride, columns, weights, a, k));
        tops_[k] = size > tops_[k] ? size : tops_[k];
      }
    }
  }

  /// count: at least the number of terms of every entry.
  void settle(std::int64_t count) {
    const Grid grid(count);
    finer_ = grid.finer();
    is_special_ = false;
    for (std::int64_t k = 0; k < width_; ++k) {
      is_special_ = is_special_ || tops_[k] >= Magnitude<Real>::infinite;
      scales_[k] = scale_of(exponent_of(k));
      anchors_[k] = anchor_of(grid, exponent_of(k));
    }
    terms_ = 0;
  }

  /// begin() to add() of `count` terms, in one pass where the first of them are as large as all: the unit is guessed from
  /// these, and sums are begun again where it was too small.
  void collect(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, const Real* weights, int count) {
    constexpr int few = 64, least = 512;
    begin();
    const bool guesses = count >= least && width_ % Lanes<Real>::count == 0;
    measure(base, stride, columns, weights, guesses ? few : count);
    if constexpr (sizeof(Real) == 4) {
      if (guesses && weights == nullptr && collect_whole(base, stride, columns, count))
        return;
    }
    settle(count);
    if (!guesses) {
      add(base, stride, columns, weights, count);
      return;
    }
    constexpr int vectors = SIGHTLINE_SIMD_BYTES == 64 ? 4 : 2, lanes = Lanes<Real>::count;
    for (int first = 0; first < count; first += rows_at_once) {
      const int some = count - first < rows_at_once ? count - first : rows_at_once;
      const Real* const rows = columns == nullptr ? base + first * stride : base;
      const std::int32_t* const which = columns == nullptr ? nullptr : columns + first;
      const Real* const by = weights == nullptr ? nullptr : weights + first;
      std::int64_t k = 0;
      for (; k + vectors * lanes <= width_; k += vectors * lanes)
        add_measured<vectors>(rows, stride, which, by, some, k);
      for (; k < width_; k += lanes)
        add_measured<1>(rows, stride, which, by, some, k);
    }
    terms_ = count;
    bool same = !is_special_;
    const Grid grid(count);
    for (std::int64_t k = 0; k < width_; ++k)
      same = same && scales_[k] == scale_of(exponent_of(k)) && anchors_[k] == anchor_of(grid, exponent_of(k));
    if (same)
      return;
    for (std::int64_t k = 0; k < width_; ++k)
      sums_[k] = rests_[k] = 0;
    settle(count);
    add(base, stride, columns, weights, count);
  }

  void add(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, const Real* weights, int count) {
    constexpr int lanes = Lanes<double>::count;
    std::int64_t k = 0;
    for (; k + 4 * lanes <= width_; k += 4 * lanes)
      add_vectors<4>(base, stride, columns, weights, count, k);
    for (; k + lanes <= width_; k += lanes)
      add_vectors<1>(base, stride, columns, weights, count, k);
    for (; k < width_; ++k) {
      for (int a = 0; a < count; ++a) {
        const double x = static_cast<double>(base[row_of(columns, a) * stride + k]) * scales_[k];
        const double w = weights == nullptr ? 1.0 : static_cast<double>(weights[a]);
        const double at = __builtin_fma(w, x, anchors_[k]);
        add_bits(sums_[k], at);
        if constexpr (sizeof(Real) == 8)
          add_bits(rests_[k], __builtin_fma(w, x, -(at - anchors_[k])) + anchors_[k] * finer_);
      }
    }
    if (is_special_)
      add_special(base, stride, columns, weights, count);
    terms_ += count;
  }

  /// to = (to +) sum * factor
  void finish(Real factor, bool add_to, Real* to) const {
    for (std::int64_t k = 0; k < width_; ++k) {
      const Real sum = tops_[k] >= Magnitude<Real>::infinite ? special_[k] * factor : total(k, factor);
      to[k] = add_to ? to[k] + sum : sum;
    }
  }

private:
  using Integer = typename Lanes<Real>::Integer;
  static constexpr int rows_at_once = 16; // as they lie in memory, and once into the first cache
  static constexpr int whole_bits = 27, least_whole_exponent = -96; // 16 numbers of 27 bits and a sign fit into 32
  static constexpr int most_exponent = 900, shrink_exponent = 200;
  static constexpr double shrink = 0x1p-200, grow = 0x1p200;

  /// Below 2^this are all terms of entry k.
  [[nodiscard]] SIGHTLINE_INLINE int exponent_of(std::int64_t k) const {
    return static_cast<int>(tops_[k] >> Magnitude<Real>::mantissa) - Magnitude<Real>::bias + 1;
  }
  static SIGHTLINE_INLINE double scale_of(int exponent) { return exponent > most_exponent ? shrink : 1.0; } // doubles alone
  static SIGHTLINE_INLINE double anchor_of(const Grid& grid, int exponent) {
    return grid.anchor(exponent > most_exponent ? exponent - shrink_exponent : exponent);
  }

  static SIGHTLINE_INLINE std::int64_t row_of(const std::int32_t* columns, int a) {
    return columns == nullptr ? a : columns[a];
  }
  static SIGHTLINE_INLINE Real term(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                    const Real* weights, int a, std::int64_t k) {
    const Real x = base[row_of(columns, a) * stride + k];
    return weights == nullptr ? x : weights[a] * x;
  }
  static SIGHTLINE_INLINE void add_bits(IntVec<double>& sum, Vec<double> x) { // modulo 2^64, both
    add_words<double>(sum, (IntVec<double>)x);
  }
  static SIGHTLINE_INLINE void add_bits(std::int64_t& sum, double x) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(bits_of(x)));
  }

  template <int vectors, bool weighted>
  SIGHTLINE_INLINE void measure_vectors(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                        const Real* weights, int count, std::int64_t k) {
    constexpr int lanes = Lanes<Real>::count;
    const IntVec<Real> mask = Magnitude<Real>::mask - IntVec<Real>{};
    IntVec<Real> top[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      top[v] = (IntVec<Real>)load<Real>(reinterpret_cast<const Real*>(tops_) + k + v * lanes);
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + row_of(columns, a) * stride + k;
      const Vec<Real> weight = weighted ? splat<Real>(weights[a]) : splat<Real>(1);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const Vec<Real> x = load<Real>(row + v * lanes);
        const IntVec<Real> size = (IntVec<Real>)(weighted ? weight * x : x) & mask;
        top[v] = size > top[v] ? size : top[v];
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      store<Real>(reinterpret_cast<Real*>(tops_) + k + v * lanes, (Vec<Real>)top[v]);
  }

  template <int vectors>
  SIGHTLINE_INLINE void add_vectors(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                    const Real* weights, int count, std::int64_t k) {
    constexpr int lanes = Lanes<double>::count;
    Vec<double> anchor[vectors];
    IntVec<double> sum[vectors], rest[vectors];
    const auto ints = [](std::int64_t* from) { return reinterpret_cast<double*>(from); };
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      anchor[v] = load<double>(anchors_ + k + v * lanes);
      sum[v] = (IntVec<double>)load<double>(ints(sums_) + k + v * lanes);
      if constexpr (sizeof(Real) == 8)
        rest[v] = (IntVec<double>)load<double>(ints(rests_) + k + v * lanes);
    }
    const Vec<double> finer = splat<double>(finer_);
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + row_of(columns, a) * stride + k;
      const Vec<double> weight = splat<double>(weights == nullptr ? 1.0 : static_cast<double>(weights[a]));
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        Vec<double> x = load_doubles(row + v * lanes);
        if constexpr (sizeof(Real) == 8)
          x = x * load<double>(scales_ + k + v * lanes);
        const Vec<double> at = fma(weight, x, anchor[v]);
        add_bits(sum[v], at);
        if constexpr (sizeof(Real) == 8)
          add_bits(rest[v], fma(weight, x, anchor[v] - at) + anchor[v] * finer);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store<double>(ints(sums_) + k + v * lanes, (Vec<double>)sum[v]);
      if constexpr (sizeof(Real) == 8)
        store<double>(ints(rests_) + k + v * lanes, (Vec<double>)rest[v]);
    }
  }

  /// measure() and add() at once.
  template <int vectors>
  SIGHTLINE_INLINE void add_measured(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                     const Real* weights, int count, std::int64_t k) {
    constexpr int lanes = Lanes<Real>::count, half = Lanes<double>::count, parts = lanes / half;
    const IntVec<Real> mask = Magnitude<Real>::mask - IntVec<Real>{};
    const auto ints = [](std::int64_t* from) { return reinterpret_cast<double*>(from); };
    IntVec<Real> top[vectors];
    Vec<double> anchor[vectors * parts];
    IntVec<double> sum[vectors * parts], rest[vectors * parts];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      top[v] = (IntVec<Real>)load<Real>(reinterpret_cast<const Real*>(tops_) + k + v * lanes);
#pragma GCC unroll 8
    for (int p = 0; p < vectors * parts; ++p) {
      anchor[p] = load<double>(anchors_ + k + p * half);
      sum[p] = (IntVec<double>)load<double>(ints(sums_) + k + p * half);
      rest[p] = (IntVec<double>)load<double>(ints(rests_) + k + p * half);
    }
    const Vec<double> finer = splat<double>(finer_);
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + row_of(columns, a) * stride + k;
      const Real factor = weights == nullptr ? Real(1) : weights[a];
      const Vec<double> weight = splat<double>(static_cast<double>(factor));
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const Vec<Real> x = load<Real>(row + v * lanes);
        const IntVec<Real> size = (IntVec<Real>)(weights == nullptr ? x : splat<Real>(factor) * x) & mask;
        top[v] = size > top[v] ? size : top[v];
      }
#pragma GCC unroll 8
      for (int p = 0; p < vectors * parts; ++p) {
        Vec<double> x = load_doubles(row + p * half);
        if constexpr (sizeof(Real) == 8)
          x = x * load<double>(scales_ + k + p * half);
        const Vec<double> at = fma(weight, x, anchor[p]);
        add_bits(sum[p], at);
        if constexpr (sizeof(Real) == 8)
          add_bits(rest[p], fma(weight, x, anchor[p] - at) + anchor[p] * finer);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      store<Real>(reinterpret_cast<Real*>(tops_) + k + v * lanes, (Vec<Real>)top[v]);
#pragma GCC unroll 8
    for (int p = 0; p < vectors * parts; ++p) {
      store<double>(ints(sums_) + k + p * half, (Vec<double>)sum[p]);
      if constexpr (sizeof(Real) == 8)
        store<double>(ints(rests_) + k + p * half, (Vec<double>)rest[p]);
    }
  }

  /// begin() to add() of terms of which some were measured, as whole numbers of 27 bits. False, with all of them measured
  /// and nothing added: those of an entry are too small for that.
  bool collect_whole(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, int count) {
    constexpr int vectors = SIGHTLINE_SIMD_BYTES == 64 ? 4 : 2, lanes = Lanes<Real>::count;
    for (bool again = false;; again = true) {
      for (std::int64_t k = 0; k < width_; ++k) {
        factors_[k] = whole_factor(k);
        sums_[k] = 0;
      }
      for (int first = 0; first < count; first += rows_at_once) {
        const int some = count - first < rows_at_once ? count - first : rows_at_once;
        const Real* const rows = columns == nullptr ? base + first * stride : base;
        const std::int32_t* const which = columns == nullptr ? nullptr : columns + first;
        std::int64_t k = 0;
        for (; k + vectors * lanes <= width_; k += vectors * lanes)
          add_whole<vectors>(rows, stride, which, some, k);
        for (; k < width_; k += lanes)
          add_whole<1>(rows, stride, which, some, k);
      }
      bool same = true, tiny = false;
      for (std::int64_t k = 0; k < width_; ++k) {
        same = same && factors_[k] == whole_factor(k);
        is_special_ = is_special_ || tops_[k] >= Magnitude<Real>::infinite;
        tiny = tiny || (tops_[k] != 0 && exponent_of(k) < least_whole_exponent);
      }
      if (tiny) {
        for (std::int64_t k = 0; k < width_; ++k)
          sums_[k] = 0;
        return false;
      }
      if (same || again)
        break;
    }
    terms_ = count;
    is_whole_ = true;
    if (is_special_)
      add_special(base, stride, columns, nullptr, count);
    return true;
  }

  /// What brings the terms of entry k to whole numbers: a power of two.
  [[nodiscard]] SIGHTLINE_INLINE Real whole_factor(std::int64_t k) const {
    const int exponent = (exponent_of(k) + Grid::step - 1) & -Grid::step;
    const int below = whole_bits - (exponent < least_whole_exponent ? least_whole_exponent : exponent);
    return static_cast<Real>(double_of(std::int64_t{1023 + below} << 52));
  }

  /// At most `rows_at_once` terms of each entry: measured, and added as whole numbers.
  template <int vectors>
  SIGHTLINE_INLINE void add_whole(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, int count, std::int64_t k) {
    constexpr int lanes = Lanes<Real>::count;
    const IntVec<Real> mask = Magnitude<Real>::mask - IntVec<Real>{};
    IntVec<Real> top[vectors], sum[vectors] = {};
    Vec<Real> factor[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      top[v] = (IntVec<Real>)load<Real>(reinterpret_cast<const Real*>(tops_) + k + v * lanes);
      factor[v] = load<Real>(factors_ + k + v * lanes);
    }
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + row_of(columns, a) * stride + k;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const Vec<Real> x = load<Real>(row + v * lanes);
        if (columns == nullptr)
          __builtin_prefetch(row + rows_at_once * stride + v * lanes, 0, 3);
        const IntVec<Real> size = (IntVec<Real>)x & mask;
        top[v] = size > top[v] ? size : top[v];
        add_words<Real>(sum[v], nearest_whole(x * factor[v])); // what is not finite, or more than was guessed, is found out behind
      }
    }
    Integer sums[vectors * lanes];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store<Real>(reinterpret_cast<Real*>(tops_) + k + v * lanes, (Vec<Real>)top[v]);
      store<Real>(reinterpret_cast<Real*>(sums) + v * lanes, (Vec<Real>)sum[v]);
    }
    for (int lane = 0; lane < vectors * lanes; ++lane)
      sums_[k + lane] += sums[lane];
  }

  /// Entries among whose terms one is not finite: the finite ones do not matter.
  void add_special(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, const Real* weights,
                   int count) {
    for (std::int64_t k = 0; k < width_; ++k) {
      if (tops_[k] < Magnitude<Real>::infinite)
        continue;
      for (int a = 0; a < count; ++a) {
        const Real x = term(base, stride, columns, weights, a, k);
        if (magnitude_of<Real>(x) >= Magnitude<Real>::infinite)
          special_[k] += x;
      }
    }
  }

  [[nodiscard]] SIGHTLINE_INLINE double whole(std::int64_t sum, double anchor) const {
    const auto before = static_cast<std::uint64_t>(terms_ - 1) * static_cast<std::uint64_t>(bits_of(anchor));
    return double_of(static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) - before)) - anchor;
  }
  [[nodiscard]] SIGHTLINE_INLINE Real total(std::int64_t k, Real factor) const {
    if (terms_ == 0)
      return 0;
    if (is_whole_)
      return static_cast<Real>(static_cast<double>(sums_[k]) / static_cast<double>(factors_[k]) * static_cast<double>(factor));
    double sum = whole(sums_[k], anchors_[k]);
    if constexpr (sizeof(Real) == 8) {
      sum += whole(rests_[k], anchors_[k] * finer_);
      return sum * factor * (scales_[k] == 1.0 ? 1.0 : grow);
    }
    return static_cast<Real>(sum * static_cast<double>(factor));
  }

  std::int64_t width_, terms_ = 0;
  double finer_ = 1;
  bool is_special_ = false, is_whole_ = false;
  Integer* tops_;
  Real *special_, *factors_;
  double *anchors_, *scales_;
  std::int64_t *sums_, *rests_;
};

/// Sum of `count` numbers in no order.
template <class Real> Real free_total(const Real* terms, std::int64_t count) {
  constexpr int lanes = Lanes<double>::count;
  typename Lanes<Real>::Integer top = 0;
  for (std::int64_t a = 0; a < count; ++a) {
    const auto size = magnitude_of<Real>(terms[a]);
    top = size > top ? size : top;
  }
  if (top >= Magnitude<Real>::infinite) {
    Real special = 0;
    for (std::int64_t a = 0; a < count; ++a) {
      if (magnitude_of<Real>(terms[a]) >= Magnitude<Real>::infinite)
        special += terms[a];
    }
    return special;
  }
  const Grid grid(count);
  const int exponent = static_cast<int>(top >> Magnitude<Real>::mantissa) - Magnitude<Real>::bias + 1;
  const bool huge = exponent > 900;
  const double scale = huge ? 0x1p-200 : 1.0;
  const double first = grid.anchor(huge ? exponent - 200 : exponent), second = first * grid.finer();
  const Vec<double> anchor = splat<double>(first), finer = splat<double>(second);
  IntVec<double> sum{}, rest{};
  std::int64_t a = 0, steps = 0;
  const auto step = [&](Vec<double> x) {
    x = x * splat<double>(scale);
    const Vec<double> at = x + anchor;
    sum += (IntVec<double>)at - (IntVec<double>)anchor;
    if constexpr (sizeof(Real) == 8)
      rest += (IntVec<double>)((x - (at - anchor)) + finer) - (IntVec<double>)finer;
    ++steps;
  };
  for (; a + lanes <= count; a += lanes)
    step(load_doubles(terms + a));
  if (a < count) {
    Real last[lanes] = {};
    for (std::int64_t k = a; k < count; ++k)
      last[k - a] = terms[k];
    step(load_doubles(last));
  }
  std::int64_t all = 0, rests = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    all += sum[lane];
    rests += rest[lane];
  }
  double total = double_of(bits_of(first) + all) - first;
  if constexpr (sizeof(Real) == 8)
    total += double_of(bits_of(second) + rests) - second;
  return static_cast<Real>(total * (huge ? 0x1p200 : 1.0));
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
