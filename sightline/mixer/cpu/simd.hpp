// One vector of numbers for the instruction set that this file is compiled for. Included only by the kernel sources,
// which are compiled once per instruction set: everything lives in a namespace of that set's own, and no standard
// template with a function is used, so that none compiled for a newer processor can be picked by the linker for an older one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(SIGHTLINE_USE_AVX512) || defined(SIGHTLINE_USE_AVX2)
#include <immintrin.h>
#endif

#if defined(SIGHTLINE_USE_AVX512)
#define SIGHTLINE_SIMD avx512
#define SIGHTLINE_SIMD_BYTES 64
#elif defined(SIGHTLINE_USE_AVX2)
#define SIGHTLINE_SIMD avx2
#define SIGHTLINE_SIMD_BYTES 32
#else
#define SIGHTLINE_SIMD generic
#define SIGHTLINE_SIMD_BYTES 16
#endif

#define SIGHTLINE_INLINE inline __attribute__((always_inline))
/// What runs once per strip or row: a call costs nothing there, and copies in every caller would only be compiled again.
#define SIGHTLINE_APART __attribute__((noinline))
/// Of a lambda whose sums are to stay in registers, wherever it is called.
#define SIGHTLINE_INLINE_HERE __attribute__((always_inline))

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

template <class Real> struct Lanes;

template <> struct Lanes<float> {
  using Integer = std::int32_t;
  typedef float V __attribute__((vector_size(SIGHTLINE_SIMD_BYTES)));
  typedef float Unaligned __attribute__((vector_size(SIGHTLINE_SIMD_BYTES), aligned(4), may_alias));
  typedef std::int32_t I __attribute__((vector_size(SIGHTLINE_SIMD_BYTES)));
  typedef std::uint32_t U __attribute__((vector_size(SIGHTLINE_SIMD_BYTES)));
  static constexpr int count = SIGHTLINE_SIMD_BYTES / 4;
};

template <> struct Lanes<double> {
  using Integer = std::int64_t;
  typedef double V __attribute__((vector_size(SIGHTLINE_SIMD_BYTES)));
  typedef double Unaligned __attribute__((vector_size(SIGHTLINE_SIMD_BYTES), aligned(8), may_alias));
  typedef std::int64_t I __attribute__((vector_size(SIGHTLINE_SIMD_BYTES)));
  typedef std::uint64_t U __attribute__((vector_size(SIGHTLINE_SIMD_BYTES)));
  static constexpr int count = SIGHTLINE_SIMD_BYTES / 8;
};

template <class Real> using Vec = typename Lanes<Real>::V;
template <class Real> using IntVec = typename Lanes<Real>::I;
template <class Real> using WordVec = typename Lanes<Real>::U; ///< whole numbers modulo 2^32 or 2^64

template <class Real> SIGHTLINE_INLINE Vec<Real> load(const Real* from) {
  return *reinterpret_cast<const typename Lanes<Real>::Unaligned*>(from);
}
template <class Real> SIGHTLINE_INLINE void store(Real* to, Vec<Real> value) {
  *reinterpret_cast<typename Lanes<Real>::Unaligned*>(to) = value;
}
/// Past the caches, for what nobody reads again soon: lines that are written whole need not be fetched first. `to` lies
/// at a multiple of a vector; finish_streams() comes before anybody else reads it.
template <class Real> SIGHTLINE_INLINE void stream(Real* to, Vec<Real> value) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    _mm512_stream_ps(to, value);
  else
    _mm512_stream_pd(to, value);
#elif defined(SIGHTLINE_USE_AVX2)
  if constexpr (sizeof(Real) == 4)
    _mm256_stream_ps(to, value);
  else
    _mm256_stream_pd(to, value);
#else
  store<Real>(to, value);
#endif
}
inline void finish_streams() {
#if defined(SIGHTLINE_USE_AVX512) || defined(SIGHTLINE_USE_AVX2)
  _mm_sfence();
#endif
}
template <class Real> SIGHTLINE_INLINE bool can_stream(const Real* to) {
  return reinterpret_cast<std::uintptr_t>(to) % SIGHTLINE_SIMD_BYTES == 0;
}

template <class Real> SIGHTLINE_INLINE Vec<Real> splat(Real value) { return value - Vec<Real>{}; }

/// Modulo 2^32 or 2^64.
template <class Real> SIGHTLINE_INLINE void add_words(IntVec<Real>& sum, IntVec<Real> more) {
  sum = (IntVec<Real>)((WordVec<Real>)sum + (WordVec<Real>)more);
}

