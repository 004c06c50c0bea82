// The table of kernels for the instruction set this is compiled for; included by kernels_*.cpp only.
#pragma once

#include "sightline/mixer/cpu/aggregate_maxima.hpp"
#include "sightline/mixer/cpu/backward_tile.hpp"
#include "sightline/mixer/cpu/forward_tile.hpp"
#include "sightline/mixer/cpu/linear_blocks.hpp"
#include "sightline/mixer/cpu/lone_reader.hpp"
#include "sightline/mixer/cpu/rotate_rows.hpp"
#include "sightline/mixer/cpu/row_maps.hpp"
#include "sightline/mixer/cpu/rows.hpp"
#include "sightline/mixer/cpu/select.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// The weight, transposed in panels of product_columns columns: [panel][depth][column], padded with zeros.
template <class Real> void pack_weight(const Real* weight, std::int64_t depth, std::int64_t columns, Real* out) {
  constexpr std::int64_t panel = block_vectors * Lanes<Real>::count;
  for (std::int64_t first = 0; first < columns; first += panel) {
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t c = first; c < first + panel; ++c)
        *out++ = c < columns ? weight[c * depth + k] : Real(0);
    }
  }
}

template <class Real>
void multiply_rows(const Real* in, const Real* packed, const Real* bias, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns, Real* out) {
  constexpr std::int64_t panel = block_vectors * Lanes<Real>::count;
  constexpr int most = 96;
  Real result[most * panel];
  for (std::int64_t first = 0; first < columns; first += panel, packed += panel * depth) {
    const std::int64_t width = columns - first < panel ? columns - first : panel;
    for (std::int64_t r = 0; r < rows; r += most) {
      const int count = static_cast<int>(rows - r < most ? rows - r : most);
      multiply<Real, Along::k>(count, block_vectors, static_cast<int>(depth), in + r * depth, depth, packed, panel,
                               result, panel, false);
      for (int i = 0; i < count; ++i) {
        Real* const to = out + (r + i) * columns + first;
        for (std::int64_t c = 0; c < width; ++c)
          to[c] = bias != nullptr ? result[i * panel + c] + bias[first + c] : result[i * panel + c];
      }
    }
  }
}

template <class Real> void canonical_row(Real* row, std::int64_t width) { make_canonical<Real>(row, width); }

template <class Real> void add_canonical(Real* row, const Real* other, std::int64_t width) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes)
    store<Real>(row + k, canonical<Real>(load<Real>(row + k) + load<Real>(other + k)));
  for (const std::int64_t first = k; k < width; ++k) {
    row[k] += other[k];
    if (k + 1 == width)
      make_canonical<Real>(row + first, width - first);
  }
}

template <class Real> void repeat_row(Real* to, std::ptrdiff_t stride, std::int64_t width, std::int64_t copies) {
  for (std::int64_t i = 1; i <= copies; ++i)
    copy_row<Real>(to, width, to + i * stride);
}

template <class Real> void rank_keys(const Real* keys, int count, std::int32_t* ranks) {
  constexpr int lanes = Lanes<Real>::count;
  alignas(64) Real padded[most_ranked] = {};
  for (int k = 0; k < count; ++k)
    padded[k] = keys[k];
  for (int base = 0; base < count; base += lanes) {
    const IntVec<Real> mine = (IntVec<Real>)load<Real>(padded + base);
    IntVec<Real> rank{};
    for (int k = 0; k < count; ++k)
      rank -= (IntVec<Real>)splat_bits<Real>(padded[k]) < mine;
    for (int lane = 0; lane < lanes && base + lane < count; ++lane)
      ranks[base + lane] = static_cast<std::int32_t>(rank[lane]);
  }
}

template <class Real> constexpr Engine<Real> make_engine() {
  return {
      &workspace_bytes<Real>,   &forward_readers<Real>,  &backward_tile<Real>,    &forward_rows<Real>,
      &backward_rows<Real>,     &backward_columns<Real>, &select_tile<Real>, &select_rows<Real>, &find_features<Real>,    &feature_gradient<Real>,
      &linear_bytes<Real>,      &linear_collect<Real>,   &linear_add<Real>,       &linear_forward<Real>,
      &linear_backward<Real>,   &linear_columns<Real>,   &block_bytes<Real>,      &block_sum<Real>,
      &block_state<Real>,       &block_forward<Real>,    &block_queries<Real>,    &block_readers<Real>,    &block_columns<Real>,    &aggregate_groups<Real>, &aggregate_back<Real>,
      &aggregate_back_blocks<Real>, &aggregate_weights<Real>, &share_maxima<Real>, &sum_attained<Real>, &sum_bytes<Real>, &sum_rows<Real>, &sum_list<Real>, &map_rows<Real>, &map_back<Real>, &canonical_row<Real>, &add_canonical<Real>, &repeat_row<Real>, &rank_keys<Real>,        &add_angles<Real>,
      &rotate_rows<Real>,       block_vectors * Lanes<Real>::count,
      &pack_weight<Real>,       &multiply_rows<Real>};
}

// Constant initialisation: nothing of a newer instruction set may run before it is chosen.
constexpr Engine<float> engine_float = make_engine<float>();
constexpr Engine<double> engine_double = make_engine<double>();

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD

namespace sightline::mixer::cpu {
#define SIGHTLINE_NAME_OF(set, type) find_##set##_##type
#define SIGHTLINE_NAME(set, type) SIGHTLINE_NAME_OF(set, type)
const Engine<float>* SIGHTLINE_NAME(SIGHTLINE_SIMD, float)() { return &SIGHTLINE_SIMD::engine_float; }
const Engine<double>* SIGHTLINE_NAME(SIGHTLINE_SIMD, double)() { return &SIGHTLINE_SIMD::engine_double; }
} // namespace sightline::mixer::cpu
