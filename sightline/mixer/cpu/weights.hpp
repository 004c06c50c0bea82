// From scores to weights, a strip at a time.
#pragma once

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/cpu/matrix.hpp"
#include "sightline/mixer/cpu/pack.hpp"
#include "sightline/mixer/cpu/strip.hpp"
#include "sightline/mixer/cpu/strip_bias.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

constexpr bool is_exponent(Weight weight) {
  return weight == Weight::exponential || weight == Weight::exponential_root;
}
constexpr bool is_reciprocal(Weight weight) {
  return weight == Weight::reciprocal || weight == Weight::reciprocal_root;
}
/// What the derivative by the score is times, for weights of their exponent or of factor times the score, and lengths of
/// differences.
template <class Real> SIGHTLINE_INLINE Real score_chain(const Rule<Real>& rule) {
  const Real chain = is_exponent(rule.weight)     ? rule.factor * Real(0.69314718055994530942)
                     : is_reciprocal(rule.weight) ? rule.factor
                                                  : Real(1);
  return rule.score == Score::distance ? 2 * chain : chain;
}
/// The weight holds a power of two whose exponent may be any number: rows keep their largest.
constexpr bool has_exponent(Weight weight) { return is_exponent(weight) || weight == Weight::features; }

/// Far below every score and still an integer in both types: the largest exponent of a row that has none.
template <class Real> constexpr Real no_exponent = Real(-1e30F);

/// |x - y|^2 for `rows` reads against `vectors` vectors of readers, summed from differences: no cancellation between
/// near points.
template <class Real, int rows, int vectors>
SIGHTLINE_INLINE void distance_block(int depth, const Real* a, std::ptrdiff_t a_stride, const Real* b, Real* c) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum[rows][vectors] = {};
  for (int k = 0; k < depth; ++k) {
    Vec<Real> right[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v)
      right[v] = load<Real>(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vec<Real> left = splat<Real>(a[r * a_stride + k]);
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) {
        const Vec<Real> difference = right[v] - left;
        sum[r][v] = fma(difference, difference, sum[r][v]);
      }
    }
    b += tile_readers;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v)
      store<Real>(c + r * tile_readers + v * lanes, sum[r][v]);
  }
}

template <class Real>
__attribute__((noinline)) void distances(int rows, int vectors, int depth, const Real* a, std::ptrdiff_t a_stride,
                                         const Real* b, Real* c) {
  constexpr int lanes = Lanes<Real>::count, block = block_rows >= 6 && block_vectors == 4 ? 6 : 4;
  int r = 0;
  const auto take = [&]<int at_once>() SIGHTLINE_INLINE_HERE {
    for (; r + at_once <= rows; r += at_once) {
      int v = 0;
      for (; v + block_vectors <= vectors; v += block_vectors) {
        distance_block<Real, at_once, block_vectors>(depth, a + r * a_stride, a_stride, b + v * lanes,
                                                     c + r * tile_readers + v * lanes);
      }
      for (; v < vectors; ++v)
        distance_block<Real, at_once, 1>(depth, a + r * a_stride, a_stride, b + v * lanes, c + r * tile_readers + v * lanes);
    }
  };
  take.template operator()<block>();
  take.template operator()<block / 2>();
  take.template operator()<1>();
}

template <class Real>
SIGHTLINE_INLINE void score(Score kind, int rows, int vectors, int depth, const Real* keys, std::ptrdiff_t stride,
                            const Real* queries, Real* to, Ahead* ahead) {
  constexpr int stretch = 64; // queries that stay in the first cache
  if (kind == Score::dot && depth <= 2 * stretch) {
    multiply<Real, Along::k>(rows, vectors, depth, keys, stride, queries, tile_readers, to, tile_readers, false, ahead);
  } else if (kind == Score::dot) {
    for (int k = 0; k < depth; k += stretch) {
      multiply<Real, Along::k>(rows, vectors, depth - k < stretch ? depth - k : stretch, keys + k, stride,
                               queries + k * tile_readers, tile_readers, to, tile_readers, k > 0, ahead);
    }
  } else
    distances<Real>(rows, vectors, depth, keys, stride, queries, to);
}

