// Sums, means and maxima over rows: convolution, linear and bias mixers, Linformer's landmarks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sightline/mixer/cpu/aggregate_exact.hpp"
#include "sightline/mixer/cpu/colours.hpp"
#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/mixer/cpu/pool.hpp"
#include "sightline/mixer/cpu_hooks.hpp"

namespace sightline::mixer::cpu {
namespace {

/// Every arc of a reader has a colour that no other reader's arcs have.
bool readers_have_own_colours(const Plan& plan) {
  for (std::size_t relation = 0; relation < plan.relation_count(); ++relation) {
    const layout::Relation* const of = plan.relation(relation);
    if (of != nullptr ? of->relative().kind != layout::RelativeKind::pair
                      : !plan.is_full(relation) || plan.is_plain(relation))
      return false;
  }
  return true;
}

template <class Real> class AggregateCall {
public:
  AggregateCall(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                const Execution& execution)
      : plan_(plan), shape_(shape), in_(in), exact_(execution.exact),
        kind_(aggregation == Aggregation::max    ? Collect::max
              : aggregation == Aggregation::mean ? Collect::mean
                                                 : Collect::sum) {
    workers_ = std::max(execution.threads, 1);
  }

  [[nodiscard]] bool prepare(const Execution& execution) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (plan_.colours() >= most || plan_.readers() >= most || plan_.reads() >= most)
      return false;
    rows_ = &find_colour_rows(plan_);
    engine_ = &find_engine<Real>(execution.instructions);
    return true;
  }

  void forward(const View<Real>& out) {
    constexpr std::int64_t readers = 48; // of one product of matrices
    std::vector<Task> tasks;
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      for (std::int64_t h = 0; h < shape_.heads; ++h)
        add_tasks(b, h, in_.weight != nullptr && kind_ == Collect::sum ? readers : 1, tasks);
    }
    run_tasks(static_cast<std::int64_t>(tasks.size()), workers_, [&](std::int64_t t, int) {
      const Task& task = tasks[static_cast<std::size_t>(t)];
      engine_->aggregate_groups(head_of(task.batch, task.head), kind_, task.begin, task.end,
                                out.at(task.batch, task.head, 0), out.token_stride);
    });
    clean(out, shape_.heads, shape_.readers);
  }

  void backward(const View<const Real>& grad_out, const View<Real>& grad_value, Real* grad_weight) {
    if (grad_value.data != nullptr)
      find_values(grad_out, grad_value);
    if (grad_weight != nullptr)
      find_weights(grad_out, grad_weight);
  }

private:
  struct Task {
    std::int64_t batch = 0, head = 0;
    std::int64_t begin = 0, end = 0; // groups
  };
  /// Whole chunks of at least so many groups.
  void add_tasks(std::int64_t b, std::int64_t h, std::int64_t least, std::vector<Task>& tasks) const {
    const std::vector<std::int64_t>& chunks = rows_of(h).chunks;
    for (std::size_t c = 0; c + 1 < chunks.size();) {
      const std::size_t first = c++;
      while (c + 1 < chunks.size() && chunks[c] - chunks[first] < least)
        ++c;
      tasks.push_back({b, h, chunks[first], chunks[c]});
    }
  }
  [[nodiscard]] std::int64_t group() const { return shape_.heads / shape_.key_heads; }
  [[nodiscard]] const ColourRows& rows_of(std::int64_t head) const { return (*rows_)[plan_.relation_of(head)]; }

  [[nodiscard]] AggregateHead<Real> head_of(std::int64_t b, std::int64_t h) const {
    AggregateHead<Real> head;
    head.groups = rows_of(h).groups.data();
    head.runs = rows_of(h).runs.data();
    head.value = in_.value.at(b, h / group(), 0);
    head.value_stride = in_.value.token_stride;
    head.weight = in_.weight == nullptr ? nullptr : in_.weight + h * plan_.colours();
    head.width = shape_.value_width;
    if (in_.lengths != nullptr) {
      head.reader_cut_begin = std::clamp<std::int64_t>(in_.lengths[b], 0, plan_.reader_tokens());
      head.reader_cut_end = plan_.reader_tokens();
      head.read_cut_begin = std::clamp<std::int64_t>(in_.lengths[b], 0, plan_.read_tokens());
      head.read_cut_end = plan_.read_tokens();
    }
    return head;
  }

