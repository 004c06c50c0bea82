#include "sightline/mixer/cpu/aggregate_exact.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "sightline/mixer/cpu/call_parts.hpp"
#include "sightline/mixer/cpu/colours.hpp"
#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/mixer/cpu/exact.hpp"
#include "sightline/mixer/cpu/pool.hpp"

namespace sightline::mixer::cpu {
namespace {

template <class Real> class ExactAggregate {
public:
  ExactAggregate(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                 const Execution& execution)
      : plan_(plan), shape_(shape), in_(in), engine_(find_engine<Real>(execution.instructions)),
        is_mean_(aggregation == Aggregation::mean), is_max_(aggregation == Aggregation::max),
        workers_(std::max(execution.threads, 1)) {}

  [[nodiscard]] bool prepare() {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (in_.lengths != nullptr || plan_.colours() >= most || plan_.readers() >= most || plan_.reads() >= most)
      return false; // lengths break the symmetry that orders are made for
    is_full_ = !is_max_ && in_.weight == nullptr;
    for (std::size_t r = 0; r < plan_.relation_count(); ++r)
      is_full_ = is_full_ && plan_.is_full(r);
    if (is_full_)
      return true;
    lists_ = find_exact_rows(plan_, find_compiled(plan_));
    if (lists_ == nullptr)
      return false;
    if (in_.weight != nullptr)
      colours_ = &find_exact_colours(plan_, *lists_);
    return true;
  }

  void forward(const View<Real>& out) {
    if (is_full_) {
      sum_all(in_.value, shape_.key_heads, shape_.reads, out, shape_.heads, shape_.readers);
      return;
    }
    struct Task {
      std::int64_t batch, head;
      std::size_t chunk;
    };
    std::vector<Task> tasks;
    std::int64_t longest = 1;
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      for (std::int64_t h = 0; h < shape_.heads; ++h) {
        const SparseList& rows = lists_of(h).rows;
        longest = std::max(longest, longest_of(rows));
        for (std::size_t c = 0; c + 1 < rows.chunks.size(); ++c)
          tasks.push_back({b, h, c});
      }
    }
    const Workspaces workspaces(engine_.sum_bytes(shape_.value_width), workers_);
    Spaces weights(workers_, longest);
    run_tasks(static_cast<std::int64_t>(tasks.size()), workers_, [&](std::int64_t t, int worker) {
      const Task& task = tasks[static_cast<std::size_t>(t)];
      const SparseList& rows = lists_of(task.head).rows;
      const View<const Real>& value = in_.value;
      const std::int64_t from = task.head / group();
      Real* const space = weights.of(worker);
      const auto end = static_cast<std::size_t>(rows.chunks[task.chunk + 1]);
      for (auto r = static_cast<std::size_t>(rows.chunks[task.chunk]); r < end; ++r) {
        if (in_.weight == nullptr && !is_mean_ && !is_free(rows, r)) {
          r = sum_ordered(rows, r, end, value.at(task.batch, from, 0), value.token_stride, space,
                          out.at(task.batch, task.head, 0), out.token_stride);
          continue;
        }
        Real* const to = out.at(task.batch, task.head, rows.rows[r]);
        const std::int64_t first = rows.offsets[r], count = rows.offsets[r + 1] - first;
        const bool is_first = r == static_cast<std::size_t>(rows.chunks[task.chunk]);
        if (!is_first && in_.weight == nullptr && is_like_before(rows, r)) {
          std::copy_n(out.at(task.batch, task.head, rows.rows[r - 1]), shape_.value_width, to);
          continue;
        }
        for (std::int64_t a = 0; in_.weight != nullptr && a < count; ++a)
          space[a] = weight_of(task.head, first + a);
        sum(rows, r, value.at(task.batch, from, 0), value.token_stride, rows.columns.data() + first, space, to,
            workspaces.of(worker));
        for (std::int64_t k = 0; is_mean_ && count > 0 && k < shape_.value_width; ++k)
          to[k] /= static_cast<Real>(count);
        engine_.make_canonical(to, shape_.value_width);
      }
    });
  }

  void backward(const View<const Real>& grad_out, const View<Real>& grad_value) {
    if (is_full_) {
      sum_all(grad_out, shape_.heads, shape_.readers, grad_value, shape_.key_heads, shape_.reads);
      return;
    }
    const std::int64_t width = shape_.value_width;
    std::int64_t longest = 1;
    for (std::int64_t h = 0; h < shape_.heads; ++h)
      longest = std::max(longest, longest_of(lists_of(h).columns));
    const Workspaces workspaces(engine_.sum_bytes(width), workers_);
    Spaces weights(workers_, longest), sums(workers_, width),
        terms(workers_, is_max_ ? longest * most_lanes : 0);
    Copies<Real, ExactAggregate> copies(is_max_ ? 2 * shape_.readers * width : 0);
    Maxima maxima;
    maxima.most = copies.take(is_max_, shape_.readers * width);
    maxima.share = copies.take(is_max_, shape_.readers * width);
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      for (std::int64_t h = 0; h < shape_.heads; ++h) { // heads that share values add up in their order
        if (is_max_)
          find_maxima(b, h, grad_out, maxima);
        const Tiles& lists = lists_of(h);
        const SparseList& columns = lists.columns;
        const bool first_head = h % group() == 0;
        run_tasks(columns.chunk_count(), workers_, [&](std::int64_t chunk, int worker) {
          const auto end = static_cast<std::size_t>(columns.chunks[static_cast<std::size_t>(chunk) + 1]);
          for (auto c = static_cast<std::size_t>(columns.chunks[static_cast<std::size_t>(chunk)]); c < end; ++c) {
            if (first_head && !is_max_ && !is_mean_ && in_.weight == nullptr && !is_free(columns, c)) {
              c = sum_ordered(columns, c, end, grad_out.at(b, h, 0), grad_out.token_stride, weights.of(worker),
                              grad_value.at(b, h / group(), 0), grad_value.token_stride);
              continue;
            }
            Real* const sum_of = sums.of(worker);
            if (is_max_) {
              sum_shares(b, h, columns, c, maxima, terms.of(worker), sum_of, workspaces.of(worker));
            } else {
              Real* const space = weights.of(worker);
              const std::int64_t begin = columns.offsets[c], count = columns.offsets[c + 1] - begin;
              for (std::int64_t a = 0; (is_mean_ || in_.weight != nullptr) && a < count; ++a) {
                const std::int64_t arc = columns.arcs[static_cast<std::size_t>(begin + a)];
                space[a] = weight_of(h, arc);
                if (is_mean_) {
                  const auto reader = static_cast<std::size_t>(columns.columns[static_cast<std::size_t>(begin + a)]);
                  space[a] /= static_cast<Real>(lists.rows.offsets[reader + 1] - lists.rows.offsets[reader]);
                }
              }
              sum(columns, c, grad_out.at(b, h, 0), grad_out.token_stride, columns.columns.data() + begin, space,
                  sum_of, workspaces.of(worker));
            }
            Real* const to = grad_value.at(b, h / group(), columns.rows[c]);
            if (first_head) {
              std::copy_n(sum_of, width, to);
              engine_.make_canonical(to, width);
            } else {
              engine_.add_canonical(to, sum_of, width);
            }
          }
        });
      }
    }
  }

private:
  static constexpr std::int64_t most_lanes = 16;  // of a vector, whatever the instruction set

  /// Numbers for every worker, 1 at first.
  class Spaces {
  public:
    Spaces(int workers, std::int64_t count) : count_(count), numbers_(static_cast<std::size_t>(workers * count), Real(1)) {}
    [[nodiscard]] Real* of(int worker) { return numbers_.data() + worker * count_; }

  private:
    std::int64_t count_;
    std::vector<Real> numbers_;
  };