/// Calls f(first, count, range) for stretches of columns whose readers lie in the same range, by `step` lanes.
template <int step, class Function> SIGHTLINE_INLINE void for_ranges(const Strip& strip, Function f) {
  int first = 0;
  LaneRange range;
  for (int c = 0; c < strip.count; c += block_rows) {
    std::uint64_t mask = 0;
    for (int i = c; i < strip.count && i < c + block_rows; ++i)
      mask |= strip.masks[i];
    const LaneRange here = find_range<step>(mask);
    if (c > 0 && !(here == range)) {
      f(first, c - first, range);
      first = c;
    }
    range = here;
  }
  f(first, strip.count - first, range);
}

/// The scores of a strip; lanes in vectors that nobody reads are left as they are.
template <class Real>
SIGHTLINE_INLINE void score_strip(Score kind, const Strip& strip, int readers, std::int64_t width, const Real* keys,
                                  std::ptrdiff_t stride, const Real* queries, Real* to, Ahead* ahead) {
  constexpr int lanes = Lanes<Real>::count;
  const int vectors = (readers + lanes - 1) / lanes;
  if (strip.full) {
#if defined(SIGHTLINE_USE_AVX512)
    if constexpr (sizeof(Real) == 4) {
      if (kind == Score::dot && readers > 3 * lanes && readers <= 3 * lanes + lanes / 2 && width <= 128) {
        multiply_narrow(strip.count, static_cast<int>(width), keys, stride, queries, tile_readers, to, tile_readers, ahead);
        return;
      }
    }
#endif
    score<Real>(kind, strip.count, vectors, static_cast<int>(width), keys, stride, queries, to, ahead);
    return;
  }
  for_ranges<lanes>(strip, [&](int first, int count, LaneRange range) {
    if (range.begin == range.end)
      return;
    score<Real>(kind, count, range.end - range.begin, static_cast<int>(width), keys + first * stride, stride,
                queries + range.begin * lanes, to + first * tile_readers + range.begin * lanes, ahead);
  });
}

/// C^T [width][lanes] (+)= rows^T [width][columns] times W [columns][lanes], leaving out what no lane of a vector reads: only
/// strips that are full write all of C.
template <class Real>
SIGHTLINE_INLINE void gather_strip(const Strip& strip, int vectors, std::int64_t width, const Real* rows, std::ptrdiff_t stride,
                                   const Real* weights, bool add, Real* to, Ahead* ahead) {
  constexpr int lanes = Lanes<Real>::count;
  const auto run = [&](int first, int count, int begin, int end) {
    if (strip.ordered) {
      multiply_ordered<Real, Along::rows>(static_cast<int>(width), end - begin, count, strip.order + first, rows, stride,
                                          weights + begin * lanes, tile_readers, to + begin * lanes, tile_readers, add, ahead);
      return;
    }
    multiply<Real, Along::rows>(static_cast<int>(width), end - begin, count, rows + first * stride, stride,
                                weights + first * tile_readers + begin * lanes, tile_readers, to + begin * lanes,
                                tile_readers, add, ahead);
  };
  if (strip.full) {
    run(0, strip.count, 0, vectors);
    return;
  }
  ColumnRange columns[tile_readers];
  for (int v = 0; v < vectors; ++v)
    columns[v] = find_columns<Real>(strip, v);
  // One product for all, one for each vector, or one for every stretch of columns that the same vectors read. Every product
  // loads and stores what it adds to, and with few registers single vectors take half as long again.
#if defined(SIGHTLINE_USE_AVX512)
  constexpr int load_and_store = 3, single = 0;
#else
  constexpr int load_and_store = 2, single = 1;
#endif
  constexpr int most_stretches = 12;
  const auto cost = [](int columns, int wide) { return (columns + load_and_store) * (wide * 2 + (wide % block_vectors == 1 ? single : 0)); };
  struct Stretch {
    int first, end;
    LaneRange range;
  };
  Stretch stretches[most_stretches];
  int count = 0, by_stretch = 0, by_vector = 0;
  for (int c = 0; c < strip.count && count <= most_stretches;) {
    const LaneRange range = find_range<lanes>(strip.masks[c]);
    int end = c + 1;
    while (end < strip.count && (strip.masks[end] == strip.masks[c] || find_range<lanes>(strip.masks[end]) == range))
      ++end;
    if (count < most_stretches)
      stretches[count] = {c, end, range};
    ++count;
    by_stretch += cost(end - c, range.end - range.begin);
    c = end;
  }
  for (int v = 0; v < vectors; ++v)
    by_vector += cost(columns[v].end - columns[v].begin, 1);
  const int at_once = cost(strip.count, vectors);
  if (at_once <= by_vector && (at_once <= by_stretch || count > most_stretches)) {
    run(0, strip.count, 0, vectors);
    return;
  }
  if (count <= most_stretches && by_stretch < by_vector) {
    for (int k = 0; k < count; ++k) {
      const Stretch& some = stretches[k];
      if (some.range.begin < some.range.end)
        run(some.first, some.end - some.first, some.range.begin, some.range.end);
    }
    return;
  }
  for (int v = 0; v < vectors;) {
    int end = v + 1;
    while (end < vectors && columns[end] == columns[v])
      ++end;
    if (columns[v].end > columns[v].begin)
      run(columns[v].begin, columns[v].end - columns[v].begin, v, end);
    v = end;
  }
}

/// to [count][to_stride] (+)= W^T rows for readers first .. first + count - 1 and columns begin .. end - 1 of a strip.
template <class Real>
SIGHTLINE_INLINE void multiply_reads(const Strip& strip, int first, int count, int begin, int end, std::int64_t width,
                                     const Real* rows, std::ptrdiff_t stride, const Real* weights, bool add,
                                     const Ending<Real>& ending, Real* to, std::ptrdiff_t to_stride, Ahead* ahead) {
  const auto vectors = static_cast<int>(width / Lanes<Real>::count);
  if (strip.ordered)
    multiply_ordered<Real, Along::rows>(count, vectors, end - begin, strip.order + begin, weights + first, tile_readers, rows,
                                        stride, to, to_stride, add, ahead, ending);
  else
    multiply<Real, Along::rows>(count, vectors, end - begin, weights + begin * tile_readers + first, tile_readers,
                                rows + begin * stride, stride, to, to_stride, add, ahead, ending.factors);
}

/// Of a strip that every lane reads: to [readers][to_stride] = W^T rows at once, as `ending` says, with a row per reader,
/// so that nothing need be transposed and lanes that no reader has cost nothing. The same chains as gather_strip's.
/// For vectors that divide the width. Only sums in an order of their own are made canonical here.
template <class Real>
SIGHTLINE_INLINE void gather_by_rows(const Strip& strip, int readers, std::int64_t width, const Real* rows,
                                     std::ptrdiff_t stride, const Real* weights, const Ending<Real>& ending, Real* to,
                                     std::ptrdiff_t to_stride, Ahead* ahead) {
  multiply_reads<Real>(strip, 0, readers, 0, strip.count, width, rows, stride, weights, false, ending, to, to_stride, ahead);
}

