#include <algorithm>

#include "sightline/mixer/reference/attention_row.hpp"
#include "sightline/mixer/reference/reference.hpp"
#include "sightline/mixer/reference/tasks.hpp"

namespace sightline::mixer::reference {

template <class Real>
void attend(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
            const AttentionOutputs<Real>& out, const Execution& execution) {
  const auto kernel = find_kernel_function(rule.kernel, shape.width);
  run_each(shape.batch * shape.heads, execution.threads, [&](std::int64_t task) {
    const std::int64_t b = task / shape.heads, h = task % shape.heads;
    AttentionRow<Real> row(plan, rule, shape, in, kernel, execution.exact);
    for (std::int64_t i = 0; i < shape.readers; ++i) {
      row.compute(b, h, i);
      const auto& reads = row.reads();
      Real* const result = out.out.at(b, h, i);
      for (std::int64_t c = 0; c < shape.value_width; ++c) {
        result[c] = reads.empty() ? Real(0) : row.sums.finish(row.sums.template sum<Real>([&](std::size_t k) {
          return reads[k].weight * in.value.at(b, row.key_head(h), reads[k].read)[c];
        }));
      }
      const std::int64_t number = task * shape.readers + i;
      if (out.statistics != nullptr) {
        out.statistics[2 * number] = row.largest();
        out.statistics[2 * number + 1] = row.denominator();
      }
      if (out.attention != nullptr) {
        Real* const weights = out.attention + number * shape.reads;
        std::fill_n(weights, shape.reads, Real(0));
        for (const auto& read : reads)
          weights[read.read] = row.sums.finish(read.weight);
      }
    }
  });
}

template void attend(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<float>&,
                     const AttentionOutputs<float>&, const Execution&);
template void attend(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<double>&,
                     const AttentionOutputs<double>&, const Execution&);

} // namespace sightline::mixer::reference
