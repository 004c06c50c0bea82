// Which of a row's reads have the k largest weights: numbers become whole numbers of the same order, a bisection finds
// the k-th largest, and the first reads that reach it are kept.
#pragma once

#include "sightline/mixer/cpu/rows_forward.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

template <class Real> using Whole = typename Lanes<Real>::Integer;
/// Below every number: what is not read.
template <class Real> constexpr Whole<Real> not_read = Whole<Real>{1} << (8 * sizeof(Real) - 2) << 1;
template <class Real> constexpr Whole<Real> all_but_sign = ~not_read<Real>;

/// Whole numbers in the order of s, as bits; -0 is 0, NaN is infinite.
template <class Real> SIGHTLINE_INLINE Vec<Real> order_key(Vec<Real> s) {
  const Vec<Real> infinite = splat<Real>(Real(__builtin_inff()));
  s = s == s ? s + Vec<Real>{} : infinite;
  IntVec<Real> bits = (IntVec<Real>)s;
  bits ^= (bits >> (8 * static_cast<int>(sizeof(Real)) - 1)) & (all_but_sign<Real> - IntVec<Real>{});
  return (Vec<Real>)bits;
}

/// A bit for every key of a vector that is at least `least`.
template <class Real> SIGHTLINE_INLINE std::uint64_t reached_from(const Real* keys, Whole<Real> least) {
  const IntVec<Real> mine = (IntVec<Real>)load<Real>(keys);
  [[maybe_unused]] const IntVec<Real> border = least - IntVec<Real>{};  // not in the portable loop
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4)
    return _mm512_cmpge_epi32_mask((__m512i)mine, (__m512i)border);
  else
    return _mm512_cmpge_epi64_mask((__m512i)mine, (__m512i)border);
#elif defined(SIGHTLINE_USE_AVX2)
  if constexpr (sizeof(Real) == 4)
    return static_cast<std::uint64_t>(_mm256_movemask_ps((__m256)(mine >= border)));
  else
    return static_cast<std::uint64_t>(_mm256_movemask_pd((__m256d)(mine >= border)));
#else
  std::uint64_t bits = 0;
  for (int lane = 0; lane < Lanes<Real>::count; ++lane)
    bits |= std::uint64_t{mine[lane] >= least} << lane;
  return bits;
#endif
}

/// How many of `count` keys (whole vectors) are at least `least`.
template <class Real> std::int64_t count_from(const Real* keys, std::int64_t count, Whole<Real> least) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < count; k += lanes)
    sum += __builtin_popcountll(reached_from<Real>(keys + k, least));
  return sum;
}

/// A border that at least `most` of the keys (whole vectors) reach, and as few more as it takes: bisection. `ties`: how many
/// of those that equal it belong to the `most` largest.
template <class Real> struct Border {
  Whole<Real> least = not_read<Real> + 1;
  std::int64_t ties = 0;
};
template <class Real>
Border<Real> find_border(const Real* keys, std::int64_t count, std::int64_t most, Whole<Real> from) {
  using Number = Whole<Real>;
  Number least = from, high = all_but_sign<Real>;
  bool exactly = false;
  while (least < high && !exactly) { // at least `most` keys from `least` on, fewer beyond `high`
    const auto half = static_cast<Number>(
        (static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - static_cast<std::int64_t>(least)) + 1) / 2);
    const Number middle = sizeof(Real) == 4 || high < 0 || least >= 0
                              ? static_cast<Number>(least + half)
                              : (least + 1 >= 0 ? least + 1 : 0); // 64 bits: the difference may not fit
    const std::int64_t found = count_from<Real>(keys, count, middle);
    exactly = found == most;
    if (found >= most)
      least = middle;
    else
      high = middle - 1;
  }
  if (exactly)
    return {least, count};
  return {least, most - (least == all_but_sign<Real> ? 0 : count_from<Real>(keys, count, least + 1))};
}

/// Of every few keys the largest: the most-th largest of these is reached by at least `most` keys, and by few more. 0 where
/// the keys are too few for that to pay.
inline constexpr int most_tops = 1024;
template <class Real>
std::int64_t find_tops(const Real* keys, std::int64_t count, std::int64_t most, Real* tops) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t vectors = count / lanes;
  std::int64_t depth = 8;
  while (vectors / depth * lanes > most_tops)
    depth *= 2;
  const std::int64_t found = vectors / depth * lanes;
  if (found < 2 * most)
    return 0;
  for (std::int64_t v = 0; v < found / lanes; ++v) {
    IntVec<Real> top = (IntVec<Real>)load<Real>(keys + v * depth * lanes);
    for (std::int64_t d = 1; d < depth; ++d) {
      const IntVec<Real> key = (IntVec<Real>)load<Real>(keys + (v * depth + d) * lanes);
      top = key > top ? key : top;
    }
    store<Real>(tops + v * lanes, (Vec<Real>)top);
  }
  return found;
}

