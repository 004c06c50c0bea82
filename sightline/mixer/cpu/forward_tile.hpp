// Forward pass of one tile: up to 64 readers, one lane each, against their reads strip by strip, with a running
// maximum. Maxima are rounded up to integers, so that bringing earlier strips to a new maximum multiplies by a power of
// two and changes no bit: the result does not depend on where strips end.
#pragma once

#include "sightline/mixer/cpu/program.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

inline std::uint64_t find_active(const TileList& tile, std::int64_t cut_begin, std::int64_t cut_end) {
  if (cut_begin >= cut_end)
    return ~std::uint64_t{0} >> (tile_readers - tile.readers);
  std::uint64_t active = 0;
  for (int i = 0; i < tile.readers; ++i) {
    const std::int64_t reader = tile.first_reader + i;
    if (reader < cut_begin || reader >= cut_end)
      active |= std::uint64_t{1} << i;
  }
  return active;
}

/// The rows of a strip where a product can read them: in place when they follow each other, else copied. Rows a power
/// of two or a multiple of it apart would fall into few sets of the cache.
template <class Real>
SIGHTLINE_INLINE const Real* gather_rows(const Strip& strip, const Real* base, std::ptrdiff_t stride,
                                         std::int64_t width, Prepare prepare, Real* copy, std::ptrdiff_t& out_stride) {
  if (prepare == Prepare::nothing && (strip.contiguous || strip.falling) && (stride == width || stride == -width)) {
    out_stride = strip.contiguous ? stride : -stride;
    return base + strip.columns[0] * stride;
  }
  constexpr int lanes = Lanes<Real>::count;
  out_stride = width;
  for (int c = 0; c < strip.count; ++c) {
    const Real* const from = base + strip.columns[c] * stride;
    Real* const to = copy + c * width;
    if (prepare != Prepare::nothing) {
      prepare_row<Real>(prepare, from, width, Real(1), to);
      continue;
    }
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes)
      store<Real>(to + k, load<Real>(from + k));
    for (; k < width; ++k)
      to[k] = from[k];
  }
  return copy;
}

template <class Real>
bool strip_has_non_finite(const Real* rows, std::ptrdiff_t stride, int count, std::int64_t width) {
  if (stride == width || stride == -width)
    return has_non_finite<Real>(stride < 0 ? rows + (count - 1) * stride : rows, width * count);
  bool found = false;
  for (int c = 0; c < count; ++c)
    found |= has_non_finite<Real>(rows + c * stride, width);
  return found;
}

/// The same sum as gather_strip where a read may hold infinities: only lanes that read a column meet it.
template <class Real>
__attribute__((noinline)) void gather_carefully(const Strip& strip, int vectors, std::int64_t width, const Real* rows,
                                                std::ptrdiff_t stride, const Real* weights, std::ptrdiff_t weight_stride, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  for (int place = 0; place < strip.count; ++place) {
    const int c = column_at(strip, place);
    for (std::int64_t k = 0; k < width; ++k) {
      const Vec<Real> left = splat<Real>(rows[c * stride + k]);
      for (int v = 0; v < vectors; ++v) {
        Real* const at = to + k * tile_readers + v * lanes;
        const Vec<Real> old = load<Real>(at);
        store<Real>(at, select(strip.masks[c] >> (v * lanes),
                               fma(left, load<Real>(weights + c * weight_stride + v * lanes), old), old));
      }
    }
  }
}

/// The same for gather_into_rows.
template <class Real>
__attribute__((noinline)) void gather_rows_carefully(const Strip& strip, int readers, std::int64_t width, const Real* rows,
                                                     std::ptrdiff_t stride, const Real* weights, std::ptrdiff_t weight_stride,
                                                     Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  for (int place = 0; place < strip.count; ++place) {
    const int c = column_at(strip, place);
    for (int i = 0; i < readers; ++i) {
      const Vec<Real> weight = splat<Real>(weights[c * weight_stride + i]);
      for (std::int64_t k = 0; k < width && (strip.masks[c] >> i & 1) != 0; k += lanes)
        store<Real>(to + i * width + k, fma(weight, load<Real>(rows + c * stride + k), load<Real>(to + i * width + k)));
    }
  }
}

