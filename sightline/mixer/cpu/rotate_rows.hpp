// Rotary positions: pairs (2p, 2p+1) of a row turned by one angle each.
#pragma once

#include "sightline/mixer/cpu/row_parts.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// The even entries in place of the odd ones and the other way round.
template <class Real, int... lane> SIGHTLINE_INLINE Vec<Real> swap_pairs(Vec<Real> x, std::integer_sequence<int, lane...> /*lanes*/) {
  return __builtin_shufflevector(x, x, (lane ^ 1)...);
}
template <class Real> SIGHTLINE_INLINE Vec<Real> swap_pairs(Vec<Real> x) { return swap_pairs<Real>(x, LaneIndices<Real>()); }

/// cos(a + b) and sin(a + b) from those of a and of b ([2 half]: cosines, then sines), each written twice, the sine
/// with the sign that its entry of a pair has; `sign` -1 turns back.
template <class Real>
void add_angles(const double* a, const double* b, std::int64_t half, double sign, Real* cosines, Real* sines) {
  for (std::int64_t p = 0; p < half; ++p) {
    const double cosine = a[p] * b[p] - a[half + p] * b[half + p];
    const double sine = sign * (a[half + p] * b[p] + a[p] * b[half + p]);
    cosines[2 * p] = cosines[2 * p + 1] = static_cast<Real>(cosine);
    sines[2 * p + 1] = static_cast<Real>(sine);
    sines[2 * p] = -sines[2 * p + 1];
  }
}

/// `count` rows, `stride` and `to_stride` numbers apart, by one row of cosines and sines each. The products are rounded
/// before they are added, as the definition has them. past: `to` need not stay in the caches; then the rows that are turned
/// next, from `soon` on, are fetched.
template <class Real>
void rotate_rows(int count, const Real* from, std::ptrdiff_t stride, const Real* cosines, const Real* sines, std::int64_t width,
                 bool canonical_numbers, bool past, const Real* soon, Real* to, std::ptrdiff_t to_stride) {
  constexpr int lanes = Lanes<Real>::count;
  const bool streams = past && can_stream<Real>(to) && can_stream<Real>(to + to_stride);
  for (int i = 0; i < count; ++i, from += stride, to += to_stride, cosines += width, sines += width) {
    if (past)
      prefetch_far<Real>(soon + i * stride, width);
    std::int64_t k = 0;
    for (; k + lanes <= width; k += lanes) {
      const Vec<Real> x = load<Real>(from + k);
      Vec<Real> turned = x * load<Real>(cosines + k) + swap_pairs<Real>(x) * load<Real>(sines + k);
      if (canonical_numbers)
        turned = canonical<Real>(turned);
      if (streams)
        stream<Real>(to + k, turned);
      else
        store<Real>(to + k, turned);
    }
    const std::int64_t rest = k;
    for (; k < width; k += 2) {
      const Real x = from[k], y = from[k + 1];
      to[k] = x * cosines[k] + y * sines[k];
      to[k + 1] = y * cosines[k] + x * sines[k + 1];
    }
    if (canonical_numbers)
      make_canonical<Real>(to + rest, width - rest);
  }
  if (streams)
    finish_streams();
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
