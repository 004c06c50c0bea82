// Readers with few reads each (rings, stars, random links) and readers that read alone what nobody near them reads
// (global tokens): one row at a time, vectors along the width. Here: what both passes are made of.
#pragma once

#include "sightline/mixer/cpu/backward_tile.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Rows that follow each other and come from memory are fetched this far ahead, into the second cache: the processor's
/// own fetching begins anew in every page, which 16 rows of 64 floats fill. Into the first cache it gains nothing.
inline constexpr int rows_fetched_ahead = 16;

/// Fetches the row of an arc that comes soon.
template <class Real>
SIGHTLINE_INLINE void fetch_ahead(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, int a,
                                  int count, std::int64_t width) {
  constexpr int ahead = 6, few = 8, far = rows_fetched_ahead, many = 512; // long rows: the caches do not hold them
  if (count > few && a + ahead < count && columns[a + ahead] - columns[a] != ahead)
    prefetch_row<Real>(base + columns[a + ahead] * stride, width);
  else if (count >= many && a + far < count && columns[a + far] - columns[a] == far)
    prefetch_far<Real>(base + columns[a + far] * stride, width);
}

/// Rows that lie here and there in an array that only the last cache, or none, holds are fetched so many reads ahead, into the
/// second cache: more lines are on their way at once than the first one waits for.
inline constexpr int reads_fetched_ahead = 48;

/// Rows are read where they lie, so.
template <class Real> SIGHTLINE_INLINE bool looks_ahead(const Rule<Real>& rule, const Head<Real>& head) {
  return head.far && rule.prepare == Prepare::nothing;
}

/// Calls work(a) for every arc of a row, and fetches rows that come soon. known: of how many reads, from the first of
/// `columns` on, it is known what they are, where they lie so; else 0.
template <class Real, class Work>
SIGHTLINE_INLINE void for_arcs(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, int count,
                               std::int64_t width, std::int64_t known, Work work) {
  if (known == 0) {
    for (int a = 0; a < count; ++a) {
      fetch_ahead<Real>(base, stride, columns, a, count, width);
      work(a);
    }
    return;
  }
  for (int a = 0; a < count; ++a) {
    if (a + reads_fetched_ahead < known)
      prefetch_far<Real>(base + columns[a + reads_fetched_ahead] * stride, width);
    work(a);
  }
}

/// Calls f with the number of whole vectors of a width as a constant: 4 or 8, or 0 for any width. What is called so is
/// compiled once, whoever asks for it: a copy in every caller would take longer to compile than to run.
template <class Function> SIGHTLINE_INLINE void with_vectors(int vectors, Function f) {
  switch (vectors) {
  case 4: return f(Constant<4>{});
  case 8: return f(Constant<8>{});
  default: return f(Constant<0>{});
  }
}

/// The number of whole vectors of both widths, where with_vectors() knows it, else 0.
template <class Real> int count_vectors(std::int64_t width, std::int64_t value_width) {
  constexpr int lanes = Lanes<Real>::count;
  return width != value_width ? 0 : width == 4 * lanes ? 4 : width == 8 * lanes ? 8 : 0;
}

/// parts[a * apart] = the products of scale * fixed with the row of columns[a], not yet added up over lanes. distance:
/// squares of differences. vectors: whole vectors of the width, 0: any width.
template <class Real, bool distance>
SIGHTLINE_APART void partial_products_as(int vectors, const Real* fixed, Real scale, const Real* base, std::ptrdiff_t stride,
                         std::int64_t width, const std::int32_t* columns, int count, Real* parts, int apart,
                         std::int64_t known) {
  constexpr int lanes = Lanes<Real>::count;
  const auto add = [](Vec<Real> left, Vec<Real> right, Vec<Real> sum) {
    if constexpr (distance) {
      const Vec<Real> difference = left - right;
      return fma(difference, difference, sum);
    } else {
      return fma(left, right, sum);
    }
  };
  with_vectors(vectors, [&](auto of_width) {
    constexpr int wide = decltype(of_width)::value;
    if constexpr (wide > 0) {
      Vec<Real> left[wide];
#pragma GCC unroll 8
      for (int v = 0; v < wide; ++v)
        left[v] = load<Real>(fixed + v * lanes) * splat<Real>(scale);
      for_arcs<Real>(base, stride, columns, count, wide * lanes, known, [&](int a) SIGHTLINE_INLINE_HERE {
        const Real* const row = base + columns[a] * stride;
        Vec<Real> sum{};
#pragma GCC unroll 8
        for (int v = 0; v < wide; ++v)
          sum = add(left[v], load<Real>(row + v * lanes), sum);
        store<Real>(parts + a * apart, sum);
      });
    } else {
      for (int a = 0; a < count; ++a) {
        const Real* const row = base + columns[a] * stride;
        Vec<Real> sum{};
        std::int64_t k = 0;
        for (; k + lanes <= width; k += lanes)
          sum = add(load<Real>(fixed + k) * splat<Real>(scale), load<Real>(row + k), sum);
        if (k < width) {
          Real one[lanes] = {}, two[lanes] = {};
          for (std::int64_t t = k; t < width; ++t) {
            one[t - k] = fixed[t];
            two[t - k] = row[t];
          }
          sum = add(load<Real>(one) * splat<Real>(scale), load<Real>(two), sum);
        }
        store<Real>(parts + a * apart, sum);
      }
    }
  });
}

template <class Real>
SIGHTLINE_INLINE void partial_products(int vectors, bool distance, const Real* fixed, Real scale, const Real* base,
                                       std::ptrdiff_t stride, std::int64_t width, const std::int32_t* columns,
                                       int count, Real* parts, int apart = Lanes<Real>::count,
                                       std::int64_t known = 0) {
  if (distance)
    partial_products_as<Real, true>(vectors, fixed, scale, base, stride, width, columns, count, parts, apart, known);
  else
    partial_products_as<Real, false>(vectors, fixed, scale, base, stride, width, columns, count, parts, apart, known);
}

/// The upper half of every vector joins the lower one, and neighbours that lie `half` apart share a vector: a
/// transposition (simd.hpp) that adds as it goes.
template <class Real, int half> SIGHTLINE_INLINE void fold_halves(Vec<Real>* rows) {
#pragma GCC unroll 16
  for (int i = 0; i < half; ++i)
    rows[i] = first_halves<Real, half>(rows[i], rows[i + half], LaneIndices<Real>()) +
              second_halves<Real, half>(rows[i], rows[i + half], LaneIndices<Real>());
  if constexpr (half > 1)
    fold_halves<Real, half / 2>(rows);
}

/// sums[a] = the lanes of parts[a] added up, for a whole number of vectors of arcs.
template <class Real> void add_parts(const Real* parts, int count, Real* sums) {
  constexpr int lanes = Lanes<Real>::count;
  for (int a = 0; a < count; a += lanes) {
    Vec<Real> block[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      block[i] = load<Real>(parts + (a + i) * lanes);
    fold_halves<Real, lanes / 2>(block);
    store<Real>(sums + a, block[0]);
  }
}

/// to [width] = (to +) sum over arcs of weights[a * apart] times the row of columns[a], all times factor.
template <class Real, int vectors>
SIGHTLINE_INLINE void add_rows_as(const Real* base, std::ptrdiff_t stride, std::int64_t width, const std::int32_t* columns,
                                  const Real* weights, int count, bool add, Real factor, Real* to, int apart,
                                  std::int64_t known) {
  constexpr int lanes = Lanes<Real>::count;
  if constexpr (vectors > 0) {
    Vec<Real> sum[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sum[v] = add ? load<Real>(to + v * lanes) : Vec<Real>{};
    for_arcs<Real>(base, stride, columns, count, vectors * lanes, known, [&](int a) SIGHTLINE_INLINE_HERE {
      const Real* const row = base + columns[a] * stride;
      const Vec<Real> weight = splat<Real>(weights[a * apart]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[v] = fma(weight, load<Real>(row + v * lanes), sum[v]);
    });
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      store<Real>(to + v * lanes, sum[v] * splat<Real>(factor));
  } else {
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes) {
      Vec<Real> sum = add ? load<Real>(to + k) : Vec<Real>{};
      for (int a = 0; a < count; ++a)
        sum = fma(splat<Real>(weights[a * apart]), load<Real>(base + columns[a] * stride + k), sum);
      store<Real>(to + k, sum * splat<Real>(factor));
    }
    for (; k < width; ++k) {
      Real sum = add ? to[k] : Real(0);
      for (int a = 0; a < count; ++a)
        sum += weights[a * apart] * base[columns[a] * stride + k];
      to[k] = sum * factor;
    }
  }
}

template <class Real>
SIGHTLINE_APART void add_rows(int vectors, const Real* base, std::ptrdiff_t stride, std::int64_t width,
                              const std::int32_t* columns, const Real* weights, int count, bool add, Real factor,
                              Real* to, int apart = 1, std::int64_t known = 0) {
  with_vectors(vectors, [&](auto wide) {
    add_rows_as<Real, decltype(wide)::value>(base, stride, width, columns, weights, count, add, factor, to, apart, known);
  });
}

/// to [width] = (to +) sum over arcs of weights[a] (own - scale times the row of columns[a]). Where rows are near `own`
/// and weights are large (distances, whose slope grows without bound), own sum(weights) - sum(weights rows) would cancel.
template <class Real>
SIGHTLINE_APART void add_differences(int vectors, const Real* base, std::ptrdiff_t stride, std::int64_t width,
                                     const std::int32_t* columns, const Real* weights, int count, bool add,
                                     const Real* own, Real scale, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> less = splat<Real>(-scale);
  std::int64_t k = 0;
  const auto stretch = [&]<int wide>() {
    Vec<Real> sum[wide], here[wide];
#pragma GCC unroll 8
    for (int v = 0; v < wide; ++v) {
      sum[v] = add ? load<Real>(to + k + v * lanes) : Vec<Real>{};
      here[v] = load<Real>(own + k + v * lanes);
    }
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + columns[a] * stride + k;
      const Vec<Real> weight = splat<Real>(weights[a]);
#pragma GCC unroll 8
      for (int v = 0; v < wide; ++v)
        sum[v] = fma(weight, fma(less, load<Real>(row + v * lanes), here[v]), sum[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < wide; ++v)
      store<Real>(to + k + v * lanes, sum[v]);
  };
  with_vectors(vectors, [&](auto of_width) {
    constexpr int wide = decltype(of_width)::value;
    if constexpr (wide > 0) {
      stretch.template operator()<wide>();
      return;
    }
    for (; k + lanes <= width; k += lanes)
      stretch.template operator()<1>();
    for (; k < width; ++k) {
      Real sum = add ? to[k] : Real(0);
      for (int a = 0; a < count; ++a)
        sum += weights[a] * (own[k] - scale * base[columns[a] * stride + k]);
      to[k] = sum;
    }
  });
}

/// The largest of `count` numbers and of `start`; NaN are passed over.
template <class Real> SIGHTLINE_INLINE Real find_largest(const Real* numbers, int count, Real start) {
  constexpr int lanes = Lanes<Real>::count;
  int a = 0;
  if (count >= 2 * lanes) {
    Vec<Real> most = splat_bits<Real>(start);
    for (; a + lanes <= count; a += lanes)
      most = larger(load<Real>(numbers + a), most);
    for (int lane = 0; lane < lanes; ++lane)
      start = most[lane] > start ? most[lane] : start;
  }
  for (; a < count; ++a)
    start = numbers[a] > start ? numbers[a] : start;
  return start;
}

/// Sum of terms(a), in the order that marks ask for (SparseRows::marks).
template <class Real, class Term> SIGHTLINE_INLINE Real sum_marked(const std::uint8_t* marks, int count, Term term) {
  Real sum = 0, kept = 0;
  for (int a = 0; a < count; ++a) {
    sum += term(a);
    if (marks[a] == 1) {
      kept = sum;
      sum = 0;
    } else if (marks[a] == 2) {
      sum += kept;
    }
  }
  return sum;
}

/// add_rows for a row of several sums (SparseRows::marks). Exact mode: every NaN the same, no -0.
template <class Real, int vectors>
SIGHTLINE_INLINE void add_rows_marked_as(const Real* base, std::ptrdiff_t stride, std::int64_t width,
                                         const std::int32_t* columns, const Real* weights, const std::uint8_t* marks,
                                         int count, Real factor, Real* to, int apart) {
  constexpr int lanes = Lanes<Real>::count;
  if constexpr (vectors > 0) {
    Vec<Real> sum[vectors] = {}, kept[vectors] = {};
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + columns[a] * stride;
      fetch_ahead<Real>(base, stride, columns, a, count, vectors * lanes);
      const Vec<Real> weight = splat<Real>(weights[a * apart]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[v] = fma(weight, load<Real>(row + v * lanes), sum[v]);
      if (marks[a] == 0)
        continue;
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        if (marks[a] == 1) {
          kept[v] = sum[v];
          sum[v] = Vec<Real>{};
        } else {
          sum[v] += kept[v];
        }
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      store<Real>(to + v * lanes, canonical<Real>(sum[v] * splat<Real>(factor)));
  } else {
    for (std::int64_t k = 0; k < width; ++k)
      to[k] = factor * sum_marked<Real>(marks, count, [&](int a) { return weights[a * apart] * base[columns[a] * stride + k]; });
    make_canonical<Real>(to, width);
  }
}

template <class Real>
SIGHTLINE_APART void add_rows_marked(int vectors, const Real* base, std::ptrdiff_t stride, std::int64_t width,
                                     const std::int32_t* columns, const Real* weights, const std::uint8_t* marks,
                                     int count, Real factor, Real* to, int apart = 1) {
  with_vectors(vectors, [&](auto wide) {
    add_rows_marked_as<Real, decltype(wide)::value>(base, stride, width, columns, weights, marks, count, factor, to, apart);
  });
}

template <class Real> bool exists(std::int64_t vertex, std::int64_t cut_begin, std::int64_t cut_end) {
  return vertex < cut_begin || vertex >= cut_end;
}

/// A row, or a piece of a long one.
struct Piece {
  std::int64_t row = 0, number = 0; // number: in the list
  int first = 0, count = 0; // among the arcs of its group
  bool begins = true, ends = true;
  std::int64_t first_arc = 0, last_arc = 0; // in the list, with those that do not exist
};

/// Rows of a list in groups of at most most_arcs arcs; arcs to what does not exist are left out. `columns` holds the
/// group's.
class PieceSource {
public:
  PieceSource(const SparseRows& list, std::int64_t begin, std::int64_t end, std::int64_t cut_begin,
              std::int64_t cut_end)
      : list_(list), row_(begin), end_(end), cut_begin_(cut_begin), cut_end_(cut_end) {
    if (row_ < end_)
      arc_ = list_.offsets[row_];
  }
  /// Number of pieces (at most `most`); arcs is their number of arcs.
  int next(Piece* pieces, int most, std::int32_t* columns, int& arcs) {
    int count = 0;
    arcs = 0;
    while (row_ < end_ && count < most && arcs < most_arcs) {
      const std::int64_t first = list_.offsets[row_], stop = list_.offsets[row_ + 1];
      // Short rows are not cut, so that most rows have one piece.
      if (arc_ == first && arcs > 0 && stop - first > most_arcs - arcs)
        break;
      Piece& piece = pieces[count++];
      piece = {list_.rows[row_], row_, arcs, 0, arc_ == first, false, arc_, arc_};
      const std::int64_t take = stop - arc_ < most_arcs - arcs ? stop - arc_ : most_arcs - arcs;
      for (std::int64_t a = arc_; a < arc_ + take; ++a) {
        if (list_.columns[a] < cut_begin_ || list_.columns[a] >= cut_end_)
          columns[arcs++] = list_.columns[a];
      }
      piece.count = arcs - piece.first;
      arc_ += take;
      piece.last_arc = arc_;
      if (arc_ == stop) {
        piece.ends = true;
        ++row_; // the next row begins where this one ends
      }
    }
    return count;
  }

private:
  const SparseRows& list_;
  std::int64_t row_, end_, arc_ = 0, cut_begin_, cut_end_;
};

/// Adds the biases of a piece's arcs to their numbers.
template <class Real>
SIGHTLINE_INLINE void add_arc_biases(const Head<Real>& head, const SparseRows& list, const Piece& piece,
                                     const std::int32_t* columns, Real* to) {
  if (head.offset_bias != nullptr && head.colours == nullptr) {
    for (int a = piece.first; a < piece.first + piece.count; ++a)
      to[a] += head.offset_bias[piece.row - columns[a]];
  }
  if (head.colours == nullptr)
    return;
  const ColourBias<Real>& bias = *head.colours;
  int at = piece.first;
  for (std::int64_t a = piece.first_arc; a < piece.last_arc; ++a) {
    const std::int64_t read = list.columns[a];
    if (exists<Real>(read, head.read_cut_begin, head.read_cut_end))
      to[at++] += (bias.table != nullptr ? bias.table[list.colours[a]] : Real(0)) - slope_of(bias, piece.row, read);
  }
}

/// Scores of arcs -> exponents to base 2 (or scores as they are).
template <class Real> SIGHTLINE_INLINE void find_arc_exponents(const Rule<Real>& rule, int count, Real* scores) {
  constexpr int lanes = Lanes<Real>::count;
  const bool root = rule.weight == Weight::exponential_root;
  if (!is_exponent(rule.weight) || (!root && rule.factor == Real(1)))
    return;
  for (int a = 0; a < count; a += lanes) {
    Vec<Real> s = load<Real>(scores + a);
    if (root)
      s = square_root<Real>(s);
    store<Real>(scores + a, s * splat<Real>(rule.factor));
  }
}

template <class Real> SIGHTLINE_INLINE Real round_up_to_integer(Real x) {
  return -round_down<Real>(splat<Real>(-x))[0];
}

/// What the sums of a row are times: `total` are its weights, divided by 2^most as the sums are; own: the reader's exponent.
template <class Real>
SIGHTLINE_INLINE Real row_factor(const Rule<Real>& rule, bool exponents, Real total, Real most, Real own) {
  if (rule.normalised) {
    const Real below = rule.has_extra ? total + exp2<Real>(splat<Real>(rule.extra - own - most))[0] : total;
    return below == Real(0) ? Real(0) : Real(1) / below;
  }
  return exponents ? exp2<Real>(splat<Real>(most + own))[0] : Real(1);
}

template <class Real> struct ArcSpace {
  int vectors; ///< of both widths, see with_vectors()
  std::int32_t* columns;
  Piece* pieces;
  Real *parts, *scores, *products, *shifts, *scales, *middles, *fixed, *fixed_value, *sums, *value_sums, *prepared;
  Real *distances, *reader_squares, *read_squares, *reader_slopes, *read_slopes; // programs
  Real* exponent_slopes;
  int known = 0; // columns of the group, where what comes soon is fetched by them
  Arena end;     // what follows is free
  ArcSpace(void* workspace, std::int64_t width, std::int64_t value_width)
      : vectors(count_vectors<Real>(width, value_width)), end(workspace) {
    constexpr int lanes = Lanes<Real>::count;
    Arena arena(workspace);
    columns = arena.take<std::int32_t>(most_arcs);
    pieces = arena.take<Piece>(most_arcs);
    parts = arena.take<Real>(most_arcs * lanes);
    scores = arena.take<Real>(most_arcs);
    products = arena.take<Real>(most_arcs);
    shifts = arena.take<Real>(most_arcs);
    scales = arena.take<Real>(most_arcs);
    middles = arena.take<Real>(most_arcs);
    fixed = arena.take<Real>(round_up(width, lanes));
    sums = arena.take<Real>(round_up(width, lanes));
    fixed_value = arena.take<Real>(round_up(value_width, lanes));
    value_sums = arena.take<Real>(round_up(value_width, lanes));
    prepared = arena.take<Real>(most_arcs * width);
    Real** const of_programs[] = {&distances,     &reader_squares, &read_squares,
                                  &reader_slopes, &read_slopes,    &exponent_slopes};
    for (Real** each : of_programs)
      *each = arena.take<Real>(most_arcs);
    end = arena;
  }
  /// For for_arcs().
  [[nodiscard]] int known_from(const Piece& piece) const { return known > 0 ? known - piece.first : 0; }
};

/// Keys (or queries) of a group of arcs where they can be multiplied: in place, or prepared side by side.
template <class Real> struct ArcRows {
  const Real* base;
  std::ptrdiff_t stride;
  const std::int32_t* columns;
};
template <class Real>
ArcRows<Real> find_arc_rows(Prepare prepare, const Real* base, std::ptrdiff_t stride, std::int64_t width,
                            const std::int32_t* columns, int count, const std::int32_t* counting, Real* copy) {
  if (prepare == Prepare::nothing)
    return {base, stride, columns};
  for (int a = 0; a < count; ++a)
    prepare_row<Real>(prepare, base + columns[a] * stride, width, Real(1), copy + a * width);
  return {copy, width, counting};
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
