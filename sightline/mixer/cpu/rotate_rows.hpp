// Rotary positions: pairs (2p, 2p+1) of a row turned by one angle each.
#pragma once

#include "sightline/mixer/cpu/pack.hpp"

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

/// The products are rounded before they are added, as the definition has them.
template <class Real>
void rotate_row(const Real* from, const Real* cosines, const Real* sines, std::int64_t width, bool canonical,
                Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  const auto turn = [&](Vec<Real> x, const Real* c, const Real* s) {
    return x * load<Real>(c) + swap_pairs<Real>(x) * load<Real>(s);
  };
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes)
    store<Real>(to + k, turn(load<Real>(from + k), cosines + k, sines + k));
  for (; k < width; k += 2) {
    const Real x = from[k], y = from[k + 1];
    to[k] = x * cosines[k] + y * sines[k];
    to[k + 1] = y * cosines[k] + x * sines[k + 1];
  }
  if (canonical)
    make_canonical<Real>(to, width);
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
