// Attention whose kernel is a sum of products of features, in time linear in the number of tokens: on the full pattern
// the sums over all reads are made once, on the causal one they grow from tile to tile; inside a tile pairs are taken
// one by one. Exponents are whole numbers to base 2 beside the sums, so that bringing sums to another exponent changes
// no bit.
#pragma once

#include "sightline/mixer/cpu/linear_state.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

template <class Real> std::size_t linear_bytes(const FeatureMap<Real>& map, std::int64_t value_width) {
  const std::int64_t value_padded = round_up(value_width, 16);
  const std::int64_t numbers = feature_rows * (4 * map.stride + map.padded + 4 * map.row_length + 6 * value_padded) +
                               value_padded * (map.stride + feature_rows) + 5 * feature_rows * tile_readers +
                               12 * feature_rows;
  return static_cast<std::size_t>(numbers) * sizeof(Real) + 64 * 40;
}

/// C_i += sum over j <= i of w_ij B_j. careful: rows of B may hold infinities, and only who reads them meets them.
template <class Real>
void multiply_lower(int count, std::int64_t vectors, const Real* w, const Real* b, std::ptrdiff_t b_stride, Real* c,
                    std::ptrdiff_t c_stride, bool careful) {
  const int step = careful ? 1 : 2 * block_rows;
  for (int i = 0; i < count; i += step) {
    const int rows = count - i < step ? count - i : step;
    multiply<Real, Along::k>(rows, static_cast<int>(vectors), i + rows, w + i * tile_readers, tile_readers, b, b_stride,
                             c + i * c_stride, c_stride, true);
  }
}

/// C_j += sum over i >= j of w_ij B_i.
template <class Real>
void multiply_upper(int count, std::int64_t vectors, const Real* w, const Real* b, std::ptrdiff_t b_stride, Real* c,
                    std::ptrdiff_t c_stride, bool careful) {
  const int step = careful ? 1 : 2 * block_rows;
  for (int j = 0; j < count; j += step) {
    const int rows = count - j < step ? count - j : step;
    multiply<Real, Along::rows>(rows, static_cast<int>(vectors), count - j, w + j * tile_readers + j, tile_readers,
                                b + j * b_stride, b_stride, c + j * c_stride, c_stride, true);
  }
}

/// Products of rows a_i with rows b_j, [i][tile_readers]; `packed` [width][tile_readers] is workspace.
template <class Real>
void multiply_pairs(int count, std::int64_t width, const Real* a, std::ptrdiff_t a_stride, const Real* b,
                    std::ptrdiff_t b_stride, Real* packed, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  const std::uint64_t all = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  pack_lanes<Real>(b, b_stride, all, width, packed);
  multiply_deep<Real>(count, (count + lanes - 1) / lanes, width, a, a_stride, packed, tile_readers, to, tile_readers,
                      false);
}

/// The exponents that the rows of a causal tile are kept with: those of everything that they read.
template <class Real>
SIGHTLINE_INLINE void find_row_exponents(Real state, int count, const Real* read_exponents, bool causal, Real* to) {
  Real top = state;
  for (int i = 0; i < count; ++i) {
    if (causal)
      top = read_exponents[i] > top ? read_exponents[i] : top;
    to[i] = top;
  }
}

/// pairs [i][j] -> pairs times 2^(c_j - l_i) for j <= i, else 0.
template <class Real>
SIGHTLINE_INLINE void weigh_pairs(int count, const Real* read_exponents, const Real* row_exponents, Real* pairs) {
  constexpr int lanes = Lanes<Real>::count;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t mask = i == 63 ? ~std::uint64_t{0} : (std::uint64_t{2} << i) - 1;
    for (int v = 0; v * lanes < count; ++v) {
      Real* const at = pairs + i * tile_readers + v * lanes;
      const Vec<Real> power = exp2_shifted<Real>(load<Real>(read_exponents + v * lanes), splat<Real>(row_exponents[i]));
      store<Real>(at, select(mask >> (v * lanes), load<Real>(at) * power, Vec<Real>{}));
    }
  }
}