/// A whole number as an integer: what it leaves in the low bits of `magic`, 1.5 times the power of two from which on numbers
/// are whole. Of numbers too large for that, whatever it is modulo 2^32 or 2^64.
template <class Real> SIGHTLINE_INLINE IntVec<Real> to_integer(Vec<Real> whole, Real magic) {
  return (IntVec<Real>)((WordVec<Real>)(whole + splat<Real>(magic)) - (WordVec<Real>)splat<Real>(magic));
}

/// splat() computes: it would turn -0 and signalling NaN into other bits.
template <class Real> SIGHTLINE_INLINE Vec<Real> splat_bits(Real value) {
  typename Lanes<Real>::Integer bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return (Vec<Real>)(bits - IntVec<Real>{});
}

// a * b + c, fused wherever the processor can; never left to the compiler's own contraction, so that the same
// expression has the same bits in every place where it is inlined.
#if defined(SIGHTLINE_USE_AVX512)
SIGHTLINE_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm512_fmadd_ps(a, b, c); }
SIGHTLINE_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(SIGHTLINE_USE_AVX2)
SIGHTLINE_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm256_fmadd_ps(a, b, c); }
SIGHTLINE_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm256_fmadd_pd(a, b, c); }
#else
SIGHTLINE_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return a * b + c; }
SIGHTLINE_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return a * b + c; }
#endif

/// The larger (smaller) of both; b where either is not a number.
#if defined(SIGHTLINE_USE_AVX512)
SIGHTLINE_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm512_max_ps(a, b); }
SIGHTLINE_INLINE Vec<float> smaller(Vec<float> a, Vec<float> b) { return _mm512_min_ps(a, b); }
SIGHTLINE_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) { return _mm512_max_pd(a, b); }
SIGHTLINE_INLINE Vec<double> smaller(Vec<double> a, Vec<double> b) { return _mm512_min_pd(a, b); }
#elif defined(SIGHTLINE_USE_AVX2)
SIGHTLINE_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a, b); }
SIGHTLINE_INLINE Vec<float> smaller(Vec<float> a, Vec<float> b) { return _mm256_min_ps(a, b); }
SIGHTLINE_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) { return _mm256_max_pd(a, b); }
SIGHTLINE_INLINE Vec<double> smaller(Vec<double> a, Vec<double> b) { return _mm256_min_pd(a, b); }
#else
SIGHTLINE_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return a > b ? a : b; }
SIGHTLINE_INLINE Vec<float> smaller(Vec<float> a, Vec<float> b) { return a < b ? a : b; }
SIGHTLINE_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) { return a > b ? a : b; }
SIGHTLINE_INLINE Vec<double> smaller(Vec<double> a, Vec<double> b) { return a < b ? a : b; }
#endif

/// value in the lanes whose bit is set, other in the rest.
SIGHTLINE_INLINE Vec<float> select(std::uint64_t bits, Vec<float> value, Vec<float> other) {
#if defined(SIGHTLINE_USE_AVX512)
  return _mm512_mask_mov_ps(other, static_cast<__mmask16>(bits), value);
#else
  IntVec<float> bit{};
#pragma GCC unroll 16
  for (int lane = 0; lane < Lanes<float>::count; ++lane)
    bit[lane] = 1 << lane;
  return ((static_cast<std::int32_t>(bits & 0xffff) - IntVec<float>{}) & bit) != 0 ? value : other;
#endif
}
SIGHTLINE_INLINE Vec<double> select(std::uint64_t bits, Vec<double> value, Vec<double> other) {
#if defined(SIGHTLINE_USE_AVX512)
  return _mm512_mask_mov_pd(other, static_cast<__mmask8>(bits), value);
#else
  IntVec<double> bit{};
#pragma GCC unroll 16
  for (int lane = 0; lane < Lanes<double>::count; ++lane)
    bit[lane] = std::int64_t{1} << lane;
  return ((static_cast<std::int64_t>(bits & 0xff) - IntVec<double>{}) & bit) != 0 ? value : other;
#endif
}