/// The centre of a tile in exact mode with reflections (gather_centre): its columns from starts[v] on are readers of vector
/// v, or of later ones.
template <class Real> struct Centre {
  const std::int32_t* columns;
  std::int64_t first_reader;
  Real *weights, *kept; ///< [column][tile_readers]; a vector for every column
  int starts[tile_readers / Lanes<Real>::count + 1];
};

/// What counts for one side of the readers, and its sums, from vector `g` on. Of a column's weights only those of its own
/// vector go to both sides, in part: they alone are masked, where they lie.
template <class Real, bool right, int g>
SIGHTLINE_INLINE void weigh_centre(const Centre<Real>& centre, Vec<Real>* totals) {
  constexpr int lanes = Lanes<Real>::count, vectors = tile_readers / lanes;
  if constexpr (!right && g + 1 < vectors)
    weigh_centre<Real, right, g + 1>(centre, totals);
  const int begin = centre.starts[g], end = centre.starts[g + 1];
  for (int k = begin; k < end; ++k) {
    const int c = right ? k : begin + end - 1 - k;
    const auto own = static_cast<int>(centre.columns[c] - centre.first_reader) - g * lanes;
    Real *const row = centre.weights + c * tile_readers, *const whole = centre.kept + c * lanes;
    Vec<Real> weight = load<Real>(right ? row + g * lanes : whole);
    if constexpr (right) {
      weight = select(std::uint64_t{1} << own, weight * splat<Real>(Real(0.5)), weight);
      store<Real>(whole, weight);
    }
    weight = select(right ? (std::uint64_t{2} << own) - 1 : ~std::uint64_t{0} << own, weight, Vec<Real>{});
    store<Real>(row + g * lanes, weight);
    totals[g] += weight;
#pragma GCC unroll 16
    for (int v = right ? 0 : g + 1; v < (right ? g : vectors); ++v)
      totals[v] += load<Real>(row + v * lanes);
  }
  if constexpr (right && g + 1 < vectors)
    weigh_centre<Real, right, g + 1>(centre, totals);
}

/// Exact mode with reflections: each reader's weights at and behind itself by rising number into the sums to the right,
/// those at and before it by falling number into the sums to the left, `all_sums` and `all_totals` [2]; its own pair counts
/// half on either. kept: a vector for every column. add: to what the sums hold; else they are written.
template <class Real>
__attribute__((noinline)) void gather_centre(const Strip& strip, std::int64_t first_reader, int readers,
                                             std::int64_t width, const Real* rows, std::ptrdiff_t stride,
                                             Real* weights, Real* kept, bool add, bool by_rows, Real* all_sums,
                                             Real* all_totals) {
  constexpr int lanes = Lanes<Real>::count, most_vectors = tile_readers / lanes;
  const int vectors = (readers + lanes - 1) / lanes;
  static_assert(strip_columns >= 2 * tile_readers); // weights and what is kept share the space of a strip
  const bool is_finite = !strip_has_non_finite<Real>(rows, stride, strip.count, width);
  Centre<Real> centre{strip.columns, first_reader, weights, kept, {}};
  for (int v = 0, c = 0; v <= most_vectors; ++v) {
    while (c < strip.count && strip.columns[c] < first_reader + v * lanes)
      ++c;
    centre.starts[v] = c;
  }
  const auto gather = [&](auto side) {
    constexpr bool right = decltype(side)::value == 1;
    Real* const sums = all_sums + (right ? 0 : width * tile_readers);
    Real* const totals = all_totals + (right ? 0 : tile_readers);
    Vec<Real> total[most_vectors]; // side by side: one chain alone waits for itself
#pragma GCC unroll 16
    for (int v = 0; v < most_vectors; ++v)
      total[v] = load<Real>(totals + v * lanes);
    weigh_centre<Real, right, 0>(centre, total);
#pragma GCC unroll 16
    for (int v = 0; v < most_vectors; ++v)
      store<Real>(totals + v * lanes, total[v]);
    const int last = strip.count - 1;
    const std::ptrdiff_t step = right ? stride : -stride, weight_step = right ? tile_readers : -tile_readers;
    if (is_finite && by_rows) { // a few readers of a vector at a time, from the first or to the last of them
      for (int i = 0; i < readers;) {
        const int v = i / lanes, end = (v + 1) * lanes < readers ? (v + 1) * lanes : readers;
        const int some = end - i < block_rows ? end - i : block_rows;
        int c = right ? centre.starts[v] : centre.starts[v + 1] - 1; // weights of the vector before, or behind, count to the other side
        while (right ? c < last && strip.columns[c] < first_reader + i : c > 0 && strip.columns[c] >= first_reader + i + some)
          c += right ? 1 : -1;
        multiply<Real, Along::rows>(some, static_cast<int>(width / lanes), right ? strip.count - c : c + 1,
                                    weights + c * tile_readers + i, weight_step, rows + c * stride, step, sums + i * width, width, add);
        i += some;
      }
      return;
    }
    if (is_finite) {
      for (int v = 0; v < vectors; ++v) {
        const int c = right ? centre.starts[v] : centre.starts[v + 1] - 1, count = right ? strip.count - c : c + 1;
        multiply<Real, Along::rows>(static_cast<int>(width), 1, count, rows + c * stride, step,
                                    weights + c * tile_readers + v * lanes, weight_step, sums + v * lanes, tile_readers, add);
      }
      return;
    }
    Strip masked;
    masked.count = strip.count;
    for (int place = 0; place < strip.count; ++place) {
      const int c = right ? place : last - place;
      const auto own = static_cast<int>(strip.columns[c] - first_reader);
      masked.masks[place] = strip.masks[c] & (right ? ~std::uint64_t{0} >> (tile_readers - 1 - own) : ~std::uint64_t{0} << own);
    }
    for (std::int64_t k = 0; k < width * tile_readers && !add; ++k)
      sums[k] = 0;
    const Real *const first_row = right ? rows : rows + last * stride, *const first_weights = right ? weights : weights + last * tile_readers;
    if (by_rows)
      gather_rows_carefully<Real>(masked, readers, width, first_row, step, first_weights, weight_step, sums);
    else
      gather_carefully<Real>(masked, vectors, width, first_row, step, first_weights, weight_step, sums);
  };
  gather(Constant<1>{});
  gather(Constant<0>{});
}

