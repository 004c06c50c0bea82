// Sums over tokens of features times values: how they are begun, grow, change exponent and are added up.
#pragma once

#include "sightline/mixer/cpu/features.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// take(first, count) for stretches of at most feature_rows vertices of [begin, end) that exist, one after the other.
template <class Take>
SIGHTLINE_INLINE void for_stretches(std::int64_t begin, std::int64_t end, std::int64_t cut_begin, std::int64_t cut_end,
                                    Take take) {
  for (std::int64_t at = begin;;) {
    if (at >= cut_begin && at < cut_end)
      at = cut_end;
    if (at >= end)
      return;
    std::int64_t stop = at + feature_rows < end ? at + feature_rows : end;
    if (at < cut_begin && cut_begin < cut_end && stop > cut_begin)
      stop = cut_begin;
    take(at, static_cast<int>(stop - at));
    at = stop;
  }
}

template <class Real> SIGHTLINE_INLINE Real power_of_two(Real exponent) { return exp2<Real>(splat<Real>(exponent))[0]; }

template <class Real>
void clear_state(const FeatureMap<Real>& map, std::int64_t value_padded, const LinearState<Real>& s) {
  for (std::int64_t k = 0; k < map.padded * value_padded; ++k)
    s.sums[k] = 0;
  for (std::int64_t f = 0; f < map.padded; ++f)
    s.totals[f] = 0;
  *s.exponent = no_exponent<Real>;
}

/// Brings a state to a larger exponent.
template <class Real>
void raise_state(const FeatureMap<Real>& map, std::int64_t value_padded, const LinearState<Real>& s, Real exponent) {
  constexpr int lanes = Lanes<Real>::count;
  if (exponent == *s.exponent)
    return;
  const Vec<Real> shrink = splat<Real>(power_of_two<Real>(*s.exponent - exponent));
  for (std::int64_t k = 0; k < map.padded * value_padded; k += lanes)
    store<Real>(s.sums + k, load<Real>(s.sums + k) * shrink);
  for (std::int64_t f = 0; f < map.padded; f += lanes)
    store<Real>(s.totals + f, load<Real>(s.totals + f) * shrink);
  *s.exponent = exponent;
}

/// Adds `count` rows: sums += phi v 2^e, totals += phi weight 2^e. `values` [row][value_padded] are overwritten.
template <class Real>
void add_to_state(const FeatureMap<Real>& map, std::int64_t value_padded, int count, const Real* features,
                  const Real* exponents, const Real* weights, Real* values, const LinearState<Real>& s) {
  constexpr int lanes = Lanes<Real>::count;
  Real top = *s.exponent;
  for (int i = 0; i < count; ++i)
    top = exponents[i] > top ? exponents[i] : top;
  raise_state<Real>(map, value_padded, s, top);
  Real factors[feature_rows];
  for (int i = 0; i < count; ++i) {
    const Real power = power_of_two<Real>(exponents[i] - top);
    factors[i] = weights != nullptr ? power * weights[i] : power;
    for (std::int64_t k = 0; k < value_padded; k += lanes)
      store<Real>(values + i * value_padded + k, load<Real>(values + i * value_padded + k) * splat<Real>(power));
  }
  multiply<Real, Along::rows>(static_cast<int>(map.count), static_cast<int>(value_padded / lanes), count, features,
                              map.stride, values, value_padded, s.sums, value_padded, true);
  for (std::int64_t f = 0; f < map.padded; f += lanes) {
    Vec<Real> total = load<Real>(s.totals + f);
    for (int i = 0; i < count; ++i)
      total = fma(splat<Real>(factors[i]), load<Real>(features + i * map.stride + f), total);
    store<Real>(s.totals + f, total);
  }
}

/// Adds reads first .. first + count - 1, whose features are given. values: as many rows of workspace.
template <class Real>
void add_reads(const FeatureMap<Real>& map, const Head<Real>& head, std::int64_t first, int count, const Real* features,
               const Real* exponents, Real* values, const LinearState<Real>& s) {
  const std::int64_t value_padded = round_up(head.value_width, 16);
  copy_rows<Real>(head.value + first * head.value_stride, head.value_stride, head.value_width, nullptr, Real(1), count,
                  value_padded, values);
  add_to_state<Real>(map, value_padded, count, features, exponents, nullptr, values, s);
}

template <class Real>
void linear_collect(const FeatureMap<Real>& map, const Head<Real>& head, std::int64_t begin, std::int64_t end,
                    const LinearState<Real>& state, void* workspace) {
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const x = arena.take<Real>(feature_rows * map.row_length);
  Real* const features = arena.take<Real>(feature_rows * map.stride);
  Real* const values = arena.take<Real>(feature_rows * value_padded);
  Real exponents[feature_rows];
  clear_state<Real>(map, value_padded, state);
  for_stretches(begin, end, head.read_cut_begin, head.read_cut_end, [&](std::int64_t first, int count) {
    copy_rows<Real>(head.key + first * head.key_stride, head.key_stride, map.width, nullptr, Real(1), count,
                    map.row_length, x);
    find_feature_block<Real>(map, x, count, features, exponents);
    add_reads<Real>(map, head, first, count, features, exponents, values, state);
  });
}

template <class Real>
void linear_add(const FeatureMap<Real>& map, std::int64_t value_width, const LinearState<Real>& from,
                const LinearState<Real>& to) {
  const std::int64_t value_padded = round_up(value_width, 16);
  if (*from.exponent > *to.exponent)
    raise_state<Real>(map, value_padded, to, *from.exponent);
  const Real factor = power_of_two<Real>(*from.exponent - *to.exponent);
  for (std::int64_t k = 0; k < map.padded * value_padded; ++k)
    to.sums[k] += from.sums[k] * factor;
  for (std::int64_t f = 0; f < map.padded; ++f)
    to.totals[f] += from.totals[f] * factor;
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