/// Coefficients of 2^f on [0, 1), relative error of the polynomial 2.0e-9 (float) and 3.2e-18 (double); value 1 at 0.
template <class Real> struct PowerOfTwo;
template <> struct PowerOfTwo<float> {
  static constexpr int degree = 6;
  static constexpr float factors[] = {0.69314704443599819726F,   0.24022930565239061346F,   0.055485280172903788873F,
                                      0.0096754524290171740538F, 0.0012467838881774696547F, 0.00021612939709290401146F};
};
template <> struct PowerOfTwo<double> {
  static constexpr int degree = 11;
  static constexpr double factors[] = {0.69314718055994592842,     0.24022650695906330386,   0.055504108665602212677,
                                       0.0096181290995512092665,   0.0013333558629543232229, 0.00015403512310436193384,
                                       0.000015253175038222732891, 1.320836752300283746e-6,  1.0253210508557034209e-7,
                                       6.5595381611378958029e-9,   6.2634488448853822662e-10};
};

/// Largest integer <= x, for |x| below the range of Integer (AVX-512: all x).
template <class Real> SIGHTLINE_INLINE Vec<Real> round_down(Vec<Real> x);
#if defined(SIGHTLINE_USE_AVX512)
template <> SIGHTLINE_INLINE Vec<float> round_down<float>(Vec<float> x) { return _mm512_roundscale_ps(x, 1); }
template <> SIGHTLINE_INLINE Vec<double> round_down<double>(Vec<double> x) { return _mm512_roundscale_pd(x, 1); }
#elif defined(SIGHTLINE_USE_AVX2)
template <> SIGHTLINE_INLINE Vec<float> round_down<float>(Vec<float> x) { return _mm256_floor_ps(x); }
template <> SIGHTLINE_INLINE Vec<double> round_down<double>(Vec<double> x) { return _mm256_floor_pd(x); }
#else
template <class Real> SIGHTLINE_INLINE Vec<Real> round_down(Vec<Real> x) {
  // Numbers from 2^23 (2^52) on have no fraction, and adding and subtracting that number rounds the others to an
  // integer.
  const Vec<Real> magic = splat<Real>(sizeof(Real) == 4 ? Real(12582912) : Real(6755399441055744));
  const Vec<Real> limit = splat<Real>(sizeof(Real) == 4 ? Real(4194304) : Real(2251799813685248));
  Vec<Real> nearest = (x + magic) - magic;
  nearest = nearest > x ? nearest - splat<Real>(1) : nearest;
  return ((x < limit) & (x > -limit)) ? nearest : x;
}
#endif

/// 2^x, error below one unit in the last place; 2^-inf = 0. Without AVX-512 results below the smallest normal number
/// are 0. The same bits for the same x in every lane.
template <class Real> SIGHTLINE_INLINE Vec<Real> exp2(Vec<Real> x) {
  using Power = PowerOfTwo<Real>;
#if defined(SIGHTLINE_USE_AVX512)
  Vec<Real> f;
  if constexpr (sizeof(Real) == 4)
    f = _mm512_reduce_ps(x, 1);
  else
    f = _mm512_reduce_pd(x, 1);
#else
  constexpr Real low = sizeof(Real) == 4 ? Real(-127) : Real(-1023), high = -low;
  Vec<Real> cut = x < splat<Real>(low) ? splat<Real>(low) : x; // keeps what is not a number
  cut = cut > splat<Real>(high) ? splat<Real>(high) : cut;
  const Vec<Real> whole = round_down<Real>(cut);
  const Vec<Real> f = cut - whole;
#endif
  Vec<Real> sum = splat<Real>(Power::factors[Power::degree - 1]);
#pragma GCC unroll 16
  for (int k = Power::degree - 2; k >= 0; --k)
    sum = fma(sum, f, splat<Real>(Power::factors[k]));
  sum = fma(sum, f, splat<Real>(1));
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    return _mm512_scalef_ps(sum, x);
  else
    return _mm512_scalef_pd(sum, x);
#else
  // The exponent is put together through a magic number: whole + 2^23 * 1.5 has `whole` in its low bits.
  constexpr Real magic = sizeof(Real) == 4 ? Real(12582912) : Real(6755399441055744);
  constexpr int mantissa = sizeof(Real) == 4 ? 23 : 52;
  constexpr typename Lanes<Real>::Integer bias = sizeof(Real) == 4 ? 127 : 1023;
  const IntVec<Real> bits = to_integer<Real>(whole, magic);
  const Vec<Real> power = (Vec<Real>)((bits + bias) << mantissa); // exponent -bias: 0, +bias + 1 never occurs
  const Vec<Real> value = sum * power;
  const Vec<Real> infinite = splat<Real>(__builtin_inf());
  return x > splat<Real>(high + 1) ? infinite : value;
#endif
}

