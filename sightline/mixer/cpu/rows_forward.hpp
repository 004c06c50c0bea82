// Forward pass of rows taken one by one.
#pragma once

#include "sightline/mixer/cpu/row_programs.hpp"
#include "sightline/mixer/cpu/rows_short.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// The partial products of a row's query, prepared where the rule asks for that, with the reads of one piece. None for programs.
template <class Real>
SIGHTLINE_INLINE void find_piece_parts(const Rule<Real>& rule, const Head<Real>& head, const Piece& piece,
                                       const ArcRows<Real>& keys, ArcSpace<Real>& space) {
  const Real* query = head.query + piece.row * head.query_stride;
  if (rule.prepare != Prepare::nothing) {
    prepare_row<Real>(rule.prepare, query, head.width, Real(1), space.fixed);
    query = space.fixed;
  }
  if (rule.weight != Weight::program) {
    partial_products<Real>(space.vectors, rule.score == Score::distance, query, rule.query_scale, keys.base, keys.stride,
                                    head.width, keys.columns + piece.first, piece.count,
                                    space.parts + piece.first * Lanes<Real>::count, Lanes<Real>::count,
                                    space.known_from(piece));
  }
}

/// The scores of a group of arcs; exponents to base 2 where weights are powers. Programs: factors in `scores`, exponents in
/// `products`.
template <class Real>
void find_group_scores(const Rule<Real>& rule, const Head<Real>& head, int pieces, int arcs,
                                        const std::int32_t* counting, ArcSpace<Real>& space,
                                        const ProgramSpace<Real>& program_space) {
  constexpr int lanes = Lanes<Real>::count;
  const bool program = rule.weight == Weight::program;
  const std::int64_t reads = head.reads;
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
    find_piece_parts<Real>(rule, head, piece, keys, space);
  }
  const int padded = static_cast<int>(round_up(arcs, lanes));
  if (program) {
    find_program_scores<Real>(rule, head, pieces, arcs, space);
    find_arc_parts<Real>(*rule.program, padded, space, program_space);
  } else {
    for (int a = arcs * lanes; a < padded * lanes; ++a)
      space.parts[a] = 0;
    add_parts<Real>(space.parts, padded, space.scores);
    find_arc_exponents<Real>(rule, padded, space.scores);
  }
}

template <class Real>
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
      has_exponent(rule.weight) || (program && (rule.program->exponent >= 0 || has_bias(head)));
  const ProgramSpace<Real> program_space(space.end, rule.program);
  const auto own = [&](std::int64_t row) { return features ? head.reader_exponents[row] : Real(0); };
  const auto start_of = [&](std::int64_t row) {
    return !exponents ? Real(0) : rule.has_extra ? round_up_to_integer(rule.extra - own(row)) : no_exponent<Real>;
  };
  Real* const of_arcs = features || program ? space.products : space.scores; // exponents
  Real most = 0, total = 0;
  PieceSource source(list, begin, end, head.read_cut_begin, head.read_cut_end);
  int arcs = 0;
  while (const int pieces = source.next(space.pieces, most_arcs, space.columns, arcs)) {
    space.known = looks_ahead(rule, head) ? arcs : 0;
    find_group_scores<Real>(rule, head, pieces, arcs, counting, space, program_space);
    const int padded = static_cast<int>(round_up(arcs, lanes));
    // The largest exponent of every piece; a row that goes on remembers it in `shifts`.
    Real carried = most;
    if (exponents) {
      for (int p = 0; p < pieces; ++p) {
        const Piece& piece = space.pieces[p];
        Real top = piece.begins ? start_of(piece.row) : carried;
        for (int a = piece.first; features && a < piece.first + piece.count; ++a)
          of_arcs[a] = head.read_exponents[space.columns[a]];
        add_arc_biases<Real>(head, list, piece, space.columns, of_arcs);
        top = find_largest<Real>(of_arcs + piece.first, piece.count, top);
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
        store<Real>(space.scores + a, weight_alone<Real>(rule, load<Real>(space.scores + a)));
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
      const Real factor = piece.ends ? row_factor<Real>(rule, exponents, total, most, own(piece.row)) : Real(1);
      const bool here = exists<Real>(piece.row, head.reader_cut_begin, head.reader_cut_end);
      Real* const out = head.out + piece.row * head.out_stride;
      const bool whole = piece.begins && piece.ends && here; // straight to the output
      if (marks != nullptr) {
        add_rows_marked<Real>(space.vectors, head.value, head.value_stride, head.value_width, space.columns + piece.first,
                                       space.scores + piece.first, marks, piece.count, factor,
                                       whole ? out : space.value_sums);
      } else {
        add_rows<Real>(space.vectors, head.value, head.value_stride, head.value_width, space.columns + piece.first,
                                space.scores + piece.first, piece.count, !piece.begins, factor,
                                whole ? out : space.value_sums, 1, space.known_from(piece));
      }
      if (!piece.ends)
        continue;
      if (!whole) {
        for (std::int64_t k = 0; k < head.value_width; ++k)
          out[k] = here ? space.value_sums[k] : Real(0);
      }
      if (rule.canonical && (marks == nullptr || !whole)) // rows with marks are by now
        make_canonical<Real>(out, head.value_width);
      if (head.statistics != nullptr) {
        head.statistics[piece.row * 2] = most;
        head.statistics[piece.row * 2 + 1] = factor;
      }
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