template <class Real>
void linear_forward(const Rule<Real>& rule, const FeatureMap<Real>& map, const Head<Real>& head, bool causal,
                    std::int64_t begin, std::int64_t end, const LinearState<Real>& state, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const x = arena.take<Real>(feature_rows * map.row_length);
  Real* const queries = arena.take<Real>(feature_rows * map.stride);
  Real* const keys = arena.take<Real>(feature_rows * map.stride);
  Real* const values = arena.take<Real>(feature_rows * value_padded);
  Real* const sums = arena.take<Real>(feature_rows * value_padded);
  Real* const pairs = arena.take<Real>(feature_rows * tile_readers);
  Real* const packed = arena.take<Real>(map.padded * tile_readers);
  Real query_exponents[feature_rows], row_exponents[feature_rows], read_exponents[feature_rows] = {};
  for (std::int64_t i = begin; i < end; ++i) { // those that do not exist
    if (i < head.reader_cut_begin || i >= head.reader_cut_end)
      continue;
    for (std::int64_t k = 0; k < head.value_width; ++k)
      head.out[i * head.out_stride + k] = 0;
    head.statistics[i * 2] = no_exponent<Real>;
    head.statistics[i * 2 + 1] = 0;
  }
  for_stretches(begin, end, head.reader_cut_begin, head.reader_cut_end, [&](std::int64_t first, int count) {
    copy_rows<Real>(head.query + first * head.query_stride, head.query_stride, map.width, nullptr, rule.query_scale,
                    count, map.row_length, x);
    find_feature_block<Real>(map, x, count, queries, query_exponents);
    multiply_deep<Real>(count, value_padded / lanes, map.count, queries, map.stride, state.sums, value_padded, sums,
                        value_padded, false);
    if (causal) {
      copy_rows<Real>(head.key + first * head.key_stride, head.key_stride, map.width, nullptr, Real(1), count,
                      map.row_length, x);
      find_feature_block<Real>(map, x, count, keys, read_exponents);
      copy_rows<Real>(head.value + first * head.value_stride, head.value_stride, head.value_width, nullptr, Real(1),
                      count, value_padded, values);
    }
    find_row_exponents<Real>(*state.exponent, count, read_exponents, causal, row_exponents);
    for (int i = 0; i < count; ++i) {
      if (rule.has_extra) {
        const Real extra = -round_down<Real>(splat<Real>(query_exponents[i] - rule.extra))[0];
        row_exponents[i] = extra > row_exponents[i] ? extra : row_exponents[i];
      }
      if (!rule.normalised)
        row_exponents[i] = -query_exponents[i];
    }
    if (causal) {
      multiply_pairs<Real>(count, map.count, queries, map.stride, keys, map.stride, packed, pairs);
      weigh_pairs<Real>(count, read_exponents, row_exponents, pairs);
    }
    Real totals[feature_rows];
    for (int i = 0; i < count; ++i) {
      const Real power = power_of_two<Real>(*state.exponent - row_exponents[i]);
      totals[i] = dot_rows<Real>(queries + i * map.stride, state.totals, map.padded) * power;
      for (std::int64_t k = 0; k < value_padded; ++k)
        sums[i * value_padded + k] *= power;
      if (causal) {
        Vec<Real> total{};
        for (int v = 0; v * lanes < count; ++v)
          total += load<Real>(pairs + i * tile_readers + v * lanes);
        totals[i] += add_lanes<Real>(total);
      }
    }
    if (causal) {
      multiply_lower<Real>(count, value_padded / lanes, pairs, values, value_padded, sums, value_padded,
                           has_non_finite<Real>(values, count * value_padded));
    }
    for (int i = 0; i < count; ++i) {
      Real factor = 1;
      if (rule.normalised) {
        Real below = totals[i];
        if (rule.has_extra)
          below += power_of_two<Real>(rule.extra - query_exponents[i] - row_exponents[i]);
        factor = below == Real(0) ? Real(0) : Real(1) / below;
      }
      Real* const out = head.out + (first + i) * head.out_stride;
      for (std::int64_t k = 0; k < head.value_width; ++k)
        out[k] = sums[i * value_padded + k] * factor;
      head.statistics[(first + i) * 2] = row_exponents[i];
      head.statistics[(first + i) * 2 + 1] = factor;
    }
    if (causal)
      add_to_state<Real>(map, value_padded, count, keys, read_exponents, nullptr, values, state);
  });
}

/// to [columns][rows] = from [rows][columns], whole vectors of both.
template <class Real>
void transpose_sums(const Real* from, std::int64_t rows, std::int64_t columns, Real* to, std::int64_t to_stride) {
  constexpr int lanes = Lanes<Real>::count;
  for (std::int64_t r = 0; r < rows; r += lanes) {
    for (std::int64_t c = 0; c < columns; c += lanes) {
      Vec<Real> block[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        block[i] = load<Real>(from + (r + i) * columns + c);
      transpose<Real>(block);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        store<Real>(to + (c + i) * to_stride + r, block[i]);
    }
  }
}

/// Gradients of output rows and what belongs to them: of readers first .. first + count - 1.
template <class Real> struct OutRows { Real middles[feature_rows], most[feature_rows], scale[feature_rows]; };

/// rows [row][value_padded] become scale_i g_i.
template <class Real>
void take_out_rows(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients, std::int64_t first,
                   int count, std::int64_t value_padded, OutRows<Real>& of, Real* rows) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t reader = first + i;
    of.most[i] = head.statistics[reader * 2];
    of.scale[i] = head.statistics[reader * 2 + 1];
    of.middles[i] = rule.normalised ? dot_rows<Real>(gradients.out + reader * gradients.out_stride,
                                                     head.out + reader * head.out_stride, head.value_width)
                                    : Real(0);
  }
  copy_rows<Real>(gradients.out + first * gradients.out_stride, gradients.out_stride, head.value_width, of.scale,
                  Real(1), count, value_padded, rows);
}