  /// Of every row: its maxima, and the output's gradient over the number of reads that attain them.
  struct Maxima {
    Real *most = nullptr, *share = nullptr;
  };

  [[nodiscard]] std::int64_t group() const { return shape_.heads / shape_.key_heads; }
  [[nodiscard]] const Tiles& lists_of(std::int64_t head) const { return (*lists_)[plan_.relation_of(head)]; }
  [[nodiscard]] static std::int64_t longest_of(const SparseList& list) {
    std::int64_t longest = 1;
    for (std::size_t r = 0; r < list.rows.size(); ++r)
      longest = std::max(longest, list.offsets[r + 1] - list.offsets[r]);
    return longest;
  }
  [[nodiscard]] static bool is_free(const SparseList& list, std::size_t row) {
    return !list.free.empty() && list.free[row] != 0;
  }
  /// A sum without an order of the same terms as the one before it.
  [[nodiscard]] static bool is_like_before(const SparseList& list, std::size_t row) {
    const auto at = [&](std::size_t r) { return list.columns.begin() + list.offsets[r]; };
    return is_free(list, row) && is_free(list, row - 1) && std::equal(at(row - 1), at(row), at(row), at(row + 1));
  }
  [[nodiscard]] Real weight_of(std::int64_t head, std::int64_t arc) const {
    if (in_.weight == nullptr)
      return 1;
    const auto colour = (*colours_)[plan_.relation_of(head)][static_cast<std::size_t>(arc)];
    return in_.weight[head * plan_.colours() + colour];
  }

  /// Plain sums of the rows from `begin` on that have an order; returns the last of them.
  [[nodiscard]] std::size_t sum_ordered(const SparseList& list, std::size_t begin, std::size_t end, const Real* base,
                                        std::ptrdiff_t stride, const Real* ones, Real* to,
                                        std::ptrdiff_t to_stride) const {
    std::size_t behind = begin + 1;
    while (behind < end && !is_free(list, behind))
      ++behind;
    engine_.sum_list(base, stride, shape_.value_width, list.view(), static_cast<std::int64_t>(begin),
                     static_cast<std::int64_t>(behind), ones, to, to_stride);
    return behind - 1;
  }

  /// to = the sum that belongs to a row of the list; of weights[a] times the row of columns[a].
  void sum(const SparseList& list, std::size_t row, const Real* base, std::ptrdiff_t stride,
           const std::int32_t* columns, const Real* weights, Real* to, void* workspace) const {
    const std::int64_t first = list.offsets[row], count = list.offsets[row + 1] - first;
    const std::uint8_t* const marks = list.marks.empty() ? nullptr : list.marks.data() + first;
    const bool free = is_free(list, row), plain = in_.weight == nullptr && !is_mean_; // weights are 1
    engine_.sum_rows(base, stride, shape_.value_width, columns, free && plain ? nullptr : weights, marks, count, free, to,
                     workspace);
  }

  /// Everything reads everything: one sum for all.
  void sum_all(const View<const Real>& from, std::int64_t from_heads, std::int64_t count, const View<Real>& to,
               std::int64_t to_heads, std::int64_t copies) const {
    const Workspaces workspaces(engine_.sum_bytes(shape_.value_width), workers_);
    run_tasks(shape_.batch * to_heads, workers_, [&](std::int64_t task, int worker) {
      const std::int64_t b = task / to_heads, h = task % to_heads;
      const std::int64_t width = shape_.value_width;
      if (copies == 0)
        return;
      Real* const made = to.at(b, h, 0);
      std::fill_n(made, width, Real(0));
      // Forward one head of values, backward those that share it, in their order.
      const std::int64_t begin = from_heads < to_heads ? h / group() : h * (from_heads / to_heads);
      const std::int64_t end = from_heads < to_heads ? begin + 1 : begin + from_heads / to_heads;
      std::vector<Real> sum(static_cast<std::size_t>(width));
      for (std::int64_t g = begin; g < end && count > 0; ++g) {
        engine_.sum_rows(from.at(b, g, 0), from.token_stride, width, nullptr, nullptr, nullptr, count, true,
                         sum.data(), workspaces.of(worker));
        for (std::int64_t k = 0; k < width; ++k)
          made[k] += is_mean_ ? sum[static_cast<std::size_t>(k)] / static_cast<Real>(shape_.reads)
                              : sum[static_cast<std::size_t>(k)];
      }
      engine_.make_canonical(made, width);
      engine_.repeat_row(made, to.token_stride, width, copies - 1);
    });
  }