/// Queries of a tile, prepared and scaled: side by side where `rows` is given, transposed where `to` is given.
template <class Real>
SIGHTLINE_INLINE void pack_queries(const Rule<Real>& rule, const Head<Real>& head, const TileList& tile,
                                   std::uint64_t active, Real* rows, Real* to) {
  if (rows == nullptr) {
    pack_lanes<Real>(head.query + tile.first_reader * head.query_stride, head.query_stride, active, head.width, to,
                     rule.query_scale, tile.readers);
    return;
  }
  const std::int64_t padded = row_stride<Real>(head.width);
  for (int i = 0; i < tile_readers; ++i) {
    Real* const row = rows + i * padded;
    if ((active >> i & 1) == 0) {
      for (std::int64_t k = 0; k < padded; ++k)
        row[k] = 0;
      continue;
    }
    prepare_row<Real>(rule.prepare, head.query + (tile.first_reader + i) * head.query_stride, head.width,
                      rule.query_scale, row);
    for (std::int64_t k = head.width; k < padded; ++k)
      row[k] = 0;
  }
  if (to != nullptr)
    pack_lanes<Real>(rows, padded, active, head.width, to, Real(1), tile.readers);
}
/// Forward, rows are wanted where they are prepared, or squared for a program.
template <class Real> SIGHTLINE_INLINE bool wants_query_rows(const Rule<Real>& rule) {
  return rule.prepare != Prepare::nothing || rule.program != nullptr;
}

/// What a program reads of a tile: dot products in `scores` and, where it asks for them, distances and squares.
template <class Real> struct ProgramScores {
  Real *distances, *reader_squares, *read_squares;
  ProgramScores(Arena& arena, const Rule<Real>& rule, int readers, const Real* rows, std::int64_t width,
                std::int64_t padded) {
    distances = arena.take<Real>(rule.program == nullptr ? 0 : strip_columns * tile_readers);
    reader_squares = arena.take<Real>(tile_readers);
    read_squares = arena.take<Real>(strip_columns);
    for (int i = 0; i < tile_readers && rule.program != nullptr; ++i)
      reader_squares[i] = i < readers && rule.program->uses[1] ? dot_rows<Real>(rows + i * padded, rows + i * padded, width) : Real(0);
  }
  void find(const Program<Real>& program, const Strip& strip, int readers, std::int64_t width, const Real* keys,
            std::ptrdiff_t stride, const Real* queries, Real* scores, Ahead* ahead) {
    if (program.uses[0])
      score_strip<Real>(Score::dot, strip, readers, width, keys, stride, queries, scores, ahead);
    if (program.uses[3])
      score_strip<Real>(Score::distance, strip, readers, width, keys, stride, queries, distances, ahead);
    for (int c = 0; c < strip.count && program.uses[2]; ++c)
      read_squares[c] = dot_rows<Real>(keys + c * stride, keys + c * stride, width);
  }
};

