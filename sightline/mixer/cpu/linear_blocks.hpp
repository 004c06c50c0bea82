// Sums of features under any pattern: reads that all readers of a tile read, in blocks of block_reads, meet the tile as
// the sum of their blocks' states instead of one by one. The rest of the tile is computed before; here both are joined.
// Backward, tiles of readers have states, and blocks of reads meet the sum of them. In heads, queries and keys are rows of
// features already.
#pragma once

#include "sightline/mixer/cpu/linear.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// to = the sum of the states of a list; none of them: an empty state.
template <class Real>
void sum_states(const FeatureMap<Real>& map, std::int64_t value_padded, const StateList<Real>& list,
                const LinearState<Real>& to) {
  constexpr int lanes = Lanes<Real>::count, step = block_vectors, most = 64;
  Real top = no_exponent<Real>;
  for (int k = 0; k < list.count; ++k) {
    const Real exponent = list.states.exponent[list.numbers[k] - list.first];
    top = exponent > top ? exponent : top;
  }
  if (list.count == 0) { // others without an exponent may hold NaN
    clear_state<Real>(map, value_padded, to);
    return;
  }
  // Every number of `most` states at a time; totals and sums are whole panels.
  for (int first = 0; first < list.count; first += most) {
    const int count = list.count - first < most ? list.count - first : most;
    Real powers[most];
    for (int k = 0; k < count; ++k)
      powers[k] = power_of_two<Real>(list.states.exponent[list.numbers[first + k] - list.first] - top);
    const auto add = [&](const Real* from, std::int64_t size, Real* sums) {
      for (std::int64_t at = 0; at < size; at += step * lanes) {
        Vec<Real> all[step] = {};
        if (first > 0) {
#pragma GCC unroll 4
          for (int v = 0; v < step; ++v)
            all[v] = load<Real>(sums + at + v * lanes);
        }
        for (int k = 0; k < count; ++k) {
          const Real* const state = from + (list.numbers[first + k] - list.first) * size + at;
          const Vec<Real> power = splat<Real>(powers[k]);
#pragma GCC unroll 4
          for (int v = 0; v < step; ++v)
            all[v] = fma(load<Real>(state + v * lanes), power, all[v]);
        }
#pragma GCC unroll 4
        for (int v = 0; v < step; ++v)
          store<Real>(sums + at + v * lanes, all[v]);
      }
    };
    add(list.states.totals, map.padded, to.totals);
    add(list.states.sums, map.padded * value_padded, to.sums);
  }
  *to.exponent = top;
}

template <class Real>
void block_sum(const FeatureMap<Real>& map, std::int64_t value_width, const StateList<Real>& list,
                const LinearState<Real>& to) {
  sum_states<Real>(map, round_up(value_width, 16), list, to);
}

/// The sum of a list in workspace, and its sums transposed where wanted.
template <class Real> struct StateSum {
  StateSum(Arena& arena, const FeatureMap<Real>& map, std::int64_t value_padded, const StateList<Real>& list,
           bool transposed)
      : turned(transposed ? arena.take<Real>(value_padded * map.stride) : nullptr) {
    state.sums = arena.take<Real>(map.padded * value_padded);
    state.totals = arena.take<Real>(map.padded);
    state.exponent = &exponent;
    sum_states<Real>(map, value_padded, list, state);
    if (transposed)
      transpose_sums<Real>(state.sums, map.padded, value_padded, turned, map.stride);
  }
  StateSum(const StateSum&) = delete;
  StateSum& operator=(const StateSum&) = delete;
  LinearState<Real> state;
  Real exponent = 0;
  Real* turned = nullptr;
};

template <class Real> std::size_t block_bytes(const FeatureMap<Real>& map, std::int64_t value_width) {
  const std::int64_t value_padded = round_up(value_width, 16);
  const std::int64_t numbers = (map.padded + map.stride) * value_padded + map.padded +
                               feature_rows * (map.stride + 3 * value_padded);
  return static_cast<std::size_t>(numbers) * sizeof(Real) + 64 * 16;
}

/// The state of reads begin .. end - 1, at most a block.
template <class Real>
void block_state(const FeatureMap<Real>& map, const Head<Real>& head, std::int64_t begin, std::int64_t end,
                 const LinearState<Real>& state, void* workspace) {
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const values = arena.take<Real>(feature_rows * value_padded);
  clear_state<Real>(map, value_padded, state);
  for_stretches(begin, end, head.read_cut_begin, head.read_cut_end, [&](std::int64_t first, int count) {
    add_reads<Real>(map, head, first, count, head.key + first * head.key_stride, head.read_exponents + first, values,
                    state);
  });
}

