// Rows taken one by one, as the table of kernels offers them: who goes how.
#pragma once

#include "sightline/mixer/cpu/rows_free.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// What tiles and rows need; where sums without an order begin.
template <class Real> std::int64_t bytes_of_workspace(std::int64_t width, std::int64_t value_width) {
  // Rows in workspaces may be a vector longer than they need (row_stride).
  const std::int64_t padded = round_up(width, 16) + 16, value_padded = round_up(value_width, 16) + 16;
  const std::int64_t tile = (padded + value_padded) * ((most_phases + 2) * tile_readers + 2 * strip_columns) +
                            (4 * strip_columns + 16) * tile_readers + strip_columns * 20 +
                            2 * most_slots * program_block * 16 +
                            tile_readers * (3 * strip_columns + 32); // biases by colour
  const std::int64_t rows =
      2 * most_slots * program_block * 16 + most_arcs * (15 + 16 + padded) + 4 * (padded + value_padded);
  const std::int64_t most = tile > rows ? tile : rows;
  return round_up(most * static_cast<std::int64_t>(sizeof(Real)) + most_arcs * static_cast<std::int64_t>(sizeof(Piece) + 8) + 64 * 40, 64);
}

template <class Real>
std::size_t workspace_bytes(std::int64_t width, std::int64_t value_width, std::int64_t longest_free) {
  return static_cast<std::size_t>(
      bytes_of_workspace<Real>(width, value_width) +
      (longest_free > 0 ? FreeSpace<Real>::bytes(width, value_width, longest_free) : 0));
}
/// For aggregates.
template <class Real> std::size_t sum_bytes(std::int64_t width) {
  return static_cast<std::size_t>(FreeSums<Real>::bytes(width));
}
template <class Real>
void sum_rows(const Real* base, std::ptrdiff_t stride, std::int64_t width, const std::int32_t* columns,
              const Real* weights, const std::uint8_t* marks, std::int64_t count, bool is_free, Real* to,
              void* workspace) {
  const int all = static_cast<int>(count);
  if (is_free) {
    Arena arena(workspace);
    FreeSums<Real> sums(arena, width);
    sums.collect(base, stride, columns, weights, all);
    sums.finish(Real(1), false, to);
    return;
  }
  const int vectors = count_vectors<Real>(width, width);
  if (marks != nullptr)
    add_rows_marked<Real>(vectors, base, stride, width, columns, weights, marks, all, Real(1), to);
  else
    add_rows<Real>(vectors, base, stride, width, columns, weights, all, false, Real(1), to);
}

/// Rows begin .. end - 1 of a list, weights 1, none without an order: to [rows[r]] = the sum that belongs to row r.
template <class Real>
void sum_list(const Real* base, std::ptrdiff_t stride, std::int64_t width, const SparseRows& list, std::int64_t begin,
              std::int64_t end, const Real* ones, Real* to, std::ptrdiff_t to_stride) {
  const int vectors = count_vectors<Real>(width, width);
  const auto others = [&](std::int64_t from, std::int64_t until) {
    for (std::int64_t r = from; r < until; ++r) {
      const std::int64_t first = list.offsets[r];
      const int count = static_cast<int>(list.offsets[r + 1] - first);
      Real* const row = to + list.rows[r] * to_stride;
      if (list.marks != nullptr) {
        add_rows_marked<Real>(vectors, base, stride, width, list.columns + first, ones, list.marks + first, count, Real(1), row);
        continue;
      }
      add_rows<Real>(vectors, base, stride, width, list.columns + first, ones, count, false, Real(1), row);
      make_canonical<Real>(row, width);
    }
  };
  if (vectors == 0) {
    others(begin, end);
    return;
  }
  for_row_stretches(list, begin, end, [&](std::int64_t from, std::int64_t until, int arcs) {
    const ShortGroup group{list, from, static_cast<int>(until - from), arcs, vectors};
    sum_short<Real>(group, {base, stride, ones, 0, 1, nullptr, Real(1), true, false, to, to_stride});
  }, others);
}

template <class Real> SIGHTLINE_INLINE void* behind_workspace(const Head<Real>& head, void* workspace) {
  return static_cast<char*>(workspace) + bytes_of_workspace<Real>(head.width, head.value_width);
}

/// Calls free_rows, few and others as for_free_stretches() and for_row_stretches() do; few only where `is_short`.
template <class Free, class Few, class Others>
SIGHTLINE_INLINE void for_stretches(const SparseRows& list, std::int64_t begin, std::int64_t end, bool is_short,
                                    Free free_rows, Few few, Others others) {
  for_free_stretches(list, begin, end, free_rows, [&](std::int64_t from, std::int64_t to) {
    if (is_short)
      for_row_stretches(list, from, to, few, others);
    else
      others(from, to);
  });
}

template <class Real>
void forward_rows(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                  std::int64_t end, void* workspace) {
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  const bool is_short = space.vectors > 0 && are_rows_plain(rule, head);
  for_stretches(list, begin, end, is_short,
      [&](std::int64_t from, std::int64_t to) {
        if (!head.of_values)
          forward_free_rows<Real>(rule, head, list, from, to, workspace, behind_workspace(head, workspace));
      },
      [&](std::int64_t from, std::int64_t to, int arcs) {
        forward_short_rows<Real>(rule, head, list, from, to, arcs, space);
      },
      [&](std::int64_t from, std::int64_t to) {
        if (!head.of_values)
          forward_rows_of<Real>(rule, head, list, from, to, workspace);
      });
  if (is_short && head.past)
    finish_streams();
}

template <class Real>
Real backward_rows(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                   const SparseRows& list, std::int64_t begin, std::int64_t end, void* workspace) {
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  const bool is_short = space.vectors > 0 && are_rows_short_backward(rule, head) && gradients.arc_exponents == nullptr;
  Real sink = 0;
  for_stretches(list, begin, end, is_short,
      [&](std::int64_t from, std::int64_t to) {
        sink += backward_free_rows<Real>(rule, head, gradients, list, from, to, workspace, behind_workspace(head, workspace));
      },
      [&](std::int64_t from, std::int64_t to, int arcs) {
        backward_short_rows<Real>(rule, head, gradients, list, from, to, arcs, space);
      },
      [&](std::int64_t from, std::int64_t to) {
        sink += backward_rows_of<Real>(rule, head, gradients, list, from, to, workspace);
      });
  if (is_short && gradients.past)
    finish_streams();
  return sink;
}

template <class Real>
void backward_columns(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                      const SparseRows& list, std::int64_t begin, std::int64_t end, bool add, void* workspace) {
  const int vectors = count_vectors<Real>(head.width, head.value_width);
  const bool is_short = vectors > 0 && are_rows_short_backward(rule, head) && !add;
  for_stretches(list, begin, end, is_short,
      [&](std::int64_t from, std::int64_t to) {
        backward_free_columns<Real>(rule, head, gradients, list, from, to, add, workspace, behind_workspace(head, workspace));
      },
      [&](std::int64_t from, std::int64_t to, int arcs) {
        backward_short_columns<Real>(rule, head, gradients, list, from, to, arcs, vectors);
      },
      [&](std::int64_t from, std::int64_t to) {
        backward_columns_of<Real>(rule, head, gradients, list, from, to, add, workspace);
      });
  if (is_short && gradients.past)
    finish_streams();
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
