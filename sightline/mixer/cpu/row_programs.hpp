// Rows taken one by one whose kernel is a program.
#pragma once

#include "sightline/mixer/cpu/row_parts.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// What a program reads of the arcs of a group: scores, distances, squares. `parts` is overwritten.
template <class Real>
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
      partial_products<Real>(space.vectors, distance, head.query + piece.row * head.query_stride, rule.query_scale, head.key,
                                      head.key_stride, head.width, space.columns + piece.first, piece.count,
                                      space.parts + piece.first * lanes, lanes, space.known_from(piece));
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
      square = dot_rows<Real>(space.fixed, space.fixed, head.width);
    }
    for (int a = piece.first; a < piece.first + piece.count; ++a) {
      space.reader_squares[a] = square;
      if (program.uses[2])
        space.read_squares[a] = dot_rows<Real>(head.key + space.columns[a] * head.key_stride, head.key + space.columns[a] * head.key_stride, head.width);
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
      const PairSlopes<Real> found = take_slopes<Real>(program, k, space);
      store<Real>(arcs.scales + a + k * lanes, found.pair);
      store<Real>(arcs.reader_slopes + a + k * lanes, found.reader);
      store<Real>(arcs.read_slopes + a + k * lanes, found.read);
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
