// Backward pass of one tile: weights are computed again, gradients of keys and values are added to where they lie.
// Tiles that meet in a column block add in a fixed order (Turns), so that the sums have the same bits for every number
// of threads.
#pragma once

#include <sched.h>

#include "sightline/mixer/cpu/differentiate.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// A tile's turns: acquire() waits until the tiles before it have added to the blocks up to `last`, release() lets the
/// next ones have the blocks below `first`. Both go through the blocks in rising order, and tiles are started in the
/// order of their ranks, so the earliest unfinished tile never waits.
class TurnKeeper {
public:
  explicit TurnKeeper(const TurnList& list) : list_(list) {}
  void acquire(std::int64_t last) {
    if (list_.hold) // columns of one strip fall where a ring ends, so that the last of them is not the highest
      last = INT64_MAX;
    for (; acquired_ < list_.count && list_.turns[acquired_].block <= last; ++acquired_) {
      const Turn& turn = list_.turns[acquired_];
      const std::uint32_t rank = turn.rank + (list_.base != nullptr ? list_.base[turn.block] : 0);
      for (int spins = 0; __atomic_load_n(list_.done + turn.block, __ATOMIC_ACQUIRE) != rank; ++spins) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (spins > 2000)
          sched_yield();
      }
    }
  }
  void release(std::int64_t first) {
    if (list_.hold && first != INT64_MAX)
      return;
    for (; released_ < acquired_ && list_.turns[released_].block < first; ++released_) {
      std::uint32_t* const done = list_.done + list_.turns[released_].block;
      __atomic_store_n(done, __atomic_load_n(done, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
    }
  }
  void finish() {
    acquire(INT64_MAX);
    release(INT64_MAX);
  }

private:
  const TurnList& list_;
  int acquired_ = 0, released_ = 0;
};

/// to [columns][padded] (+)= W [columns][lanes] rows [lanes][length]. Wide rows a few vectors at a time: what is
/// multiplied stays in the first cache. ending: of sums in an order of their own.
template <class Real>
SIGHTLINE_INLINE void scatter_strip(const Strip& strip, int readers, const std::int32_t* order, std::int64_t padded,
                                    const Real* weights, const Real* rows, std::int64_t length, Real* to,
                                    std::ptrdiff_t stride, bool add, const Ending<Real>& ending) {
  constexpr int lanes = Lanes<Real>::count;
  const auto run = [&](int first, int count, int begin, int end) {
    const std::int64_t step = padded > 2 * block_vectors * lanes ? block_vectors * lanes : padded;
    for (std::int64_t k = 0; k < padded; k += step) {
      if (order != nullptr) {
        multiply_ordered<Real, Along::k>(count, static_cast<int>((padded - k < step ? padded - k : step) / lanes),
                                         end - begin, order + begin, weights + first * tile_readers, tile_readers,
                                         rows + k, length, to + first * stride + k, stride, add, nullptr, ending);
        continue;
      }
      multiply<Real, Along::k>(count, static_cast<int>((padded - k < step ? padded - k : step) / lanes), end - begin,
                               weights + first * tile_readers + begin, tile_readers, rows + begin * length + k, length,
                               to + first * stride + k, stride, add);
    }
  };
  if (strip.full) {
    run(0, strip.count, 0, readers);
    return;
  }
  if (order != nullptr) { // whole classes of readers
    for (int first = 0; first < strip.count;) {
      const std::uint64_t mask = strip.masks[first];
      int end = first + 1;
      while (end < strip.count && strip.masks[end] == mask)
        ++end;
      if (mask != 0)
        run(first, end - first, __builtin_ctzll(mask), 64 - __builtin_clzll(mask));
      first = end;
    }
    return;
  }
  for_ranges<1>(strip, [&](int first, int count, LaneRange range) { run(first, count, range.begin, range.end); });
}

/// The same, bit for bit, where a reader's row holds infinities: only readers of a column meet it.
template <class Real>
__attribute__((noinline)) void scatter_carefully(const Strip& strip, int readers, const std::int32_t* order,
                                                 std::int64_t padded, const Real* weights, const Real* rows, std::int64_t length, Real* to,
                                                 std::ptrdiff_t stride, bool add) {
  constexpr int lanes = Lanes<Real>::count;
  for (int c = 0; c < strip.count; ++c) {
    for (std::int64_t k = 0; k < padded; k += lanes) {
      Real* const at = to + c * stride + k;
      Vec<Real> sum = add ? load<Real>(at) : Vec<Real>{};
      for (int place = 0; place < readers; ++place) {
        const int i = order != nullptr ? order[place] : place;
        if ((strip.masks[c] >> i & 1) != 0)
          sum = fma(splat<Real>(weights[c * tile_readers + i]), load<Real>(rows + i * length + k), sum);
      }
      store<Real>(at, sum);
    }
  }
}

/// The rows of a strip's columns: to `rows`, or back from there.
template <class Real>
SIGHTLINE_INLINE void move_rows(const Strip& strip, std::int64_t width, Real* of_columns, std::ptrdiff_t stride,
                                Real* rows, std::int64_t length, bool back) {
  for (int c = 0; c < strip.count; ++c) {
    Real* const there = of_columns + strip.columns[c] * stride;
    Real* const here = rows + c * length;
    for (std::int64_t k = 0; k < width; ++k)
      (back ? there : here)[k] = (back ? here : there)[k];
  }
}

template <class Real>
Real backward_tile(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                   const TileList& tile, const TurnList& turns, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t width = head.width, value_width = head.value_width;
  const std::int64_t padded = round_up(width, lanes), value_padded = round_up(value_width, lanes);
  const std::int64_t length = row_stride<Real>(width), value_length = row_stride<Real>(value_width);
  Arena arena(workspace);
  Real* const queries = arena.take<Real>(width * tile_readers);
  Real* const outs = arena.take<Real>(value_width * tile_readers);
  Real* const sums = arena.take<Real>(width * tile_readers);
  Real* const own_scores = arena.take<Real>(strip_columns * tile_readers);
  Real* const own_products = arena.take<Real>(strip_columns * tile_readers);
  Real* const key_copy = arena.take<Real>(strip_columns * padded);
  Real* const value_copy = arena.take<Real>(strip_columns * value_padded);
  Real* const key_sums = arena.take<Real>(strip_columns * padded);
  Real* const value_sums = arena.take<Real>(strip_columns * value_padded);
  Real* const query_rows = arena.take<Real>(tile_readers * length);
  Real* const out_rows = arena.take<Real>(tile_readers * value_length);
  Real* const most = arena.take<Real>(tile_readers);
  Real* const below = arena.take<Real>(tile_readers);
  Real* const totals = arena.take<Real>(tile_readers);
  Real* const carries = arena.take<Real>(tile_readers);
  Real* const scales = arena.take<Real>(tile_readers);
  Real* const slopes = arena.take<Real>(strip_columns * tile_readers);
  Real* const ones = arena.take<Real>(tile_readers);

  const std::uint64_t active = find_active(tile, head.reader_cut_begin, head.reader_cut_end);
  const int vectors = (tile.readers + lanes - 1) / lanes;
  const bool knows = tile.again && tile.late != nullptr; // weights and slopes
  pack_queries<Real>(rule, head, tile, active, query_rows, knows ? nullptr : queries);
  Real sinks[tile_readers] = {};
  for (int i = 0; i < tile_readers; ++i) {
    const bool exists = (active >> i & 1) != 0;
    const std::int64_t reader = tile.first_reader + i;
    const Real scale = exists ? head.statistics[reader * 2 + 1] : Real(0);
    scales[i] = scale;
    most[i] = exists ? head.statistics[reader * 2] : Real(0);
    totals[i] = carries[i] = 0;
    ones[i] = 1;
    Real* const row = out_rows + i * value_length;
    if (exists) {
      const Real* const from = gradients.out + reader * gradients.out_stride;
      const Real product = knows ? Real(0) : dot_rows<Real>(from, head.out + reader * head.out_stride, value_width);
      below[i] = rule.normalised ? product * scale : Real(0);
      if (rule.has_extra) {
        const Real own = rule.weight == Weight::features ? head.reader_exponents[reader] : Real(0);
        sinks[i] = product * exp2_shifted<Real>(splat<Real>(rule.sink - own), splat<Real>(most[i]))[0] * scale;
      }
      for (std::int64_t k = 0; k < value_width; ++k)
        row[k] = from[k] * scale;
    } else {
      below[i] = 0;
      for (std::int64_t k = 0; k < value_width; ++k)
        row[k] = 0;
    }
    for (std::int64_t k = value_width; k < value_length; ++k)
      row[k] = 0;
  }
  if (!knows)
    pack_lanes<Real>(out_rows, value_length, active, value_width, outs, Real(1), tile.readers);
  for (std::int64_t k = 0; k < width * tile_readers && !tile.again; ++k)
    sums[k] = 0;
  const bool rows_non_finite = has_non_finite<Real>(query_rows, length * tile_readers) ||
                               has_non_finite<Real>(out_rows, value_length * tile_readers);
  const bool distance = rule.score == Score::distance, prepared = rule.prepare != Prepare::nothing;
  const bool program = rule.weight == Weight::program;
  const bool along_reads = program && (rule.program->uses[2] || rule.program->uses[3]);
  const bool along_readers = program && (rule.program->uses[1] || rule.program->uses[3]);
  const ProgramSpace<Real> space(arena, rule.program);
  ProgramScores<Real> inputs(arena, rule, tile.readers, query_rows, width, length);
  NearPairs<Real> near;
  Real* const near_squares = arena.take<Real>(tile_readers);
  if (rule.weight == Weight::exponential_root && !rule.canonical) { // exact mode's sums keep to their order
    near.slopes = slopes;
    for (int i = 0; i < tile_readers; ++i)
      near_squares[i] = dot_rows<Real>(query_rows + i * length, query_rows + i * length, width);
  }
  Real* const along = arena.take<Real>(program ? strip_columns * lanes : 0);
  TileBias<Real> bias(arena, head, tile, active, gradients.offset_sums, gradients.colour_sums);

  TurnKeeper keeper(turns);
  std::uint64_t touched = 0; // lanes that read something: the others have gradient 0 whatever they hold
  const std::int64_t reads = count_reads(tile);
  Ahead ahead = rows_ahead<Real>(head, tile, gradients.query, gradients.query_stride, width, reads);
  if (tile.next_readers > 0) {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(Real));
    ahead.add(gradients.out + tile.next_reader * gradients.out_stride, gradients.out_stride * bytes,
              value_width * bytes, tile.next_readers);
    ahead.add(head.out + tile.next_reader * head.out_stride, head.out_stride * bytes, value_width * bytes,
              tile.next_readers);
    if (gradients.key != nullptr) {
      ahead.add(gradients.key + tile.next_reader * gradients.key_stride, gradients.key_stride * bytes, width * bytes,
                tile.next_readers);
    }
    if (gradients.value != nullptr) {
      ahead.add(gradients.value + tile.next_reader * gradients.value_stride, gradients.value_stride * bytes,
                value_width * bytes, tile.next_readers);
    }
  }
  std::int32_t lane_order[tile_readers];
  const std::int32_t* const lanes_in_order = tile.in_place ? lane_order : nullptr;
  for (int i = 0; tile.in_place && i < tile.readers; ++i)
    lane_order[i] = head.reader_order[tile.first_reader + i] - static_cast<std::int32_t>(tile.first_reader);
  // sums [reader][width], or the other way round; is_direct: query gradients lie where they belong by now
  const bool by_rows = !distance && !along_readers && width % lanes == 0;
  bool is_first = true, is_direct = false;
  Real query_scales[tile_readers];
  Strip strip;
  StripSource source(tile, active, head.read_cut_begin, head.read_cut_end, head.order);
  Real* late = static_cast<Real*>(tile.late); // of the strip's first column
  for (int spins = 0; knows && __atomic_load_n(tile.late_done, __ATOMIC_ACQUIRE) == 0; ++spins) { // by another thread
    if (spins > 2000)
      sched_yield();
  }
  while (source.next(strip)) {
    fetch_next_strip<Real>(head, &gradients, source, reads, ahead);
    keeper.release(strip.columns[0] / block_columns);
    for (int c = 0; c < strip.count; ++c)
      touched |= strip.masks[c];
    const bool keeps = strip.late && late != nullptr;
    Real* const scores = keeps ? late : own_scores;
    Real* const products = keeps ? late + tile.late_reads * tile_readers : own_products;
    if (keeps)
      late += strip.count * tile_readers;
    std::ptrdiff_t key_stride = 0, value_stride = 0;
    const Real* keys = nullptr;
    if (!knows) {
      keys = gather_rows<Real>(strip, head.key, head.key_stride, width, rule.prepare, key_copy, key_stride);
      const Real* const values = gather_rows<Real>(strip, head.value, head.value_stride, value_width, Prepare::nothing,
                                                   value_copy, value_stride);
      if (program)
        inputs.find(*rule.program, strip, tile.readers, width, keys, key_stride, queries, scores, &ahead);
      else
        score_strip<Real>(rule.score, strip, tile.readers, width, keys, key_stride, queries, scores, &ahead);
      score_strip<Real>(Score::dot, strip, tile.readers, value_width, values, value_stride, outs, products, &ahead);
      const bool is_all = is_first && source.is_at_end();
      const bool alone = is_all && !tile.in_order && tile.other_first < 0; // readers elsewhere might have more strips
      is_first = false;
      bias.find(strip);
      if (near.slopes != nullptr)
        near.find(strip, vectors, near_squares, scores);
      if (program) {
        differentiate_program<Real>(rule, head, strip, vectors, {most, below, scales, totals, carries}, alone, bias,
                                    inputs, space, scores, products, slopes, along);
      } else {
        differentiate_strip<Real>(rule, head, strip, vectors, {most, below, scales, totals, carries}, alone, bias, near,
                                  scores, products, slopes);
      }
      bias.collect(strip, ones);
      if (tile.again) { // what readers want was taken in the first turn
      } else if (by_rows && is_all && strip.full && active == touched) {
        is_direct = gradients.query != nullptr && !gradients.add_query && !prepared && strip.ordered == tile.in_place;
        for (int i = 0; is_direct && i < tile.readers; ++i)
          query_scales[i] = rule.query_scale;
        gather_by_rows<Real>(strip, tile.readers, width, keys, key_stride, products,
                             {is_direct ? query_scales : nullptr, is_direct && strip.ordered},
                             is_direct ? gradients.query + tile.first_reader * gradients.query_stride : sums,
                             is_direct ? gradients.query_stride : width, &ahead);
      } else if (!strip.full && strip_has_non_finite<Real>(keys, key_stride, strip.count, width)) {
        if (by_rows)
          gather_rows_carefully<Real>(strip, tile.readers, width, keys, key_stride, products, tile_readers, sums);
        else
          gather_carefully<Real>(strip, vectors, width, keys, key_stride, products, tile_readers, sums);
      } else if (by_rows) {
        gather_into_rows<Real>(strip, tile.readers, width, keys, key_stride, products, true, sums, &ahead);
      } else {
        gather_strip<Real>(strip, vectors, width, keys, key_stride, products, true, sums, &ahead);
      }
      if (gradients.key == nullptr)
        near.add(strip, vectors, width, queries, keys, key_stride, sums, nullptr, padded);
    }
    const bool ends_canonical = tile.in_place && strip.full; // what is scattered; else it is made so below
    const auto scatter = [&](const Real* weights, const Real* rows, std::int64_t row_length, std::int64_t size,
                             Real* to, std::ptrdiff_t stride, bool add) {
      if (!strip.full && rows_non_finite)
        scatter_carefully<Real>(strip, tile.readers, lanes_in_order, size, weights, rows, row_length, to, stride, add);
      else
        scatter_strip<Real>(strip, tile.readers, lanes_in_order, size, weights, rows, row_length, to, stride, add,
                            {nullptr, ends_canonical});
    };
    if (strip.late != tile.again)
      continue;
    const bool value_direct = strip.contiguous && value_padded == value_width;
    const bool key_direct = !distance && !prepared && !along_reads && strip.contiguous && padded == width;
    if (gradients.value != nullptr) {
      if (value_direct) {
        keeper.acquire(strip.columns[strip.count - 1] / block_columns);
        scatter(scores, out_rows, value_length, value_padded,
                gradients.value + strip.columns[0] * gradients.value_stride, gradients.value_stride, !tile.writes);
      } else if (tile.in_order) {
        keeper.acquire(strip.columns[strip.count - 1] / block_columns);
        move_rows<Real>(strip, value_width, gradients.value, gradients.value_stride, value_sums, value_padded, false);
        scatter(scores, out_rows, value_length, value_padded, value_sums, value_padded, true);
        move_rows<Real>(strip, value_width, gradients.value, gradients.value_stride, value_sums, value_padded, true);
      } else {
        scatter(scores, out_rows, value_length, value_padded, value_sums, value_padded, false);
        keeper.acquire(strip.columns[strip.count - 1] / block_columns);
        for (int c = 0; c < strip.count; ++c) {
          Real* const to = gradients.value + strip.columns[c] * gradients.value_stride;
          for (std::int64_t k = 0; k < value_width; ++k)
            to[k] = (tile.writes ? Real(0) : to[k]) + value_sums[c * value_padded + k];
        }
      }
    }
    if (gradients.key != nullptr) {
      if (key_direct) {
        keeper.acquire(strip.columns[strip.count - 1] / block_columns);
        scatter(products, query_rows, length, padded, gradients.key + strip.columns[0] * gradients.key_stride,
                gradients.key_stride, !tile.writes);
      } else if (tile.in_order) { // kernels of x.y alone
        keeper.acquire(strip.columns[strip.count - 1] / block_columns);
        move_rows<Real>(strip, width, gradients.key, gradients.key_stride, key_sums, padded, false);
        scatter(products, query_rows, length, padded, key_sums, padded, true);
        move_rows<Real>(strip, width, gradients.key, gradients.key_stride, key_sums, padded, true);
      } else {
        scatter(products, query_rows, length, padded, key_sums, padded, false);
        near.add(strip, vectors, width, queries, keys, key_stride, sums, key_sums, padded);
        keeper.acquire(strip.columns[strip.count - 1] / block_columns);
        for (int c = 0; c < strip.count; ++c) {
          Real* const from = key_sums + c * padded;
          Real* const to = gradients.key + strip.columns[c] * gradients.key_stride;
          if (distance) {
            Vec<Real> all{};
            for (int v = 0; v < vectors; ++v)
              all += load<Real>(products + c * tile_readers + v * lanes);
            const Real total = add_lanes<Real>(all);
            for (std::int64_t k = 0; k < width; ++k)
              from[k] = total * keys[c * key_stride + k] - from[k];
          }
          if (along_reads) {
            const Real total = add_lanes<Real>(load<Real>(along + c * lanes));
            for (std::int64_t k = 0; k < width; ++k)
              from[k] += total * keys[c * key_stride + k];
          }
          if (prepared) {
            prepare_gradient<Real>(rule.prepare, head.key + strip.columns[c] * head.key_stride, from, width, Real(1),
                                   to, !tile.writes);
          } else {
            for (std::int64_t k = 0; k < width; ++k)
              to[k] = (tile.writes ? Real(0) : to[k]) + from[k];
          }
        }
      }
    }
    for (int c = 0; tile.in_place && c < strip.count; ++c) { // while they are near; sums go on from them as well
      if (gradients.value != nullptr && !(ends_canonical && value_direct))
        make_canonical<Real>(gradients.value + strip.columns[c] * gradients.value_stride, value_width);
      if (gradients.key != nullptr && !(ends_canonical && key_direct))
        make_canonical<Real>(gradients.key + strip.columns[c] * gradients.key_stride, width);
    }
  }
  if (tile.late_done != nullptr && !tile.again)
    __atomic_store_n(tile.late_done, 1U, __ATOMIC_RELEASE);
  keeper.finish();
  if (tile.again)
    return 0;
  const bool has_others =
      tile.other_first >= 0 && (tile.other_first < head.read_cut_begin || tile.other_last >= head.read_cut_end);
  const std::uint64_t reading = has_others ? active : touched;
  Real sink = 0; // a row that reads nothing gives 0 whatever its gradient holds
  for (int i = 0; i < tile.readers; ++i)
    sink += (reading >> i & 1) != 0 ? sinks[i] : Real(0);

  if (gradients.query != nullptr) {
    if (distance) {
      for (std::int64_t k = 0; k < width; ++k) {
        for (int v = 0; v < vectors; ++v) {
          Real* const at = sums + k * tile_readers + v * lanes;
          store<Real>(at, load<Real>(totals + v * lanes) * load<Real>(queries + k * tile_readers + v * lanes) -
                              load<Real>(at));
        }
      }
    }
    if (along_readers) {
      for (std::int64_t k = 0; k < width; ++k) {
        for (int v = 0; v < vectors; ++v) {
          Real* const at = sums + k * tile_readers + v * lanes;
          store<Real>(at, fma(load<Real>(totals + v * lanes), load<Real>(queries + k * tile_readers + v * lanes),
                              load<Real>(at)));
        }
      }
    }
    if (!by_rows)
      unpack_lanes<Real>(sums, ones, tile.readers, width, query_rows, length);
    const Real* const found = by_rows ? sums : query_rows;
    const std::int64_t found_length = by_rows ? width : length;
    for (int i = 0; i < tile.readers; ++i) {
      const std::int64_t reader = tile.first_reader + i;
      Real* const to = gradients.query + reader * gradients.query_stride;
      if ((active & touched) >> i & 1) {
        if (is_direct)
          continue;
        prepare_gradient<Real>(rule.prepare, head.query + reader * head.query_stride, found + i * found_length, width,
                               rule.query_scale, to, gradients.add_query);
      } else if (!gradients.add_query) {
        for (std::int64_t k = 0; k < width; ++k)
          to[k] = 0;
      }
      if (tile.in_place)
        make_canonical<Real>(to, width);
    }
  }
  return sink;
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
