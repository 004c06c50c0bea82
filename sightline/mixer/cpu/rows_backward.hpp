// Backward pass of rows taken one by one: through the rows for the gradients of queries, then through the columns for
// those of keys and values, so that nobody adds to what another thread adds to.
#pragma once

#include "sightline/mixer/cpu/rows_forward.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Weights (times the row's factor) of a group of arcs, from scores and the arcs' readers' shifts and scales; `scales`
/// becomes what (d out . value - d out . out) is multiplied by for the derivative of the score.
template <class Real> void find_arc_slopes(const Rule<Real>& rule, int count, ArcSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const bool exponents = is_exponent(rule.weight), root = rule.weight == Weight::exponential_root;
  const Vec<Real> zero{}, chained = splat<Real>(score_chain<Real>(rule));
  for (int a = 0; a < count; a += lanes) {
    Vec<Real> s = load<Real>(space.scores + a), weight, slope;
    const Vec<Real> scale = load<Real>(space.scales + a);
    if (exponents) {
      const Vec<Real> square = s;
      if (root)
        s = square_root<Real>(s);
      weight = exp2_shifted<Real>(s * splat<Real>(rule.factor) + load<Real>(space.middles + a),
                                  load<Real>(space.shifts + a)) *
               scale;
      slope = weight * chained;
      if (root)
        slope = s == zero ? zero : slope * splat<Real>(Real(0.5)) * inverse_root<Real>(square);
    } else if (rule.weight == Weight::features) {
      slope = exp2_shifted<Real>(load<Real>(space.middles + a), load<Real>(space.shifts + a)) * scale;
      weight = s * slope;
    } else if (is_reciprocal(rule.weight)) {
      weight = reciprocal_weight<Real>(rule.weight, splat<Real>(rule.factor), s);
      slope = reciprocal_slope<Real>(rule.weight, weight) * scale * chained;
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
                                std::int64_t cut_end, bool here, const ArcSpace<Real>& space,
                                const Gradients<Real>& gradients) {
  int from = piece.first;
  for (std::int64_t a = piece.first_arc; a < piece.last_arc; ++a) {
    const bool there = exists<Real>(list.columns[a], cut_begin, cut_end);
    gradients.arc_weights[a] = there ? space.scores[from] : Real(0);
    gradients.arc_slopes[a] = there ? space.products[from] : Real(0);
    if (gradients.arc_exponents != nullptr)
      gradients.arc_exponents[a] = there && here ? space.exponent_slopes[from] : Real(0);
    if (gradients.arc_alongs != nullptr)
      gradients.arc_alongs[a] = there ? space.read_slopes[from] : Real(0);
    if (gradients.row_alongs != nullptr)
      gradients.row_alongs[a - list.offsets[piece.number]] = there ? space.reader_slopes[from] : Real(0);
    from += there ? 1 : 0;
  }
}

/// A row's only read has weight 1 whatever its score is, and slope 0: k times the rounded 1 / k need not be 1, and the
/// difference would stand alone where nothing else is added to it.
template <class Real> SIGHTLINE_INLINE bool is_weight_one(const Rule<Real>& rule, std::int64_t reads) {
  return reads == 1 && rule.normalised && !rule.has_extra;
}

template <class Real>
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
  const bool exponents = program && (rule.program->exponent >= 0 || has_bias(head));
  const ProgramSpace<Real> program_space(space.end, rule.program);
  Real sink = 0, total = 0;
  bool reads = false; // this row reads something that exists; else its gradient is 0 whatever it holds
  PieceSource source(list, begin, end, head.read_cut_begin, head.read_cut_end);
  int arcs = 0;
  while (const int pieces = source.next(space.pieces, most_arcs, space.columns, arcs)) {
    space.known = looks_ahead(rule, head) ? arcs : 0;
    const ArcRows<Real> keys = find_arc_rows<Real>(rule.prepare, head.key, head.key_stride, head.width, space.columns,
                                                   arcs, counting, space.prepared);
    const int padded = static_cast<int>(round_up(arcs, lanes));
    for (int p = 0; p < pieces; ++p)
      find_piece_parts<Real>(rule, head, space.pieces[p], keys, space);
    if (program)
      find_program_scores<Real>(rule, head, pieces, arcs, space);
    for (int a = arcs * lanes; a < padded * lanes; ++a)
      space.parts[a] = 0;
    if (!program)
      add_parts<Real>(space.parts, padded, space.scores);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      partial_products<Real>(space.vectors, false, gradients.out + piece.row * gradients.out_stride, Real(1), head.value,
                                      head.value_stride, head.value_width, space.columns + piece.first, piece.count,
                                      space.parts + piece.first * lanes, lanes, space.known_from(piece));
      const Real most = head.statistics[piece.row * 2], scale = head.statistics[piece.row * 2 + 1];
      for (int a = piece.first; a < piece.first + piece.count; ++a) {
        space.shifts[a] = most;
        space.middles[a] = rule.weight == Weight::features ? head.read_exponents[space.columns[a]] : Real(0);
        space.scales[a] = scale;
      }
      add_arc_biases<Real>(head, list, piece, space.columns, space.middles);
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
      if (is_weight_one(rule, piece.begins && piece.ends && !list.cut ? piece.count : 0)) {
        middle = space.products[piece.first];
      } else if (list.free != nullptr && list.free[piece.number] != 0) { // no order of the row's own sum
        middle = dot_rows<Real>(gradients.out + piece.row * gradients.out_stride,
                                head.out + piece.row * head.out_stride, head.value_width);
      } else if (list.marks != nullptr) {
        middle = sum_marked<Real>(list.marks + piece.first_arc, piece.count, [&](int a) {
          return space.scores[piece.first + a] * space.products[piece.first + a];
        });
      } else if (piece.begins && piece.ends && !list.cut) {
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
    for (int a = 0; a < padded && gradients.arc_exponents != nullptr; a += lanes) {
      store<Real>(space.exponent_slopes + a,
                  load<Real>(space.scores + a) * (load<Real>(space.products + a) - load<Real>(space.middles + a)));
    }
    for (int a = 0; a < padded && program; a += lanes) {
      const Vec<Real> above = load<Real>(space.products + a) - load<Real>(space.middles + a);
      store<Real>(space.reader_slopes + a, above * load<Real>(space.reader_slopes + a));
      store<Real>(space.read_slopes + a, above * load<Real>(space.read_slopes + a));
    }
    differentiate_arcs<Real>(padded, space);
    for (int p = 0; p < pieces; ++p) {
      const Piece& piece = space.pieces[p];
      const bool here = exists<Real>(piece.row, head.reader_cut_begin, head.reader_cut_end);
      keep_arcs(list, piece, head.read_cut_begin, head.read_cut_end, here, space, gradients);
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
        add_rows_marked<Real>(space.vectors, keys.base, keys.stride, head.width, keys.columns + piece.first,
                                       space.products + piece.first, marks, piece.count,
                                       simple ? rule.query_scale : Real(1), simple ? to : space.sums);
      } else if (rule.score == Score::distance) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.fixed[k] = rule.query_scale * query[k];
        add_differences<Real>(space.vectors, keys.base, keys.stride, head.width, keys.columns + piece.first,
                                       space.products + piece.first, piece.count, !piece.begins, space.fixed, Real(1),
                                       space.sums);
      } else {
        add_rows<Real>(space.vectors, keys.base, keys.stride, head.width, keys.columns + piece.first,
                                space.products + piece.first, piece.count, !piece.begins,
                                simple ? rule.query_scale : Real(1), simple ? to : space.sums, 1, space.known_from(piece));
      }
      if (rule.score == Score::distance && marks != nullptr)
        total = sum_marked<Real>(marks, piece.count, [&](int a) { return space.products[piece.first + a]; });
      if (program) {
        if (piece.begins)
          total = 0;
        if (marks != nullptr)
          total = sum_marked<Real>(marks, piece.count, [&](int a) { return space.reader_slopes[piece.first + a]; });
        for (int a = piece.first; a < piece.first + piece.count && marks == nullptr; ++a)
          total += space.reader_slopes[a];
      }
      if (rule.canonical && simple && marks == nullptr)
        make_canonical<Real>(to, head.width);
      if (simple || !piece.ends)
        continue;
      if (!here || !reads) {
        for (std::int64_t k = 0; k < head.width; ++k)
          to[k] = 0;
        continue;
      }
      if (rule.score == Score::distance && marks != nullptr) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] = total * rule.query_scale * query[k] - space.sums[k];
      }
      if (program && (rule.program->uses[1] || rule.program->uses[3])) {
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] += total * (rule.query_scale * query[k]);
      }
      prepare_gradient<Real>(rule.prepare, query, space.sums, head.width, rule.query_scale, to, false);
      if (rule.canonical)
        make_canonical<Real>(to, head.width);
    }
  }
  return sink;
}