/// Calls f(position, key) for the keys that reach a border, by rising position, until it says stop.
template <class Real, class Function>
SIGHTLINE_INLINE void for_keys_from(const Real* keys, std::int64_t count, Whole<Real> least, Function f) {
  for (std::int64_t k = 0; k < count; k += Lanes<Real>::count) {
    for (std::uint64_t bits = reached_from<Real>(keys + k, least); bits != 0; bits &= bits - 1) {
      const std::int64_t at = k + __builtin_ctzll(bits);
      Whole<Real> key;
      __builtin_memcpy(&key, keys + at, sizeof key);
      if (!f(at, key))
        return;
    }
  }
}

/// Writes the reads of one row that count, by rising position; returns their number.
template <class Real>
int take_largest(const Real* keys, std::int64_t count, const std::int32_t* columns, std::int64_t most,
                 std::int32_t* to) {
  constexpr int lanes = Lanes<Real>::count;
  using Number = Whole<Real>;
  constexpr std::int64_t most_candidates = 1024;
  constexpr Number lowest = not_read<Real> + 1, nothing = not_read<Real>;
  alignas(64) Real tops[most_tops];
  Number from = lowest;
  const std::int64_t groups = find_tops<Real>(keys, count, most, tops);
  if (groups > 0 && count_from<Real>(tops, groups, lowest) >= most)
    from = find_border<Real>(tops, groups, most, lowest).least;
  int taken = 0;
  if (from > lowest) { // few keys are left
    alignas(64) Real left[most_candidates + lanes];
    std::int32_t places[most_candidates];
    std::int64_t candidates = 0;
    bool fits = true;
    for_keys_from<Real>(keys, count, from, [&](std::int64_t place, Number key) {
      fits = candidates < most_candidates;
      if (!fits)
        return false;
      __builtin_memcpy(left + candidates, &key, sizeof key);
      places[candidates++] = static_cast<std::int32_t>(place);
      return true;
    });
    if (fits) {
      const std::int64_t padded = round_up(candidates, lanes);
      for (std::int64_t k = candidates; k < padded; ++k)
        __builtin_memcpy(left + k, &nothing, sizeof nothing);
      Border<Real> border = find_border<Real>(left, padded, most, from);
      for_keys_from<Real>(left, padded, border.least, [&](std::int64_t k, Number key) {
        if (key > border.least || border.ties-- > 0)
          to[taken++] = columns[places[k]];
        return true;
      });
      return taken;
    }
  }
  Border<Real> border{lowest, count};
  if (count_from<Real>(keys, count, lowest) > most)
    border = find_border<Real>(keys, count, most, from);
  for_keys_from<Real>(keys, count, border.least, [&](std::int64_t k, Number key) {
    if (key > border.least || border.ties-- > 0)
      to[taken++] = columns[k];
    return true;
  });
  return taken;
}

/// The reads that count of every reader of a tile.
template <class Real>
void select_tile(const Rule<Real>& rule, const Head<Real>& head, const TileList& tile, const Selection<Real>& to,
                 void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  Arena arena(workspace);
  Real* const queries = arena.take<Real>(head.width * tile_readers);
  Real* const scores = arena.take<Real>(strip_columns * tile_readers);
  Real* const key_copy = arena.take<Real>(strip_columns * (head.width > lanes ? head.width : lanes));
  Real* const rows =
      wants_query_rows(rule) ? arena.take<Real>(tile_readers * row_stride<Real>(head.width)) : nullptr;
  Real* const unused = arena.take<Real>(tile_readers);
  const std::uint64_t active = find_active(tile, head.reader_cut_begin, head.reader_cut_end);
  const int vectors = (tile.readers + lanes - 1) / lanes;
  const bool program = rule.weight == Weight::program;
  const bool exponents = is_exponent(rule.weight) || (program && rule.program->exponent >= 0) || has_bias(head);
  pack_queries<Real>(rule, head, tile, active, rows, queries);
  const ProgramSpace<Real> space(arena, rule.program);
  ProgramScores<Real> inputs(arena, rule, tile.readers, rows, head.width, row_stride<Real>(head.width));
  TileBias<Real> bias(arena, head, tile, active, nullptr, nullptr);
  for (int i = 0; i < tile_readers; ++i)
    unused[i] = 0;
  std::int64_t count = 0;
  Ahead ahead;
  Strip strip;
  StripSource source(tile, active, head.read_cut_begin, head.read_cut_end, head.order);
  while (source.next(strip)) {
    std::ptrdiff_t key_stride = 0;
    const Real* const keys =
        gather_rows<Real>(strip, head.key, head.key_stride, head.width, rule.prepare, key_copy, key_stride);
    if (program) {
      inputs.find(*rule.program, strip, tile.readers, head.width, keys, key_stride, queries, scores, &ahead);
      find_program_parts<Real>(*rule.program, strip, vectors, inputs.reader_squares, inputs.read_squares,
                               inputs.distances, scores, scores, exponents, space);
    } else {
      score_strip<Real>(rule.score, strip, tile.readers, head.width, keys, key_stride, queries, scores, &ahead);
    }
    if (exponents) {
      bias.find(strip);
      find_exponents<Real>(rule, strip, vectors, bias.biases, scores, unused);
    } else {
      find_weights<Real>(rule, strip, vectors, scores, unused);
    }
    const Vec<Real> nothing = (Vec<Real>)(not_read<Real> - IntVec<Real>{});
    for (int v = 0; v < vectors; ++v) {
      for (int c = 0; c < strip.count; ++c) {
        Real* const at = scores + c * tile_readers + v * lanes;
        const Vec<Real> key = order_key<Real>(load<Real>(at));
        store<Real>(at, strip.full ? key : select(strip.masks[c] >> (v * lanes), key, nothing));
      }
      for (int c = 0; c < strip.count; c += lanes) {
        Vec<Real> block[lanes];
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i)
          block[i] = c + i < strip.count ? load<Real>(scores + (c + i) * tile_readers + v * lanes) : nothing;
        transpose<Real>(block);
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i)
          store<Real>(to.keys + (v * lanes + i) * to.stride + count + c, block[i]);
      }
    }
    for (int c = 0; c < strip.count; ++c)
      to.columns[count + c] = strip.columns[c];
    count += strip.count;
  }
  // Behind the last read: a strip of whole vectors that begins anywhere leaves there what the list before held.
  const Vec<Real> behind = (Vec<Real>)(not_read<Real> - IntVec<Real>{});
  for (int i = 0; i < tile.readers; ++i) {
    const std::int64_t reader = tile.first_reader + i;
    store<Real>(to.keys + i * to.stride + count, behind);
    to.counts[reader] = (active >> i & 1) == 0
                            ? 0
                            : take_largest<Real>(to.keys + i * to.stride, round_up(count, lanes), to.columns, to.most,
                                                 to.reads + reader * to.most);
  }
}

