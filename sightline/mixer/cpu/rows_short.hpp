// Neighbouring rows with equally many reads, few each (rings, stars, circulants): a vector of rows at a time. Scores lie
// one row per lane, so maxima, exponentials and sums of a whole group are single vectors; keys and values are read where
// they lie. Every number is made by the same operations in the same order as where rows are taken one by one.
#pragma once

#include "sightline/mixer/cpu/row_parts.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

inline constexpr int most_short = most_arcs / 16; // reads of a row of a group; a group has at most 16 rows

/// Rows begin .. end - 1 of the list with equally many arcs (and sums that end at the same places).
struct ShortRows {
  std::int64_t end = 0;
  int arcs = 0; ///< of every row, 0: they are not to be taken together
};

inline ShortRows find_short_rows(const SparseRows& list, std::int64_t begin, std::int64_t end) {
  constexpr int fewest = 4;
  const std::int64_t arcs = list.offsets[begin + 1] - list.offsets[begin], last = list.ends[begin] < end ? list.ends[begin] : end;
  return {last, arcs > 0 && arcs <= most_short && last - begin >= fewest ? static_cast<int>(arcs) : 0};
}

/// Calls few(begin, end, arcs) for stretches of short rows and others(begin, end) for what lies between them.
template <class Few, class Others>
SIGHTLINE_INLINE void for_row_stretches(const SparseRows& list, std::int64_t begin, std::int64_t end, Few few,
                                        Others others) {
  std::int64_t from = begin; // others that wait
  for (std::int64_t row = begin; row < end;) {
    const ShortRows found = find_short_rows(list, row, end);
    if (found.arcs > 0) {
      if (from < row)
        others(from, row);
      few(row, found.end, found.arcs);
      from = found.end;
    }
    row = found.end;
  }
  if (from < end)
    others(from, end);
}

template <class Real> bool are_rows_plain(const Rule<Real>& rule, const Head<Real>& head) {
  return rule.prepare == Prepare::nothing && rule.weight != Weight::features && rule.weight != Weight::program &&
         head.offset_bias == nullptr && head.colours == nullptr && head.reader_cut_begin >= head.reader_cut_end &&
         head.read_cut_begin >= head.read_cut_end;
}

/// Calls f with the number of arcs of a row as a constant, 0 where it is none of the usual ones.
template <class Function> SIGHTLINE_INLINE void with_arcs(int arcs, Function f) {
  switch (arcs) {
  case 2: return f(Constant<2>{});
  case 3: return f(Constant<3>{});
  case 4: return f(Constant<4>{});
  case 5: return f(Constant<5>{});
  default: return f(Constant<0>{});
  }
}

inline constexpr int rows_written_ahead = 8;
inline constexpr int short_vectors = 4; // taken at once; the width of short rows is a multiple of it

/// Rows group .. group + rows - 1 of a list, `arcs` each; `vectors` whole vectors wide.
struct ShortGroup {
  const SparseRows& list;
  std::int64_t group;
  int rows, arcs, vectors;
  std::int64_t ahead = 0; ///< where arrays come from memory: what a row so many rows on reads is fetched
  bool far = false;       ///< Head::far: instead, what comes some reads on (for_arcs)
  [[nodiscard]] const std::int32_t* columns(int i) const { return list.columns + list.offsets[group] + std::int64_t{i} * arcs; }
  [[nodiscard]] std::int64_t known(int i) const { return far ? list.offsets[list.count] - list.offsets[group] - std::int64_t{i} * arcs : 0; }
  [[nodiscard]] bool fetches(int i) const { return ahead > 0 && group + i + ahead < list.count; }
};

/// As for_arcs() does, all of a row at once.
template <class Real>
SIGHTLINE_APART void fetch_far_reads(const ShortGroup& group, int i, const Real* base, std::ptrdiff_t stride, std::int64_t width) {
  const std::int32_t* const columns = group.columns(i);
  for (int a = 0; a < group.arcs && a + reads_fetched_ahead < group.known(i); ++a)
    prefetch_far<Real>(base + columns[a + reads_fetched_ahead] * stride, width);
  __asm__ volatile(""); // else GCC finds that this does nothing, and leaves calls out
}