  // A task owns stripes of entries of all tokens: nobody else adds there. Short rows go for many stripes at once, as they
  // lie in memory; long ones touch all tokens anyway, and one stripe of these stays nearer.
  void find_values(const View<const Real>& grad_out, const View<Real>& to) {
    const std::int64_t chains = shape_.batch * shape_.key_heads;
    if (may_have_blocks()) {
      find_values_by_blocks(grad_out, to);
      return;
    }
    const std::int64_t stripes = (shape_.value_width + aggregate_stripe - 1) / aggregate_stripe;
    const std::int64_t wanted = workers_ == 1 ? 1 : (4 * workers_ + chains - 1) / chains;
    const bool is_one = reads_all_at_once(); // every token gets the same, and gets it once
    const std::int64_t parts = has_long_rows() && !is_one ? stripes : std::min(wanted, stripes);
    run_tasks(chains * parts, workers_, [&](std::int64_t task, int) {
      const std::int64_t chain = task / parts, b = chain / shape_.key_heads, key_head = chain % shape_.key_heads;
      const auto border = [&](std::int64_t part) {
        return std::min<std::int64_t>(part * stripes / parts * aggregate_stripe, shape_.value_width);
      };
      const std::int64_t begin = border(task % parts), end = border(task % parts + 1);
      for (std::int64_t j = 0; j < shape_.reads && !is_one; ++j)
        std::fill(to.at(b, key_head, j) + begin, to.at(b, key_head, j) + end, Real(0));
      for (std::int64_t h = key_head * group(); h < (key_head + 1) * group(); ++h) {
        engine_->aggregate_back(head_of(b, h), kind_, static_cast<std::int64_t>(rows_of(h).groups.size()),
                                grad_out.at(b, h, 0), grad_out.token_stride, to.at(b, key_head, 0), to.token_stride,
                                begin, end, is_one && h == key_head * group());
      }
    });
    clean(to, shape_.key_heads, shape_.reads);
  }

  // Long rows in few runs, weighted: products of matrices. A task owns stretches of reads.
  void find_values_by_blocks(const View<const Real>& grad_out, const View<Real>& to) {
    constexpr std::int64_t stretch = 48; // reads of one product
    const std::int64_t chains = shape_.batch * shape_.key_heads, stretches = (shape_.reads + stretch - 1) / stretch;
    const std::int64_t wanted = workers_ == 1 ? 1 : (4 * workers_ + chains - 1) / chains;
    const std::int64_t parts = std::min(wanted, stretches);
    run_tasks(chains * parts, workers_, [&](std::int64_t task, int) {
      const std::int64_t chain = task / parts, b = chain / shape_.key_heads, key_head = chain % shape_.key_heads;
      const auto border = [&](std::int64_t part) { return std::min(part * stretches / parts * stretch, shape_.reads); };
      const std::int64_t begin = border(task % parts), end = border(task % parts + 1);
      for (std::int64_t j = begin; j < end; ++j)
        std::fill_n(to.at(b, key_head, j), shape_.value_width, Real(0));
      for (std::int64_t h = key_head * group(); h < (key_head + 1) * group(); ++h) {
        engine_->aggregate_back_blocks(head_of(b, h), static_cast<std::int64_t>(rows_of(h).groups.size()),
                                       grad_out.at(b, h, 0), grad_out.token_stride, to.at(b, key_head, 0),
                                       to.token_stride, begin, end);
      }
    });
    clean(to, shape_.key_heads, shape_.reads);
  }

  [[nodiscard]] static std::int64_t reads_of(const ColourRows& rows, const ColourGroup& group) {
    std::int64_t reads = 0;
    for (std::uint32_t r = group.runs_begin; r < group.runs_end; ++r)
      reads += (std::int64_t{rows.runs[r].last} - rows.runs[r].first) / rows.runs[r].step + 1;
    return reads;
  }
  [[nodiscard]] static std::int64_t reads_of(const ColourRows& rows) {
    std::int64_t reads = 0;
    for (const ColourGroup& group : rows.groups)
      reads += reads_of(rows, group);
    return reads;
  }
  /// All readers have the same row: everything, without weights.
  [[nodiscard]] bool reads_all_at_once() const {
    return in_.weight == nullptr && in_.lengths == nullptr && kind_ != Collect::max &&
           std::all_of(rows_->begin(), rows_->end(), [&](const ColourRows& rows) {
             if (rows.groups.size() != 1 || rows.runs.size() != 1)
               return false;
             const ColourRun& run = rows.runs.front();
             return run.first == 0 && run.step == 1 && run.last + std::int64_t{1} == shape_.reads;
           });
  }
  [[nodiscard]] bool has_long_rows() const {
    constexpr std::int64_t most = 1024;
    return std::any_of(rows_->begin(), rows_->end(), [](const ColourRows& rows) {
      return reads_of(rows) > most * static_cast<std::int64_t>(rows.groups.size());
    });
  }
  [[nodiscard]] bool may_have_blocks() const {
    constexpr std::int64_t least_reads = 32, most_runs = 4;
    return in_.weight != nullptr && kind_ == Collect::sum && std::all_of(rows_->begin(), rows_->end(), [](const ColourRows& rows) {
      const auto groups = static_cast<std::int64_t>(rows.groups.size());
      return static_cast<std::int64_t>(rows.runs.size()) <= most_runs * groups && reads_of(rows) >= least_reads * groups;
    });
  }

