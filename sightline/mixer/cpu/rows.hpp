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

/// parts[a] = the products of scale * fixed with the row of columns[a], not yet added up over lanes. distance: squares
/// of differences. vectors: whole vectors of the width, 0: any width.
template <class Real, int vectors>
SIGHTLINE_INLINE void partial_products(bool distance, const Real* fixed, Real scale, const Real* base,
                                       std::ptrdiff_t stride, std::int64_t width, const std::int32_t* columns,
                                       int count, Real* parts) {
  constexpr int lanes = Lanes<Real>::count;
  if constexpr (vectors > 0) {
    Vec<Real> left[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      left[v] = load<Real>(fixed + v * lanes) * splat<Real>(scale);
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + columns[a] * stride;
      if (count > 8 && a + 6 < count)
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
  } else {
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + columns[a] * stride;
      Vec<Real> sum{};
      std::int64_t k = 0;
      const auto step = [&](Vec<Real> left, Vec<Real> right) {
        left = left * splat<Real>(scale);
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

/// to [width] = (to +) sum over arcs of weights[a] times the row of columns[a], all times factor.
template <class Real, int vectors>
SIGHTLINE_INLINE void add_rows(const Real* base, std::ptrdiff_t stride, std::int64_t width, const std::int32_t* columns,
                               const Real* weights, int count, bool add, Real factor, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  if constexpr (vectors > 0) {
    Vec<Real> sum[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sum[v] = add ? load<Real>(to + v * lanes) : Vec<Real>{};
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + columns[a] * stride;
      if (count > 8 && a + 6 < count)
        prefetch_row<Real>(base + columns[a + 6] * stride, vectors * lanes);
      const Vec<Real> weight = splat<Real>(weights[a]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[v] = fma(weight, load<Real>(row + v * lanes), sum[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      store<Real>(to + v * lanes, sum[v] * splat<Real>(factor));
  } else {
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes) {
      Vec<Real> sum = add ? load<Real>(to + k) : Vec<Real>{};
      for (int a = 0; a < count; ++a)
        sum = fma(splat<Real>(weights[a]), load<Real>(base + columns[a] * stride + k), sum);
      store<Real>(to + k, sum * splat<Real>(factor));
    }
    for (; k < width; ++k) {
      Real sum = add ? to[k] : Real(0);
      for (int a = 0; a < count; ++a)
        sum += weights[a] * base[columns[a] * stride + k];
      to[k] = sum * factor;
    }
  }
}

/// add_rows for a row of several sums (SparseRows::marks), which are added up in their order.
template <class Real, int vectors>
SIGHTLINE_INLINE void add_rows_marked(const Real* base, std::ptrdiff_t stride, std::int64_t width,
                                      const std::int32_t* columns, const Real* weights, const std::uint8_t* marks,
                                      int count, Real factor, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  if constexpr (vectors > 0) {
    Vec<Real> sum[vectors] = {}, all[vectors] = {};
    for (int a = 0; a < count; ++a) {
      const Real* const row = base + columns[a] * stride;
      const Vec<Real> weight = splat<Real>(weights[a]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[v] = fma(weight, load<Real>(row + v * lanes), sum[v]);
      if (marks[a] == 0)
        continue;
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        all[v] += sum[v];
        sum[v] = Vec<Real>{};
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      store<Real>(to + v * lanes, all[v] * splat<Real>(factor));
  } else {
    for (std::int64_t k = 0; k < width; ++k) {
      Real sum = 0, all = 0;
      for (int a = 0; a < count; ++a) {
        sum += weights[a] * base[columns[a] * stride + k];
        if (marks[a] != 0) {
          all += sum;
          sum = 0;
        }
      }
      to[k] = all * factor;
    }
  }
}

/// Sum of terms(a), in the order of add_rows_marked.
template <class Real, class Term> SIGHTLINE_INLINE Real sum_marked(const std::uint8_t* marks, int count, Term term) {
  Real sum = 0, all = 0;
  for (int a = 0; a < count; ++a) {
    sum += term(a);
    if (marks[a] != 0) {
      all += sum;
      sum = 0;
    }
  }
  return all;
}

template <int number> struct Constant { static constexpr int value = number; };

template <class Real> bool exists(std::int64_t vertex, std::int64_t cut_begin, std::int64_t cut_end) {
  return vertex < cut_begin || vertex >= cut_end;
}

/// A row, or a piece of a long one.
struct Piece {
  std::int64_t row = 0;
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
      piece = {list_.rows[row_], arcs, 0, arc_ == first, false, arc_, arc_};
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
  Real *distances, *reader_squares, *read_squares, *reader_slopes, *read_slopes; // programs
  Arena end;                                                                     // what follows is free
  ArcSpace(void* workspace, std::int64_t width, std::int64_t value_width) : end(workspace) {
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
    Real** const of_programs[] = {&distances, &reader_squares, &read_squares, &reader_slopes, &read_slopes};
    for (Real** each : of_programs)
      *each = arena.take<Real>(most_arcs);
    end = arena;
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

/// What a program reads of the arcs of a group: scores, distances, squares. `parts` is overwritten.
template <class Real, int vectors>
void find_program_scores(const Rule<Real>& rule, const Head<Real>& head, int pieces, int arcs, ArcSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const Program<Real>& program = *rule.program;
  const int padded = static_cast<int>(round_up(arcs, lanes));
  for (int pass = 0; pass < 2; ++pass) {
    const bool distance = pass == 1;
    if (!program.uses[distance ? 3 : 0])
      continue;
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      partial_products<Real, vectors>(distance, head.query + piece.row * head.query_stride, rule.query_scale, head.key,
                                      head.key_stride, head.width, space.columns + piece.first, piece.count,
                                      space.parts + piece.first * lanes);
    }
    for (int a = arcs * lanes; a < padded * lanes; ++a)
      space.parts[a] = 0;
    add_parts<Real>(space.parts, padded, distance ? space.distances : space.scores);
  }
  for (int p = 0; p < pieces; ++p) {
    const Piece& piece = space.pieces[p];
    Real square = 0;
    if (program.uses[1]) {
      const Real* const query = head.query + piece.row * head.query_stride;
      for (std::int64_t k = 0; k < head.width; ++k)
        space.fixed[k] = query[k] * rule.query_scale;
      square = square_row<Real>(space.fixed, head.width);
    }
    for (int a = piece.first; a < piece.first + piece.count; ++a) {
      space.reader_squares[a] = square;
      if (program.uses[2])
        space.read_squares[a] = square_row<Real>(head.key + space.columns[a] * head.key_stride, head.width);
    }
  }
  for (int a = arcs; a < padded; ++a)
    space.reader_squares[a] = space.read_squares[a] = 0;
}

/// Runs the program over `count` vectors of arcs from arc a on.
template <class Real>
SIGHTLINE_INLINE void run_arcs(const Program<Real>& program, int a, int count, const ArcSpace<Real>& arcs,
                               const ProgramSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const Real* const inputs[program_inputs] = {arcs.scores, arcs.reader_squares, arcs.read_squares, arcs.distances};
  for (int k = 0; k < count; ++k) {
    for (int input = 0; input < program_inputs; ++input) {
      if (program.uses[input])
        store<Real>(space.value(input, k), load<Real>(inputs[input] + a + k * lanes));
    }
  }
  run_program<Real>(program, count, space);
}

/// Factors of arcs go to `scores`, exponents to `products`.
template <class Real>
void find_arc_parts(const Program<Real>& program, int padded, ArcSpace<Real>& arcs, const ProgramSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  for (int a = 0; a < padded; a += program_block * lanes) {
    const int left = (padded - a) / lanes, count = left < program_block ? left : program_block;
    run_arcs<Real>(program, a, count, arcs, space);
    for (int k = 0; k < count; ++k) {
      store<Real>(arcs.scores + a + k * lanes,
                  program.factor < 0 ? splat<Real>(1) : load<Real>(space.value(program.factor, k)));
      store<Real>(arcs.products + a + k * lanes,
                  program.exponent < 0 ? Vec<Real>{} : load<Real>(space.value(program.exponent, k)));
    }
  }
}

/// find_arc_slopes for programs: slopes of x.y in `scales`, along reader and read in their own arrays.
template <class Real>
void find_program_slopes(const Program<Real>& program, bool exponents, int padded, ArcSpace<Real>& arcs,
                         const ProgramSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> one = splat<Real>(1), ln2 = splat<Real>(Real(0.69314718055994530942));
  for (int a = 0; a < padded; a += program_block * lanes) {
    const int left = (padded - a) / lanes, count = left < program_block ? left : program_block;
    run_arcs<Real>(program, a, count, arcs, space);
    clear_slopes<Real>(program, count, space);
    for (int k = 0; k < count; ++k) {
      const int at = a + k * lanes;
      Vec<Real> exponent = load<Real>(arcs.middles + at); // biases
      if (program.exponent >= 0)
        exponent += load<Real>(space.value(program.exponent, k));
      const Vec<Real> scale = load<Real>(arcs.scales + at);
      const Vec<Real> power = (exponents ? exp2_shifted<Real>(exponent, load<Real>(arcs.shifts + at)) : one) * scale;
      const Vec<Real> weight = program.factor < 0 ? power : power * load<Real>(space.value(program.factor, k));
      store<Real>(arcs.scores + at, weight);
      seed_slopes<Real>(program, k, power, weight * ln2, space);
    }
    reverse_program<Real>(program, count, space);
    for (int k = 0; k < count; ++k) {
      const PairSlopes<Real> found = take_slopes<Real>(k, space);
      store<Real>(arcs.scales + a + k * lanes, found.pair);
      store<Real>(arcs.reader_slopes + a + k * lanes, found.reader);
      store<Real>(arcs.read_slopes + a + k * lanes, found.read);
    }
  }
}

template <class Real, int vectors>
void forward_rows_of(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                     std::int64_t end, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  std::int32_t counting[most_arcs];
  if (rule.prepare != Prepare::nothing) {
    for (int a = 0; a < most_arcs; ++a)
      counting[a] = a;
  }
  const bool features = rule.weight == Weight::features, program = rule.weight == Weight::program;
  const bool exponents =
      has_exponent(rule.weight) || (program && (rule.program->exponent >= 0 || head.offset_bias != nullptr));
  const ProgramSpace<Real> program_space(space.end, rule.program);
  const auto own = [&](std::int64_t row) { return features ? head.reader_exponents[row] : Real(0); };
  const auto start_of = [&](std::int64_t row) {
    return !exponents ? Real(0) : rule.has_extra ? round_up_to_integer(rule.extra - own(row)) : no_exponent<Real>;
  };
  Real* const of_arcs = features || program ? space.products : space.scores; // exponents
  Real most = 0, total = 0;
  PieceSource source(list, begin, end, head.read_cut_begin, head.read_cut_end);
  int arcs = 0;
  const std::int64_t reads = head.reads;
  while (const int pieces = source.next(space.pieces, most_arcs, space.columns, arcs)) {
    const ArcRows<Real> keys = find_arc_rows<Real>(rule.prepare, head.key, head.key_stride, head.width, space.columns,
                                                   arcs, counting, space.prepared);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      if (p + 8 < pieces) { // most rows read near themselves
        const std::int64_t soon = space.pieces[p + 8].row;
        prefetch_row<Real>(head.query + soon * head.query_stride, head.width);
        prefetch_row<Real>(head.out + soon * head.out_stride, head.value_width);
        if (soon < reads) {
          prefetch_row<Real>(head.key + soon * head.key_stride, head.width);
          prefetch_row<Real>(head.value + soon * head.value_stride, head.value_width);
        }
      }
      const Real* query = head.query + piece.row * head.query_stride;
      if (rule.prepare != Prepare::nothing) {
        prepare_row<Real>(rule.prepare, query, head.width, Real(1), space.fixed);
        query = space.fixed;
      }
      if (!program) {
        partial_products<Real, vectors>(rule.score == Score::distance, query, rule.query_scale, keys.base, keys.stride,
                                        head.width, keys.columns + piece.first, piece.count,
                                        space.parts + piece.first * lanes);
      }
    }
    const int padded = static_cast<int>(round_up(arcs, lanes));
    if (program) {
      find_program_scores<Real, vectors>(rule, head, pieces, arcs, space);
      find_arc_parts<Real>(*rule.program, padded, space, program_space);
    } else {
      for (int a = arcs * lanes; a < padded * lanes; ++a)
        space.parts[a] = 0;
      add_parts<Real>(space.parts, padded, space.scores);
      find_arc_exponents<Real>(rule, padded, space.scores);
    }
    // The largest exponent of every piece; a row that goes on remembers it in `shifts`.
    Real carried = most;
    if (exponents) {
      for (int p = 0; p < pieces; ++p) {
        const Piece& piece = space.pieces[p];
        Real top = piece.begins ? start_of(piece.row) : carried;
        for (int a = piece.first; a < piece.first + piece.count; ++a) {
          if (features)
            of_arcs[a] = head.read_exponents[space.columns[a]];
          if (head.offset_bias != nullptr)
            of_arcs[a] += head.offset_bias[piece.row - space.columns[a]];
          top = of_arcs[a] > top ? of_arcs[a] : top;
        }
        carried = top = round_up_to_integer(top);
        for (int a = piece.first; a < piece.first + piece.count; ++a)
          space.shifts[a] = top;
        space.middles[p] = top;
      }
      for (int a = arcs; a < padded; ++a)
        space.shifts[a] = of_arcs[a] = 0;
      for (int a = 0; a < padded; a += lanes) {
        const Vec<Real> power = exp2_shifted<Real>(load<Real>(of_arcs + a), load<Real>(space.shifts + a));
        store<Real>(space.scores + a, features || program ? load<Real>(space.scores + a) * power : power);
      }
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
        most = start_of(piece.row);
        total = 0;
      }
      if (exponents && space.middles[p] != most) {
        const Real shrink = piece.begins ? Real(0) : exp2<Real>(splat<Real>(most - space.middles[p]))[0];
        most = space.middles[p];
        if (!piece.begins) {
          total *= shrink;
          for (std::int64_t k = 0; k < head.value_width; ++k)
            space.value_sums[k] *= shrink;
        }
      }
      const std::uint8_t* const marks = list.marks == nullptr ? nullptr : list.marks + piece.first_arc;
      if (marks != nullptr) {
        total = sum_marked<Real>(marks, piece.count, [&](int a) { return space.scores[piece.first + a]; });
      } else {
        for (int a = piece.first; a < piece.first + piece.count; ++a)
          total += space.scores[a];
      }
      Real factor = 1;
      if (piece.ends && rule.normalised) {
        Real below = total;
        if (rule.has_extra)
          below += exp2<Real>(splat<Real>(rule.extra - own(piece.row) - most))[0];
        factor = below == Real(0) ? Real(0) : Real(1) / below;
      } else if (piece.ends && exponents) {
        factor = exp2<Real>(splat<Real>(most + own(piece.row)))[0];
      }
      const bool here = exists<Real>(piece.row, head.reader_cut_begin, head.reader_cut_end);
      Real* const out = head.out + piece.row * head.out_stride;
      const bool whole = piece.begins && piece.ends && here; // straight to the output
      if (marks != nullptr) {
        add_rows_marked<Real, vectors>(head.value, head.value_stride, head.value_width, space.columns + piece.first,
                                       space.scores + piece.first, marks, piece.count, factor,
                                       whole ? out : space.value_sums);
      } else {
        add_rows<Real, vectors>(head.value, head.value_stride, head.value_width, space.columns + piece.first,
                                space.scores + piece.first, piece.count, !piece.begins, factor,
                                whole ? out : space.value_sums);
      }
      if (!piece.ends)
        continue;
      if (!whole) {
        for (std::int64_t k = 0; k < head.value_width; ++k)
          out[k] = here ? space.value_sums[k] : Real(0);
      }
      if (rule.canonical)
        make_canonical<Real>(out, head.value_width);
      if (head.statistics != nullptr) {
        head.statistics[piece.row * 2] = most;
        head.statistics[piece.row * 2 + 1] = factor;
      }
    }
  }
}

/// Calls f with the number of whole vectors of both widths as a constant, 0 where they differ or do not fit.
template <class Real, class Function>
SIGHTLINE_INLINE auto with_vectors(std::int64_t width, std::int64_t value_width, Function f) {
  constexpr int lanes = Lanes<Real>::count;
  if (width == value_width && width == 4 * lanes)
    return f(Constant<4>{});
  if (width == value_width && width == 8 * lanes)
    return f(Constant<8>{});
  return f(Constant<0>{});
}

template <class Real>
void forward_rows(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                  std::int64_t end, void* workspace) {
  with_vectors<Real>(head.width, head.value_width, [&](auto vectors) {
    forward_rows_of<Real, decltype(vectors)::value>(rule, head, list, begin, end, workspace);
  });
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
      weight = exp2_shifted<Real>(s * splat<Real>(rule.factor) + load<Real>(space.middles + a),
                                  load<Real>(space.shifts + a)) *
               scale;
      slope = weight * chained;
      if (root)
        slope = s == zero ? zero : slope * splat<Real>(Real(0.5)) / s;
    } else if (rule.weight == Weight::features) {
      slope = exp2_shifted<Real>(load<Real>(space.middles + a), load<Real>(space.shifts + a)) * scale;
      weight = s * slope;
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

/// Weights and derivatives of a piece's arcs, kept for the columns' turn; 0 for arcs to what does not exist.
template <class Real>
SIGHTLINE_INLINE void keep_arcs(const SparseRows& list, const Piece& piece, std::int64_t cut_begin,
                                std::int64_t cut_end, const ArcSpace<Real>& space, const Gradients<Real>& gradients) {
  int from = piece.first;
  for (std::int64_t a = piece.first_arc; a < piece.last_arc; ++a) {
    const bool there = exists<Real>(list.columns[a], cut_begin, cut_end);
    gradients.arc_weights[a] = there ? space.scores[from] : Real(0);
    gradients.arc_slopes[a] = there ? space.products[from] : Real(0);
    if (gradients.arc_alongs != nullptr)
      gradients.arc_alongs[a] = there ? space.read_slopes[from] : Real(0);
    from += there ? 1 : 0;
  }
}

template <class Real, int vectors>
Real backward_rows_of(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                      const SparseRows& list, std::int64_t begin, std::int64_t end, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  std::int32_t counting[most_arcs];
  if (rule.prepare != Prepare::nothing) {
    for (int a = 0; a < most_arcs; ++a)
      counting[a] = a;
  }
  const bool program = rule.weight == Weight::program;
  const bool exponents = program && (rule.program->exponent >= 0 || head.offset_bias != nullptr);
  const ProgramSpace<Real> program_space(space.end, rule.program);
  Real sink = 0, total = 0;
  bool reads = false; // this row reads something that exists; else its gradient is 0 whatever it holds
  PieceSource source(list, begin, end, head.read_cut_begin, head.read_cut_end);
  int arcs = 0;
  while (const int pieces = source.next(space.pieces, most_arcs, space.columns, arcs)) {
    const ArcRows<Real> keys = find_arc_rows<Real>(rule.prepare, head.key, head.key_stride, head.width, space.columns,
                                                   arcs, counting, space.prepared);
    const int padded = static_cast<int>(round_up(arcs, lanes));
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      const Real* query = head.query + piece.row * head.query_stride;
      if (rule.prepare != Prepare::nothing) {
        prepare_row<Real>(rule.prepare, query, head.width, Real(1), space.fixed);
        query = space.fixed;
      }
      if (!program) {
        partial_products<Real, vectors>(rule.score == Score::distance, query, rule.query_scale, keys.base, keys.stride,
                                        head.width, keys.columns + piece.first, piece.count,
                                        space.parts + piece.first * lanes);
      }
    }
    if (program)
      find_program_scores<Real, vectors>(rule, head, pieces, arcs, space);
    for (int a = arcs * lanes; a < padded * lanes; ++a)
      space.parts[a] = 0;
    if (!program)
      add_parts<Real>(space.parts, padded, space.scores);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      partial_products<Real, vectors>(false, gradients.out + piece.row * gradients.out_stride, Real(1), head.value,
                                      head.value_stride, head.value_width, space.columns + piece.first, piece.count,
                                      space.parts + piece.first * lanes);
      const Real most = head.statistics[piece.row * 2], scale = head.statistics[piece.row * 2 + 1];
      for (int a = piece.first; a < piece.first + piece.count; ++a) {
        space.shifts[a] = most;
        space.middles[a] = head.offset_bias != nullptr ? head.offset_bias[piece.row - space.columns[a]] : Real(0);
        if (rule.weight == Weight::features)
          space.middles[a] += head.read_exponents[space.columns[a]];
        space.scales[a] = scale;
      }
    }
    add_parts<Real>(space.parts, padded, space.products);
    clear_tail(arcs, padded, space);
    if (program)
      find_program_slopes<Real>(*rule.program, exponents, padded, space, program_space);
    else
      find_arc_slopes<Real>(rule, padded, space);
    // d out . out is the weighted mean of what was just computed; only long rows, in pieces, read the output again.
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      Real middle = 0;
      if (list.marks != nullptr) {
        middle = sum_marked<Real>(list.marks + piece.first_arc, piece.count, [&](int a) {
          return space.scores[piece.first + a] * space.products[piece.first + a];
        });
      } else if (piece.begins && piece.ends) {
        for (int a = piece.first; a < piece.first + piece.count; ++a)
          middle += space.scores[a] * space.products[a];
      } else {
        middle = dot_rows<Real>(gradients.out + piece.row * gradients.out_stride,
                                head.out + piece.row * head.out_stride, head.value_width);
      }
      if (!rule.normalised)
        middle = 0;
      if (rule.has_extra)
        gradients.middles[piece.row] = middle;
      for (int a = piece.first; a < piece.first + piece.count; ++a)
        space.middles[a] = middle;
    }
    for (int a = 0; a < padded && program; a += lanes) {
      const Vec<Real> above = load<Real>(space.products + a) - load<Real>(space.middles + a);
      store<Real>(space.reader_slopes + a, above * load<Real>(space.reader_slopes + a));
      store<Real>(space.read_slopes + a, above * load<Real>(space.read_slopes + a));
    }
    differentiate_arcs<Real>(padded, space);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      keep_arcs(list, piece, head.read_cut_begin, head.read_cut_end, space, gradients);
      const bool here = exists<Real>(piece.row, head.reader_cut_begin, head.reader_cut_end);
      const Real* const query = head.query + piece.row * head.query_stride;
      if (piece.ends && here && rule.has_extra) {
        const Real own = rule.weight == Weight::features ? head.reader_exponents[piece.row] : Real(0);
        sink += gradients.middles[piece.row] *
                exp2<Real>(splat<Real>(rule.sink - own - head.statistics[piece.row * 2]))[0] *
                head.statistics[piece.row * 2 + 1];
      }
      reads = (!piece.begins && reads) || piece.count > 0;
      if (gradients.query == nullptr)
        continue;
      Real* const to = gradients.query + piece.row * gradients.query_stride;
      const bool simple = here && piece.begins && piece.ends && rule.prepare == Prepare::nothing &&
                          rule.score == Score::dot && !program;
      const std::uint8_t* const marks = list.marks == nullptr ? nullptr : list.marks + piece.first_arc;
      if (marks != nullptr) {
        add_rows_marked<Real, vectors>(keys.base, keys.stride, head.width, keys.columns + piece.first,
                                       space.products + piece.first, marks, piece.count,
                                       simple ? rule.query_scale : Real(1), simple ? to : space.sums);
      } else {
        add_rows<Real, vectors>(keys.base, keys.stride, head.width, keys.columns + piece.first,
                                space.products + piece.first, piece.count, !piece.begins,
                                simple ? rule.query_scale : Real(1), simple ? to : space.sums);
      }
      if (rule.score == Score::distance) {
        if (piece.begins)
          total = 0;
        if (marks != nullptr)
          total = sum_marked<Real>(marks, piece.count, [&](int a) { return space.products[piece.first + a]; });
        for (int a = piece.first; a < piece.first + piece.count && marks == nullptr; ++a)
          total += space.products[a];
      }
      if (program) {
        if (piece.begins)
          total = 0;
        if (marks != nullptr)
          total = sum_marked<Real>(marks, piece.count, [&](int a) { return space.reader_slopes[piece.first + a]; });
        for (int a = piece.first; a < piece.first + piece.count && marks == nullptr; ++a)
          total += space.reader_slopes[a];
      }
      if (simple || !piece.ends)
        continue;
      if (!here || !reads) {
        for (std::int64_t k = 0; k < head.width; ++k)
          to[k] = 0;
        continue;
      }
      if (rule.score == Score::distance) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] = total * rule.query_scale * query[k] - space.sums[k];
      }
      if (program && (rule.program->uses[1] || rule.program->uses[3])) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] += total * (rule.query_scale * query[k]);
      }
      prepare_gradient<Real>(rule.prepare, query, space.sums, head.width, rule.query_scale, to, false);
    }
  }
  return sink;
}

template <class Real>
Real backward_rows(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                   const SparseRows& list, std::int64_t begin, std::int64_t end, void* workspace) {
  return with_vectors<Real>(head.width, head.value_width, [&](auto vectors) {
    return backward_rows_of<Real, decltype(vectors)::value>(rule, head, gradients, list, begin, end, workspace);
  });
}

/// The list holds columns: rows[r] is read by columns[offsets[r] ..], whose arcs in the rows' list are arcs[..]. Every
/// column collects what its readers kept. add: to what is there; else the gradients are written.
template <class Real, int vectors>
void backward_columns_of(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                         const SparseRows& list, std::int64_t begin, std::int64_t end, bool add, void* workspace) {
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  std::int32_t counting[most_arcs];
  if (rule.prepare != Prepare::nothing) {
    for (int a = 0; a < most_arcs; ++a)
      counting[a] = a;
  }
  const bool distance = rule.score == Score::distance;
  const bool along = rule.weight == Weight::program && (rule.program->uses[2] || rule.program->uses[3]);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t column = list.rows[r];
    if (!exists<Real>(column, head.read_cut_begin, head.read_cut_end)) {
      for (std::int64_t k = 0; !add && gradients.key != nullptr && k < head.width; ++k)
        gradients.key[column * gradients.key_stride + k] = 0;
      for (std::int64_t k = 0; !add && gradients.value != nullptr && k < head.value_width; ++k)
        gradients.value[column * gradients.value_stride + k] = 0;
      continue;
    }
    Real* const value = gradients.value == nullptr ? nullptr : gradients.value + column * gradients.value_stride;
    const bool simple = !distance && !along && rule.prepare == Prepare::nothing;
    Real* const key = gradients.key == nullptr ? nullptr : gradients.key + column * gradients.key_stride;
    Real* const key_sums = simple ? key : space.sums;
    Real total = 0;
    bool first = true;
    std::int64_t found = 0;
    for (std::int64_t a = list.offsets[r]; first || a < list.offsets[r + 1];) {
      int count = 0;
      for (; a < list.offsets[r + 1] && count < most_arcs; ++a) {
        if (!exists<Real>(list.columns[a], head.reader_cut_begin, head.reader_cut_end))
          continue;
        space.columns[count] = list.columns[a];
        space.scores[count] = gradients.arc_weights[list.arcs[a]];
        const Real slope = gradients.arc_slopes[list.arcs[a]];
        total += along ? gradients.arc_alongs[list.arcs[a]] : slope;
        space.products[count++] = slope * rule.query_scale;
      }
      found += count;
      // Columns with marks are short and come in one piece.
      const std::uint8_t* const marks = list.marks == nullptr ? nullptr : list.marks + list.offsets[r];
      if (marks != nullptr) {
        total = sum_marked<Real>(marks, count, [&](int c) {
          return (along ? gradients.arc_alongs : gradients.arc_slopes)[list.arcs[list.offsets[r] + c]];
        });
      }
      if (value != nullptr && marks != nullptr) {
        add_rows_marked<Real, vectors>(gradients.out, gradients.out_stride, head.value_width, space.columns,
                                       space.scores, marks, count, Real(1), add ? space.value_sums : value);
        for (std::int64_t k = 0; add && k < head.value_width; ++k)
          value[k] += space.value_sums[k];
      } else if (value != nullptr) {
        add_rows<Real, vectors>(gradients.out, gradients.out_stride, head.value_width, space.columns, space.scores,
                                count, add || !first, Real(1), value);
      }
      if (key != nullptr) {
        const ArcRows<Real> queries = find_arc_rows<Real>(rule.prepare, head.query, head.query_stride, head.width,
                                                          space.columns, count, counting, space.prepared);
        if (marks != nullptr) {
          Real* const to = simple && add ? space.fixed : key_sums;
          add_rows_marked<Real, vectors>(queries.base, queries.stride, head.width, queries.columns, space.products,
                                         marks, count, Real(1), to);
          for (std::int64_t k = 0; simple && add && k < head.width; ++k)
            key[k] += to[k];
        } else {
          add_rows<Real, vectors>(queries.base, queries.stride, head.width, queries.columns, space.products, count,
                                  simple ? add || !first : !first, Real(1), key_sums);
        }
      }
      first = false;
    }
    if (key == nullptr || simple)
      continue;
    if (found == 0) { // nobody reads it: 0 whatever it holds
      for (std::int64_t k = 0; !add && k < head.width; ++k)
        key[k] = 0;
      continue;
    }
    const Real* const given = head.key + column * head.key_stride;
    if (distance) {
      for (std::int64_t k = 0; k < head.width; ++k)
        space.sums[k] = total * given[k] - space.sums[k];
    }
    for (std::int64_t k = 0; along && k < head.width; ++k)
      space.sums[k] += total * given[k];
    prepare_gradient<Real>(rule.prepare, given, space.sums, head.width, Real(1), key, add);
  }
}

template <class Real>
void backward_columns(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                      const SparseRows& list, std::int64_t begin, std::int64_t end, bool add, void* workspace) {
  with_vectors<Real>(head.width, head.value_width, [&](auto vectors) {
    backward_columns_of<Real, decltype(vectors)::value>(rule, head, gradients, list, begin, end, add, workspace);
  });
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