/// Rows begin .. end - 1 of the list, `arcs` each: see rows_short.hpp.
template <class Real>
void backward_short_rows(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                         const SparseRows& list, std::int64_t begin, std::int64_t end, int arcs, ArcSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const std::uint8_t* const marks = list.marks == nullptr ? nullptr : list.marks + list.offsets[begin];
  const int padded = arcs * lanes;
  for (int a = 0; a < padded; ++a)
    space.middles[a] = 0;
  for (std::int64_t first = begin; first < end; first += lanes) {
    const int rows = static_cast<int>(end - first < lanes ? end - first : lanes);
    const ShortGroup group{list, first, rows, arcs, space.vectors, gradients.past ? rows_fetched_ahead : 0, head.far};
    if (head.arc_weights == nullptr) {
      short_products<Real>(group, false, head.query, head.query_stride, rule.query_scale, head.key, head.key_stride, space.parts, false);
      add_parts<Real>(space.parts, padded, space.scores);
    }
    short_products<Real>(group, false, gradients.out, gradients.out_stride, Real(1), head.value, head.value_stride, space.parts, false);
    add_parts<Real>(space.parts, padded, space.products);
    if (head.arc_weights != nullptr) {
      take_weights<Real>(group, head.arc_weights + list.offsets[first], space.scores);
      const Vec<Real> chained = splat<Real>(score_chain<Real>(rule));
      for (int a = 0; a < padded; a += lanes)
        store<Real>(space.scales + a, load<Real>(space.scores + a) * chained);
    } else {
      Real most[lanes] = {}, scale[lanes] = {};
      for (int i = 0; i < rows; ++i) {
        most[i] = head.statistics[list.rows[first + i] * 2];
        scale[i] = head.statistics[list.rows[first + i] * 2 + 1];
      }
      for (int a = 0; a < padded; a += lanes) {
        store<Real>(space.shifts + a, load<Real>(most));
        store<Real>(space.scales + a, load<Real>(scale));
      }
      find_arc_slopes<Real>(rule, padded, space);
    }
    Vec<Real> middle{};
    if (is_weight_one(rule, arcs)) {
      middle = load<Real>(space.products);
    } else if (rule.normalised) {
      middle = sum_arcs<Real>(marks, arcs, [&](int a) {
        return load<Real>(space.scores + a * lanes) * load<Real>(space.products + a * lanes);
      });
    }
    for (int a = 0; a < padded; a += lanes) {
      const Vec<Real> above = load<Real>(space.products + a) - middle;
      store<Real>(space.products + a, above * load<Real>(space.scales + a));
    }
    keep_short<Real>(group, space.scores, gradients.arc_weights); // for the columns' turn
    keep_short<Real>(group, space.products, gradients.arc_slopes);
    if (gradients.query != nullptr)
      sum_short<Real>(group, {head.key, head.key_stride, space.products, 1, lanes, nullptr, rule.query_scale,
                              rule.canonical, gradients.past, gradients.query, gradients.query_stride, head.arc_weights != nullptr});
  }
}