/// The same for readers taken one by one.
template <class Real>
void select_rows(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                 std::int64_t end, const Selection<Real>& to, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  std::int32_t counting[most_arcs];
  for (int a = 0; a < most_arcs; ++a)
    counting[a] = a;
  const bool program = rule.weight == Weight::program;
  const ProgramSpace<Real> program_space(space.end, rule.program);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t row = list.rows[r];
    to.counts[row] = 0;
    if (!exists<Real>(row, head.reader_cut_begin, head.reader_cut_end))
      continue;
    std::int64_t count = 0;
    int arcs = 0;
    PieceSource source(list, r, r + 1, head.read_cut_begin, head.read_cut_end);
    while (source.next(space.pieces, 1, space.columns, arcs) > 0) {
      const Piece& piece = space.pieces[0];
      const int padded = static_cast<int>(round_up(arcs, lanes));
      const ArcRows<Real> keys = find_arc_rows<Real>(rule.prepare, head.key, head.key_stride, head.width, space.columns,
                                                     arcs, counting, space.prepared);
      Real* numbers = space.scores;
      if (program) {
        find_program_scores<Real>(rule, head, 1, arcs, space);
        find_arc_parts<Real>(*rule.program, padded, space, program_space);
        numbers = rule.program->factor < 0 ? space.products : space.scores;
      } else {
        const Real* query = head.query + row * head.query_stride;
        if (rule.prepare != Prepare::nothing) {
          prepare_row<Real>(rule.prepare, query, head.width, Real(1), space.fixed);
          query = space.fixed;
        }
        partial_products<Real>(0, rule.score == Score::distance, query, rule.query_scale, keys.base, keys.stride,
                                  head.width, keys.columns, arcs, space.parts);
        for (int a = arcs * lanes; a < padded * lanes; ++a)
          space.parts[a] = 0;
        add_parts<Real>(space.parts, padded, space.scores);
        find_arc_exponents<Real>(rule, padded, space.scores);
        for (int a = 0; a < padded && !is_exponent(rule.weight); a += lanes)
          store<Real>(space.scores + a, weight_alone<Real>(rule, load<Real>(space.scores + a)));
      }
      add_arc_biases<Real>(head, list, piece, space.columns, numbers);
      for (int a = 0; a < padded; a += lanes)
        store<Real>(to.keys + count + a, order_key<Real>(load<Real>(numbers + a)));
      for (int a = 0; a < arcs; ++a)
        to.columns[count + a] = space.columns[a];
      count += arcs;
    }
    const std::int64_t whole = round_up(count, lanes);
    constexpr Whole<Real> nothing = not_read<Real>;
    for (std::int64_t k = count; k < whole; ++k)
      __builtin_memcpy(to.keys + k, &nothing, sizeof nothing);
    to.counts[row] = take_largest<Real>(to.keys, whole, to.columns, to.most, to.reads + row * to.most);
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