/// The same of any strip; add: joining what `to` holds, as what is not full always does. block_rows readers at a time go
/// through the columns that some of them read, so that little is multiplied by 0 where a window begins or ends. Weights of a
/// vector that reads a column are 0 where a lane does not, as are those of vectors that do not.
template <class Real>
SIGHTLINE_INLINE void gather_into_rows(const Strip& strip, int readers, std::int64_t width, const Real* rows,
                                       std::ptrdiff_t stride, const Real* weights, bool add, Real* to, Ahead* ahead) {
  constexpr int groups = (tile_readers + block_rows - 1) / block_rows, open = strip_columns + 1;
  constexpr int gap = 16; // columns that nobody reads, for which a product is not begun anew
  const auto run = [&](int group, int count, int begin, int end) {
    const int first = group * block_rows, here = count * block_rows < readers - first ? count * block_rows : readers - first;
    multiply_reads<Real>(strip, first, here, begin, end, width, rows, stride, weights, add, {}, to + first * width, width, ahead);
    ahead = nullptr;
  };
  if (strip.full) {
    run(0, groups, 0, strip.count);
    return;
  }
  int begins[groups] = {}, ends[groups] = {}; // ends: 0 before there is something
  std::uint64_t before = 0;
  for (int c = 0; c < strip.count; ++c) {
    for (std::uint64_t changes = strip.masks[c] ^ before; changes != 0;) {
      const int g = __builtin_ctzll(changes) / block_rows;
      const std::uint64_t group = ((std::uint64_t{1} << block_rows) - 1) << (g * block_rows);
      changes &= ~group;
      if ((strip.masks[c] & group) == 0) {
        ends[g] = c;
      } else if ((before & group) == 0) {
        if (ends[g] > 0 && c - ends[g] > gap)
          run(g, 1, begins[g], ends[g]);
        if (ends[g] == 0 || c - ends[g] > gap)
          begins[g] = c;
        ends[g] = open;
      }
    }
    before = strip.masks[c];
  }
  for (int g = 0; g < groups;) {
    int end = g + 1;
    while (end < groups && begins[end] == begins[g] && ends[end] == ends[g])
      ++end;
    if (ends[g] > 0)
      run(g, end - g, begins[g], ends[g] == open ? strip.count : ends[g]);
    g = end;
  }
}

/// Whether a comparison holds in any lane: 0 or 1, without a branch per lane.
template <class Real> SIGHTLINE_INLINE std::int64_t any_lane(IntVec<Real> lanes) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    return _mm512_movepi32_mask((__m512i)lanes) != 0;
  else
    return _mm512_movepi64_mask((__m512i)lanes) != 0;
#elif defined(SIGHTLINE_USE_AVX2)
  if constexpr (sizeof(Real) == 4)
    return _mm256_movemask_ps((__m256)lanes) != 0;
  else
    return _mm256_movemask_pd((__m256d)lanes) != 0;
#else
  std::int64_t halves[SIGHTLINE_SIMD_BYTES / 8];
  __builtin_memcpy(halves, &lanes, sizeof halves);
  return (halves[0] | halves[1]) != 0;
#endif
}

template <class Real> SIGHTLINE_INLINE bool any_differs(Vec<Real> a, Vec<Real> b) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ) != 0;
  else
    return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ) != 0;
#else
  return any_lane<Real>(a != b) != 0;
#endif
}

