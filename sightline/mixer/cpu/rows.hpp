// Readers with few reads each (rings, stars, random links) and readers that read alone what nobody near them reads
// (global tokens): one row at a time, vectors along the width. The backward pass goes through the rows for the
// gradients of queries and through the columns for those of keys and values, so that nobody adds to what another thread
// adds to.
#pragma once

#include "sightline/mixer/cpu/backward_tile.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

inline constexpr int most_arcs = 1024; // taken at once; a multiple of every Lanes::count

template <class Real> SIGHTLINE_INLINE void prefetch_row(const Real* row, std::int64_t width) {
  for (std::int64_t k = 0; k < width; k += 64 / static_cast<std::int64_t>(sizeof(Real)))
    __builtin_prefetch(row + k);
}

/// parts[a] = the products of fixed with the row of columns[a], not yet added up over lanes. distance: squares of
/// differences.
template <class Real, int vectors>
SIGHTLINE_INLINE void partial_products_of(bool distance, const Real* fixed, const Real* base, std::ptrdiff_t stride,
                                          const std::int32_t* columns, int count, Real* parts) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> left[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v)
    left[v] = load<Real>(fixed + v * lanes);
  for (int a = 0; a < count; ++a) {
    const Real* const row = base + columns[a] * stride;
    if (a + 6 < count)
      prefetch_row<Real>(base + columns[a + 6] * stride, vectors * lanes);
    Vec<Real> sum{};
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const Vec<Real> right = load<Real>(row + v * lanes);
      if (distance) {
        const Vec<Real> difference = left[v] - right;
        sum = fma(difference, difference, sum);
      } else {
        sum = fma(left[v], right, sum);
      }
    }
    store<Real>(parts + a * lanes, sum);
  }
}

template <class Real>
void partial_products(bool distance, const Real* fixed, const Real* base, std::ptrdiff_t stride, std::int64_t width,
                      const std::int32_t* columns, int count, Real* parts) {
  constexpr int lanes = Lanes<Real>::count;
  if (width == 4 * lanes)
    return partial_products_of<Real, 4>(distance, fixed, base, stride, columns, count, parts);
  if (width == 8 * lanes)
    return partial_products_of<Real, 8>(distance, fixed, base, stride, columns, count, parts);
  for (int a = 0; a < count; ++a) {
    const Real* const row = base + columns[a] * stride;
    Vec<Real> sum{};
    std::int64_t k = 0;
    const auto step = [&](Vec<Real> left, Vec<Real> right) {
      const Vec<Real> x = distance ? left - right : left, y = distance ? x : right;
      sum = fma(x, y, sum);
    };
    for (; k + lanes <= width; k += lanes)
      step(load<Real>(fixed + k), load<Real>(row + k));
    if (k < width) {
      Real one[lanes] = {}, two[lanes] = {};
      for (std::int64_t t = k; t < width; ++t) {
        one[t - k] = fixed[t];
        two[t - k] = row[t];
      }
      step(load<Real>(one), load<Real>(two));
    }
    store<Real>(parts + a * lanes, sum);
  }
}

/// sums[a] = the lanes of parts[a] added up, for a whole number of vectors of arcs.
template <class Real> void add_parts(const Real* parts, int count, Real* sums) {
  constexpr int lanes = Lanes<Real>::count;
  for (int a = 0; a < count; a += lanes) {
    Vec<Real> block[lanes];
    for (int i = 0; i < lanes; ++i)
      block[i] = load<Real>(parts + (a + i) * lanes);
    transpose<Real>(block);
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i)
        block[i] += block[i + half];
    }
    store<Real>(sums + a, block[0]);
  }
}