/// The last that a row some rows on reads of `base`: rows mostly read near the row before. Where they do not, as many reads as
/// this row has, of those that come some on; rows of more than a few look ahead themselves. Every array is fetched where it
/// is used, a row at a time: all of them in one place are more lines at once than a core can wait for.
template <class Real>
SIGHTLINE_INLINE void fetch_read(const ShortGroup& group, int i, const Real* base, std::ptrdiff_t stride, std::int64_t width) {
  const SparseRows& list = group.list;
  if (group.far)
    fetch_far_reads<Real>(group, i, base, stride, width);
  else
    prefetch_far<Real>(base + list.columns[list.offsets[group.group + i + group.ahead + 1] - 1] * stride, width);
}

/// Products of scale times the group's rows of `fixed` with what they read of `base`, not yet added up over lanes: those of
/// row i and its arc a at parts[(a * lanes + i) * lanes], 0 for rows that are not there.
template <class Real>
SIGHTLINE_APART void short_products(const ShortGroup& group, bool distance, const Real* fixed,
                                    std::ptrdiff_t fixed_stride, Real scale, const Real* base, std::ptrdiff_t stride,
                                    Real* parts, bool fetches_fixed) {
  constexpr int lanes = Lanes<Real>::count, apart = lanes * lanes;
  for (int k = group.rows * lanes; k < apart; ++k) {
    for (int a = 0; a < group.arcs; ++a)
      parts[a * apart + k] = 0;
  }
  const auto run = [&](auto of_row, auto add) {
    constexpr int arcs = decltype(of_row)::value;
    const std::int32_t *row = group.list.rows + group.group, *columns = group.columns(0);
    const int width = group.vectors * lanes; // all in locals: stores of vectors might be to anything else
    const std::int32_t* const end = row + group.rows;
    for (int i = 0; row != end; ++row, ++i, columns += arcs > 0 ? arcs : group.arcs, parts += lanes) {
      const Real* const left_row = fixed + *row * fixed_stride;
      if (group.fetches(i)) {
        if (fetches_fixed)
          prefetch_far<Real>(fixed + group.list.rows[group.group + i + group.ahead] * fixed_stride, width);
        if (arcs > 0 || !group.far)
          fetch_read<Real>(group, i, base, stride, width);
      }
      if constexpr (arcs > 0) { // side by side: as many chains as arcs
        const Real* rows[arcs];
        Vec<Real> sums[arcs];
#pragma GCC unroll 8
        for (int a = 0; a < arcs; ++a) {
          rows[a] = base + columns[a] * stride;
          sums[a] = Vec<Real>{};
        }
        for (int first = 0; first < width; first += short_vectors * lanes) {
#pragma GCC unroll 8
          for (int v = 0; v < short_vectors; ++v) {
            const int k = first + v * lanes;
            const Vec<Real> left = load<Real>(left_row + k) * splat<Real>(scale);
#pragma GCC unroll 8
            for (int a = 0; a < arcs; ++a)
              sums[a] = add(left, load<Real>(rows[a] + k), sums[a]);
          }
        }
#pragma GCC unroll 8
        for (int a = 0; a < arcs; ++a)
          store<Real>(parts + a * apart, sums[a]);
      } else {
        partial_products<Real>(group.vectors, distance, left_row, scale, base, stride, width, columns, group.arcs, parts, apart,
                               group.known(i));
      }
    }
  };
  with_arcs(group.arcs, [&](auto arcs) {
    if (!distance) {
      run(arcs, [](Vec<Real> left, Vec<Real> right, Vec<Real> sum) { return fma(left, right, sum); });
      return;
    }
    run(arcs, [](Vec<Real> left, Vec<Real> right, Vec<Real> sum) {
      const Vec<Real> difference = left - right;
      return fma(difference, difference, sum);
    });
  });
}

