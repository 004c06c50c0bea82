// Sums whose weights are a matrix (one weight per pair of tokens, Linformer's pooling, long convolutions): rows of
// neighbouring readers at once, as products of matrices. Every number is the same chain of multiply-adds as reader by
// reader, so that nothing depends on where blocks begin.
#pragma once

#include "sightline/mixer/cpu/backward_tile.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Neighbouring readers whose rows are the same runs but for the ends of these. Run r's reads [first, last) are read by all,
/// reader x (from the block's first) weighs read j by weight[origin + x row + j column]; row or column is 1.
struct AggregateBlock {
  static constexpr int most_runs = 4;
  struct Part {
    std::int64_t first = 0, last = 0;
    std::ptrdiff_t origin = 0, row = 0, column = 0;
  };
  Part parts[most_runs];
  int runs = 0;
  int readers = 0; ///< below 2: there is no block
};

template <class Real> SIGHTLINE_INLINE bool reader_exists(const AggregateHead<Real>& head, std::int64_t i) {
  return i < head.reader_cut_begin || i >= head.reader_cut_end;
}

/// The reads of [first, last) that exist, as at most two stretches: f(first, last).
template <class Real, class Function>
SIGHTLINE_INLINE void for_existing(const AggregateHead<Real>& head, std::int64_t first, std::int64_t last, Function f) {
  const bool cut = head.read_cut_begin < head.read_cut_end;
  const std::int64_t head_end = cut && head.read_cut_begin < last ? head.read_cut_begin : last;
  if (first < head_end)
    f(first, head_end);
  const std::int64_t tail = first > head.read_cut_end ? first : head.read_cut_end;
  if (cut && head_end < last && tail < last)
    f(tail, last);
}

/// The block that starts at group `begin`, of at most `most` readers below group `end`. Where rows share less than three
/// quarters, or are short, products of matrices gain nothing.
template <class Real>
AggregateBlock find_block(const AggregateHead<Real>& head, std::int64_t begin, std::int64_t end, int most) {
  constexpr std::int64_t least_reads = 32;
  AggregateBlock block;
  const ColourGroup& first = head.groups[begin];
  const auto runs = static_cast<std::int64_t>(first.runs_end) - first.runs_begin;
  if (head.weight == nullptr || runs == 0 || runs > AggregateBlock::most_runs || first.last - first.first != 1 ||
      !reader_exists<Real>(head, first.first))
    return block;
  std::int64_t reads = 0;
  for (int r = 0; r < runs; ++r) {
    const ColourRun& run = head.runs[first.runs_begin + r];
    if (run.step != 1)
      return block;
    block.parts[r] = {run.first, std::int64_t{run.last} + 1, run.colour - std::int64_t{run.first} * run.colour_step, 0, run.colour_step};
    reads += std::int64_t{run.last} + 1 - run.first;
  }
  if (reads < least_reads)
    return block;
  block.runs = static_cast<int>(runs);
  block.readers = 1;
  for (std::int64_t g = begin + 1; g < end && block.readers < most; ++g) {
    const ColourGroup& group = head.groups[g];
    if (group.last - group.first != 1 || group.first != first.first + block.readers || !reader_exists<Real>(head, group.first) ||
        static_cast<std::int64_t>(group.runs_end) - group.runs_begin != runs)
      return block;
    AggregateBlock next = block;
    std::int64_t mine = 0, common = 0;
    for (int r = 0; r < runs; ++r) {
      const ColourRun& run = head.runs[group.runs_begin + r];
      AggregateBlock::Part& part = next.parts[r];
      const std::ptrdiff_t origin = run.colour - std::int64_t{run.first} * run.colour_step;
      if (block.readers == 1)
        part.row = origin - part.origin;
      if (run.step != 1 || run.colour_step != part.column || origin != part.origin + block.readers * part.row ||
          (part.row != 1 && part.column != 1))
        return block;
      part.first = run.first > part.first ? run.first : part.first;
      part.last = run.last + 1 < part.last ? run.last + 1 : part.last;
      if (part.first >= part.last)
        return block;
      mine += std::int64_t{run.last} + 1 - run.first;
      common += part.last - part.first;
    }
    if (4 * common < 3 * mine || 4 * common < 3 * reads)
      return block;
    block = next;
    ++block.readers;
  }
  return block;
}

