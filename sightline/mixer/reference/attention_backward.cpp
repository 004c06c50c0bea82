// Backward of kernel attention. With p_j the weights of a row, g = d loss / d out, dp_j = g.v_j and delta = sum_j p_j
// dp_j:
//   d loss / d v_j         = p_j g
//   d loss / d exponent_j  = p_j (dp_j - delta)          (without delta when not normalised)
//   d loss / d factor_j    = per_factor_j (dp_j - delta)
//   d loss / d s           = -(weight of the sink) delta
// and from exponent and factor on to queries, keys and biases by the chain rule.
#include <algorithm>

#include "sightline/mixer/reference/attention_row.hpp"
#include "sightline/mixer/reference/reference.hpp"
#include "sightline/mixer/reference/tasks.hpp"

namespace sightline::mixer::reference {
namespace {

// What a reader sends back along one arc.
template <class Real> struct Message {
  std::int64_t reader = 0;
  Real weight = 0, of_factor = 0, of_exponent = 0;
};

/// The heads that share one key head, in one batch element.
template <class Real> class Backward {
public:
  Backward(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
           const AttentionGradients<Real>& gradients, std::shared_ptr<const KernelFunction> kernel, bool exact)
      : rule_(rule), shape_(shape), in_(in), gradients_(gradients), colours_(plan.colours()),
        row_(plan, rule, shape, in, std::move(kernel), exact), columns_(static_cast<std::size_t>(shape.reads)),
        dy_(static_cast<std::size_t>(shape.width)) {}

  void run(std::int64_t b, std::int64_t key_head) {
    const std::int64_t group = shape_.heads / shape_.key_heads;
    first_head_ = key_head * group;
    if (gradients_.bias != nullptr)
      bias.assign(static_cast<std::size_t>(group * colours_), Real(0));
    sink.assign(static_cast<std::size_t>(group), Real(0));
    for (std::int64_t h = first_head_; h < first_head_ + group; ++h) {
      for (auto& column : columns_)
        column.clear();
      for (std::int64_t i = 0; i < shape_.readers; ++i)
        send_back(b, h, i);
      for (std::int64_t j = 0; j < shape_.reads; ++j)
        collect(b, h, j);
    }
  }

  std::vector<Real> bias, sink; ///< gradients of the group's parameters

private:
  void send_back(std::int64_t b, std::int64_t h, std::int64_t i) {
    row_.compute(b, h, i);
    const auto& reads = row_.reads();
    Real* const grad_query = gradients_.query.data != nullptr ? gradients_.query.at(b, h, i) : nullptr;
    if (grad_query != nullptr)
      std::fill_n(grad_query, shape_.width, Real(0));
    if (reads.empty())
      return;
    const Real* const g = gradients_.out.at(b, h, i);
    std::vector<Real> dp;
    for (const auto& read : reads) {
      const Real* const value = in_.value.at(b, row_.key_head(h), read.read);
      Real sum = 0;
      for (std::int64_t c = 0; c < shape_.value_width; ++c)
        sum += g[c] * value[c];
      dp.push_back(sum);
    }
    Real delta = 0;
    if (rule_.normalised)
      delta = row_.sums.template sum<Real>([&](std::size_t k) { return reads[k].weight * dp[k]; });
    if (gradients_.sink != nullptr)
      sink[static_cast<std::size_t>(h - first_head_)] -= row_.sink_weight() * delta;
    dx_.resize(reads.size() * static_cast<std::size_t>(shape_.width));
    for (std::size_t k = 0; k < reads.size(); ++k) {
      const auto& read = reads[k];
      const Message<Real> message{i, read.weight, read.per_factor * (dp[k] - delta), read.weight * (dp[k] - delta)};
      columns_[static_cast<std::size_t>(read.read)].push_back(message);
      if (gradients_.bias != nullptr)
        bias[static_cast<std::size_t>((h - first_head_) * colours_ + read.colour)] += message.of_exponent;
      if (grad_query != nullptr) {
        row_.differentiate(b, h, i, read.read, message.of_factor, message.of_exponent,
                           dx_.data() + k * static_cast<std::size_t>(shape_.width), dy_.data());
      }
    }
    if (grad_query == nullptr)
      return;
    for (std::int64_t c = 0; c < shape_.width; ++c) {
      const Real sum = row_.sums.template sum<Real>(
          [&](std::size_t k) { return dx_[k * static_cast<std::size_t>(shape_.width) + static_cast<std::size_t>(c)]; });
      grad_query[c] = row_.sums.finish(static_cast<Real>(rule_.scale) * sum);
    }
  }

  // Sums over the readers of j. Heads that share a key head add up in their order.
  void collect(std::int64_t b, std::int64_t h, std::int64_t j) {
    const std::int64_t key_head = row_.key_head(h);
    const bool first = h % (shape_.heads / shape_.key_heads) == 0;
    const auto& column = columns_[static_cast<std::size_t>(j)];
    std::vector<std::int64_t> readers;
    for (const auto& message : column)
      readers.push_back(message.reader);
    row_.sums.arrange(j, readers);
    const auto write = [&](Real* to, std::int64_t width, auto&& term) {
      for (std::int64_t c = 0; c < width; ++c) {
        const Real sum = row_.sums.template sum<Real>([&](std::size_t k) { return term(k, c); });
        to[c] = row_.sums.finish(first ? sum : to[c] + sum);
      }
    };
    if (gradients_.value.data != nullptr) {
      write(gradients_.value.at(b, key_head, j), shape_.value_width, [&](std::size_t k, std::int64_t c) {
        return column[k].weight * gradients_.out.at(b, h, column[k].reader)[c];
      });
    }
    if (gradients_.key.data != nullptr) {
      const auto width = static_cast<std::size_t>(shape_.width);
      dx_.resize(width);
      all_dy_.resize(column.size() * width);
      for (std::size_t k = 0; k < column.size(); ++k) {
        row_.differentiate(b, h, column[k].reader, j, column[k].of_factor, column[k].of_exponent, dx_.data(),
                           all_dy_.data() + k * width);
      }
      write(gradients_.key.at(b, key_head, j), shape_.width,
            [&](std::size_t k, std::int64_t c) { return all_dy_[k * width + static_cast<std::size_t>(c)]; });
    }
  }

  const AttentionRule& rule_;
  const Shape& shape_;
  const AttentionInputs<Real>& in_;
  const AttentionGradients<Real>& gradients_;
  std::int64_t colours_, first_head_ = 0;
  AttentionRow<Real> row_;
  std::vector<std::vector<Message<Real>>> columns_;
  std::vector<Real> dx_, dy_, all_dy_;
};

} // namespace

template <class Real>
void attend_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                     const AttentionOutputs<Real>& /*out*/, const AttentionGradients<Real>& gradients,
                     const Execution& execution) {
  const auto kernel = find_kernel_function(rule.kernel, shape.width);
  const std::int64_t tasks = shape.batch * shape.key_heads, group = shape.heads / shape.key_heads;
  std::vector<std::vector<Real>> bias(static_cast<std::size_t>(tasks)), sink(bias.size());
  run_each(tasks, execution.threads, [&](std::int64_t task) {
    Backward<Real> backward(plan, rule, shape, in, gradients, kernel, execution.exact);
    backward.run(task / shape.key_heads, task % shape.key_heads);
    bias[static_cast<std::size_t>(task)] = std::move(backward.bias);
    sink[static_cast<std::size_t>(task)] = std::move(backward.sink);
  });
  // Batch elements add up in their order, whoever computed them.
  const auto add_up = [&](Real* to, const std::vector<std::vector<Real>>& parts, std::int64_t per_group) {
    if (to == nullptr)
      return;
    std::fill_n(to, shape.key_heads * per_group, Real(0));
    for (std::size_t task = 0; task < parts.size(); ++task) {
      Real* const at = to + static_cast<std::int64_t>(task) % shape.key_heads * per_group;
      for (std::size_t k = 0; k < parts[task].size(); ++k)
        at[k] += parts[task][k];
    }
  };
  add_up(gradients.bias, bias, group * plan.colours());
  add_up(gradients.sink, sink, group);
}

template void attend_backward(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<float>&,
                              const AttentionOutputs<float>&, const AttentionGradients<float>&, const Execution&);
template void attend_backward(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<double>&,
                              const AttentionOutputs<double>&, const AttentionGradients<double>&, const Execution&);

} // namespace sightline::mixer::reference