/// The sums of a group: to the row of `to` that the list names = factor times the sum over arcs of weights times what is
/// read of `base`, in the order that marks ask for; then always without -0 and NaN of several kinds, else if `clean`.
template <class Real> struct ShortSums {
  const Real* base;
  std::ptrdiff_t stride;
  const Real* weights; ///< of row i and its arc a at [i * row_apart + a * apart]
  std::ptrdiff_t row_apart;
  int apart;
  const Real* factors; ///< of every row, or null: `factor`
  Real factor;
  bool clean, past; ///< past: `to` need not stay in the caches
  Real* to;
  std::ptrdiff_t to_stride;
  bool fetches = false; ///< `base`, which is read here first
  const Real* next = nullptr; ///< what is read of `base` behind this call: so many rows of it are fetched
  std::int64_t next_rows = 0;
};

template <class Real>
SIGHTLINE_INLINE void fetch_for_sums(const ShortGroup& group, const ShortSums<Real>& sums, int i, std::int64_t width) {
  if (sums.fetches && group.fetches(i))
    fetch_read<Real>(group, i, sums.base, sums.stride, width);
  if (i < sums.next_rows)
    prefetch_far<Real>(sums.next + i * sums.stride, width);
}

/// Whether marks are those of sums to either side, half of the reads each, unless an antipode is read; or none at all.
enum class Sides { none, halves, other };
inline Sides find_sides(const ShortGroup& group) {
  if (group.list.marks == nullptr)
    return Sides::none;
  const std::uint8_t* const marks = group.list.marks + group.list.offsets[group.group];
  const int half = group.arcs / 2;
  bool none = true, halves = true;
  for (int a = 0; a < group.arcs; ++a) {
    none = none && marks[a] == 0;
    halves = halves && marks[a] == (a == half - 1 ? 1 : a == 2 * half - 1 ? 2 : 0);
  }
  return none ? Sides::none : halves ? Sides::halves : Sides::other;
}

template <class Real, int arcs, Sides sides, bool clean, bool past>
SIGHTLINE_INLINE void sum_short_as(const ShortGroup& group, const ShortSums<Real>& sums) {
  constexpr int lanes = Lanes<Real>::count, half = arcs / 2;
  // All in locals: stores of vectors might be to anything else.
  const Real *const base = sums.base, *const factors = sums.factors, *weights = sums.weights;
  const std::int32_t *const list_rows = group.list.rows + group.group, *columns = group.columns(0);
  Real* const to_base = sums.to;
  const std::ptrdiff_t stride = sums.stride, row_apart = sums.row_apart, to_stride = sums.to_stride;
  const int apart = sums.apart, width = group.vectors * lanes, count = group.rows;
  const Real same = sums.factor;
  constexpr bool halves = sides == Sides::halves;
  int marks[arcs];
  for (int a = 0; a < arcs && sides == Sides::other; ++a)
    marks[a] = group.list.marks[group.list.offsets[group.group] + a];
  for (int i = 0; i < count; ++i, weights += row_apart, columns += arcs) {
    if constexpr (past)
      fetch_for_sums(group, sums, i, width);
    const Vec<Real> factor = splat<Real>(factors != nullptr ? factors[i] : same);
    const Real* rows[arcs];
    Vec<Real> weight[arcs];
#pragma GCC unroll 8
    for (int a = 0; a < arcs; ++a) {
      rows[a] = base + columns[a] * stride;
      weight[a] = splat<Real>(weights[a * apart]);
    }
    Real* const to = to_base + list_rows[i] * to_stride;
    for (int first = 0; first < width; first += short_vectors * lanes) {
      if constexpr (!past) { // lines are fetched before they are written to, and stores wait for each other
#pragma GCC unroll 8
        for (int byte = 0; byte < short_vectors * SIGHTLINE_SIMD_BYTES; byte += 64)
          __builtin_prefetch(reinterpret_cast<const char*>(to + rows_written_ahead * to_stride + first) + byte, 1);
      }
#pragma GCC unroll 8
      for (int v = 0; v < short_vectors; ++v) {
        const int k = first + v * lanes;
        Vec<Real> sum{}, kept{};
#pragma GCC unroll 8
        for (int a = 0; a < arcs; ++a) {
          sum = fma(weight[a], load<Real>(rows[a] + k), sum);
          if (halves ? a == half - 1 : sides == Sides::other && marks[a] == 1) {
            kept = sum;
            sum = Vec<Real>{};
          } else if (halves ? a == 2 * half - 1 : sides == Sides::other && marks[a] == 2) {
            sum += kept;
          }
        }
        sum = sum * factor;
        sum = clean ? canonical<Real>(sum) : sum;
        if constexpr (past)
          stream<Real>(to + k, sum);
        else
          store<Real>(to + k, sum);
      }
    }
  }
}

