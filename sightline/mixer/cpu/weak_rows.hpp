// Rows of sums of features whose weights all lie near the smallest numbers of the type (queries and keys far from each
// other's best features): computed again by the reference, each alone, so that what others read does not matter to it.
// Their statistics, 0 and an exponent above all others, leave them out of the backward pass; they are added at its end.
#pragma once

#include <optional>
#include <vector>

#include "sightline/mixer/cpu/pool.hpp"
#include "sightline/mixer/kernel_function.hpp"
#include "sightline/mixer/reference/attention_row.hpp"

namespace sightline::mixer::cpu {

template <class Real> class WeakRows {
public:
  WeakRows(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
           const AttentionOutputs<Real>& out, const Execution& execution)
      : plan_(plan), rule_(rule), shape_(shape), in_(in), out_(out), execution_(execution) {}

  /// Outputs of the weak rows, once all others are there.
  void redo() {
    if (!holds_for_any(is_weak))
      return;
    kernel_ = find_kernel_function(rule_.kernel, shape_.width);
    run_tasks(shape_.batch * shape_.heads, execution_.threads, [&](std::int64_t task, int) {
      const std::int64_t b = task / shape_.heads, h = task % shape_.heads;
      std::optional<Row> row;
      for (std::int64_t i = 0; i < shape_.readers; ++i) {
        Real* const statistics = statistics_of(b, h, i);
        if (!is_weak(statistics))
          continue;
        compute(row, b, h, i);
        for (std::int64_t c = 0; c < shape_.value_width; ++c) {
          const Real sum = row->sums.template sum<Real>(
              [&](std::size_t k) { return row->reads()[k].weight * value_of(b, h, row->reads()[k].read)[c]; });
          out_.out.at(b, h, i)[c] = row->reads().empty() ? Real(0) : row->sums.finish(sum);
        }
        statistics[0] = redone;
        statistics[1] = 0;
      }
    });
  }

  /// Whether any row was done again.
  [[nodiscard]] bool any() const { return holds_for_any(is_redone); }

  /// Adds what the rows done again send back.
  void backward(const AttentionGradients<Real>& gradients) {
    if (!any())
      return;
    kernel_ = find_kernel_function(rule_.kernel, shape_.width);
    run_tasks(shape_.key_heads, execution_.threads, [&](std::int64_t key_head, int) {
      std::optional<Row> row;
      for (std::int64_t b = 0; b < shape_.batch; ++b) {
        for (std::int64_t h = key_head * group(); h < (key_head + 1) * group(); ++h) {
          for (std::int64_t i = 0; i < shape_.readers; ++i) {
            if (is_redone(statistics_of(b, h, i)))
              send_back(row, gradients, b, h, i);
          }
        }
      }
    });
  }

private:
  using Row = reference::AttentionRow<Real>;
  static constexpr Real redone = Real(2e30F);

  static bool is_weak(const Real* statistics) {
    const Real most = sizeof(Real) == 4 ? Real(0x1p90) : Real(0x1p300 * 0x1p300);
    return statistics[1] > most || (statistics[1] == Real(0) && statistics[0] > Real(-1e29F));
  }
  static bool is_redone(const Real* statistics) { return statistics[0] == redone && statistics[1] == Real(0); }

  template <class Holds> [[nodiscard]] bool holds_for_any(Holds holds) const {
    for (std::int64_t k = 0; k < shape_.batch * shape_.heads * shape_.readers; ++k) {
      if (holds(out_.statistics + 2 * k))
        return true;
    }
    return false;
  }
  [[nodiscard]] std::int64_t group() const { return shape_.heads / shape_.key_heads; }
  [[nodiscard]] Real* statistics_of(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return out_.statistics + 2 * ((b * shape_.heads + h) * shape_.readers + i);
  }
  [[nodiscard]] const Real* value_of(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return in_.value.at(b, h / group(), j);
  }
  void compute(std::optional<Row>& row, std::int64_t b, std::int64_t h, std::int64_t i) const {
    if (!row)
      row.emplace(plan_, rule_, shape_, in_, kernel_, execution_.exact);
    row->compute(b, h, i);
  }

  // As reference/attention_backward.cpp.
  void send_back(std::optional<Row>& row, const AttentionGradients<Real>& gradients, std::int64_t b, std::int64_t h,
                 std::int64_t i) const {
    const auto width = static_cast<std::size_t>(shape_.width);
    std::vector<Real> products, dx(width), dy(width), query(width, Real(0));
    compute(row, b, h, i);
    const Real* const g = gradients.out.at(b, h, i);
    Real middle = 0;
    for (const auto& read : row->reads()) {
      products.push_back(0);
      for (std::int64_t c = 0; c < shape_.value_width; ++c)
        products.back() += g[c] * value_of(b, h, read.read)[c];
      middle += read.weight * products.back();
    }
    for (std::size_t k = 0; k < products.size(); ++k) {
      const auto read = row->reads()[k];
      const Real above = products[k] - middle;
      for (std::int64_t c = 0; c < shape_.value_width && gradients.value.data != nullptr; ++c)
        gradients.value.at(b, h / group(), read.read)[c] += read.weight * g[c];
      if (gradients.bias != nullptr)
        gradients.bias[h * plan_.colours() + read.colour] += read.weight * above;
      row->differentiate(b, h, i, read.read, read.per_factor * above, read.weight * above, dx.data(), dy.data());
      for (std::size_t c = 0; c < width; ++c) {
        query[c] += dx[c];
        if (gradients.key.data != nullptr)
          gradients.key.at(b, h / group(), read.read)[c] += dy[c];
      }
    }
    for (std::size_t c = 0; c < width && gradients.query.data != nullptr; ++c)
      gradients.query.at(b, h, i)[c] = static_cast<Real>(rule_.scale) * query[c];
    if (gradients.sink != nullptr)
      gradients.sink[h] -= row->sink_weight() * middle;
  }

  const Plan& plan_;
  const AttentionRule& rule_;
  const Shape& shape_;
  const AttentionInputs<Real>& in_;
  const AttentionOutputs<Real>& out_;
  const Execution& execution_;
  std::shared_ptr<const KernelFunction> kernel_; // compiled when a row asks for it
};

} // namespace sightline::mixer::cpu