/// Readers begin .. end - 1, whose outputs and statistics hold all other reads, read a list's as well.
template <class Real>
void block_forward(const Rule<Real>& rule, const FeatureMap<Real>& map, const Head<Real>& head, std::int64_t begin,
                   std::int64_t end, const StateList<Real>& list, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const sums = arena.take<Real>(feature_rows * value_padded);
  const StateSum<Real> all(arena, map, value_padded, list, false);
  for_stretches(begin, end, head.reader_cut_begin, head.reader_cut_end, [&](std::int64_t first, int count) {
    const Real* const queries = head.query + first * head.query_stride;
    multiply_deep<Real>(count, value_padded / lanes, map.count, queries, head.query_stride, all.state.sums,
                        value_padded, sums, value_padded, false);
    for (int i = 0; i < count; ++i) {
      Real* const statistics = head.statistics + (first + i) * 2;
      Real* const out = head.out + (first + i) * head.out_stride;
      if (rule.normalised && statistics[1] == Real(__builtin_inff())) { // too little beside what joins it, or a weak row
        statistics[1] = 0;
        for (std::int64_t k = 0; k < head.value_width; ++k)
          out[k] = 0;
      }
      Real keep = 1, take = 1; // of what is there, and of the sums
      if (rule.normalised) {
        const Real most = statistics[0] > all.exponent ? statistics[0] : all.exponent;
        const Real left = statistics[1] == Real(0) ? Real(0) : power_of_two<Real>(statistics[0] - most) / statistics[1];
        const Real power = power_of_two<Real>(all.exponent - most);
        const Real total =
            left + dot_rows<Real>(queries + i * head.query_stride, all.state.totals, map.padded) * power;
        const Real factor = total == Real(0) ? Real(0) : Real(1) / total;
        keep = left * factor;
        take = power * factor;
        statistics[0] = most;
        statistics[1] = factor;
      } else {
        const Real own = head.reader_exponents[first + i];
        take = power_of_two<Real>(all.exponent + own);
        statistics[0] = -own; // weights of all reads times 1
        statistics[1] = 1;
      }
      for (std::int64_t k = 0; k < head.value_width; ++k)
        out[k] = out[k] * keep + sums[i * value_padded + k] * take;
    }
  });
}

/// Adds to the gradients of the features of readers begin .. end - 1 what comes through a list's reads.
template <class Real>
void block_queries(const Rule<Real>& rule, const FeatureMap<Real>& map, const Head<Real>& head,
                   const Gradients<Real>& gradients, std::int64_t begin, std::int64_t end,
                   const StateList<Real>& list, void* workspace) {
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const rows = arena.take<Real>(feature_rows * value_padded);
  Real* const shifted = arena.take<Real>(feature_rows * value_padded);
  const StateSum<Real> all(arena, map, value_padded, list, true);
  OutRows<Real> of;
  for_stretches(begin, end, head.reader_cut_begin, head.reader_cut_end, [&](std::int64_t first, int count) {
    take_out_rows<Real>(rule, head, gradients, first, count, value_padded, of, rows);
    find_query_slopes<Real>(map, all.state, of, count, rows, value_padded, all.turned, shifted,
                            gradients.query + first * gradients.query_stride, true);
  });
}

/// The state of readers begin .. end - 1, of one tile.
template <class Real>
void block_readers(const Rule<Real>& rule, const FeatureMap<Real>& map, const Head<Real>& head,
                   const Gradients<Real>& gradients, std::int64_t begin, std::int64_t end,
                   const LinearState<Real>& back, void* workspace) {
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const rows = arena.take<Real>(feature_rows * value_padded);
  OutRows<Real> of;
  clear_state<Real>(map, value_padded, back);
  for_stretches(begin, end, head.reader_cut_begin, head.reader_cut_end, [&](std::int64_t first, int count) {
    take_out_rows<Real>(rule, head, gradients, first, count, value_padded, of, rows);
    add_out_rows<Real>(map, value_padded, count, head.query + first * head.query_stride, of, rows, back);
  });
}

/// Adds to the gradients of the features and values of reads begin .. end - 1, at most a block, what a list's readers
/// send back.
template <class Real>
void block_columns(const FeatureMap<Real>& map, const Head<Real>& head, const Gradients<Real>& gradients,
                   std::int64_t begin, std::int64_t end, const StateList<Real>& list, void* workspace) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t value_padded = round_up(head.value_width, 16);
  Arena arena(workspace);
  Real* const values = arena.take<Real>(feature_rows * value_padded);
  Real* const value_sums = arena.take<Real>(feature_rows * value_padded);
  Real* const slopes = arena.take<Real>(feature_rows * map.stride);
  const StateSum<Real> all(arena, map, value_padded, list, true);
  for_stretches(begin, end, head.read_cut_begin, head.read_cut_end, [&](std::int64_t first, int count) {
    copy_rows<Real>(head.value + first * head.value_stride, head.value_stride, head.value_width, nullptr, Real(1),
                    count, value_padded, values);
    find_read_slopes<Real>(map, all.state, count, head.key + first * head.key_stride, head.read_exponents + first,
                           values, value_padded, all.turned, value_sums, slopes);
    for (int j = 0; j < count; ++j) {
      if (gradients.value != nullptr) {
        Real* const to = gradients.value + (first + j) * gradients.value_stride;
        for (std::int64_t k = 0; k < head.value_width; ++k)
          to[k] += value_sums[j * value_padded + k];
      }
      if (gradients.key != nullptr) {
        Real* const to = gradients.key + (first + j) * gradients.key_stride;
        for (std::int64_t f = 0; f < map.padded; f += lanes)
          store<Real>(to + f, load<Real>(to + f) + load<Real>(slopes + j * map.stride + f));
      }
    }
  });
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