/// How many reads a tile has, or that they are many.
inline std::int64_t count_reads(const TileList& tile) {
  constexpr std::int64_t many = 1 << 20;
  std::int64_t reads = 0;
  for (int s = 0; s < tile.segment_count && reads < many; ++s)
    reads += tile.segments[s].count;
  return reads;
}

/// Keys and values that a tile reads next (and adds to next, where `gradients` is given), where all that it reads is more than
/// the second cache keeps from one tile to the next.
template <class Real>
void fetch_next_strip(const Head<Real>& head, const Gradients<Real>* gradients, const StripSource& source, std::int64_t reads,
                      Ahead& ahead) {
  constexpr std::ptrdiff_t bytes = sizeof(Real);
  constexpr std::int64_t kept = 512 << 10;
  ahead.begin_next();
  std::int64_t first = 0;
  const int count = reads * (head.width + head.value_width) * bytes > kept ? source.find_next(first) : 0;
  const auto add = [&](const Real* rows, std::ptrdiff_t stride, std::int64_t width) {
    if (rows != nullptr && count > 0)
      ahead.add_next(rows + first * stride, stride * bytes, width * bytes, count);
  };
  add(head.key, head.key_stride, head.width);
  add(head.value, head.value_stride, head.value_width);
  if (gradients != nullptr) {
    add(gradients->value, gradients->value_stride, head.value_width);
    add(gradients->key, gradients->key_stride, head.width);
  }
}

/// Where this tile will write, then queries, keys and values of the next tile's readers: most layouts read near
/// themselves.
template <class Real>
SIGHTLINE_INLINE Ahead rows_ahead(const Head<Real>& head, const TileList& tile, const Real* to,
                                  std::ptrdiff_t to_stride, std::int64_t to_width, std::int64_t reads) {
  Ahead ahead(reads);
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(Real));
  if (to != nullptr)
    ahead.add(to + tile.first_reader * to_stride, to_stride * bytes, to_width * bytes, tile.readers);
  const auto add = [&](const Real* base, std::ptrdiff_t stride, std::int64_t width) {
    ahead.add(base == nullptr ? nullptr : base + tile.next_reader * stride,
              stride * static_cast<std::ptrdiff_t>(sizeof(Real)), width * static_cast<std::int64_t>(sizeof(Real)),
              tile.next_readers);
  };
  if (tile.next_readers == 0)
    return ahead;
  add(head.query, head.query_stride, head.width);
  add(head.key, head.key_stride, head.width);
  add(head.value, head.value_stride, head.value_width);
  return ahead;
}

/// Rows that are read in an order which the processor cannot foresee: in the one that it can, to the second cache.
template <class Real>
SIGHTLINE_INLINE void fetch_rows(const Real* rows, std::ptrdiff_t stride, std::int64_t width, int count) {
  for (int c = 0; c < count; ++c)
    prefetch_far<Real>(rows + c * stride, width);
}