/// to [width] += sum over arcs of weights[a] times the row of columns[a].
template <class Real, int vectors>
SIGHTLINE_INLINE void add_rows_of(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns,
                                  const Real* weights, int count, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v)
    sum[v] = load<Real>(to + v * lanes);
  for (int a = 0; a < count; ++a) {
    const Real* const row = base + columns[a] * stride;
    if (a + 6 < count)
      prefetch_row<Real>(base + columns[a + 6] * stride, vectors * lanes);
    const Vec<Real> weight = splat<Real>(weights[a]);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sum[v] = fma(weight, load<Real>(row + v * lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v)
    store<Real>(to + v * lanes, sum[v]);
}

template <class Real>
void add_rows(const Real* base, std::ptrdiff_t stride, std::int64_t width, const std::int32_t* columns,
              const Real* weights, int count, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  if (width == 4 * lanes)
    return add_rows_of<Real, 4>(base, stride, columns, weights, count, to);
  if (width == 8 * lanes)
    return add_rows_of<Real, 8>(base, stride, columns, weights, count, to);
  for (int a = 0; a < count; ++a) {
    const Real* const row = base + columns[a] * stride;
    const Vec<Real> weight = splat<Real>(weights[a]);
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes)
      store<Real>(to + k, fma(weight, load<Real>(row + k), load<Real>(to + k)));
    for (; k < width; ++k)
      to[k] += weights[a] * row[k];
  }
}

template <class Real> bool exists(std::int64_t vertex, std::int64_t cut_begin, std::int64_t cut_end) {
  return vertex < cut_begin || vertex >= cut_end;
}

/// A row, or a piece of a long one.
struct Piece {
  std::int64_t row = 0;
  int first = 0, count = 0; // among the arcs of its group
  bool begins = true, ends = true;
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
      piece = {list_.rows[row_], arcs, 0, arc_ == first, false};
      const std::int64_t take = stop - arc_ < most_arcs - arcs ? stop - arc_ : most_arcs - arcs;
      for (std::int64_t a = arc_; a < arc_ + take; ++a) {
        if (list_.columns[a] < cut_begin_ || list_.columns[a] >= cut_end_)
          columns[arcs++] = list_.columns[a];
      }
      piece.count = arcs - piece.first;
      arc_ += take;
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

template <class Real> struct ArcSpace {
  std::int32_t* columns;
  Piece* pieces;
  Real *parts, *scores, *products, *shifts, *scales, *middles, *fixed, *fixed_value, *sums, *value_sums, *prepared;
  ArcSpace(void* workspace, std::int64_t width, std::int64_t value_width) {
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
  }
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

template <class Real>
void forward_rows(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                  std::int64_t end, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  std::int32_t counting[most_arcs];
  if (rule.prepare != Prepare::nothing) {
    for (int a = 0; a < most_arcs; ++a)
      counting[a] = a;
  }
  const bool exponents = is_exponent(rule.weight);
  const Real start = !exponents ? Real(0) : rule.has_extra ? round_up_to_integer(rule.extra) : no_exponent<Real>;
  Real most = start, total = 0;
  PieceSource source(list, begin, end, head.read_cut_begin, head.read_cut_end);
  int arcs = 0;
  while (const int pieces = source.next(space.pieces, most_arcs, space.columns, arcs)) {
    const ArcRows<Real> keys = find_arc_rows<Real>(rule.prepare, head.key, head.key_stride, head.width, space.columns,
                                                   arcs, counting, space.prepared);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      prepare_row<Real>(rule.prepare, head.query + piece.row * head.query_stride, head.width, rule.query_scale,
                        space.fixed);
      partial_products<Real>(rule.score == Score::distance, space.fixed, keys.base, keys.stride, head.width,
                             keys.columns + piece.first, piece.count, space.parts + piece.first * lanes);
    }
    const int padded = static_cast<int>(round_up(arcs, lanes));
    for (int a = arcs * lanes; a < padded * lanes; ++a)
      space.parts[a] = 0;
    add_parts<Real>(space.parts, padded, space.scores);
    find_arc_exponents<Real>(rule, padded, space.scores);
    // The largest exponent of every piece; a row that goes on remembers it in `shifts`.
    Real carried = most;
    if (exponents) {
      for (int p = 0; p < pieces; ++p) {
        const Piece& piece = space.pieces[p];
        Real top = piece.begins ? start : carried;
        for (int a = piece.first; a < piece.first + piece.count; ++a) {
          if (head.offset_bias != nullptr)
            space.scores[a] += head.offset_bias[piece.row - space.columns[a]];
          top = space.scores[a] > top ? space.scores[a] : top;
        }
        carried = top = round_up_to_integer(top);
        for (int a = piece.first; a < piece.first + piece.count; ++a)
          space.shifts[a] = top;
        space.middles[p] = top;
      }
      for (int a = arcs; a < padded; ++a)
        space.shifts[a] = 0;
      for (int a = 0; a < padded; a += lanes)
        store<Real>(space.scores + a, exp2<Real>(load<Real>(space.scores + a) - load<Real>(space.shifts + a)));
    } else {
      for (int a = 0; a < padded; a += lanes) {
        Vec<Real> s = load<Real>(space.scores + a);
        if (rule.weight == Weight::cauchy)
          s = splat<Real>(1) / (splat<Real>(1) + s);
        else if (rule.weight == Weight::relu_squared)
          s = s < splat<Real>(0) ? Vec<Real>{} : s * s;
        store<Real>(space.scores + a, s);
      }
    }
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      if (piece.begins) {
        most = start;
        total = 0;
        for (std::int64_t k = 0; k < head.value_width; ++k)
          space.value_sums[k] = 0;
      }
      if (exponents && space.middles[p] != most) {
        const Real shrink = exp2<Real>(splat<Real>(most - space.middles[p]))[0];
        most = space.middles[p];
        if (!piece.begins) {
          total *= shrink;
          for (std::int64_t k = 0; k < head.value_width; ++k)
            space.value_sums[k] *= shrink;
        }
      }
      for (int a = piece.first; a < piece.first + piece.count; ++a)
        total += space.scores[a];
      add_rows<Real>(head.value, head.value_stride, head.value_width, space.columns + piece.first,
                     space.scores + piece.first, piece.count, space.value_sums);
      if (!piece.ends)
        continue;
      Real factor = 1;
      if (rule.normalised) {
        Real below = total;
        if (rule.has_extra)
          below += exp2<Real>(splat<Real>(rule.extra - most))[0];
        factor = below == Real(0) ? Real(0) : Real(1) / below;
      } else if (exponents) {
        factor = exp2<Real>(splat<Real>(most))[0];
      }
      const bool here = exists<Real>(piece.row, head.reader_cut_begin, head.reader_cut_end);
      Real* const to = head.out + piece.row * head.out_stride;
      std::int64_t k = 0;
      if (here) {
        for (; k + lanes <= head.value_width; k += lanes)
          store<Real>(to + k, load<Real>(space.value_sums + k) * splat<Real>(factor));
      }
      for (; k < head.value_width; ++k)
        to[k] = here ? space.value_sums[k] * factor : Real(0);
      if (head.statistics != nullptr) {
        head.statistics[piece.row * 2] = most;
        head.statistics[piece.row * 2 + 1] = factor;
      }
    }
  }
}

