// Forward pass of a tile whose last reader would fill a vector of lanes alone (windows of 7 x 7 tokens have 49 readers): it
// goes as a row, right behind the others, whose keys and values are in the first caches.
#pragma once

#include "sightline/mixer/cpu/rows_short.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// All readers read one stretch; not in exact mode, where every reader has to be summed alike.
template <class Real> bool has_lone_reader(const Rule<Real>& rule, const Head<Real>& head, const TileList& tile) {
  if (tile.readers % Lanes<Real>::count != 1 || tile.readers == 1 || tile.segment_count != 1 || rule.canonical ||
      rule.score != Score::dot || !is_exponent(rule.weight) || !are_rows_plain(rule, head) || head.order != nullptr ||
      count_vectors<Real>(head.width, head.value_width) == 0)
    return false;
  const Segment& reads = tile.segments[0];
  const std::uint64_t all = ~std::uint64_t{0} >> (tile_readers - tile.readers);
  return reads.step == 1 && reads.mask == all && reads.count <= strip_columns;
}

/// scores[c] = scale * query times the key c, for whole vectors of keys: those behind `count` score -infinity.
template <class Real, int vectors>
SIGHTLINE_INLINE void score_lone(const Real* query, Real scale, const Real* keys, std::ptrdiff_t stride, int count, Real* scores) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> left[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v)
    left[v] = load<Real>(query + v * lanes) * splat<Real>(scale);
  for (int first = 0; first < count; first += lanes) {
    Vec<Real> parts[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) {
      parts[i] = Vec<Real>{};
      if (first + i >= count)
        continue;
      const Real* const key = keys + (first + i) * stride;
      parts[i] = left[0] * load<Real>(key);
#pragma GCC unroll 8
      for (int v = 1; v < vectors; ++v)
        parts[i] = fma(left[v], load<Real>(key + v * lanes), parts[i]);
    }
    fold_halves<Real, lanes / 2>(parts);
    store<Real>(scores + first, parts[0]);
    for (int i = count - first; i < lanes; ++i)
      scores[first + i] = -Real(__builtin_inff());
  }
}

template <class Real, int vectors>
SIGHTLINE_APART void forward_lone(const Rule<Real>& rule, const Head<Real>& head, std::int64_t reader, std::int64_t first,
                                  int count) {
  constexpr int lanes = Lanes<Real>::count;
  alignas(64) Real weights[strip_columns];
  score_lone<Real, vectors>(head.query + reader * head.query_stride, rule.query_scale, head.key + first * head.key_stride,
                            head.key_stride, count, weights);
  const auto padded = static_cast<int>(round_up(count, lanes));
  find_arc_exponents<Real>(rule, padded, weights);
  const Real most = round_up_to_integer(find_largest<Real>(
      weights, padded, rule.has_extra ? round_up_to_integer(rule.extra) : no_exponent<Real>));
  Vec<Real> sums{};
  for (int c = 0; c < padded; c += lanes) {
    const Vec<Real> weight = exp2_shifted<Real>(load<Real>(weights + c), splat<Real>(most));
    store<Real>(weights + c, weight);
    sums += weight;
  }
  const Real factor = row_factor<Real>(rule, true, add_lanes<Real>(sums), most, Real(0));
  multiply_block<Real, 1, vectors, Along::k>(count, weights, 0, head.value + first * head.value_stride, head.value_stride,
                                             head.out + reader * head.out_stride, 0, false, &factor, nullptr);
  if (head.statistics != nullptr) {
    head.statistics[reader * 2] = most;
    head.statistics[reader * 2 + 1] = factor;
  }
}

template <class Real>
void forward_readers(const Rule<Real>& rule, const Head<Real>& head, const TileList& tile, void* workspace) {
  if (!has_lone_reader<Real>(rule, head, tile)) {
    forward_tile<Real>(rule, head, tile, workspace);
    return;
  }
  TileList others = tile;
  --others.readers;
  forward_tile<Real>(rule, head, others, workspace);
  const Segment& reads = tile.segments[0];
  with_vectors(count_vectors<Real>(head.width, head.value_width), [&](auto wide) {
    constexpr int vectors = decltype(wide)::value;
    if constexpr (vectors > 0)
      forward_lone<Real, vectors>(rule, head, tile.first_reader + others.readers, reads.first + tile.shift, reads.count);
  });
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