/// Gradients of keys and values that columns begin .. end - 1 of the list have, `arcs` readers each; written.
template <class Real>
void backward_short_columns(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                            const SparseRows& list, std::int64_t begin, std::int64_t end, int arcs, int vectors) {
  constexpr int most = 4 * most_short;
  Real weights[most], slopes[most];
  const int at_once = most / arcs;
  for (std::int64_t first = begin; first < end; first += at_once) {
    const int rows = static_cast<int>(end - first < at_once ? end - first : at_once);
    const std::int32_t* const of = list.arcs + list.offsets[first];
    for (int a = 0; a < rows * arcs; ++a) {
      weights[a] = gradients.arc_weights[of[a]];
      slopes[a] = gradients.arc_slopes[of[a]] * rule.query_scale;
    }
    const ShortGroup group{list, first, rows, arcs, vectors, 0, head.far};
    const std::int64_t next = first - begin; // queries and output gradients of the rows behind these columns are fetched
    const auto collect = [&](const Real* base, std::ptrdiff_t stride, const Real* numbers, Real* to, std::ptrdiff_t to_stride) {
      if (to != nullptr)
        sum_short<Real>(group, {base, stride, numbers, arcs, 1, nullptr, Real(1), rule.canonical, gradients.past, to, to_stride, false,
                                base + (gradients.next_reader + next) * stride, gradients.past ? gradients.next_readers - next : 0});
    };
    collect(gradients.out, gradients.out_stride, weights, gradients.value, gradients.value_stride);
    collect(head.query, head.query_stride, slopes, gradients.key, gradients.key_stride);
  }
}

/// What the short kernels of the backward pass do; the rest is taken row by row.
template <class Real> bool are_rows_short_backward(const Rule<Real>& rule, const Head<Real>& head) {
  return are_rows_plain(rule, head) && rule.score == Score::dot && !rule.has_extra;
}

/// d loss / d key of a column from the sum of its readers' queries by their slopes: what distances (unless `differences`
/// were added up) and slopes along the key itself add to it, `total` of them together, and back through what was done to
/// the key.
template <class Real>
SIGHTLINE_INLINE void finish_key(const Rule<Real>& rule, const Head<Real>& head, std::int64_t column, Real total,
                                 bool along, bool differences, Real* sums, Real* to, bool add) {
  const Real* const given = head.key + column * head.key_stride;
  if (rule.score == Score::distance && !differences) {
    for (std::int64_t k = 0; k < head.width; ++k)
      sums[k] = total * given[k] - sums[k];
  }
  for (std::int64_t k = 0; along && k < head.width; ++k)
    sums[k] += total * given[k];
  prepare_gradient<Real>(rule.prepare, given, sums, head.width, Real(1), to, add);
}