/// Weights (times the row's factor) of a group of arcs, from scores and the arcs' readers' shifts and scales; `scales`
/// becomes what (d out . value - d out . out) is multiplied by for the derivative of the score.
template <class Real> void find_arc_slopes(const Rule<Real>& rule, int count, ArcSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const bool exponents = is_exponent(rule.weight), root = rule.weight == Weight::exponential_root;
  Real chain = exponents ? Real(0.69314718055994530942) * rule.factor : Real(1);
  if (rule.score == Score::distance)
    chain *= 2;
  const Vec<Real> zero{}, chained = splat<Real>(chain);
  for (int a = 0; a < count; a += lanes) {
    Vec<Real> s = load<Real>(space.scores + a), weight, slope;
    const Vec<Real> scale = load<Real>(space.scales + a);
    if (exponents) {
      if (root)
        s = square_root<Real>(s);
      weight = exp2<Real>(s * splat<Real>(rule.factor) - load<Real>(space.shifts + a)) * scale;
      slope = weight * chained;
      if (root)
        slope = s == zero ? zero : slope * splat<Real>(Real(0.5)) / s;
    } else if (rule.weight == Weight::cauchy) {
      weight = splat<Real>(1) / (splat<Real>(1) + s);
      slope = -weight * weight * scale * chained;
      weight *= scale;
    } else if (rule.weight == Weight::relu_squared) {
      const Vec<Real> kept = s < zero ? zero : s;
      weight = kept * kept * scale;
      slope = (kept + kept) * scale * chained;
    } else {
      weight = s * scale;
      slope = scale * chained;
    }
    store<Real>(space.scores + a, weight);
    store<Real>(space.scales + a, slope);
  }
}