/// What readers send back joins a state. rows: scale_i g_i, overwritten.
template <class Real>
void add_out_rows(const FeatureMap<Real>& map, std::int64_t value_padded, int count, const Real* queries,
                  const OutRows<Real>& of, Real* rows, const LinearState<Real>& back) {
  Real weights[feature_rows], exponents[feature_rows];
  for (int i = 0; i < count; ++i) {
    weights[i] = of.scale[i] * of.middles[i];
    exponents[i] = of.scale[i] == Real(0) ? no_exponent<Real> : -of.most[i];
  }
  add_to_state<Real>(map, value_padded, count, queries, exponents, weights, rows, back);
}

/// slopes [row][map.stride] = d loss / d phi_i through the sums of a state, or added to them. rows: scale_i g_i; `turned`: the
/// state's sums transposed; `shifted`: as many rows of workspace.
template <class Real>
void find_query_slopes(const FeatureMap<Real>& map, const LinearState<Real>& state, const OutRows<Real>& of, int count,
                       const Real* rows, std::int64_t value_padded, const Real* turned, Real* shifted, Real* slopes,
                       bool add) {
  constexpr int lanes = Lanes<Real>::count;
  for (int i = 0; i < count; ++i) {
    const Real power = power_of_two<Real>(*state.exponent - of.most[i]);
    for (std::int64_t k = 0; k < value_padded; ++k)
      shifted[i * value_padded + k] = rows[i * value_padded + k] * power;
  }
  multiply_deep<Real>(count, map.padded / lanes, value_padded, shifted, value_padded, turned, map.stride, slopes,
                      map.stride, add);
  for (int i = 0; i < count; ++i) {
    const Vec<Real> middle =
        splat<Real>(power_of_two<Real>(*state.exponent - of.most[i]) * of.scale[i] * of.middles[i]);
    for (std::int64_t f = 0; f < map.padded; f += lanes) {
      Real* const at = slopes + i * map.stride + f;
      store<Real>(at, load<Real>(at) - middle * load<Real>(state.totals + f));
    }
  }
}

/// What readers, summed up in `back`, send to reads: value_sums [row][value_padded] and slopes = d loss / d phi_j.
/// `turned`: the sums of `back` transposed.
template <class Real>
void find_read_slopes(const FeatureMap<Real>& map, const LinearState<Real>& back, int count, const Real* keys,
                      const Real* exponents, const Real* values, std::int64_t value_padded, const Real* turned,
                      Real* value_sums, Real* slopes) {
  constexpr int lanes = Lanes<Real>::count;
  multiply_deep<Real>(count, value_padded / lanes, map.count, keys, map.stride, back.sums, value_padded, value_sums,
                      value_padded, false);
  multiply_deep<Real>(count, map.padded / lanes, value_padded, values, value_padded, turned, map.stride, slopes,
                      map.stride, false);
  const bool any = *back.exponent > no_exponent<Real>; // else nobody sends anything back
  for (int j = 0; j < count; ++j) {
    const Vec<Real> power = splat<Real>(power_of_two<Real>(exponents[j] + *back.exponent));
    for (std::int64_t k = 0; k < value_padded; k += lanes) {
      Real* const at = value_sums + j * value_padded + k;
      store<Real>(at, any ? load<Real>(at) * power : Vec<Real>{});
    }
    for (std::int64_t f = 0; f < map.padded; f += lanes) {
      Real* const at = slopes + j * map.stride + f;
      store<Real>(at, any ? (load<Real>(at) - load<Real>(back.totals + f)) * power : Vec<Real>{});
    }
  }
}