  // Weights of a pair of tokens belong to its reader: readers share the work. Else every batch element has sums of its
  // own where they are few, added up in their order.
  void find_weights(const View<const Real>& grad_out, Real* to) {
    constexpr std::int64_t most_numbers = std::int64_t{1} << 22;
    const std::int64_t colours = plan_.colours();
    const bool own = readers_have_own_colours(plan_) && kind_ == Collect::sum;
    const auto is_written = [&](std::int64_t h) { return own && in_.lengths == nullptr && reads_of(rows_of(h)) == colours; };
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      if (!is_written(h))
        std::fill_n(to + h * colours, colours, Real(0));
    }
    std::vector<std::vector<Real>> spaces(static_cast<std::size_t>(workers_),
                                          std::vector<Real>(static_cast<std::size_t>(shape_.value_width)));
    const auto add = [&](std::int64_t b, std::int64_t h, std::int64_t begin, std::int64_t end, Real* sums, int worker) {
      engine_->aggregate_weights(head_of(b, h), kind_, begin, end, grad_out.at(b, h, 0), grad_out.token_stride, own,
                                 b == 0, sums, spaces[static_cast<std::size_t>(worker)].data());
    };
    if (own) {
      constexpr std::int64_t most_readers = 192; // whose products share what is transposed for them
      std::vector<Task> tasks;
      for (std::int64_t h = 0; h < shape_.heads; ++h) {
        const auto groups = static_cast<std::int64_t>(rows_of(h).groups.size());
        add_tasks(0, h, workers_ == 1 ? most_readers : std::min(most_readers, groups / (4 * workers_)), tasks);
      }
      run_tasks(static_cast<std::int64_t>(tasks.size()), workers_, [&](std::int64_t t, int worker) {
        const Task& task = tasks[static_cast<std::size_t>(t)];
        for (std::int64_t b = 0; b < shape_.batch; ++b)
          add(b, task.head, task.begin, task.end, to + task.head * colours, worker);
      });
      return;
    }
    const auto all = [&](std::int64_t h) { return static_cast<std::int64_t>(rows_of(h).groups.size()); };
    if (shape_.batch * shape_.heads * colours > most_numbers || shape_.batch == 1) {
      run_tasks(shape_.heads, workers_, [&](std::int64_t h, int worker) {
        for (std::int64_t b = 0; b < shape_.batch; ++b)
          add(b, h, 0, all(h), to + h * colours, worker);
      });
      return;
    }
    std::vector<Real> parts(static_cast<std::size_t>(shape_.batch * shape_.heads * colours), Real(0));
    run_tasks(shape_.batch * shape_.heads, workers_, [&](std::int64_t task, int worker) {
      const std::int64_t h = task % shape_.heads;
      add(task / shape_.heads, h, 0, all(h), parts.data() + task * colours, worker);
    });
    for (std::int64_t task = 0; task < shape_.batch * shape_.heads; ++task) {
      for (std::int64_t c = 0; c < colours; ++c)
        to[task % shape_.heads * colours + c] += parts[static_cast<std::size_t>(task * colours + c)];
    }
  }

  // Exact mode writes no -0 and every NaN alike.
  void clean(const View<Real>& view, std::int64_t heads, std::int64_t tokens) {
    if (!exact_)
      return;
    run_tasks(shape_.batch * heads, workers_, [&](std::int64_t task, int) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        engine_->make_canonical(view.at(task / heads, task % heads, t), shape_.value_width);
      }
    });
  }

  const Plan& plan_;
  const Shape& shape_;
  const AggregateInputs<Real>& in_;
  bool exact_;
  Collect kind_;
  const std::vector<ColourRows>* rows_ = nullptr;
  const Engine<Real>* engine_ = nullptr;
  int workers_ = 1;
};

} // namespace

template <class Real>
bool aggregate(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
               View<Real> out, const Execution& execution) {
  const bool has_order = execution.exact && plan.order().kind != SummationOrder::Kind::natural;
  if (has_order && aggregation != Aggregation::max)
    return aggregate_exact(plan, aggregation, shape, in, out, execution);
  AggregateCall<Real> call(plan, aggregation, shape, in, execution);
  if (!call.prepare(execution))
    return false;
  call.forward(out);
  return true;
}

template <class Real>
bool aggregate_backward(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                        View<const Real> grad_out, View<Real> grad_value, Real* grad_weight,
                        const Execution& execution) {
  const bool has_order = execution.exact && plan.order().kind != SummationOrder::Kind::natural;
  // Exact mode shares the gradient of a maximum among all that attain it.
  if (execution.exact && !has_order && aggregation == Aggregation::max)
    return false;
  AggregateCall<Real> call(plan, aggregation, shape, in, execution);
  if (!call.prepare(execution))
    return false;
  if (!has_order) {
    call.backward(grad_out, grad_value, grad_weight);
    return true;
  }
  if (grad_value.data != nullptr &&
      !aggregate_exact_backward(plan, aggregation, shape, in, grad_out, grad_value, execution))
    return false;
  call.backward(grad_out, {}, grad_weight); // gradients of weights have no order to keep
  return true;
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template bool aggregate(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&, View<Real>,            \
                          const Execution&);                                                                           \
  template bool aggregate_backward(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&,               \
                                   View<const Real>, View<Real>, Real*, const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu
