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
  const std::int64_t first = list.offsets[begin], arcs = list.offsets[begin + 1] - first;
  std::int64_t last = begin + 1;
  const auto is_alike = [&](std::int64_t row) {
    if (list.offsets[row + 1] - list.offsets[row] != arcs)
      return false;
    for (std::int64_t a = 0; list.marks != nullptr && a < arcs; ++a) {
      if (list.marks[list.offsets[row] + a] != list.marks[first + a])
        return false;
    }
    return true;
  };
  while (last < end && is_alike(last))
    ++last;
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

/// Products of scale * fixed with the rows of columns, not yet added up over lanes, parts[a * apart]. arcs: `count` where
/// it is known, or 0.
template <class Real, int vectors, int arcs>
SIGHTLINE_INLINE void short_products(bool distance, const Real* fixed, Real scale, const Real* base,
                                     std::ptrdiff_t stride, const std::int32_t* columns, int count, int apart,
                                     Real* parts) {
  constexpr int lanes = Lanes<Real>::count;
  const auto add = [&](Vec<Real> left, Vec<Real> right, Vec<Real> sum) {
    if (!distance)
      return fma(left, right, sum);
    const Vec<Real> difference = left - right;
    return fma(difference, difference, sum);
  };
  if constexpr (arcs > 0) { // side by side: as many chains as arcs
    const Real* rows[arcs];
    Vec<Real> sums[arcs];
#pragma GCC unroll 8
    for (int a = 0; a < arcs; ++a) {
      rows[a] = base + columns[a] * stride;
      sums[a] = Vec<Real>{};
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const Vec<Real> left = load<Real>(fixed + v * lanes) * splat<Real>(scale);
#pragma GCC unroll 8
      for (int a = 0; a < arcs; ++a)
        sums[a] = add(left, load<Real>(rows[a] + v * lanes), sums[a]);
    }
#pragma GCC unroll 8
    for (int a = 0; a < arcs; ++a)
      store<Real>(parts + a * apart, sums[a]);
  } else {
    partial_products<Real, vectors>(distance, fixed, scale, base, stride, vectors * lanes, columns, count, parts, apart);
  }
}

/// to = sum over arcs of weights[a * apart] times the row of columns[a], times factor, in the order that marks ask for.
/// past: `to` need not stay in the caches, and lies at a multiple of a vector.
template <class Real, int vectors, int arcs, bool marked, bool past = false>
SIGHTLINE_INLINE void short_sum(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                const Real* weights, int apart, const std::uint8_t* marks, int count, Real factor,
                                bool clean, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  if constexpr (arcs > 0) {
    const Real* rows[arcs];
    Vec<Real> weight[arcs];
    int mark[arcs];
#pragma GCC unroll 8
    for (int a = 0; a < arcs; ++a) {
      rows[a] = base + columns[a] * stride;
      weight[a] = splat<Real>(weights[a * apart]);
      mark[a] = marked ? marks[a] : 0;
    }
    constexpr int half = arcs / 2; // reads on either side, unless an antipode is read
    const auto mark_of_sides = [](int a) { return a == half - 1 ? 1 : a == 2 * half - 1 ? 2 : 0; };
    const auto run = [&](auto mark_at) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        Vec<Real> sum{}, kept{};
#pragma GCC unroll 8
        for (int a = 0; a < arcs; ++a) {
          sum = fma(weight[a], load<Real>(rows[a] + v * lanes), sum);
          if (marked && mark_at(a) == 1) {
            kept = sum;
            sum = Vec<Real>{};
          } else if (marked && mark_at(a) == 2) {
            sum += kept;
          }
        }
        const Vec<Real> raw = sum * splat<Real>(factor), result = clean ? canonical<Real>(raw) : raw;
        if constexpr (past)
          stream<Real>(to + v * lanes, result);
        else
          store<Real>(to + v * lanes, result);
      }
    };
    bool is_usual = true;
    for (int a = 0; a < arcs; ++a)
      is_usual = is_usual && mark[a] == mark_of_sides(a);
    if (!marked || is_usual)
      run(mark_of_sides);
    else
      run([&](int a) { return mark[a]; });
  } else {
    if constexpr (marked) {
      add_rows_marked<Real, vectors>(base, stride, vectors * lanes, columns, weights, marks, count, factor, to, apart);
    } else {
      add_rows<Real, vectors>(base, stride, vectors * lanes, columns, weights, count, false, factor, to, apart);
      if (clean)
        make_canonical<Real>(to, vectors * lanes);
    }
  }
}