/// pairs (phi_i.phi_j) -> weights p_ij / |factors|..., slopes: d loss / d (phi_i.phi_j), for j <= i, else 0. products:
/// scale_i g_i.v_j.
template <class Real>
void find_pair_slopes(int count, const Real* read_exponents, const OutRows<Real>& of, Real* products) {
  constexpr int lanes = Lanes<Real>::count;
  for (int i = 0; i < count; ++i) {
    const Vec<Real> middle = splat<Real>(of.middles[i] * of.scale[i]);
    for (int v = 0; v * lanes < count; ++v) {
      Real* const at = products + i * tile_readers + v * lanes;
      store<Real>(at, load<Real>(at) - middle);
    }
  }
  weigh_pairs<Real>(count, read_exponents, of.most, products);
}

template <class Real>
Real linear_backward(const Rule<Real>& rule, const FeatureMap<Real>& map, const Head<Real>& head,
                     const Gradients<Real>& gradients, bool causal, std::int64_t begin, std::int64_t end,
                     const LinearState<Real>& state, const LinearState<Real>& back, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const x = arena.take<Real>(feature_rows * map.row_length);
  Real* const key_rows = arena.take<Real>(feature_rows * map.row_length);
  Real* const sums = arena.take<Real>(feature_rows * map.row_length);
  Real* const queries = arena.take<Real>(feature_rows * map.stride);
  Real* const keys = arena.take<Real>(feature_rows * map.stride);
  Real* const slopes = arena.take<Real>(feature_rows * map.stride);
  Real* const values = arena.take<Real>(feature_rows * value_padded);
  Real* const outs = arena.take<Real>(feature_rows * value_padded);
  Real* const shifted = arena.take<Real>(feature_rows * value_padded);
  Real* const turned = arena.take<Real>(value_padded * map.stride);
  Real* const products = arena.take<Real>(feature_rows * tile_readers);
  Real* const packed = arena.take<Real>(value_padded * tile_readers);
  Real query_exponents[feature_rows], read_exponents[feature_rows] = {};
  OutRows<Real> of;
  clear_state<Real>(map, value_padded, back);
  if (gradients.query != nullptr) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i < head.reader_cut_begin || i >= head.reader_cut_end)
        continue;
      for (std::int64_t k = 0; k < head.width; ++k)
        gradients.query[i * gradients.query_stride + k] = 0;
    }
  }
  if (!causal)
    transpose_sums<Real>(state.sums, map.padded, value_padded, turned, map.stride);
  Real sink = 0;
  for_stretches(begin, end, head.reader_cut_begin, head.reader_cut_end, [&](std::int64_t first, int count) {
    copy_rows<Real>(head.query + first * head.query_stride, head.query_stride, map.width, nullptr, rule.query_scale,
                    count, map.row_length, x);
    find_feature_block<Real>(map, x, count, queries, query_exponents);
    take_out_rows<Real>(rule, head, gradients, first, count, value_padded, of, outs);
    if (causal)
      transpose_sums<Real>(state.sums, map.padded, value_padded, turned, map.stride);
    for (int i = 0; i < count && rule.has_extra; ++i)
      sink += of.middles[i] * power_of_two<Real>(rule.sink - query_exponents[i] - of.most[i]) * of.scale[i];
    find_query_slopes<Real>(map, state, of, count, outs, value_padded, turned, shifted, slopes, false);
    if (causal) {
      copy_rows<Real>(head.key + first * head.key_stride, head.key_stride, map.width, nullptr, Real(1), count,
                      map.row_length, key_rows);
      find_feature_block<Real>(map, key_rows, count, keys, read_exponents);
      copy_rows<Real>(head.value + first * head.value_stride, head.value_stride, head.value_width, nullptr, Real(1),
                      count, value_padded, values);
      multiply_pairs<Real>(count, value_padded, outs, value_padded, values, value_padded, packed, products);
      find_pair_slopes<Real>(count, read_exponents, of, products);
      multiply_lower<Real>(count, map.padded / lanes, products, keys, map.stride, slopes, map.stride,
                           has_non_finite<Real>(keys, (count - 1) * map.stride + map.padded));
      add_to_state<Real>(map, value_padded, count, keys, read_exponents, nullptr, values, state);
    }
    if (gradients.query != nullptr) {
      feature_gradient_block<Real>(map, x, rule.query_scale, count, queries, slopes, sums,
                                   gradients.query + first * gradients.query_stride, gradients.query_stride, false);
    }
    add_out_rows<Real>(map, value_padded, count, queries, of, outs, back);
  });
  return sink;
}

