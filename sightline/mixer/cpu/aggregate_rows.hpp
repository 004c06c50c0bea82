// Sums, means and maxima over rows, weighted by colour: readers with one row are taken once.
#pragma once

#include "sightline/mixer/cpu/aggregate_blocks.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// The reads of a run that exist, as at most two stretches: f(first read, count, first colour).
template <class Real, class Function>
SIGHTLINE_INLINE void for_reads(const AggregateHead<Real>& head, const ColourRun& run, Function f) {
  const std::int64_t size = (std::int64_t{run.last} - run.first) / run.step + 1;
  const auto below = [&](std::int64_t border) { // reads below a border
    const std::int64_t count = border <= run.first ? 0 : (border - 1 - run.first) / run.step + 1;
    return count < size ? count : size;
  };
  std::int64_t head_end = size, tail_begin = size;
  if (head.read_cut_begin < head.read_cut_end) {
    head_end = below(head.read_cut_begin);
    tail_begin = below(head.read_cut_end);
  }
  const auto part = [&](std::int64_t begin, std::int64_t end) SIGHTLINE_INLINE_HERE {
    if (begin < end)
      f(run.first + begin * run.step, end - begin, run.colour + begin * run.colour_step);
  };
  part(0, head_end);
  part(tail_begin, size);
}

template <class Real> std::int64_t count_reads(const AggregateHead<Real>& head, const ColourGroup& group) {
  std::int64_t count = 0;
  for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r)
    for_reads<Real>(head, head.runs[r], [&](std::int64_t, std::int64_t reads, std::int64_t) { count += reads; });
  return count;
}

/// v beats w: it is larger, or no number where w is one.
template <class Real> SIGHTLINE_INLINE auto beats(Vec<Real> v, Vec<Real> w) { return (v > w) | ((v != v) & (w == w)); }

/// One stretch of `vectors` vectors of a row's sum, or maximum, from entry k on.
template <class Real, int vectors>
SIGHTLINE_INLINE void aggregate_entries(const AggregateHead<Real>& head, const ColourGroup& group, Collect kind,
                                        std::int64_t k, Real scale, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum[vectors] = {};
  bool first = true;
  for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r) {
    const ColourRun& run = head.runs[r];
    for_reads<Real>(head, run, [&](std::int64_t j, std::int64_t count, std::int64_t colour) SIGHTLINE_INLINE_HERE {
      const Real* row = head.value + j * head.value_stride + k;
      const std::ptrdiff_t stride = run.step * head.value_stride;
      const Real* weight = head.weight == nullptr ? nullptr : head.weight + colour;
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[v] = first && kind == Collect::max ? load<Real>(row + v * lanes) : sum[v];
      first = false;
      for (std::int64_t c = 0; c < count; ++c, row += stride) {
        if (kind == Collect::max) {
#pragma GCC unroll 8
          for (int v = 0; v < vectors; ++v) {
            const Vec<Real> value = load<Real>(row + v * lanes);
            sum[v] = beats<Real>(value, sum[v]) ? value : sum[v];
          }
        } else if (weight == nullptr) {
#pragma GCC unroll 8
          for (int v = 0; v < vectors; ++v)
            sum[v] += load<Real>(row + v * lanes);
        } else {
          const Vec<Real> factor = splat<Real>(weight[c * run.colour_step]);
#pragma GCC unroll 8
          for (int v = 0; v < vectors; ++v)
            sum[v] = fma(factor, load<Real>(row + v * lanes), sum[v]);
        }
      }
    });
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v)
    store<Real>(to + v * lanes, kind == Collect::mean ? sum[v] / splat<Real>(scale) : sum[v]);
}

/// The same for one entry.
template <class Real>
SIGHTLINE_INLINE Real aggregate_entry(const AggregateHead<Real>& head, const ColourGroup& group, Collect kind,
                                      std::int64_t k, Real scale) {
  Real sum = 0;
  bool first = true;
  for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r) {
    const ColourRun& run = head.runs[r];
    for_reads<Real>(head, run, [&](std::int64_t j, std::int64_t count, std::int64_t colour) SIGHTLINE_INLINE_HERE {
      for (std::int64_t c = 0; c < count; ++c) {
        const Real value = head.value[(j + c * run.step) * head.value_stride + k];
        if (kind == Collect::max) {
          if (first || value > sum || (value != value && sum == sum))
            sum = value;
          first = false;
        } else {
          sum += head.weight == nullptr ? value : head.weight[colour + c * run.colour_step] * value;
        }
      }
    });
  }
  return kind == Collect::mean ? sum / scale : sum;
}

template <class Real> SIGHTLINE_INLINE void copy_row(const Real* row, std::int64_t width, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes)
    store<Real>(to + k, load<Real>(row + k));
  for (; k < width; ++k)
    to[k] = row[k];
}

template <class Real>
void aggregate_groups(const AggregateHead<Real>& head, Collect kind, std::int64_t begin, std::int64_t end, Real* out,
                      std::ptrdiff_t out_stride) {
  constexpr int lanes = Lanes<Real>::count;
  const std::int64_t width = head.width;
  const bool blocks = kind == Collect::sum && head.weight != nullptr;
  for (std::int64_t g = begin; g < end; ++g) {
    if (const AggregateBlock block = blocks ? find_block<Real>(head, g, end, block_depth) : AggregateBlock(); block.readers > 1) {
      aggregate_block<Real>(head, g, block, out, out_stride);
      for (const std::int64_t behind = g + block.readers; g < behind; ++g) {
        for (std::int64_t k = width / lanes * lanes; k < width; ++k)
          out[head.groups[g].first * out_stride + k] = aggregate_entry<Real>(head, head.groups[g], kind, k, Real(1));
      }
      --g;
      continue;
    }
    const ColourGroup& group = head.groups[g];
    const std::int64_t count = count_reads<Real>(head, group);
    const Real* made = nullptr;
    for (std::int64_t i = group.first; i < group.last; ++i) {
      Real* const row = out + i * out_stride;
      const bool exists = i < head.reader_cut_begin || i >= head.reader_cut_end;
      if (exists && count > 0 && made != nullptr) {
        copy_row<Real>(made, width, row);
        continue;
      }
      if (!exists || count == 0) {
        for (std::int64_t k = 0; k < width; ++k)
          row[k] = 0;
        continue;
      }
      const Real scale = static_cast<Real>(count);
      std::int64_t k = 0;
      for (; k + 4 * lanes <= width; k += 4 * lanes)
        aggregate_entries<Real, 4>(head, group, kind, k, scale, row + k);
      for (; k + lanes <= width; k += lanes)
        aggregate_entries<Real, 1>(head, group, kind, k, scale, row + k);
      for (; k < width; ++k)
        row[k] = aggregate_entry<Real>(head, group, kind, k, scale);
      made = row;
    }
  }
}

/// Sum of the output gradients of readers first .. last - 1, over `divisor`, `vectors` vectors from entry k on.
template <class Real, int vectors>
SIGHTLINE_INLINE void sum_gradient_entries(const AggregateHead<Real>& head, const ColourGroup& group, const Real* grad,
                                           std::ptrdiff_t grad_stride, std::int64_t k, Real divisor, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum[vectors] = {};
  for (std::int64_t i = group.first; i < group.last; ++i) {
    if (i >= head.reader_cut_begin && i < head.reader_cut_end)
      continue;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sum[v] += load<Real>(grad + i * grad_stride + k + v * lanes);
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v)
    store<Real>(to + v * lanes, divisor == Real(1) ? sum[v] : sum[v] / splat<Real>(divisor));
}

/// Sum of a group's output gradients over `divisor`, entries begin .. end - 1 to `to`. False: no reader exists.
template <class Real>
bool sum_gradients(const AggregateHead<Real>& head, const ColourGroup& group, const Real* grad,
                   std::ptrdiff_t grad_stride, std::int64_t begin, std::int64_t end, Real divisor, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  std::int64_t exist = group.last - group.first;
  if (head.reader_cut_begin < head.reader_cut_end) {
    const std::int64_t low = group.first > head.reader_cut_begin ? group.first : head.reader_cut_begin;
    const std::int64_t high = group.last < head.reader_cut_end ? group.last : head.reader_cut_end;
    exist -= high > low ? high - low : 0;
  }
  if (exist == 0)
    return false;
  std::int64_t k = begin;
  for (; k + 4 * lanes <= end; k += 4 * lanes)
    sum_gradient_entries<Real, 4>(head, group, grad, grad_stride, k, divisor, to + (k - begin));
  for (; k + 2 * lanes <= end; k += 2 * lanes)
    sum_gradient_entries<Real, 2>(head, group, grad, grad_stride, k, divisor, to + (k - begin));
  for (; k + lanes <= end; k += lanes)
    sum_gradient_entries<Real, 1>(head, group, grad, grad_stride, k, divisor, to + (k - begin));
  for (; k < end; ++k) {
    Real sum = 0;
    for (std::int64_t i = group.first; i < group.last; ++i)
      sum += i >= head.reader_cut_begin && i < head.reader_cut_end ? Real(0) : grad[i * grad_stride + k];
    to[k - begin] = divisor == Real(1) ? sum : sum / divisor;
  }
  return true;
}