/// products: d out . value -> derivatives of the scores.
template <class Real> SIGHTLINE_INLINE void differentiate_arcs(int count, ArcSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  for (int a = 0; a < count; a += lanes) {
    const Vec<Real> above = load<Real>(space.products + a) - load<Real>(space.middles + a);
    store<Real>(space.products + a, above * load<Real>(space.scales + a));
  }
}

template <class Real> SIGHTLINE_INLINE void clear_tail(int arcs, int padded, ArcSpace<Real>& space) {
  for (int a = arcs; a < padded; ++a)
    space.shifts[a] = space.scales[a] = space.middles[a] = 0;
}

template <class Real>
Real backward_rows(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                   const SparseRows& list, std::int64_t begin, std::int64_t end, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  std::int32_t counting[most_arcs];
  if (rule.prepare != Prepare::nothing) {
    for (int a = 0; a < most_arcs; ++a)
      counting[a] = a;
  }
  Real sink = 0, total = 0;
  PieceSource source(list, begin, end, head.read_cut_begin, head.read_cut_end);
  int arcs = 0;
  while (const int pieces = source.next(space.pieces, most_arcs, space.columns, arcs)) {
    const ArcRows<Real> keys = find_arc_rows<Real>(rule.prepare, head.key, head.key_stride, head.width, space.columns,
                                                   arcs, counting, space.prepared);
    const int padded = static_cast<int>(round_up(arcs, lanes));
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      prepare_row<Real>(rule.prepare, head.query + piece.row * head.query_stride, head.width, rule.query_scale,
                        space.fixed);
      partial_products<Real>(rule.score == Score::distance, space.fixed, keys.base, keys.stride, head.width,
                             keys.columns + piece.first, piece.count, space.parts + piece.first * lanes);
    }
    for (int a = arcs * lanes; a < padded * lanes; ++a)
      space.parts[a] = 0;
    add_parts<Real>(space.parts, padded, space.scores);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      partial_products<Real>(false, gradients.out + piece.row * gradients.out_stride, head.value, head.value_stride,
                             head.value_width, space.columns + piece.first, piece.count,
                             space.parts + piece.first * lanes);
      const Real most = head.statistics[piece.row * 2], scale = head.statistics[piece.row * 2 + 1];
      for (int a = piece.first; a < piece.first + piece.count; ++a) {
        space.shifts[a] = head.offset_bias != nullptr ? most - head.offset_bias[piece.row - space.columns[a]] : most;
        space.scales[a] = scale;
      }
    }
    add_parts<Real>(space.parts, padded, space.products);
    clear_tail(arcs, padded, space);
    find_arc_slopes<Real>(rule, padded, space);
    // d out . out is the weighted mean of what was just computed; only long rows, in pieces, read the output again.
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      Real middle = 0;
      if (piece.begins && piece.ends) {
        for (int a = piece.first; a < piece.first + piece.count; ++a)
          middle += space.scores[a] * space.products[a];
      } else {
        middle = dot_rows<Real>(gradients.out + piece.row * gradients.out_stride,
                                head.out + piece.row * head.out_stride, head.value_width);
      }
      if (!rule.normalised)
        middle = 0;
      gradients.products[piece.row] = middle;
      for (int a = piece.first; a < piece.first + piece.count; ++a)
        space.middles[a] = middle;
    }
    differentiate_arcs<Real>(padded, space);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      if (piece.begins) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] = 0;
        total = 0;
      }
      add_rows<Real>(keys.base, keys.stride, head.width, keys.columns + piece.first, space.products + piece.first,
                     piece.count, space.sums);
      if (rule.score == Score::distance) {
        for (int a = piece.first; a < piece.first + piece.count; ++a)
          total += space.products[a];
      }
      if (!piece.ends)
        continue;
      const bool here = exists<Real>(piece.row, head.reader_cut_begin, head.reader_cut_end);
      const Real* const query = head.query + piece.row * head.query_stride;
      if (here && rule.has_extra) {
        sink += gradients.products[piece.row] * exp2<Real>(splat<Real>(rule.sink - head.statistics[piece.row * 2]))[0] *
                head.statistics[piece.row * 2 + 1];
      }
      if (gradients.query == nullptr)
        continue;
      Real* const to = gradients.query + piece.row * gradients.query_stride;
      if (!here) {
        for (std::int64_t k = 0; k < head.width; ++k)
          to[k] = 0;
        continue;
      }
      if (rule.score == Score::distance) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] = total * rule.query_scale * query[k] - space.sums[k];
      }
      prepare_gradient<Real>(rule.prepare, query, space.sums, head.width, rule.query_scale, to, false);
    }
  }
  return sink;
}