template <class Real>
void linear_columns(const Rule<Real>& rule, const FeatureMap<Real>& map, const Head<Real>& head,
                    const Gradients<Real>& gradients, bool causal, std::int64_t begin, std::int64_t end,
                    const LinearState<Real>& back, bool add, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const x = arena.take<Real>(feature_rows * map.row_length);
  Real* const key_rows = arena.take<Real>(feature_rows * map.row_length);
  Real* const sums = arena.take<Real>(feature_rows * map.row_length);
  Real* const queries = arena.take<Real>(feature_rows * map.stride);
  Real* const keys = arena.take<Real>(feature_rows * map.stride);
  Real* const slopes = arena.take<Real>(feature_rows * map.stride);
  Real* const values = arena.take<Real>(feature_rows * value_padded);
  Real* const outs = arena.take<Real>(feature_rows * value_padded);
  Real* const value_sums = arena.take<Real>(feature_rows * value_padded);
  Real* const turned = arena.take<Real>(value_padded * map.stride);
  Real* const products = arena.take<Real>(feature_rows * tile_readers);
  Real* const pairs = arena.take<Real>(feature_rows * tile_readers);
  Real* const packed = arena.take<Real>((map.padded > value_padded ? map.padded : value_padded) * tile_readers);
  Real query_exponents[feature_rows], read_exponents[feature_rows] = {};
  OutRows<Real> of;
  for (std::int64_t j = begin; j < end && !add; ++j) {
    if (j < head.read_cut_begin || j >= head.read_cut_end)
      continue;
    for (std::int64_t k = 0; gradients.key != nullptr && k < head.width; ++k)
      gradients.key[j * gradients.key_stride + k] = 0;
    for (std::int64_t k = 0; gradients.value != nullptr && k < head.value_width; ++k)
      gradients.value[j * gradients.value_stride + k] = 0;
  }
  if (!causal)
    transpose_sums<Real>(back.sums, map.padded, value_padded, turned, map.stride);
  // Causal: from the last token to the first. The blocks are those of the forward pass.
  const auto run = [&](std::int64_t first, int count) {
    copy_rows<Real>(head.key + first * head.key_stride, head.key_stride, map.width, nullptr, Real(1), count,
                    map.row_length, key_rows);
    find_feature_block<Real>(map, key_rows, count, keys, read_exponents);
    copy_rows<Real>(head.value + first * head.value_stride, head.value_stride, head.value_width, nullptr, Real(1),
                    count, value_padded, values);
    if (causal)
      transpose_sums<Real>(back.sums, map.padded, value_padded, turned, map.stride);
    find_read_slopes<Real>(map, back, count, keys, read_exponents, values, value_padded, turned, value_sums, slopes);
    if (causal) {
      copy_rows<Real>(head.query + first * head.query_stride, head.query_stride, map.width, nullptr, rule.query_scale,
                      count, map.row_length, x);
      find_feature_block<Real>(map, x, count, queries, query_exponents);
      take_out_rows<Real>(rule, head, gradients, first, count, value_padded, of, outs);
      multiply_pairs<Real>(count, map.count, queries, map.stride, keys, map.stride, packed, pairs);
      weigh_pairs<Real>(count, read_exponents, of.most, pairs);
      multiply_upper<Real>(count, value_padded / lanes, pairs, outs, value_padded, value_sums, value_padded,
                           has_non_finite<Real>(outs, count * value_padded));
      multiply_pairs<Real>(count, value_padded, outs, value_padded, values, value_padded, packed, products);
      find_pair_slopes<Real>(count, read_exponents, of, products);
      multiply_upper<Real>(count, map.padded / lanes, products, queries, map.stride, slopes, map.stride,
                           has_non_finite<Real>(queries, (count - 1) * map.stride + map.padded));
      add_out_rows<Real>(map, value_padded, count, queries, of, outs, back);
    }
    if (gradients.value != nullptr) {
      for (int j = 0; j < count; ++j) {
        Real* const to = gradients.value + (first + j) * gradients.value_stride;
        for (std::int64_t k = 0; k < head.value_width; ++k)
          to[k] = add ? to[k] + value_sums[j * value_padded + k] : value_sums[j * value_padded + k];
      }
    }
    if (gradients.key != nullptr) {
      feature_gradient_block<Real>(map, key_rows, Real(1), count, keys, slopes, sums,
                                   gradients.key + first * gradients.key_stride, gradients.key_stride, add);
    }
  };
  if (!causal) {
    for_stretches(begin, end, head.read_cut_begin, head.read_cut_end, run);
    return;
  }
  // Only tokens below a length exist in a causal call: one stretch, cut into the forward pass' blocks.
  std::int64_t stop = end;
  if (head.read_cut_begin < head.read_cut_end && stop > head.read_cut_begin)
    stop = head.read_cut_begin;
  while (stop > begin) {
    const std::int64_t first = begin + (stop - 1 - begin) / feature_rows * feature_rows;
    run(first, static_cast<int>(stop - first));
    stop = first;
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