/// 2^(x - shift) for a whole shift, by 2^(fraction of x) times a power of two: x - shift is never rounded, so that
/// another shift changes the result by a power of two and in no other bit (short of the smallest numbers).
template <class Real> SIGHTLINE_INLINE Vec<Real> exp2_shifted(Vec<Real> x, Vec<Real> shift) {
#if defined(SIGHTLINE_USE_AVX512)
  using Power = PowerOfTwo<Real>;
  Vec<Real> f;
  if constexpr (sizeof(Real) == 4)
    f = _mm512_reduce_ps(x, 1);
  else
    f = _mm512_reduce_pd(x, 1);
  Vec<Real> sum = splat<Real>(Power::factors[Power::degree - 1]);
#pragma GCC unroll 16
  for (int k = Power::degree - 2; k >= 0; --k)
    sum = fma(sum, f, splat<Real>(Power::factors[k]));
  sum = fma(sum, f, splat<Real>(1));
  // x - f is x rounded down, or, for x just below 0, more than -1 by a unit in the last place: scalef rounds down itself.
  const Vec<Real> whole = (x - f) - shift;
  if constexpr (sizeof(Real) == 4)
    return _mm512_scalef_ps(sum, whole);
  else
    return _mm512_scalef_pd(sum, whole);
#else
  using Power = PowerOfTwo<Real>;
  const Vec<Real> lowest = splat<Real>(sizeof(Real) == 4 ? Real(-4194304) : Real(-2251799813685248));
  const Vec<Real> cut = x < lowest ? lowest : x; // keeps what is not a number
  const Vec<Real> whole = round_down<Real>(cut);
  const Vec<Real> f = cut - whole;
  Vec<Real> sum = splat<Real>(Power::factors[Power::degree - 1]);
#pragma GCC unroll 16
  for (int k = Power::degree - 2; k >= 0; --k)
    sum = fma(sum, f, splat<Real>(Power::factors[k]));
  sum = fma(sum, f, splat<Real>(1));
  constexpr Real most = sizeof(Real) == 4 ? Real(127) : Real(1023);
  constexpr Real magic = sizeof(Real) == 4 ? Real(12582912) : Real(6755399441055744);
  constexpr int mantissa = sizeof(Real) == 4 ? 23 : 52;
  constexpr typename Lanes<Real>::Integer bias = sizeof(Real) == 4 ? 127 : 1023;
  const Vec<Real> difference = whole - shift;
  Vec<Real> exponent = difference < splat<Real>(-most) ? splat<Real>(-most) : difference;
  exponent = exponent > splat<Real>(most) ? splat<Real>(most) : exponent;
  const IntVec<Real> bits = to_integer<Real>(exponent, magic);
  const Vec<Real> value = sum * (Vec<Real>)((bits + bias) << mantissa);
  const Vec<Real> high = difference > splat<Real>(most) ? splat<Real>(Real(__builtin_inf())) : value;
  return difference == difference ? (x < lowest ? Vec<Real>{} : high) : difference;
#endif
}

/// x 2^e for a whole e <= 0 (below the type's range: 0).
template <class Real> SIGHTLINE_INLINE Vec<Real> times_power(Vec<Real> x, Vec<Real> e) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    return _mm512_scalef_ps(x, e);
  else
    return _mm512_scalef_pd(x, e);
#else
  return x * exp2_shifted<Real>(e, Vec<Real>{});
#endif
}

// A root of 64 bytes takes twenty cycles of a unit of its own on some processors; from an estimate of 14 bits, by a step of Newton's, four.
// (A quotient takes ten of which little else is kept waiting: there the steps cost more.)
/// sqrt(x), within a unit in the last place of what is no smaller than the smallest normal number.
template <class Real> SIGHTLINE_INLINE Vec<Real> square_root(Vec<Real> x) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4) {
    const Vec<Real> guess = _mm512_rsqrt14_ps(x), root = x * guess;
    const __mmask16 is_itself = _mm512_fpclass_ps_mask(x, 0x02 | 0x04 | 0x08); // 0, -0, infinity
    return _mm512_mask_mov_ps(fma(fma(-root, root, x), splat<Real>(Real(0.5)) * guess, root), is_itself, x);
  } else
    return _mm512_sqrt_pd(x);
#else
  Vec<Real> out{};
#pragma GCC unroll 16
  for (int lane = 0; lane < Lanes<Real>::count; ++lane)
    out[lane] = sizeof(Real) == 4 ? Real(__builtin_sqrtf(static_cast<float>(x[lane]))) : Real(__builtin_sqrt(x[lane]));
  return out;
#endif
}