/// Scores -> exponents to base 2, -infinity where nobody reads; the largest per lane goes to `largest` ([lanes], added
/// to). Without a mask and with factor 1 only the maximum is taken.
template <class Real>
SIGHTLINE_INLINE void find_exponents(const Rule<Real>& rule, const Strip& strip, int vectors,
                                     const StripNumbers<Real>& bias, Real* scores, Real* largest) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> factor = splat<Real>(rule.factor), nothing = splat<Real>(-Real(__builtin_inff()));
  const bool root = rule.weight == Weight::exponential_root, scaled = root || rule.factor != Real(1);
  const bool biased = static_cast<bool>(bias), plain = strip.full && !scaled && !biased;
  for (int v = 0; v < vectors; ++v) {
    Vec<Real> top = load<Real>(largest + v * lanes);
    Real* const at = scores + v * lanes;
    int c = 0;
    if (plain) {
      Vec<Real> tops[4] = {top, top, top, top}; // one after the other they would wait for each other
      for (; c + 4 <= strip.count; c += 4) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
          tops[k] = larger(load<Real>(at + (c + k) * tile_readers), tops[k]);
      }
      top = larger(larger(tops[0], tops[1]), larger(tops[2], tops[3]));
      for (; c < strip.count; ++c)
        top = larger(load<Real>(at + c * tile_readers), top);
    } else {
      const ColumnRange columns = find_columns<Real>(strip, v);
      for (; c < columns.begin; ++c)
        store<Real>(at + c * tile_readers, nothing);
      const auto take = [&](auto what) SIGHTLINE_INLINE_HERE {
        for (; c < columns.end; ++c) {
          Vec<Real> s = load<Real>(at + c * tile_readers);
          s = what(s, c);
          if (!strip.full)
            s = select(strip.masks[c] >> (v * lanes), s, nothing);
          store<Real>(at + c * tile_readers, s);
          top = larger(s, top);
        }
      };
      if (!scaled && !biased) {
        take([](Vec<Real> s, int /*column*/) SIGHTLINE_INLINE_HERE { return s; });
      } else {
        take([&](Vec<Real> s, int column) SIGHTLINE_INLINE_HERE {
          if (root)
            s = square_root<Real>(s);
          if (scaled)
            s = s * factor;
          return biased ? s + bias.get(column, v * lanes) : s;
        });
      }
      for (; c < strip.count; ++c)
        store<Real>(at + c * tile_readers, nothing);
    }
    store<Real>(largest + v * lanes, top);
  }
}

/// Exponents of vector v's readers -> weights 2^(exponent - shift), which join `sum`; 0 where none of them reads. Of strips whose
/// columns come as they lie and count whole. scores: the vector's own.
template <class Real>
SIGHTLINE_INLINE Vec<Real> raise_exponents(const Strip& strip, int v, Vec<Real> shift, Vec<Real> sum, Real* scores) {
  const ColumnRange columns = find_columns<Real>(strip, v);
  for_others(strip, columns, [&](int c) { store<Real>(scores + c * tile_readers, Vec<Real>{}); });
  for (int c = columns.begin; c < columns.end; ++c) {
    const Vec<Real> weight = exp2_shifted<Real>(load<Real>(scores + c * tile_readers), shift);
    store<Real>(scores + c * tile_readers, weight);
    sum += weight;
  }
  return sum;
}

/// The exponents of features for the readers from `lane` on: the read's, and the bias.
template <class Real>
SIGHTLINE_INLINE Vec<Real> feature_exponent(const Head<Real>& head, const Strip& strip, int c, int lane,
                                            const StripNumbers<Real>& bias) {
  const Vec<Real> e = splat<Real>(head.read_exponents[strip.columns[c]]);
  return bias ? e + bias.get(c, lane) : e;
}

/// Weight::features: the largest exponent per lane goes to `largest` ([lanes], added to).
template <class Real>
SIGHTLINE_INLINE void find_feature_exponents(const Head<Real>& head, const Strip& strip, int vectors,
                                             const StripNumbers<Real>& bias, Real* largest) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> nothing = splat<Real>(-Real(__builtin_inff()));
  for (int v = 0; v < vectors; ++v) {
    Vec<Real> top = load<Real>(largest + v * lanes);
    if (strip.full && !bias) { // every lane alike
      Real most = head.read_exponents[strip.columns[0]];
      for (int c = 1; c < strip.count; ++c)
        most = head.read_exponents[strip.columns[c]] > most ? head.read_exponents[strip.columns[c]] : most;
      store<Real>(largest + v * lanes, larger(splat<Real>(most), top));
      continue;
    }
    for (int c = 0; c < strip.count; ++c) {
      const Vec<Real> e = feature_exponent<Real>(head, strip, c, v * lanes, bias);
      top = larger(strip.full ? e : select(strip.masks[c] >> (v * lanes), e, nothing), top);
    }
    store<Real>(largest + v * lanes, top);
  }
}

/// Of a reciprocal: the weight of a score, and from it its derivative by factor times the score.
template <class Real> SIGHTLINE_INLINE Vec<Real> reciprocal_weight(Weight weight, Vec<Real> factor, Vec<Real> s) {
  const Vec<Real> below = fma(factor, s, splat<Real>(1));
  return weight == Weight::reciprocal ? splat<Real>(1) / below : inverse_root<Real>(below);
}
template <class Real> SIGHTLINE_INLINE Vec<Real> reciprocal_slope(Weight weight, Vec<Real> of) {
  return weight == Weight::reciprocal ? -of * of : of * of * of * splat<Real>(Real(-0.5));
}

/// The weight of scores where it is no exponential.
template <class Real> SIGHTLINE_INLINE Vec<Real> weight_alone(const Rule<Real>& rule, Vec<Real> s) {
  if (is_reciprocal(rule.weight))
    return reciprocal_weight<Real>(rule.weight, splat<Real>(rule.factor), s);
  return rule.weight == Weight::relu_squared ? (s < splat<Real>(0) ? Vec<Real>{} : s * s) : s;
}

/// Scores -> weights that are no exponentials; 0 where nobody reads.
template <class Real>
SIGHTLINE_INLINE void find_weights(const Rule<Real>& rule, const Strip& strip, int vectors, Real* scores, Real* sums) {
  constexpr int lanes = Lanes<Real>::count;
  const bool is_plain = !strip.halved && !strip.ordered; // columns come as they lie and count whole
  for (int v = 0; v < vectors; ++v) {
    Vec<Real> sum = load<Real>(sums + v * lanes);
    const ColumnRange columns = find_columns<Real>(strip, v);
    const auto put = [&](int c, Vec<Real> weight) SIGHTLINE_INLINE_HERE {
      if (!strip.full)
        weight = select(strip.masks[c] >> (v * lanes), weight, Vec<Real>{});
      if (!is_plain)
        weight = halve<Real>(strip, c, v * lanes, weight);
      store<Real>(scores + c * tile_readers + v * lanes, weight);
      sum += weight;
    };
    const auto take = [&](auto weigh) SIGHTLINE_INLINE_HERE {
      for (int c = columns.begin; c < columns.end; ++c)
        put(c, weigh(load<Real>(scores + c * tile_readers + v * lanes)));
    };
    for_others(strip, columns, [&](int c) { store<Real>(scores + c * tile_readers + v * lanes, Vec<Real>{}); });
    if (!is_plain) {
      for (int place = 0; place < strip.count; ++place) {
        const int c = column_at(strip, place);
        if (c >= columns.begin && c < columns.end)
          put(c, weight_alone<Real>(rule, load<Real>(scores + c * tile_readers + v * lanes)));
      }
    } else {
      const Vec<Real> factor = splat<Real>(rule.factor);
      switch (rule.weight) {
      case Weight::reciprocal: take([&](Vec<Real> s) SIGHTLINE_INLINE_HERE { return reciprocal_weight<Real>(Weight::reciprocal, factor, s); }); break;
      case Weight::reciprocal_root: take([&](Vec<Real> s) SIGHTLINE_INLINE_HERE { return reciprocal_weight<Real>(Weight::reciprocal_root, factor, s); }); break;
      case Weight::relu_squared: take([](Vec<Real> s) SIGHTLINE_INLINE_HERE { return s < Vec<Real>{} ? Vec<Real>{} : s * s; }); break;
      default: take([](Vec<Real> s) SIGHTLINE_INLINE_HERE { return s; }); break;
      }
    }
    store<Real>(sums + v * lanes, sum);
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