  [[nodiscard]] bool has_nans(std::int64_t b, std::int64_t key_head) const {
    for (std::int64_t j = 0; j < shape_.reads; ++j) {
      const Real* const row = in_.value.at(b, key_head, j);
      int nans = 0;
      for (std::int64_t k = 0; k < shape_.value_width; ++k)
        nans += row[k] != row[k] ? 1 : 0;
      if (nans > 0)
        return true;
    }
    return false;
  }
  void find_maxima(std::int64_t b, std::int64_t h, const View<const Real>& grad_out, const Maxima& maxima) const {
    const std::int64_t width = shape_.value_width;
    const SparseList& rows = lists_of(h).rows;
    const bool has_nan = has_nans(b, h / group());
    run_tasks(rows.chunk_count(), workers_, [&](std::int64_t chunk, int) {
      for (auto r = static_cast<std::size_t>(rows.chunks[static_cast<std::size_t>(chunk)]);
           r < static_cast<std::size_t>(rows.chunks[static_cast<std::size_t>(chunk) + 1]); ++r) {
        const std::int64_t first = rows.offsets[r], count = rows.offsets[r + 1] - first, reader = rows.rows[r];
        if (count > 0) {
          engine_.share_maxima(in_.value.at(b, h / group(), 0), in_.value.token_stride, rows.columns.data() + first,
                               count, width, grad_out.at(b, h, reader), has_nan, maxima.most + reader * width,
                               maxima.share + reader * width);
        }
      }
    });
  }

  /// What the readers of a column send it: their shares where it attains their maxima.
  void sum_shares(std::int64_t b, std::int64_t h, const SparseList& columns, std::size_t c, const Maxima& maxima,
                  Real* terms, Real* to, void* workspace) const {
    const std::int64_t width = shape_.value_width, begin = columns.offsets[c], count = columns.offsets[c + 1] - begin;
    engine_.sum_attained(in_.value.at(b, h / group(), columns.rows[c]), maxima.most, maxima.share,
                         columns.columns.data() + begin, columns.marks.empty() ? nullptr : columns.marks.data() + begin,
                         count, width, is_free(columns, c), terms, to, workspace);
  }

  const Plan& plan_;
  const Shape& shape_;
  const AggregateInputs<Real>& in_;
  const Engine<Real>& engine_;
  bool is_mean_, is_max_, is_full_ = false;
  int workers_;
  const std::vector<Tiles>* lists_ = nullptr;
  const std::vector<std::vector<std::int32_t>>* colours_ = nullptr; // of the arcs, by relation
};

} // namespace

template <class Real>
bool aggregate_exact(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                     const View<Real>& out, const Execution& execution) {
  ExactAggregate<Real> call(plan, aggregation, shape, in, execution);
  if (!call.prepare())
    return false;
  call.forward(out);
  return true;
}

template <class Real>
bool aggregate_exact_backward(const Plan& plan, Aggregation aggregation, const Shape& shape,
                              const AggregateInputs<Real>& in, const View<const Real>& grad_out,
                              const View<Real>& grad_value, const Execution& execution) {
  ExactAggregate<Real> call(plan, aggregation, shape, in, execution);
  if (!call.prepare())
    return false;
  call.backward(grad_out, grad_value);
  return true;
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template bool aggregate_exact(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&,                  \
                                const View<Real>&, const Execution&);                                                  \
  template bool aggregate_exact_backward(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&,         \
                                         const View<const Real>&, const View<Real>&, const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu
