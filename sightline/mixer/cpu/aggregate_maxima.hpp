// Maxima in exact mode, backward: every read that attains a row's maximum gets an equal share of its gradient, and what a
// read gets is added up in the order that its group has, or in none.
#pragma once

#include "sightline/mixer/cpu/aggregate_rows.hpp"
#include "sightline/mixer/cpu/free_sum.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Of `vectors` vectors of a row's entries from k on: the maxima, and `grad` over the number of reads that attain each. No
/// read is NaN.
template <class Real, int vectors>
SIGHTLINE_INLINE void share_entries(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                    std::int64_t count, std::int64_t k, const Real* grad, Real* most, Real* share) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> top[vectors];
  IntVec<Real> number[vectors] = {}; // less by one for every read that attains it
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
    top[v] = load<Real>(base + columns[0] * stride + k + v * lanes);
  for (std::int64_t a = 1; a < count; ++a) {
    const Real* const row = base + columns[a] * stride + k;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      top[v] = larger(load<Real>(row + v * lanes), top[v]);
  }
  for (std::int64_t a = 0; a < count; ++a) {
    const Real* const row = base + columns[a] * stride + k;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      number[v] += (IntVec<Real>)(load<Real>(row + v * lanes) == top[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    const Vec<Real> readers = __builtin_convertvector(-number[v], Vec<Real>);
    store<Real>(most + k + v * lanes, top[v]);
    store<Real>(share + k + v * lanes, load<Real>(grad + k + v * lanes) / readers);
  }
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

/// A row's maxima, and `grad` over the number of its reads (columns) that attain each. NaN attains a maximum that is NaN;
/// has_nan: some read may be.
template <class Real>
void share_maxima(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, std::int64_t count,
                  std::int64_t width, const Real* grad, bool has_nan, Real* most, Real* share) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t k = 0;
  for (; !has_nan && k + 4 * lanes <= width; k += 4 * lanes)
    share_entries<Real, 4>(base, stride, columns, count, k, grad, most, share);
  for (; !has_nan && k + lanes <= width; k += lanes)
    share_entries<Real, 1>(base, stride, columns, count, k, grad, most, share);
  for (; k < width; ++k)
    share_entry<Real>(base, stride, columns, count, k, grad, most, share);
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
    to += any_lane<Real>(attains) * lanes;
  }
  return (to - terms) / lanes;
}

/// The sum of those shares in the readers' order, or several sums (marks, see SparseRows), `vectors` vectors from entry k on.
template <class Real, int vectors, bool has_nan>
SIGHTLINE_INLINE void sum_attained_entries(const Real* value, const Real* most, const Real* share,
                                           const std::int32_t* readers, const std::uint8_t* marks, std::int64_t count,
                                           std::int64_t width, std::int64_t k, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> mine[vectors], sum[vectors] = {}, kept[vectors] = {};
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
    mine[v] = load<Real>(value + k + v * lanes);
  for (std::int64_t a = 0; a < count; ++a) {
    const std::int64_t row = readers[a] * width + k;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Vec<Real> top = load<Real>(most + row + v * lanes);
      auto attains = mine[v] == top;
      if constexpr (has_nan)
        attains |= (mine[v] != mine[v]) & (top != top);
      sum[v] += (Vec<Real>)((IntVec<Real>)attains & (IntVec<Real>)load<Real>(share + row + v * lanes));
    }
    if (marks == nullptr || marks[a] == 0)
      continue;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      if (marks[a] == 1) {
        kept[v] = sum[v];
        sum[v] = Vec<Real>{};
      } else {
        sum[v] += kept[v];
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
    store<Real>(to + k + v * lanes, sum[v]);
}

/// What the readers (rows of `most` and `share`) of one read send it, added up in their order (several sums: marks), or
/// without an order. There, those that it does not attain send nothing and are left out: few remain. terms: space for count
/// vectors.
template <class Real>
void sum_attained(const Real* value, const Real* most, const Real* share, const std::int32_t* readers,
                  const std::uint8_t* marks, std::int64_t count, std::int64_t width, bool is_free, Real* terms, Real* to,
                  void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t k = 0;
  const auto has_nan = [&](int vectors) {
    Vec<Real> differs{};
    for (int v = 0; v < vectors; ++v) {
      const Vec<Real> mine = load<Real>(value + k + v * lanes);
      differs += mine * Vec<Real>{};
    }
    return any_differs<Real>(differs, differs);
  };
  for (; !is_free && k + 4 * lanes <= width; k += 4 * lanes) {
    if (has_nan(4))
      sum_attained_entries<Real, 4, true>(value, most, share, readers, marks, count, width, k, to);
    else
      sum_attained_entries<Real, 4, false>(value, most, share, readers, marks, count, width, k, to);
  }
  for (; k + lanes <= width; k += lanes) {
    if (!is_free) {
      sum_attained_entries<Real, 1, true>(value, most, share, readers, marks, count, width, k, to);
      continue;
    }
    const Vec<Real> mine = load<Real>(value + k);
    const std::int64_t found = has_nan(1)
                                   ? list_attained<Real, true>(mine, most + k, share + k, readers, count, width, terms)
                                   : list_attained<Real, false>(mine, most + k, share + k, readers, count, width, terms);
    if (!free_columns(terms, found, to + k)) {
      Arena arena(workspace);
      FreeSums<Real> sums(arena, lanes);
      sums.collect(terms, lanes, nullptr, nullptr, static_cast<int>(found));
      sums.finish(Real(1), false, to + k);
    }
  }
  for (; k < width; ++k) {
    std::int64_t found = 0;
    Real sum = 0, kept = 0;
    for (std::int64_t a = 0; a < count; ++a) {
      const Real top = most[readers[a] * width + k];
      if (value[k] == top || (value[k] != value[k] && top != top)) {
        const Real part = share[readers[a] * width + k];
        sum += part;
        if (is_free)
          terms[found++] = part;
      }
      if (is_free || marks == nullptr || marks[a] == 0)
        continue;
      if (marks[a] == 1) {
        kept = sum;
        sum = 0;
      } else {
        sum += kept;
      }
    }
    to[k] = is_free && found > 0 ? free_total<Real>(terms, found) : sum;
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
