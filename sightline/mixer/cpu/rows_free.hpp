// Rows and columns whose sums have no order that a symmetry would carry along (exact mode: hubs, registers, layouts
// whose group is none that sums could follow): the same numbers per arc as elsewhere, added up without an order
// (free_sum.hpp).
#pragma once

#include "sightline/mixer/cpu/free_sum.hpp"
#include "sightline/mixer/cpu/rows_backward.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Numbers of all arcs of one row, and sums; behind what other rows need.
template <class Real> struct FreeSpace {
  std::int32_t* columns;
  Real *weights, *exponents;
  Arena end;
  static std::int64_t bytes(std::int64_t width, std::int64_t value_width, std::int64_t longest) {
    const std::int64_t padded = round_up(longest, 16) + 16;
    return padded * static_cast<std::int64_t>(sizeof(std::int32_t) + 2 * sizeof(Real)) + FreeSums<Real>::bytes(width) +
           FreeSums<Real>::bytes(value_width) + 64 * 4;
  }
  FreeSpace(void* from, std::int64_t longest) : end(from) {
    const std::int64_t padded = round_up(longest, 16) + 16;
    Arena arena(from);
    columns = arena.take<std::int32_t>(padded);
    weights = arena.take<Real>(padded);
    exponents = arena.take<Real>(padded);
    end = arena;
  }
};

/// to = (to +) factor times the sum of weights[a] times the row of columns[a], prepared.
template <class Real>
void add_rows_free(Prepare prepare, const Real* base, std::ptrdiff_t stride, std::int64_t width,
                   const std::int32_t* columns, const Real* weights, std::int64_t count, bool add, Real factor,
                   Real* to, FreeSums<Real>& sums, const std::int32_t* counting, Real* prepared) {
  const auto for_chunks = [&](auto work) {
    for (std::int64_t a = 0; a < count; a += most_arcs) {
      const int some = static_cast<int>(count - a < most_arcs ? count - a : most_arcs);
      const ArcRows<Real> rows =
          find_arc_rows<Real>(prepare, base, stride, width, columns + a, some, counting, prepared);
      work(rows, weights + a, some);
    }
  };
  sums.begin();
  for_chunks([&](const ArcRows<Real>& rows, const Real* of, int some) {
    sums.measure(rows.base, rows.stride, rows.columns, of, some);
  });
  sums.settle(count);
  for_chunks([&](const ArcRows<Real>& rows, const Real* of, int some) {
    sums.add(rows.base, rows.stride, rows.columns, of, some);
  });
  sums.finish(factor, add, to);
}

template <class Real> struct Counting {
  std::int32_t numbers[most_arcs];
  explicit Counting(Prepare prepare) {
    for (int a = 0; a < most_arcs && prepare != Prepare::nothing; ++a)
      numbers[a] = a;
  }
};