/// What the readers of a block do not share: f(reader, first, last, weight of the first) for stretches of run r's reads that
/// exist, before or behind those that all read.
template <class Real, class Function>
SIGHTLINE_INLINE void for_edges(const AggregateHead<Real>& head, std::int64_t begin, const AggregateBlock& block, int r,
                                bool behind, Function f) {
  const AggregateBlock::Part& part = block.parts[r];
  for (int x = 0; x < block.readers; ++x) {
    const ColourRun& run = head.runs[head.groups[begin + x].runs_begin + r];
    const std::int64_t first = behind ? part.last : run.first, last = behind ? run.last + 1 : part.first;
    for_existing<Real>(head, first, last, [&](std::int64_t from, std::int64_t to) {
      f(x, from, to, head.weight + part.origin + x * part.row + from * part.column);
    });
  }
}

inline constexpr int block_depth = 64; ///< rows of values, or of gradients, that stay in the first cache

/// The rows of a block's readers, whole vectors of entries.
template <class Real>
void aggregate_block(const AggregateHead<Real>& head, std::int64_t begin, const AggregateBlock& block, Real* out,
                     std::ptrdiff_t out_stride) {
  constexpr int lanes = Lanes<Real>::count;
  const int vectors = static_cast<int>(head.width / lanes);
  Real* const to = out + head.groups[begin].first * out_stride;
  for (int x = 0; x < block.readers; ++x) {
    for (int v = 0; v < vectors; ++v)
      store<Real>(to + x * out_stride + v * lanes, Vec<Real>{});
  }
  const auto rows_of = [&](std::int64_t j) { return head.value + j * head.value_stride; };
  for (int r = 0; r < block.runs; ++r) {
    const AggregateBlock::Part& part = block.parts[r];
    const auto edge = [&](int x, std::int64_t first, std::int64_t last, const Real* weight) {
      multiply<Real, Along::rows>(1, vectors, static_cast<int>(last - first), weight, part.column, rows_of(first),
                                  head.value_stride, to + x * out_stride, out_stride, true);
    };
    for_edges<Real>(head, begin, block, r, false, edge);
    for_existing<Real>(head, part.first, part.last, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t j = first; j < last; j += block_depth) {
        const int depth = static_cast<int>(last - j < block_depth ? last - j : block_depth);
        const Real* const weight = head.weight + part.origin + j * part.column;
        if (part.column == 1) {
          Ahead ahead;
          if (j + depth < last) {
            const std::int64_t next = last - j - depth < block_depth ? last - j - depth : block_depth;
            ahead.add(weight + depth, part.row * static_cast<std::ptrdiff_t>(sizeof(Real)),
                      next * static_cast<std::int64_t>(sizeof(Real)), block.readers);
          }
          multiply<Real, Along::k>(block.readers, vectors, depth, weight, part.row, rows_of(j), head.value_stride, to,
                                   out_stride, true, &ahead);
        } else {
          multiply<Real, Along::rows>(block.readers, vectors, depth, weight, part.column, rows_of(j), head.value_stride,
                                      to, out_stride, true);
        }
      }
    });
    for_edges<Real>(head, begin, block, r, true, edge);
  }
}

