// Maxima in exact mode, backward: every read that attains a row's maximum gets an equal share of its gradient, and what a
// read gets is added up in the order that its group has, or in none.
#pragma once

#include "sightline/mixer/cpu/aggregate_rows.hpp"
#include "sightline/mixer/cpu/free_sum.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Of `vectors` vectors of a row's entries from k on: the maxima, and `grad` over the number of reads that attain each.
/// False where a read is not finite: then nothing is written.
template <class Real, int vectors>
SIGHTLINE_INLINE bool share_entries(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                    std::int64_t count, std::int64_t k, const Real* grad, Real* most, Real* share) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> one = splat<Real>(1);
  Vec<Real> top[vectors], number[vectors], zero[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    top[v] = load<Real>(base + columns[0] * stride + k + v * lanes);
    number[v] = zero[v] = Vec<Real>{};
  }
  for (std::int64_t a = 0; a < count; ++a) {
    const Real* const row = base + columns[a] * stride + k;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Vec<Real> value = load<Real>(row + v * lanes);
      zero[v] = fma(value, Vec<Real>{}, zero[v]);
      top[v] = larger(value, top[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    if (any_differs<Real>(zero[v], zero[v]))
      return false;
  }
  for (std::int64_t a = 0; a < count; ++a) {
    const Real* const row = base + columns[a] * stride + k;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      number[v] = load<Real>(row + v * lanes) == top[v] ? number[v] + one : number[v];
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    store<Real>(most + k + v * lanes, top[v]);
    store<Real>(share + k + v * lanes, load<Real>(grad + k + v * lanes) / number[v]);
  }
  return true;
}

/// The same for one entry, whatever it is.
template <class Real>
SIGHTLINE_INLINE void share_entry(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                  std::int64_t count, std::int64_t k, const Real* grad, Real* most, Real* share) {
  Real top = base[columns[0] * stride + k], number = 1;
  for (std::int64_t a = 1; a < count; ++a) {
    const Real value = base[columns[a] * stride + k];
    const bool more = value > top || (value != value && top == top);
    const bool less = top > value || (top != top && value == value);
    number = more ? 1 : less ? number : number + 1;
    top = more ? value : top;
  }
  most[k] = top;
  share[k] = grad[k] / number;
}

/// A row's maxima, and `grad` over the number of its reads (columns) that attain each. NaN attains a maximum that is NaN.
template <class Real>
void share_maxima(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, std::int64_t count,
                  std::int64_t width, const Real* grad, Real* most, Real* share) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t k = 0;
  while (k + lanes <= width) {
    if (k + 4 * lanes <= width && share_entries<Real, 4>(base, stride, columns, count, k, grad, most, share)) {
      k += 4 * lanes;
      continue;
    }
    if (!share_entries<Real, 1>(base, stride, columns, count, k, grad, most, share)) {
      for (int lane = 0; lane < lanes; ++lane)
        share_entry<Real>(base, stride, columns, count, k + lane, grad, most, share);
    }
    k += lanes;
  }
  for (; k < width; ++k)
    share_entry<Real>(base, stride, columns, count, k, grad, most, share);
}

/// to [count][width] = the shares of rows (readers of one read with these values) where the read attains their maxima.
template <class Real>
void keep_attained(const Real* value, const Real* most, const Real* share, const std::int32_t* readers,
                   std::int64_t count, std::int64_t width, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  for (std::int64_t a = 0; a < count; ++a, to += width) {
    const Real *const top = most + readers[a] * width, *const part = share + readers[a] * width;
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes) {
      const Vec<Real> v = load<Real>(value + k), m = load<Real>(top + k);
      store<Real>(to + k, (v == m) | ((v != v) & (m != m)) ? load<Real>(part + k) : Vec<Real>{});
    }
    for (; k < width; ++k)
      to[k] = value[k] == top[k] || (value[k] != value[k] && top[k] != top[k]) ? part[k] : Real(0);
  }
}

/// Sums without an order of `count` terms [count][lanes], one per lane; false where a term is not.
SIGHTLINE_INLINE bool free_columns(const float* terms, std::int64_t count, float* to) {
  constexpr int lanes = Lanes<float>::count, half = Lanes<double>::count;
  IntVec<float> top{};
  for (std::int64_t a = 0; a < count; ++a) {
    const IntVec<float> size = (IntVec<float>)load<float>(terms + a * lanes) & Magnitude<float>::mask;
    top = size > top ? size : top;
  }
  const Vec<float> zero = fma((Vec<float>)top, Vec<float>{}, Vec<float>{});
  if (any_differs<float>(zero, zero))
    return false;
  std::int32_t tops[lanes];
  __builtin_memcpy(tops, &top, sizeof tops);
  const Grid grid(count);
  for (int part = 0; part < lanes; part += half) {
    typedef std::int32_t Half __attribute__((vector_size(SIGHTLINE_SIMD_BYTES / 2)));
    Half exponents;
    __builtin_memcpy(&exponents, tops + part, sizeof exponents);
    const Vec<double> anchor = grid.anchors(__builtin_convertvector(exponents >> Magnitude<float>::mantissa, IntVec<double>) + (1 - Magnitude<float>::bias));
    IntVec<double> sum{};
    for (std::int64_t a = 0; a < count; ++a)
      sum += (IntVec<double>)(load_doubles(terms + a * lanes + part) + anchor) - (IntVec<double>)anchor;
    const Vec<double> all = (Vec<double>)((IntVec<double>)anchor + sum) - anchor;
    typedef float Floats __attribute__((vector_size(SIGHTLINE_SIMD_BYTES / 2)));
    const Floats sums = __builtin_convertvector(all, Floats);
    __builtin_memcpy(to + part, &sums, sizeof sums);
  }
  return true;
}
SIGHTLINE_INLINE bool free_columns(const double*, std::int64_t, double*) { return false; }

/// The lanes of a comparison, as a number that is 0 or 1.
template <class Real> SIGHTLINE_INLINE std::int64_t any_of(IntVec<Real> lanes) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    return _mm512_movepi32_mask((__m512i)lanes) != 0;
  else
    return _mm512_movepi64_mask((__m512i)lanes) != 0;
#else
  return any_differs<Real>((Vec<Real>)(lanes & (IntVec<Real>)splat<Real>(1)), Vec<Real>{}) ? 1 : 0;
#endif
}

/// Shares of the rows whose maxima these entries attain, where any lane does; their number.
template <class Real, bool has_nan>
SIGHTLINE_INLINE std::int64_t list_attained(Vec<Real> mine, const Real* most, const Real* share,
                                            const std::int32_t* readers, std::int64_t count, std::int64_t width,
                                            Real* terms) {
  constexpr int lanes = Lanes<Real>::count;
  Real* to = terms;
  for (std::int64_t a = 0; a < count; ++a) {
    const std::int64_t row = readers[a] * width;
    const Vec<Real> top = load<Real>(most + row), part = load<Real>(share + row);
#if defined(SIGHTLINE_USE_AVX512)
    if constexpr (sizeof(Real) == 4 && !has_nan) {
      const __mmask16 attains = _mm512_cmp_ps_mask(mine, top, _CMP_EQ_OQ);
      store<Real>(to, _mm512_maskz_mov_ps(attains, part));
      to += attains != 0 ? lanes : 0;
      continue;
    }
#endif
    const auto attains = has_nan ? (mine == top) | ((mine != mine) & (top != top)) : mine == top;
    store<Real>(to, attains ? part : Vec<Real>{});
    to += any_of<Real>(attains) * lanes;
  }
  return (to - terms) / lanes;
}

/// What the readers (rows of `most` and `share`) of one read send it, added up in their order, or without an order. Those that
/// it does not attain send nothing and are left out: few remain. terms: space for count vectors.
template <class Real>
void sum_attained(const Real* value, const Real* most, const Real* share, const std::int32_t* readers,
                  std::int64_t count, std::int64_t width, bool is_free, Real* terms, Real* to, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes) {
    const Vec<Real> mine = load<Real>(value + k);
    const std::int64_t found = any_differs<Real>(mine, mine)
                                   ? list_attained<Real, true>(mine, most + k, share + k, readers, count, width, terms)
                                   : list_attained<Real, false>(mine, most + k, share + k, readers, count, width, terms);
    if (!is_free) {
      Vec<Real> sum{};
      for (std::int64_t a = 0; a < found; ++a)
        sum += load<Real>(terms + a * lanes);
      store<Real>(to + k, sum);
    } else if (!free_columns(terms, found, to + k)) {
      Arena arena(workspace);
      FreeSums<Real> sums(arena, lanes);
      sums.collect(terms, lanes, nullptr, nullptr, static_cast<int>(found));
      sums.finish(Real(1), false, to + k);
    }
  }
  for (; k < width; ++k) {
    std::int64_t found = 0;
    for (std::int64_t a = 0; a < count; ++a) {
      const Real top = most[readers[a] * width + k];
      if (value[k] == top || (value[k] != value[k] && top != top))
        terms[found++] = share[readers[a] * width + k];
    }
    Real sum = 0;
    for (std::int64_t a = 0; a < found; ++a)
      sum += terms[a];
    to[k] = is_free && found > 0 ? free_total<Real>(terms, found) : sum;
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