template <class Real>
void forward_free_rows(const Rule<Real>& rule, const Head<Real>& head, const SparseRows& list, std::int64_t begin,
                       std::int64_t end, void* workspace, void* behind) {
  constexpr int lanes = Lanes<Real>::count;
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  FreeSpace<Real> all(behind, list.longest_free);
  FreeSums<Real> sums(all.end, head.value_width);
  const Counting<Real> counting(rule.prepare);
  const bool features = rule.weight == Weight::features, program = rule.weight == Weight::program;
  const bool exponents = has_exponent(rule.weight) || (program && (rule.program->exponent >= 0 || has_bias(head)));
  const ProgramSpace<Real> program_space(space.end, rule.program);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t row = list.rows[r];
    const Real own = features ? head.reader_exponents[row] : Real(0);
    Real top = !exponents       ? Real(0)
               : rule.has_extra ? round_up_to_integer(rule.extra - own)
                                : no_exponent<Real>;
    std::int64_t count = 0;
    PieceSource source(list, r, r + 1, head.read_cut_begin, head.read_cut_end);
    int arcs = 0;
    while (source.next(space.pieces, 1, space.columns, arcs) > 0) {
      find_group_scores<Real>(rule, head, 1, arcs, counting.numbers, space, program_space);
      Real* const of_arcs = features || program ? space.products : space.scores; // exponents
      if (features) {
        for (int a = 0; a < arcs; ++a)
          of_arcs[a] = head.read_exponents[space.columns[a]];
      }
      if (exponents)
        add_arc_biases<Real>(head, list, space.pieces[0], space.columns, of_arcs);
      for (int a = 0; a < arcs; ++a) {
        all.columns[count + a] = space.columns[a];
        all.weights[count + a] = space.scores[a];
        all.exponents[count + a] = of_arcs[a];
        top = exponents && of_arcs[a] > top ? of_arcs[a] : top;
      }
      count += arcs;
    }
    top = round_up_to_integer(top);
    const std::int64_t padded = round_up(count, lanes);
    for (std::int64_t a = count; a < padded; ++a)
      all.weights[a] = all.exponents[a] = 0;
    for (std::int64_t a = 0; a < padded; a += lanes) {
      const Vec<Real> score = load<Real>(all.weights + a);
      if (exponents) {
        const Vec<Real> power = exp2_shifted<Real>(load<Real>(all.exponents + a), splat<Real>(top));
        store<Real>(all.weights + a, features || program ? score * power : power);
      } else {
        store<Real>(all.weights + a, weight_alone<Real>(rule, score));
      }
    }
    Real factor = 1;
    if (rule.normalised) {
      Real below = free_total<Real>(all.weights, count);
      if (rule.has_extra)
        below += exp2<Real>(splat<Real>(rule.extra - own - top))[0];
      factor = below == Real(0) ? Real(0) : Real(1) / below;
    } else if (exponents) {
      factor = exp2<Real>(splat<Real>(top + own))[0];
    }
    Real* const out = head.out + row * head.out_stride;
    if (exists<Real>(row, head.reader_cut_begin, head.reader_cut_end)) {
      add_rows_free<Real>(Prepare::nothing, head.value, head.value_stride, head.value_width, all.columns, all.weights,
                          count, false, factor, out, sums, nullptr, nullptr);
      make_canonical<Real>(out, head.value_width);
    } else {
      for (std::int64_t k = 0; k < head.value_width; ++k)
        out[k] = 0;
    }
    if (head.statistics != nullptr) {
      head.statistics[row * 2] = top;
      head.statistics[row * 2 + 1] = factor;
    }
  }
}

template <class Real>
Real backward_free_rows(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                        const SparseRows& list, std::int64_t begin, std::int64_t end, void* workspace, void* behind) {
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  FreeSpace<Real> all(behind, list.longest_free);
  FreeSums<Real> sums(all.end, head.width);
  const Counting<Real> counting(rule.prepare);
  const bool distance = rule.score == Score::distance;
  const bool along = rule.weight == Weight::program && (rule.program->uses[1] || rule.program->uses[3]);
  Real sink = 0;
  for (std::int64_t r = begin; r < end; ++r) {
    Gradients<Real> arcs_alone = gradients;
    arcs_alone.query = nullptr;
    arcs_alone.row_alongs = along ? all.exponents : nullptr;
    sink += backward_rows_of<Real>(rule, head, arcs_alone, list, r, r + 1, workspace);
    if (gradients.query == nullptr)
      continue;
    const std::int64_t row = list.rows[r];
    std::int64_t count = 0;
    for (std::int64_t a = list.offsets[r]; a < list.offsets[r + 1]; ++a) {
      if (!exists<Real>(list.columns[a], head.read_cut_begin, head.read_cut_end))
        continue;
      all.columns[count] = list.columns[a];
      if (along)
        all.exponents[count] = all.exponents[a - list.offsets[r]];
      all.weights[count++] = gradients.arc_slopes[a];
    }
    Real* const to = gradients.query + row * gradients.query_stride;
    if (count == 0 || !exists<Real>(row, head.reader_cut_begin, head.reader_cut_end)) {
      for (std::int64_t k = 0; k < head.width; ++k)
        to[k] = 0;
      continue;
    }
    const Real* const query = head.query + row * head.query_stride;
    const bool simple = rule.prepare == Prepare::nothing && !distance && rule.weight != Weight::program;
    add_rows_free<Real>(rule.prepare, head.key, head.key_stride, head.width, all.columns, all.weights, count, false,
                        simple ? rule.query_scale : Real(1), simple ? to : space.sums, sums, counting.numbers,
                        space.prepared);
    if (!simple) {
      if (distance) {
        const Real total = free_total<Real>(all.weights, count);
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] = total * rule.query_scale * query[k] - space.sums[k];
      }
      if (along) {
        const Real total = free_total<Real>(all.exponents, count);
        for (std::int64_t k = 0; k < head.width; ++k)
          space.sums[k] += total * (rule.query_scale * query[k]);
      }
      prepare_gradient<Real>(rule.prepare, query, space.sums, head.width, rule.query_scale, to, false);
    }
    make_canonical<Real>(to, head.width);
  }
  return sink;
}