/// The list holds columns: rows[r] is read by columns[offsets[r] ..].
template <class Real>
void backward_columns(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                      const SparseRows& list, std::int64_t begin, std::int64_t end, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  std::int32_t counting[most_arcs];
  if (rule.prepare != Prepare::nothing) {
    for (int a = 0; a < most_arcs; ++a)
      counting[a] = a;
  }
  const bool distance = rule.score == Score::distance;
  Real total = 0;
  PieceSource source(list, begin, end, head.reader_cut_begin, head.reader_cut_end);
  int arcs = 0;
  while (const int pieces = source.next(space.pieces, most_arcs, space.columns, arcs)) {
    const ArcRows<Real> queries = find_arc_rows<Real>(rule.prepare, head.query, head.query_stride, head.width,
                                                      space.columns, arcs, counting, space.prepared);
    const int padded = static_cast<int>(round_up(arcs, lanes));
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      // Scores from (scale k) . q; for distances k / scale stands in and the square of the scale comes afterwards.
      prepare_row<Real>(rule.prepare, head.key + piece.row * head.key_stride, head.width,
                        distance ? Real(1) / rule.query_scale : rule.query_scale, space.fixed);
      partial_products<Real>(distance, space.fixed, queries.base, queries.stride, head.width,
                             queries.columns + piece.first, piece.count, space.parts + piece.first * lanes);
    }
    for (int a = arcs * lanes; a < padded * lanes; ++a)
      space.parts[a] = 0;
    add_parts<Real>(space.parts, padded, space.scores);
    if (distance) {
      for (int a = 0; a < padded; ++a)
        space.scores[a] *= rule.query_scale * rule.query_scale;
    }
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      partial_products<Real>(false, head.value + piece.row * head.value_stride, gradients.out, gradients.out_stride,
                             head.value_width, space.columns + piece.first, piece.count,
                             space.parts + piece.first * lanes);
      for (int a = piece.first; a < piece.first + piece.count; ++a) {
        const std::int64_t reader = space.columns[a];
        const Real most = head.statistics[reader * 2];
        space.shifts[a] = head.offset_bias != nullptr ? most - head.offset_bias[reader - piece.row] : most;
        space.scales[a] = head.statistics[reader * 2 + 1];
        space.middles[a] = gradients.products[reader];
      }
    }
    add_parts<Real>(space.parts, padded, space.products);
    clear_tail(arcs, padded, space);
    find_arc_slopes<Real>(rule, padded, space);
    differentiate_arcs<Real>(padded, space);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      if (piece.begins) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] = 0;
        for (std::int64_t k = 0; k < head.value_width; ++k)
          space.value_sums[k] = 0;
        total = 0;
      }
      add_rows<Real>(queries.base, queries.stride, head.width, queries.columns + piece.first,
                     space.products + piece.first, piece.count, space.sums);
      add_rows<Real>(gradients.out, gradients.out_stride, head.value_width, space.columns + piece.first,
                     space.scores + piece.first, piece.count, space.value_sums);
      if (distance) {
        for (int a = piece.first; a < piece.first + piece.count; ++a)
          total += space.products[a];
      }
      if (!piece.ends || !exists<Real>(piece.row, head.read_cut_begin, head.read_cut_end))
        continue;
      if (gradients.value != nullptr) {
        Real* const to = gradients.value + piece.row * gradients.value_stride;
        for (std::int64_t k = 0; k < head.value_width; ++k)
          to[k] += space.value_sums[k];
      }
      if (gradients.key != nullptr) {
        const Real* const key = head.key + piece.row * head.key_stride;
        for (std::int64_t k = 0; k < head.width; ++k) {
          space.sums[k] =
              distance ? total * key[k] - rule.query_scale * space.sums[k] : rule.query_scale * space.sums[k];
        }
        prepare_gradient<Real>(rule.prepare, key, space.sums, head.width, Real(1),
                               gradients.key + piece.row * gradients.key_stride, true);
      }
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