template <class Real>
void forward_tile(const Rule<Real>& rule, const Head<Real>& head, const TileList& tile, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  Arena arena(workspace);
  Real* const queries = arena.take<Real>(head.width * tile_readers);
  const std::int64_t sum_size = head.value_width * tile_readers;
  Real* const all_sums = arena.take<Real>(most_phases * sum_size);
  Real* const scores = arena.take<Real>(strip_columns * tile_readers);
  Real* const key_copy = arena.take<Real>(strip_columns * (head.width > lanes ? head.width : lanes));
  Real* const value_copy = arena.take<Real>(strip_columns * head.value_width);
  Real* const rows =
      wants_query_rows(rule) ? arena.take<Real>(tile_readers * row_stride<Real>(head.width)) : nullptr;
  Real* const all_largest = arena.take<Real>(most_phases * tile_readers); // of the sums of every phase
  Real* const top = arena.take<Real>(tile_readers);
  Real* const all_totals = arena.take<Real>(most_phases * tile_readers);

  const std::uint64_t active = find_active(tile, head.reader_cut_begin, head.reader_cut_end);
  const int vectors = (tile.readers + lanes - 1) / lanes;
  const bool features = rule.weight == Weight::features, program = rule.weight == Weight::program;
  const bool exponents =
      has_exponent(rule.weight) || (program && (rule.program->exponent >= 0 || has_bias(head)));
  const bool by_rows = head.value_width % lanes == 0; // sums [reader][width], or the other way round
  pack_queries<Real>(rule, head, tile, active, rows, queries);
  const ProgramSpace<Real> space(arena, rule.program);
  ProgramScores<Real> inputs(arena, rule, tile.readers, rows, head.width, row_stride<Real>(head.width));
  TileBias<Real> bias(arena, head, tile, active, nullptr, nullptr);
  const bool factors = program && rule.program->factor >= 0; // else the program is an exponent
  Real* const powers = factors ? inputs.distances : scores;  // exponents of a program
  unsigned filled = 0;                                       // phases whose sums hold something
  const Real start = !exponents       ? Real(0)
                     : rule.has_extra ? -round_down<Real>(splat<Real>(-rule.extra))[0]
                                      : no_exponent<Real>;
  for (int i = 0; i < most_phases * tile_readers; ++i)
    all_largest[i] = start;
  // What the readers' own exponents leave of what joins the denominator.
  Real own[tile_readers] = {};
  for (int i = 0; i < tile_readers && features; ++i) {
    own[i] = (active >> i & 1) != 0 ? head.reader_exponents[tile.first_reader + i] : Real(0);
    for (int phase = 0; phase < most_phases && rule.has_extra; ++phase)
      all_largest[phase * tile_readers + i] = -round_down<Real>(splat<Real>(own[i] - rule.extra))[0];
  }
  for (int i = 0; i < most_phases * tile_readers; ++i)
    all_totals[i] = 0;
  const auto clear = [&](int phase) {
    for (std::int64_t k = 0; k < sum_size && (filled >> phase & 1) == 0; ++k)
      all_sums[phase * sum_size + k] = 0;
  };
  constexpr Real margin = 4; // sums are not brought from one maximum to the next for a little more each time
  // The sums of a phase to a larger exponent.
  const auto raise = [&](int phase, int v, Vec<Real> now) {
    Real* const largest = all_largest + phase * tile_readers + v * lanes;
    const Vec<Real> old = load<Real>(largest);
    if (!any_differs<Real>(old, now))
      return;
    store<Real>(largest, now);
    if ((filled >> phase & 1) == 0)
      return;
    const Vec<Real> shrink = exp2<Real>(old - now);
    Real* const from = all_sums + phase * sum_size;
    for (int i = 0; i < lanes && by_rows; ++i) {
      Real* const row = from + (v * lanes + i) * head.value_width;
      for (std::int64_t k = 0; k < head.value_width; k += lanes)
        store<Real>(row + k, load<Real>(row + k) * splat<Real>(shrink[i]));
    }
    for (std::int64_t k = v * lanes; k < sum_size && !by_rows; k += tile_readers)
      store<Real>(from + k, load<Real>(from + k) * shrink);
    Real* const total = all_totals + phase * tile_readers + v * lanes;
    store<Real>(total, load<Real>(total) * shrink);
  };

  // What sums are times, to `top`.
  const auto find_factors = [&]() {
    for (int v = 0; v < vectors; ++v) {
      const Vec<Real> most = load<Real>(all_largest + v * lanes);
      Vec<Real> factor = splat<Real>(1);
      if (rule.normalised) {
        Vec<Real> below = load<Real>(all_totals + v * lanes);
        if (rule.has_extra)
          below += exp2_shifted<Real>(splat<Real>(rule.extra) - load<Real>(own + v * lanes), most); // its bits do not depend on `most`
        factor = below == splat<Real>(0) ? Vec<Real>{} : splat<Real>(1) / below;
      } else if (exponents) {
        factor = exp2<Real>(most + load<Real>(own + v * lanes));
      }
      store<Real>(top + v * lanes, factor);
    }
  };

  const std::int64_t reads = count_reads(tile);
  Ahead ahead = rows_ahead(head, tile, head.out, head.out_stride, head.value_width, reads);
  Real* const out = head.out + tile.first_reader * head.out_stride;
  bool is_first = true, is_direct = false, is_canonical = !rule.canonical; // is_direct: outputs are written by now
  Strip strip;
  StripSource source(tile, active, head.read_cut_begin, head.read_cut_end, head.order);
  while (source.next(strip)) {
    fetch_next_strip<Real>(head, nullptr, source, reads, ahead);
    const int first_phase = strip.centre ? 0 : strip.phase, last_phase = strip.centre ? most_phases : strip.phase + 1;
    const bool alone = is_first && strip.full && !strip.centre && strip.phase == 0 && by_rows && source.is_at_end();
    is_first = false;
    Real* const sums = all_sums + strip.phase * sum_size;
    Real unused[tile_readers] = {};
    Real* const total = strip.centre ? unused : all_totals + strip.phase * tile_readers;
    std::ptrdiff_t key_stride = 0, value_stride = 0;
    const Real* const keys =
        gather_rows<Real>(strip, head.key, head.key_stride, head.width, rule.prepare, key_copy, key_stride);
    const Real* const values = gather_rows<Real>(strip, head.value, head.value_stride, head.value_width,
                                                 Prepare::nothing, value_copy, value_stride);
    if (strip.ordered)
      fetch_rows<Real>(values, value_stride, head.value_width, strip.count);
    if (program) {
      inputs.find(*rule.program, strip, tile.readers, head.width, keys, key_stride, queries, scores, &ahead);
      find_program_parts<Real>(*rule.program, strip, vectors, inputs.reader_squares, inputs.read_squares,
                               inputs.distances, scores, powers, exponents, space);
    } else {
      score_strip<Real>(rule.score, strip, tile.readers, head.width, keys, key_stride, queries, scores, &ahead);
    }
    if (exponents) {
      bias.find(strip);
      for (int v = 0; v < vectors; ++v)
        store<Real>(top + v * lanes, splat<Real>(-Real(__builtin_inff())));
      if (features)
        find_feature_exponents<Real>(head, strip, vectors, bias.biases, top);
      else if (program) // scores are factors
        find_exponents<Real>(rule, strip, vectors, bias.biases, powers, top);
      else
        find_exponents<Real>(rule, strip, vectors, bias.biases, scores, top);
      for (int v = 0; v < vectors; ++v) {
        Vec<Real> now = -round_down<Real>(-load<Real>(top + v * lanes));
        for (int phase = first_phase; phase < last_phase; ++phase)
          now = larger(now, load<Real>(all_largest + phase * tile_readers + v * lanes));
        if (is_exponent(rule.weight) && rule.normalised) { // else 2^now is a factor, and may be as large as there are numbers
          const Vec<Real> old = load<Real>(all_largest + first_phase * tile_readers + v * lanes);
          now = now > old ? now + splat<Real>(margin) : old;
        }
        for (int phase = first_phase; phase < last_phase; ++phase)
          raise(phase, v, now);
        Vec<Real> sum = load<Real>(total + v * lanes);
        if (!features && !factors && !strip.halved && !strip.ordered) {
          sum = raise_exponents<Real>(strip, v, now, sum, scores + v * lanes);
          store<Real>(total + v * lanes, sum);
          continue;
        }
        for (int place = 0; place < strip.count; ++place) {
          const int c = column_at(strip, place);
          Real* const at = scores + c * tile_readers + v * lanes;
          if (!is_read<Real>(strip, c, v)) {
            store<Real>(at, Vec<Real>{});
            continue;
          }
          Vec<Real> weight = load<Real>(at);
          if (features) {
            const Vec<Real> e = feature_exponent<Real>(head, strip, c, v * lanes, bias.biases);
            weight = !bias.biases ? times_power<Real>(weight, e - now) : weight * exp2_shifted<Real>(e, now);
            if (!strip.full)
              weight = select(strip.masks[c] >> (v * lanes), weight, Vec<Real>{});
          } else if (factors) {
            weight *= exp2_shifted<Real>(load<Real>(powers + c * tile_readers + v * lanes), now);
            if (!strip.full)
              weight = select(strip.masks[c] >> (v * lanes), weight, Vec<Real>{});
          } else {
            weight = exp2_shifted<Real>(weight, now);
          }
          weight = halve<Real>(strip, c, v * lanes, weight);
          store<Real>(at, weight);
          sum += weight;
        }
        store<Real>(total + v * lanes, sum);
      }
    } else {
      find_weights<Real>(rule, strip, vectors, scores, total);
    }
    bool add = false; // to sums that hold something; what does not write all of them needs zeros
    for (int phase = first_phase; phase < last_phase; ++phase)
      add = add || (filled >> phase & 1) != 0 || !(strip.full || strip.centre);
    for (int phase = first_phase; phase < last_phase; ++phase) {
      if (add)
        clear(phase);
      filled |= 1U << phase;
    }
    if (strip.centre) {
      gather_centre<Real>(strip, tile.first_reader, tile.readers, head.value_width, values, value_stride, scores,
                          scores + tile_readers * tile_readers, add, by_rows, all_sums, all_totals);
    } else if (alone) {
      is_direct = true;
      is_canonical = is_canonical || strip.ordered;
      find_factors();
      gather_by_rows<Real>(strip, tile.readers, head.value_width, values, value_stride, scores, {top, rule.canonical},
                           out, head.out_stride, &ahead);
    } else if (!strip.full && strip_has_non_finite<Real>(values, value_stride, strip.count, head.value_width)) {
      if (by_rows)
        gather_rows_carefully<Real>(strip, tile.readers, head.value_width, values, value_stride, scores, tile_readers, sums);
      else
        gather_carefully<Real>(strip, vectors, head.value_width, values, value_stride, scores, tile_readers, sums);
    } else if (by_rows) {
      gather_into_rows<Real>(strip, tile.readers, head.value_width, values, value_stride, scores, add, sums, &ahead);
    } else {
      gather_strip<Real>(strip, vectors, head.value_width, values, value_stride, scores, add, sums, &ahead);
    }
  }
  clear(0); // where nothing was read

  Real* const sums = all_sums;
  Real* const total = all_totals;
  Real* const largest = all_largest;
  Real shrinks[most_phases][tile_readers]; // of the sums to both sides; powers of two round nothing
  static_assert(most_phases == 2);
  const bool has_sides = filled >> 1 != 0;
  for (int v = 0; v < vectors && has_sides; ++v) {
    const Vec<Real> one = load<Real>(largest + v * lanes), two = load<Real>(largest + tile_readers + v * lanes),
                    most = larger(one, two), shrink = exp2<Real>(one - most), shrink_two = exp2<Real>(two - most);
    store<Real>(shrinks[0] + v * lanes, shrink);
    store<Real>(shrinks[1] + v * lanes, shrink_two);
    store<Real>(largest + v * lanes, most);
    store<Real>(total + v * lanes, load<Real>(total + v * lanes) * shrink + load<Real>(total + tile_readers + v * lanes) * shrink_two);
  }
  const OtherLanes<Real> others{has_sides ? sums + sum_size : nullptr, shrinks[0], shrinks[1]};
  if (!is_direct)
    find_factors();
  if (!is_direct && by_rows) {
    finish_rows_of<Real>(sums, others, top, tile.readers, head.value_width, rule.canonical, out, head.out_stride);
    is_canonical = true;
  } else if (!is_direct) {
    unpack_lanes<Real>(sums, top, tile.readers, head.value_width, out, head.out_stride, others);
  }
  for (int i = 0; !is_canonical && i < tile.readers; ++i)
    make_canonical<Real>(out + i * head.out_stride, head.value_width);
  for (int i = 0; i < tile.readers; ++i) { // readers that do not exist
    if ((active >> i & 1) != 0)
      continue;
    for (std::int64_t k = 0; k < head.value_width; ++k)
      out[i * head.out_stride + k] = 0;
  }
  if (head.statistics != nullptr) {
    for (int i = 0; i < tile.readers; ++i) {
      head.statistics[(tile.first_reader + i) * 2] = largest[i];
      head.statistics[(tile.first_reader + i) * 2 + 1] = top[i];
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