/// Columns begin .. end - 1 of the list, as backward_columns_of takes them.
template <class Real>
void backward_free_columns(const Rule<Real>& rule, const Head<Real>& head, const Gradients<Real>& gradients,
                           const SparseRows& list, std::int64_t begin, std::int64_t end, bool add, void* workspace,
                           void* behind) {
  ArcSpace<Real> space(workspace, head.width, head.value_width);
  FreeSpace<Real> all(behind, list.longest_free);
  FreeSums<Real> sums(all.end, head.width), value_sums(all.end, head.value_width);
  const Counting<Real> counting(rule.prepare);
  const bool distance = rule.score == Score::distance;
  const bool along = rule.weight == Weight::program && (rule.program->uses[2] || rule.program->uses[3]);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t column = list.rows[r];
    std::int64_t count = 0;
    if (exists<Real>(column, head.read_cut_begin, head.read_cut_end)) {
      for (std::int64_t a = list.offsets[r]; a < list.offsets[r + 1]; ++a) {
        if (!exists<Real>(list.columns[a], head.reader_cut_begin, head.reader_cut_end))
          continue;
        all.columns[count] = list.columns[a];
        all.exponents[count] = gradients.arc_weights[list.arcs[a]];
        all.weights[count++] = gradients.arc_slopes[list.arcs[a]];
      }
    }
    Real* const value = gradients.value == nullptr ? nullptr : gradients.value + column * gradients.value_stride;
    Real* const key = gradients.key == nullptr ? nullptr : gradients.key + column * gradients.key_stride;
    if (count == 0) {
      for (std::int64_t k = 0; !add && value != nullptr && k < head.value_width; ++k)
        value[k] = 0;
      for (std::int64_t k = 0; !add && key != nullptr && k < head.width; ++k)
        key[k] = 0;
      continue;
    }
    if (value != nullptr) {
      add_rows_free<Real>(Prepare::nothing, gradients.out, gradients.out_stride, head.value_width, all.columns,
                          all.exponents, count, add, Real(1), value, value_sums, nullptr, nullptr);
      make_canonical<Real>(value, head.value_width);
    }
    if (key == nullptr)
      continue;
    const bool simple = !distance && !along && rule.prepare == Prepare::nothing;
    add_rows_free<Real>(rule.prepare, head.query, head.query_stride, head.width, all.columns, all.weights, count,
                        simple && add, rule.query_scale, simple ? key : space.sums, sums, counting.numbers,
                        space.prepared);
    if (!simple) {
      Real total = 0;
      if (along) {
        std::int64_t kept = 0;
        for (std::int64_t a = list.offsets[r]; a < list.offsets[r + 1]; ++a) {
          if (exists<Real>(list.columns[a], head.reader_cut_begin, head.reader_cut_end))
            all.exponents[kept++] = gradients.arc_alongs[list.arcs[a]];
        }
        total = free_total<Real>(all.exponents, count);
      } else if (distance) {
        total = free_total<Real>(all.weights, count);
      }
      finish_key(rule, head, column, total, along, false, space.sums, key, add);
    }
    make_canonical<Real>(key, head.width);
  }
}

/// Calls free_rows(begin, end) and others(begin, end) for the stretches of a list whose sums have no order, and the rest.
template <class Free, class Others>
SIGHTLINE_INLINE void for_free_stretches(const SparseRows& list, std::int64_t begin, std::int64_t end, Free free_rows,
                                         Others others) {
  for (std::int64_t row = begin; row < end;) {
    const bool is_free = list.free != nullptr && list.free[row] != 0;
    std::int64_t last = row + 1;
    while (last < end && (list.free != nullptr && list.free[last] != 0) == is_free)
      ++last;
    if (is_free)
      free_rows(row, last);
    else
      others(row, last);
    row = last;
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