/// Adds to the first read of a group that attains the maximum, entry by entry, what the maximum has of the output's
/// gradient: `vectors` vectors from entry k on. Several at once: each is one chain of comparisons.
template <class Real, int vectors>
SIGHTLINE_INLINE void give_largest(const AggregateHead<Real>& head, const ColourGroup& group, std::int64_t k,
                                   const Real* share, Real* to, std::ptrdiff_t to_stride) {
  constexpr int lanes = Lanes<Real>::count;
  using Integer = typename Lanes<Real>::Integer;
  Vec<Real> most[vectors];
  IntVec<Real> best[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) {
    most[v] = splat<Real>(-__builtin_huge_val());
    best[v] = IntVec<Real>{} + static_cast<Integer>(0x7fffffff); // behind every read
  }
  for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r) {
    const ColourRun& run = head.runs[r];
    for_reads<Real>(head, run, [&](std::int64_t j, std::int64_t reads, std::int64_t) SIGHTLINE_INLINE_HERE {
      const Real* row = head.value + j * head.value_stride + k;
      const std::ptrdiff_t stride = run.step * head.value_stride;
      IntVec<Real> here = IntVec<Real>{} + static_cast<Integer>(j);
      for (std::int64_t c = 0; c < reads; ++c, row += stride, here += run.step) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
          const Vec<Real> value = load<Real>(row + v * lanes);
          const auto takes = beats<Real>(value, most[v]) | (~beats<Real>(most[v], value) & (here < best[v]));
          most[v] = takes ? value : most[v];
          best[v] = takes ? here : best[v];
        }
      }
    });
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) {
    for (int lane = 0; lane < lanes; ++lane)
      to[best[v][lane] * to_stride + k + v * lanes + lane] += share[v * lanes + lane];
  }
}

/// The same for one entry.
template <class Real>
std::int64_t find_largest_entry(const AggregateHead<Real>& head, const ColourGroup& group, std::int64_t k) {
  std::int64_t best = -1;
  Real most = 0;
  for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r) {
    const ColourRun& run = head.runs[r];
    for_reads<Real>(head, run, [&](std::int64_t j, std::int64_t reads, std::int64_t) SIGHTLINE_INLINE_HERE {
      for (std::int64_t c = 0; c < reads; ++c, j += run.step) {
        const Real value = head.value[j * head.value_stride + k];
        const bool more = value > most || (value != value && most == most);
        const bool less = most > value || (most != most && value == value);
        if (best < 0 || more || (!less && j < best)) {
          best = j;
          most = value;
        }
      }
    });
  }
  return best;
}

/// to += factor row
template <class Real> SIGHTLINE_INLINE void add_row(Real factor, const Real* row, std::int64_t width, Real* to) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> factors = splat<Real>(factor);
  std::int64_t k = 0;
  for (; k + lanes <= width; k += lanes)
    store<Real>(to + k, fma(factors, load<Real>(row + k), load<Real>(to + k)));
  for (; k < width; ++k)
    to[k] += factor * row[k];
}

/// Adds what all readers send back to entries begin .. end - 1 of the values. write: there is one group, unweighted sums or
/// means; nothing was there before.
template <class Real>
void aggregate_back(const AggregateHead<Real>& head, Collect kind, std::int64_t groups, const Real* grad,
                    std::ptrdiff_t grad_stride, Real* to, std::ptrdiff_t to_stride, std::int64_t begin,
                    std::int64_t end, bool write) {
  constexpr int lanes = Lanes<Real>::count;
  constexpr std::int64_t most = 256; // entries at once
  const bool stripe = end - begin == aggregate_stripe;
  alignas(64) Real share[most] = {};
  for (std::int64_t g = 0; g < groups; ++g) {
    const ColourGroup& group = head.groups[g];
    const std::int64_t count = count_reads<Real>(head, group);
    const Real divisor = kind == Collect::mean ? static_cast<Real>(count) : Real(1);
    for (std::int64_t first = begin; count > 0 && first < end; first += most) {
      const std::int64_t last = end - first < most ? end : first + most;
      if (!sum_gradients<Real>(head, group, grad, grad_stride, first, last, divisor, share))
        break;
      if (kind == Collect::max) {
        std::int64_t k = first;
        for (; k + 4 * lanes <= last; k += 4 * lanes)
          give_largest<Real, 4>(head, group, k, share + (k - first), to, to_stride);
        for (; k + lanes <= last; k += lanes)
          give_largest<Real, 1>(head, group, k, share + (k - first), to, to_stride);
        for (; k < last; ++k)
          to[find_largest_entry<Real>(head, group, k) * to_stride + k] += share[k - first];
        continue;
      }
      for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r) {
        const ColourRun& run = head.runs[r];
        for_reads<Real>(head, run, [&](std::int64_t j, std::int64_t reads, std::int64_t colour) SIGHTLINE_INLINE_HERE {
          const Real* const weight = head.weight == nullptr ? nullptr : head.weight + colour;
          Real* row = to + j * to_stride + first;
          for (std::int64_t c = 0; write && c < reads; ++c, row += run.step * to_stride)
            copy_row<Real>(share, last - first, row);
          for (std::int64_t c = 0; !write && c < reads; ++c, row += run.step * to_stride) {
            const Real factor = weight == nullptr ? Real(1) : weight[c * run.colour_step];
            if (stripe)
              add_row<Real>(factor, share, aggregate_stripe, row);
            else
              add_row<Real>(factor, share, last - first, row);
          }
        });
      }
    }
  }
}