/// Adds what the readers of groups begin .. begin + block.readers - 1 send back to the reads of [read_begin, read_end).
template <class Real>
void aggregate_block_back(const AggregateHead<Real>& head, std::int64_t begin, const AggregateBlock& block,
                          const Real* grad, std::ptrdiff_t grad_stride, Real* to, std::ptrdiff_t to_stride,
                          std::int64_t read_begin, std::int64_t read_end) {
  constexpr int lanes = Lanes<Real>::count, wide = 48;
  const int vectors = static_cast<int>(head.width / lanes);
  const Real* const from = grad + head.groups[begin].first * grad_stride;
  alignas(64) Real packed[block_depth * wide]; // rows a power of two apart fall into few sets of the caches
  const auto clip = [&](std::int64_t& first, std::int64_t& last) {
    first = first > read_begin ? first : read_begin;
    last = last < read_end ? last : read_end;
    return first < last;
  };
  for (int r = 0; r < block.runs; ++r) {
    const AggregateBlock::Part& part = block.parts[r];
    const auto edge = [&](int x, std::int64_t first, std::int64_t last, const Real* weight) {
      const std::int64_t was = first;
      if (!clip(first, last))
        return;
      weight += (first - was) * part.column;
      multiply<Real, Along::k>(static_cast<int>(last - first), vectors, 1, weight, part.column, from + x * grad_stride,
                               grad_stride, to + first * to_stride, to_stride, true);
      for (std::int64_t j = first; j < last; ++j) {
        for (std::int64_t k = vectors * lanes; k < head.width; ++k)
          to[j * to_stride + k] += weight[(j - first) * part.column] * from[x * grad_stride + k];
      }
    };
    for_edges<Real>(head, begin, block, r, false, edge);
    for_existing<Real>(head, part.first, part.last, [&](std::int64_t first, std::int64_t last) {
      if (!clip(first, last))
        return;
      for (std::int64_t j = first; j < last; j += wide) {
        const int rows = static_cast<int>(last - j < wide ? last - j : wide);
        const Real* const weight = head.weight + part.origin + j * part.column;
        Real* const row = to + j * to_stride;
        if (part.column == 1) {
          for (int x = 0; x < block.readers; ++x) {
            const Real* const of = weight + x * part.row;
            int c = 0;
            for (; c + lanes <= rows; c += lanes)
              store<Real>(packed + x * wide + c, load<Real>(of + c));
            for (; c < rows; ++c)
              packed[x * wide + c] = of[c];
          }
          Ahead ahead;
          if (j + wide < last) {
            ahead.add(weight + wide, part.row * static_cast<std::ptrdiff_t>(sizeof(Real)), wide * sizeof(Real),
                      block.readers);
          }
          multiply<Real, Along::rows>(rows, vectors, block.readers, packed, wide, from, grad_stride, row, to_stride, true,
                                      &ahead);
        } else {
          multiply<Real, Along::k>(rows, vectors, block.readers, weight, part.column, from, grad_stride, row, to_stride,
                                   true);
        }
        for (int c = 0; vectors * lanes < head.width && c < rows; ++c) {
          for (int x = 0; x < block.readers; ++x) {
            for (std::int64_t k = vectors * lanes; k < head.width; ++k)
              row[c * to_stride + k] += weight[x * part.row + c * part.column] * from[x * grad_stride + k];
          }
        }
      }
    });
    for_edges<Real>(head, begin, block, r, true, edge);
  }
}

/// to [count][others] (+)= a [count][width] times the transpose of b [others][width].
template <class Real>
void multiply_transposed(std::int64_t count, std::int64_t others, std::int64_t width, const Real* a,
                         std::ptrdiff_t a_stride, const Real* b, std::ptrdiff_t b_stride, Real* to,
                         std::ptrdiff_t to_stride, bool add) {
  constexpr int lanes = Lanes<Real>::count, panel = 64, deep = 64;
  alignas(64) Real packed[deep * panel];
  alignas(64) Real rest[panel];
  // Panels end where lines of the caches do: none is fetched for two of them.
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Real) % lanes);
  for (std::int64_t first = 0, here = 0; first < others; first += here) {
    here = panel - (first == 0 ? past : 0);
    here = others - first < here ? others - first : here;
    const int vectors = static_cast<int>(here / lanes);
    for (std::int64_t k = 0; k < width; k += deep) {
      const std::int64_t depth = width - k < deep ? width - k : deep;
      const bool adds = add || k > 0;
      pack_lanes<Real>(b + first * b_stride + k, b_stride, here < 64 ? (std::uint64_t{1} << here) - 1 : ~std::uint64_t{0}, depth,
                       packed);
      multiply<Real, Along::k>(static_cast<int>(count), vectors, static_cast<int>(depth), a + k, a_stride, packed, panel,
                               to + first, to_stride, adds);
      const std::int64_t tail = vectors * lanes;
      for (std::int64_t i = 0; tail < here && i < count; ++i) { // a vector with lanes that lie behind the rows' end
        Real* const row = to + i * to_stride + first + tail;
        for (std::int64_t c = tail; c < here; ++c)
          rest[c - tail] = adds ? row[c - tail] : Real(0);
        multiply<Real, Along::k>(1, 1, static_cast<int>(depth), a + i * a_stride + k, a_stride, packed + tail, panel, rest,
                                 panel, true);
        for (std::int64_t c = tail; c < here; ++c)
          row[c - tail] = rest[c - tail];
      }
    }
  }
}