template <class Real> SIGHTLINE_APART void sum_short(const ShortGroup& group, const ShortSums<Real>& sums) {
  const Sides sides = find_sides(group);
  const bool clean = sums.clean || group.list.marks != nullptr;
  const bool past = sums.past && can_stream<Real>(sums.to) && can_stream<Real>(sums.to + sums.to_stride);
  with_arcs(group.arcs, [&](auto of_row) {
    constexpr int arcs = decltype(of_row)::value;
    if constexpr (arcs > 0) {
      const auto run = [&]<Sides as, bool cleans>() {
        past ? sum_short_as<Real, arcs, as, cleans, true>(group, sums) : sum_short_as<Real, arcs, as, cleans, false>(group, sums);
      };
      if (sides == Sides::other)
        sum_short_as<Real, arcs, Sides::other, true, false>(group, sums);
      else if (sides == Sides::halves)
        run.template operator()<Sides::halves, true>();
      else
        clean ? run.template operator()<Sides::none, true>() : run.template operator()<Sides::none, false>();
      return;
    }
    const std::int64_t width = std::int64_t{group.vectors} * Lanes<Real>::count;
    for (int i = 0; i < group.rows; ++i) {
      if (!group.far)
        fetch_for_sums(group, sums, i, width);
      const Real* const weights = sums.weights + i * sums.row_apart;
      const Real factor = sums.factors != nullptr ? sums.factors[i] : sums.factor;
      Real* const to = sums.to + group.list.rows[group.group + i] * sums.to_stride;
      if (group.list.marks != nullptr) {
        add_rows_marked<Real>(group.vectors, sums.base, sums.stride, width, group.columns(i), weights,
                              group.list.marks + group.list.offsets[group.group], group.arcs, factor, to, sums.apart);
        continue;
      }
      add_rows<Real>(group.vectors, sums.base, sums.stride, width, group.columns(i), weights, group.arcs, false, factor, to,
                     sums.apart, group.known(i));
      if (clean)
        make_canonical<Real>(to, width);
    }
  });
}

/// Sum over arcs of term(a), a vector of rows each, in the order that marks ask for.
template <class Real, class Term>
SIGHTLINE_INLINE Vec<Real> sum_arcs(const std::uint8_t* marks, int arcs, Term term) {
  Vec<Real> sum{}, kept{};
  for (int a = 0; a < arcs; ++a) {
    sum += term(a);
    if (marks != nullptr && marks[a] == 1) {
      kept = sum;
      sum = Vec<Real>{};
    } else if (marks != nullptr && marks[a] == 2) {
      sum += kept;
    }
  }
  return sum;
}

/// Weights of a group for later, [arc][row]: vectors where the group is whole.
template <class Real> SIGHTLINE_INLINE void leave_weights(const ShortGroup& group, const Real* weights, Vec<Real> factor, Real* left) {
  constexpr int lanes = Lanes<Real>::count;
  for (int a = 0; a < group.arcs; ++a) {
    const Vec<Real> weight = load<Real>(weights + a * lanes) * factor;
    for (int i = 0; i < group.rows && group.rows < lanes; ++i)
      left[a * group.rows + i] = weight[i];
    if (group.rows == lanes)
      store<Real>(left + a * lanes, weight);
  }
}
template <class Real> SIGHTLINE_INLINE void take_weights(const ShortGroup& group, const Real* left, Real* weights) {
  constexpr int lanes = Lanes<Real>::count;
  for (int a = 0; a < group.arcs; ++a) {
    Vec<Real> weight{};
    for (int i = 0; i < group.rows && group.rows < lanes; ++i)
      weight[i] = left[a * group.rows + i];
    store<Real>(weights + a * lanes, group.rows == lanes ? load<Real>(left + a * lanes) : weight);
  }
}

