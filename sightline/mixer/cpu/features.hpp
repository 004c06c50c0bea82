// Kernels that are sums of products of features (Performer, exponential sums): the features of rows of tokens, and the
// way back from gradients of features to gradients of tokens.
#pragma once

#include "sightline/mixer/cpu/backward_tile.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

inline constexpr int feature_rows = 64; ///< taken at once

/// C (+)= A B for deep products: B in stretches that stay in the first cache. The same chains as `multiply`.
template <class Real>
SIGHTLINE_INLINE void multiply_deep(int rows, std::int64_t vectors, std::int64_t depth, const Real* a,
                                    std::ptrdiff_t a_stride, const Real* b, std::ptrdiff_t b_stride, Real* c,
                                    std::ptrdiff_t c_stride, bool add) {
  constexpr int lanes = Lanes<Real>::count, stretch = 64;
  for (std::int64_t v = 0; v < vectors; v += block_vectors) {
    const int width = static_cast<int>(vectors - v < block_vectors ? vectors - v : block_vectors);
    for (std::int64_t k = 0; k < depth || k == 0; k += stretch) {
      const int count = static_cast<int>(depth - k < stretch ? depth - k : stretch);
      multiply<Real, Along::k>(rows, width, count, a + k, a_stride, b + k * b_stride + v * lanes, b_stride,
                               c + v * lanes, c_stride, add || k > 0);
    }
  }
}

/// Rows times scale, side by side [row][length], padded with zeros.
template <class Real>
SIGHTLINE_INLINE void copy_rows(const Real* rows, std::ptrdiff_t stride, std::int64_t width, const Real* factors,
                                Real scale, int count, std::int64_t length, Real* to) {
  for (int i = 0; i < count; ++i) {
    const Real factor = factors != nullptr ? factors[i] : scale;
    for (std::int64_t k = 0; k < width; ++k)
      to[i * length + k] = rows[i * stride + k] * factor;
    for (std::int64_t k = width; k < length; ++k)
      to[i * length + k] = 0;
  }
}

/// At most feature_rows rows, already scaled and padded, -> features and exponents.
template <class Real>
void find_feature_block(const FeatureMap<Real>& map, const Real* x, int count, Real* features, Real* exponents) {
  constexpr int lanes = Lanes<Real>::count;
  constexpr std::int64_t panel = block_vectors * lanes;
  const Real infinity = Real(__builtin_inff());
  for (std::int64_t p = 0; p < map.padded; p += panel) {
    multiply<Real, Along::k>(count, block_vectors, static_cast<int>(map.width), x, map.row_length,
                             map.packed + p * map.width, panel, features + p, map.stride, false);
  }
  for (int i = 0; i < count; ++i) {
    Real* const row = features + i * map.stride;
    const Real length = map.half == Real(0)
                            ? Real(0)
                            : dot_rows<Real>(x + i * map.row_length, x + i * map.row_length, map.row_length) *
                                  map.half * Real(1.44269504088896340736);
    Vec<Real> top = splat<Real>(-infinity);
    for (std::int64_t f = map.count; f < map.padded; ++f)
      row[f] = -infinity;
    for (std::int64_t f = 0; f < map.padded; f += lanes) {
      const Vec<Real> u = load<Real>(row + f) - splat<Real>(length);
      store<Real>(row + f, u);
      top = larger(u, top);
    }
    for (std::int64_t f = map.count; f < map.padded; ++f)
      row[f] = -infinity; // whatever the length is
    Real largest = -infinity;
#pragma GCC unroll 16
    for (int lane = 0; lane < lanes; ++lane)
      largest = top[lane] > largest ? top[lane] : largest;
    // Rows without a finite feature keep exponents that order them and features that say so.
    Real exponent = -round_down<Real>(splat<Real>(-largest))[0];
    if (largest == -infinity)
      exponent = no_exponent<Real>;
    else if (!(exponent < Real(1e30F)))
      exponent = 0;
    for (std::int64_t f = 0; f < map.padded; f += lanes)
      store<Real>(row + f, exp2_shifted<Real>(load<Real>(row + f), splat<Real>(exponent)));
    exponents[i] = exponent;
  }
}

template <class Real>
void find_features(const FeatureMap<Real>& map, const Real* rows, std::ptrdiff_t stride, Real scale, std::int64_t count,
                   Real* features, Real* exponents, void* workspace) {
  Arena arena(workspace);
  Real* const x = arena.take<Real>(feature_rows * map.row_length);
  for (std::int64_t i = 0; i < count; i += feature_rows) {
    const int block = static_cast<int>(count - i < feature_rows ? count - i : feature_rows);
    copy_rows<Real>(rows + i * stride, stride, map.width, nullptr, scale, block, map.row_length, x);
    find_feature_block<Real>(map, x, block, features + i * map.stride, exponents + i);
  }
}

/// At most feature_rows rows. x: scaled and padded; gradients: overwritten; sums: [row][row_length] of workspace.
template <class Real>
void feature_gradient_block(const FeatureMap<Real>& map, const Real* x, Real scale, int count, const Real* features,
                            Real* gradients, Real* sums, Real* to, std::ptrdiff_t to_stride, bool add) {
  constexpr int lanes = Lanes<Real>::count;
  Real totals[feature_rows];
  bool touched[feature_rows];
  for (int i = 0; i < count; ++i) {
    Real* const t = gradients + i * map.stride;
    const Real* const phi = features + i * map.stride;
    Vec<Real> total{}, zeros{};
    bool any = false;
    for (std::int64_t f = 0; f < map.padded; f += lanes) {
      const Vec<Real> given = load<Real>(t + f), product = given * load<Real>(phi + f);
      any = any || any_differs<Real>(given, zeros);
      store<Real>(t + f, product);
      total += product;
    }
    touched[i] = any; // who reads nothing and is not read has gradient 0 whatever it holds
    totals[i] = add_lanes<Real>(total);
  }
  multiply_deep<Real>(count, map.row_length / lanes, map.count, gradients, map.stride, map.rows, map.row_length, sums,
                      map.row_length, false);
  for (int i = 0; i < count; ++i) {
    Real* const row = to + i * to_stride;
    const Real* const given = x + i * map.row_length;
    const Real* const sum = sums + i * map.row_length;
    const Real along = totals[i] * (map.half + map.half);
    for (std::int64_t k = 0; k < map.width; ++k) {
      // Half 0: no length, whatever the row holds.
      Real value = touched[i] ? scale * (map.half == Real(0) ? sum[k] : sum[k] - along * given[k]) : Real(0);
      if (add)
        value += row[k];
      row[k] = value;
    }
  }
}

template <class Real>
void feature_gradient(const FeatureMap<Real>& map, const Real* rows, std::ptrdiff_t stride, Real scale,
                      std::int64_t count, const Real* features, Real* gradients, Real* to, std::ptrdiff_t to_stride,
                      bool add, void* workspace) {
  Arena arena(workspace);
  Real* const x = arena.take<Real>(feature_rows * map.row_length);
  Real* const sums = arena.take<Real>(feature_rows * map.row_length);
  for (std::int64_t i = 0; i < count; i += feature_rows) {
    const int block = static_cast<int>(count - i < feature_rows ? count - i : feature_rows);
    copy_rows<Real>(rows + i * stride, stride, map.width, nullptr, scale, block, map.row_length, x);
    feature_gradient_block<Real>(map, x, scale, block, features + i * map.stride, gradients + i * map.stride, sums,
                                 to + i * to_stride, to_stride, add);
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