/// found[i] = (found[i] +) a times the row row_at(i), for at most as many rows as a vector has lanes: the same chains as
/// those of products of matrices.
template <class Real, class RowAt>
SIGHTLINE_INLINE void dot_few(const Real* a, RowAt row_at, int count, std::int64_t width, bool add, Real* found) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum = add ? load<Real>(found) : Vec<Real>{};
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes) {
    Vec<Real> block[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      block[i] = i < count ? load<Real>(row_at(i) + k) : Vec<Real>{};
    transpose<Real>(block);
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      sum = fma(splat<Real>(a[k + i]), block[i], sum);
  }
  for (; k < width; ++k) {
    Vec<Real> entries{};
    for (int i = 0; i < count; ++i)
      entries[i] = row_at(i)[k];
    sum = fma(splat<Real>(a[k]), entries, sum);
  }
  store<Real>(found, sum);
}

/// Gradients of the weights of one reader's arcs to the reads j, j + step, ..: `to` and every apart-th number from there.
template <class Real>
void dot_reads(const AggregateHead<Real>& head, const Real* grad, std::int64_t j, std::int64_t step, std::int64_t count,
               Real* to, std::ptrdiff_t apart, bool add) {
  constexpr int lanes = Lanes<Real>::count;
  Real found[lanes] = {};
  for (std::int64_t c = 0; c < count; c += lanes) {
    const int some = static_cast<int>(count - c < lanes ? count - c : lanes);
    for (int i = 0; add && i < some; ++i)
      found[i] = to[(c + i) * apart];
    const auto row_at = [&](int i) { return head.value + (j + (c + i) * step) * head.value_stride; };
    dot_few<Real>(grad, row_at, some, head.width, add, found);
    for (int i = 0; i < some; ++i)
      to[(c + i) * apart] = found[i];
  }
}

/// Writes, or adds, the gradients of a block's weights.
template <class Real>
void aggregate_block_weights(const AggregateHead<Real>& head, std::int64_t begin, const AggregateBlock& block,
                             const Real* grad, std::ptrdiff_t grad_stride, Real* to, bool add) {
  const Real* const from = grad + head.groups[begin].first * grad_stride;
  for (int r = 0; r < block.runs; ++r) {
    const AggregateBlock::Part& part = block.parts[r];
    const auto edge = [&](int x, std::int64_t first, std::int64_t last, const Real* weight) {
      dot_reads<Real>(head, from + x * grad_stride, first, 1, last - first, to + (weight - head.weight), part.column, add);
    };
    for_edges<Real>(head, begin, block, r, false, edge);
    for_existing<Real>(head, part.first, part.last, [&](std::int64_t first, std::int64_t last) {
      const Real* const value = head.value + first * head.value_stride;
      Real* const at = to + part.origin + first * part.column;
      if (part.column == 1)
        multiply_transposed<Real>(block.readers, last - first, head.width, from, grad_stride, value, head.value_stride, at,
                                  part.row, add);
      else
        multiply_transposed<Real>(last - first, block.readers, head.width, value, head.value_stride, from, grad_stride, at,
                                  part.column, add);
    });
    for_edges<Real>(head, begin, block, r, true, edge);
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