/// Adds what all readers send back to the values of reads read_begin .. read_end - 1. Weighted sums.
template <class Real>
void aggregate_back_blocks(const AggregateHead<Real>& head, std::int64_t groups, const Real* grad,
                           std::ptrdiff_t grad_stride, Real* to, std::ptrdiff_t to_stride, std::int64_t read_begin,
                           std::int64_t read_end) {
  constexpr std::int64_t most = 256; // entries at once
  Real share[most];
  for (std::int64_t g = 0; g < groups; ++g) {
    if (const AggregateBlock block = find_block<Real>(head, g, groups, block_depth); block.readers > 1) {
      aggregate_block_back<Real>(head, g, block, grad, grad_stride, to, to_stride, read_begin, read_end);
      g += block.readers - 1;
      continue;
    }
    const ColourGroup& group = head.groups[g];
    for (std::int64_t first = 0; first < head.width; first += most) {
      const std::int64_t last = head.width - first < most ? head.width : first + most;
      if (!sum_gradients<Real>(head, group, grad, grad_stride, first, last, Real(1), share))
        break;
      for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r) {
        const ColourRun& run = head.runs[r];
        for_reads<Real>(head, run, [&](std::int64_t j, std::int64_t reads, std::int64_t colour) SIGHTLINE_INLINE_HERE {
          const auto below = [&](std::int64_t border) { // reads below a border
            const std::int64_t count = border <= j ? 0 : (border - 1 - j) / run.step + 1;
            return count < reads ? count : reads;
          };
          const std::int64_t end = below(read_end);
          for (std::int64_t c = below(read_begin); c < end; ++c)
            add_row<Real>(head.weight[colour + c * run.colour_step], share, last - first,
                          to + (j + c * run.step) * to_stride + first);
        });
      }
    }
  }
}

/// Adds the gradients of weights of groups begin .. end - 1. `space`: width numbers. own: no weight of a sum
/// belongs to two arcs; `write` then leaves out what was there.
template <class Real>
void aggregate_weights(const AggregateHead<Real>& head, Collect kind, std::int64_t begin, std::int64_t end,
                       const Real* grad, std::ptrdiff_t grad_stride, bool own, bool write, Real* to, Real* space) {
  constexpr int most = 192; // what is transposed for a block pays
  const bool blocks = own && kind == Collect::sum;
  for (std::int64_t g = begin; g < end; ++g) {
    if (const AggregateBlock block = blocks ? find_block<Real>(head, g, end, most) : AggregateBlock(); block.readers > 1) {
      aggregate_block_weights<Real>(head, g, block, grad, grad_stride, to, !write);
      g += block.readers - 1;
      continue;
    }
    const ColourGroup& group = head.groups[g];
    const std::int64_t count = count_reads<Real>(head, group);
    const Real divisor = kind == Collect::mean ? static_cast<Real>(count) : Real(1);
    if (count == 0 || !sum_gradients<Real>(head, group, grad, grad_stride, 0, head.width, divisor, space))
      continue;
    for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r) {
      const ColourRun& run = head.runs[r];
      for_reads<Real>(head, run, [&](std::int64_t j, std::int64_t reads, std::int64_t colour) SIGHTLINE_INLINE_HERE {
        if (blocks) { // where blocks begin depends on the threads, what is in them must not
          dot_reads<Real>(head, space, j, run.step, reads, to + colour, run.colour_step, !write);
          return;
        }
        for (std::int64_t c = 0; c < reads; ++c) {
          to[colour + c * run.colour_step] +=
              dot_rows<Real>(space, head.value + (j + c * run.step) * head.value_stride, head.width);
        }
      });
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