/// The list holds columns: rows[r] is read by columns[offsets[r] ..], whose arcs in the rows' list are arcs[..]. Every
/// column collects what its readers kept. add: to what is there; else the gradients are written.
template <class Real>
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
  const bool is_ahead = looks_ahead(rule, head);
  const std::int64_t all_arcs = list.offsets[list.count];
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
    const bool differences = distance && list.marks == nullptr;
    Real total = 0;
    bool first = true;
    std::int64_t found = 0;
    for (std::int64_t a = list.offsets[r]; first || a < list.offsets[r + 1];) {
      int count = 0;
      const auto take = [&](std::int64_t arc) SIGHTLINE_INLINE_HERE {
        if (!exists<Real>(list.columns[arc], head.reader_cut_begin, head.reader_cut_end))
          return;
        space.columns[count] = list.columns[arc];
        space.scores[count] = gradients.arc_weights[list.arcs[arc]];
        const Real slope = gradients.arc_slopes[list.arcs[arc]];
        total += along ? gradients.arc_alongs[list.arcs[arc]] : slope;
        space.products[count++] = differences ? slope : slope * rule.query_scale;
      };
      for (; head.far && a + reads_fetched_ahead < all_arcs && a < list.offsets[r + 1] && count < most_arcs; ++a) {
        __builtin_prefetch(gradients.arc_weights + list.arcs[a + reads_fetched_ahead]);
        __builtin_prefetch(gradients.arc_slopes + list.arcs[a + reads_fetched_ahead]);
        take(a);
      }
      for (; a < list.offsets[r + 1] && count < most_arcs; ++a)
        take(a);
      found += count;
      std::int64_t known = 0;
      if (is_ahead) { // at columns that come behind this one
        known = count;
        for (std::int64_t k = a; k < all_arcs && k < a + reads_fetched_ahead && known < most_arcs; ++k)
          space.columns[known++] = list.columns[k];
      }
      // Columns with marks are short and come in one piece.
      const std::uint8_t* const marks = list.marks == nullptr ? nullptr : list.marks + list.offsets[r];
      if (marks != nullptr) {
        total = sum_marked<Real>(marks, count, [&](int c) {
          return (along ? gradients.arc_alongs : gradients.arc_slopes)[list.arcs[list.offsets[r] + c]];
        });
      }
      if (value != nullptr && marks != nullptr) {
        add_rows_marked<Real>(space.vectors, gradients.out, gradients.out_stride, head.value_width, space.columns,
                                       space.scores, marks, count, Real(1), add ? space.value_sums : value);
        for (std::int64_t k = 0; add && k < head.value_width; ++k)
          value[k] += space.value_sums[k];
      } else if (value != nullptr) {
        add_rows<Real>(space.vectors, gradients.out, gradients.out_stride, head.value_width, space.columns, space.scores,
                                count, add || !first, Real(1), value, 1, known);
      }
      if (key != nullptr) {
        const ArcRows<Real> queries = find_arc_rows<Real>(rule.prepare, head.query, head.query_stride, head.width,
                                                          space.columns, count, counting, space.prepared);
        if (marks != nullptr) {
          Real* const to = simple && add ? space.fixed : key_sums;
          add_rows_marked<Real>(space.vectors, queries.base, queries.stride, head.width, queries.columns, space.products,
                                         marks, count, Real(1), to);
          for (std::int64_t k = 0; simple && add && k < head.width; ++k)
            key[k] += to[k];
        } else if (differences) {
          add_differences<Real>(space.vectors, queries.base, queries.stride, head.width, queries.columns, space.products,
                                         count, !first, head.key + column * head.key_stride, rule.query_scale,
                                         key_sums);
        } else {
          add_rows<Real>(space.vectors, queries.base, queries.stride, head.width, queries.columns, space.products, count,
                                  simple ? add || !first : !first, Real(1), key_sums, 1, known);
        }
      }
      first = false;
    }
    if (rule.canonical && value != nullptr)
      make_canonical<Real>(value, head.value_width);
    if (rule.canonical && key != nullptr && simple)
      make_canonical<Real>(key, head.width);
    if (key == nullptr || simple)
      continue;
    if (found == 0) { // nobody reads it: 0 whatever it holds
      for (std::int64_t k = 0; !add && k < head.width; ++k)
        key[k] = 0;
      continue;
    }
    finish_key(rule, head, column, total, along, differences, space.sums, key, add);
    if (rule.canonical)
      make_canonical<Real>(key, head.width);
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