/// Calls f with the number of arcs of a row as a constant, 0 where it is none of the usual ones.
template <class Function> SIGHTLINE_INLINE auto with_arcs(int arcs, Function f) {
  switch (arcs) {
  case 2: return f(Constant<2>{});
  case 3: return f(Constant<3>{});
  case 4: return f(Constant<4>{});
  case 5: return f(Constant<5>{});
  default: return f(Constant<0>{});
  }
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

/// Fetches what a row some rows on is the first to need: its query (and gradient of its output), and the last that it reads,
/// for rows mostly read near the row before. Called where rows are written: nothing else is loaded from memory then.
template <class Real>
SIGHTLINE_INLINE void fetch_row_ahead(const Head<Real>& head, const SparseRows& list, std::int64_t row, std::int64_t end,
                                      const Real* gradient = nullptr, std::ptrdiff_t gradient_stride = 0) {
  const std::int64_t soon = row + rows_fetched_ahead;
  if (soon >= end)
    return;
  const std::int64_t reader = list.rows[soon], read = list.columns[list.offsets[soon + 1] - 1];
  prefetch_far<Real>(head.query + reader * head.query_stride, head.width);
  prefetch_far<Real>(head.key + read * head.key_stride, head.width);
  prefetch_far<Real>(head.value + read * head.value_stride, head.value_width);
  if (gradient != nullptr)
    prefetch_far<Real>(gradient + reader * gradient_stride, head.value_width);
}

/// Rows begin .. end - 1 of the list, `arcs` each.
template <class Real, int vectors, int fixed_arcs>
void forward_short_rows_of(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                           std::int64_t end, int arcs, ArcSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const bool exponents = is_exponent(rule.weight);
  const std::uint8_t* const marks = list.marks == nullptr ? nullptr : list.marks + list.offsets[begin];
  const Vec<Real> start = splat<Real>(!exponents       ? Real(0)
                                      : rule.has_extra ? round_up_to_integer(rule.extra)
                                                       : no_exponent<Real>);
  for (std::int64_t group = begin; group < end; group += lanes) {
    const int rows = static_cast<int>(end - group < lanes ? end - group : lanes);
    const std::int32_t* const columns = list.columns + list.offsets[group];
    for (int k = rows * lanes; k < lanes * lanes; ++k) { // rows that are not there
      for (int a = 0; a < arcs; ++a)
        space.parts[a * lanes * lanes + k] = 0;
    }
    for (int i = 0; i < rows; ++i) {
      const std::int64_t row = list.rows[group + i];
      short_products<Real, vectors, fixed_arcs>(rule.score == Score::distance, head.query + row * head.query_stride,
                                    rule.query_scale, head.key, head.key_stride, columns + i * arcs, arcs,
                                    lanes * lanes, space.parts + i * lanes);
    }
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
                  exponents ? exp2_shifted<Real>(s, most) : weight_alone<Real>(rule.weight, s));
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
    Real factors[lanes], tops[lanes];
    store<Real>(factors, factor);
    store<Real>(tops, most);
    for (int i = 0; i < rows; ++i) {
      const std::int64_t row = list.rows[group + i];
      Real* const out = head.out + row * head.out_stride;
      const auto sum = [&](auto marked, auto past) {
        constexpr bool in_parts = decltype(marked)::value != 0;
        short_sum<Real, vectors, fixed_arcs, in_parts, decltype(past)::value != 0>(
            head.value, head.value_stride, columns + i * arcs, space.scores + i, lanes, marks, arcs, factors[i],
            in_parts || rule.canonical, out);
      };
      const bool past = head.past && can_stream<Real>(out);
      if (past)
        fetch_row_ahead(head, list, group + i, end);
      if (marks != nullptr)
        past ? sum(Constant<1>{}, Constant<1>{}) : sum(Constant<1>{}, Constant<0>{});
      else
        past ? sum(Constant<0>{}, Constant<1>{}) : sum(Constant<0>{}, Constant<0>{});
      if (head.statistics != nullptr) {
        head.statistics[row * 2] = tops[i];
        head.statistics[row * 2 + 1] = factors[i];
      }
    }
  }
}

template <class Real, int vectors>
void forward_short_rows(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                        std::int64_t end, int arcs, ArcSpace<Real>& space) {
  with_arcs(arcs, [&](auto fixed) {
    forward_short_rows_of<Real, vectors, decltype(fixed)::value>(rule, head, list, begin, end, arcs, space);
  });
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