/// Sum of the lanes, halving: the same order for every vector.
template <class Real> SIGHTLINE_INLINE Real add_lanes(Vec<Real> v) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    return _mm512_reduce_add_ps(v); // halves, in GCC and Clang
  else
    return _mm512_reduce_add_pd(v);
#else
  Real part[Lanes<Real>::count];
  store<Real>(part, v);
  for (int half = Lanes<Real>::count / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane)
      part[lane] += part[lane + half];
  }
  return part[0];
#endif
}

template <class Real> using LaneIndices = std::make_integer_sequence<int, Lanes<Real>::count>;

/// The lanes of a and b without the bit `half`, where a's stay.
template <class Real, int half, int... lane>
SIGHTLINE_INLINE Vec<Real> first_halves(Vec<Real> a, Vec<Real> b, std::integer_sequence<int, lane...> /*lanes*/) {
  return __builtin_shufflevector(a, b, ((lane & half) ? lane - half + Lanes<Real>::count : lane)...);
}
/// Those with it, where b's stay.
template <class Real, int half, int... lane>
SIGHTLINE_INLINE Vec<Real> second_halves(Vec<Real> a, Vec<Real> b, std::integer_sequence<int, lane...> /*lanes*/) {
  return __builtin_shufflevector(a, b, ((lane & half) ? lane + Lanes<Real>::count : lane + half)...);
}

/// to[count * i + k] = from[k * lanes + i]: `count` vectors, one behind the other, entry by entry.
template <class Real, int count, int out, int k, std::size_t... lane>
SIGHTLINE_INLINE Vec<Real> join_lanes(Vec<Real> found, const Real* from, std::index_sequence<lane...> lanes) {
  if constexpr (k == count) {
    return found;
  } else {
    constexpr int all = Lanes<Real>::count;
    // Entry out * all + lane of the result is entry / count of vector entry % count; what later vectors fill may be anything.
    const Vec<Real> more = __builtin_shufflevector(
        found, load<Real>(from + k * all),
        ((out * all + static_cast<int>(lane)) % count == k                    ? all + (out * all + static_cast<int>(lane)) / count
         : k == 1 && (out * all + static_cast<int>(lane)) % count == 0 ? (out * all + static_cast<int>(lane)) / count
                                                                       : static_cast<int>(lane))...);
    return join_lanes<Real, count, out, k + 1>(more, from, lanes);
  }
}
template <class Real, int count, std::size_t... out>
SIGHTLINE_INLINE void interleave_as(const Real* from, Real* to, std::index_sequence<out...> /*vectors*/) {
  constexpr int all = Lanes<Real>::count;
  (store<Real>(to + static_cast<int>(out) * all, join_lanes<Real, count, static_cast<int>(out), 1>(load<Real>(from), from, std::make_index_sequence<all>())), ...);
}
template <class Real, int count> SIGHTLINE_INLINE void interleave(const Real* from, Real* to) {
  interleave_as<Real, count>(from, to, std::make_index_sequence<count>());
}

/// Transposes the square block of Lanes::count rows: log2 stages, each exchanges the halves of every pair of rows.
template <class Real, int half> SIGHTLINE_INLINE void transpose_stage(Vec<Real>* rows) {
  constexpr int count = Lanes<Real>::count;
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) {
    if (i & half)
      continue;
    const Vec<Real> a = rows[i], b = rows[i + half];
    rows[i] = first_halves<Real, half>(a, b, LaneIndices<Real>());
    rows[i + half] = second_halves<Real, half>(a, b, LaneIndices<Real>());
  }
  if constexpr (half > 1)
    transpose_stage<Real, half / 2>(rows);
}
template <class Real> SIGHTLINE_INLINE void transpose(Vec<Real>* rows) {
  transpose_stage<Real, Lanes<Real>::count / 2>(rows);
}

/// Exact mode: every NaN the same, no -0.
template <class Real> SIGHTLINE_INLINE Vec<Real> canonical(Vec<Real> x) {
#if defined(SIGHTLINE_USE_AVX512)
  // Four bits for each kind of number: NaN of both kinds keep what stands there, zeros become 0, the rest is taken.
  constexpr std::int32_t table = 0x11111800;
  const Vec<Real> none = splat_bits<Real>(Real(__builtin_nan("")));
  if constexpr (sizeof(Real) == 4)
    return _mm512_fixupimm_ps(none, x, _mm512_set1_epi32(table), 0);
  else
    return _mm512_fixupimm_pd(none, x, _mm512_set1_epi64(table), 0);
#else
  return x == x ? x + Vec<Real>{} : splat_bits<Real>(Real(__builtin_nan("")));
#endif
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