/// Numbers of a group, [arc][row] as vectors hold them, to where the list has its arcs: [row][arc].
template <class Real> SIGHTLINE_INLINE void keep_short(const ShortGroup& group, const Real* numbers, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  to += group.list.offsets[group.group];
  with_arcs(group.arcs, [&](auto of_row) {
    constexpr int arcs = decltype(of_row)::value;
    if constexpr (arcs > 0) {
      if (group.rows == lanes) {
        interleave<Real, arcs>(numbers, to);
        return;
      }
    }
    const int count = arcs > 0 ? arcs : group.arcs;
    for (int i = 0; i < group.rows; ++i, to += count) {
      for (int a = 0; a < count; ++a)
        to[a] = numbers[a * lanes + i];
    }
  });
}

/// Rows begin .. end - 1 of the list, `arcs` each.
template <class Real>
void forward_short_rows(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                        std::int64_t end, int arcs, ArcSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const bool exponents = is_exponent(rule.weight);
  const std::uint8_t* const marks = list.marks == nullptr ? nullptr : list.marks + list.offsets[begin];
  const Vec<Real> start = splat<Real>(!exponents       ? Real(0)
                                      : rule.has_extra ? round_up_to_integer(rule.extra)
                                                       : no_exponent<Real>);
  for (std::int64_t first = begin; first < end; first += lanes) {
    const ShortGroup group{list, first, static_cast<int>(end - first < lanes ? end - first : lanes), arcs, space.vectors,
                           head.past ? rows_fetched_ahead : 0, head.far};
    Real factors[lanes], tops[lanes];
    Real* const waiting = head.waiting == nullptr ? nullptr : head.waiting + (list.offsets[first] - list.offsets[head.waiting_row]);
    const auto sum = [&] {
      sum_short<Real>(group, {head.value, head.value_stride, space.scores, 1, lanes, factors, Real(1), rule.canonical,
                              head.past, head.out, head.out_stride, true});
    };
    if (waiting != nullptr && head.of_values) {
      take_weights<Real>(group, waiting, space.scores);
      for (int i = 0; i < group.rows; ++i)
        factors[i] = head.waiting_factors[first - head.waiting_row + i];
      sum();
      continue;
    }
    short_products<Real>(group, rule.score == Score::distance, head.query, head.query_stride, rule.query_scale,
                         head.key, head.key_stride, space.parts, true);
    add_parts<Real>(space.parts, arcs * lanes, space.scores);
    Vec<Real> most = start;
    if (exponents) {
      find_arc_exponents<Real>(rule, arcs * lanes, space.scores);
      for (int a = 0; a < arcs; ++a)
        most = larger(load<Real>(space.scores + a * lanes), most);
      most = -round_down<Real>(-most);
    }
    for (int a = 0; a < arcs; ++a) {
      const Vec<Real> s = load<Real>(space.scores + a * lanes);
      store<Real>(space.scores + a * lanes,
                  exponents ? exp2_shifted<Real>(s, most) : weight_alone<Real>(rule, s));
    }
    Vec<Real> factor = splat<Real>(1);
    if (rule.normalised) {
      Vec<Real> below = sum_arcs<Real>(marks, arcs, [&](int a) { return load<Real>(space.scores + a * lanes); });
      if (rule.has_extra)
        below += exp2<Real>(splat<Real>(rule.extra) - most);
      factor = below == Vec<Real>{} ? Vec<Real>{} : splat<Real>(1) / below;
    } else if (exponents) {
      factor = exp2<Real>(most);
    }
    store<Real>(factors, factor);
    store<Real>(tops, most);
    if (waiting != nullptr) {
      leave_weights<Real>(group, space.scores, splat<Real>(1), waiting);
      for (int i = 0; i < group.rows; ++i)
        head.waiting_factors[first - head.waiting_row + i] = factors[i];
    } else {
      sum();
    }
    if (head.arc_weights != nullptr) { // backward needs nothing else
      leave_weights<Real>(group, space.scores, factor, head.arc_weights + list.offsets[first]);
      continue;
    }
    for (int i = 0; i < group.rows && head.statistics != nullptr; ++i) {
      head.statistics[list.rows[first + i] * 2] = tops[i];
      head.statistics[list.rows[first + i] * 2 + 1] = factors[i];
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
