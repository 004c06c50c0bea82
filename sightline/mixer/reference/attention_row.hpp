// One row of kernel attention: its weights, as formula (12) has them.
#pragma once

#include <vector>

#include "sightline/mixer/kernel_function.hpp"
#include "sightline/mixer/reference/ordered_sum.hpp"
#include "sightline/mixer/reference/rows.hpp"

namespace sightline::mixer::reference {

/// A read that counts. weight = factor * exp(exponent) / denominator (no denominator when not normalised), per_factor =
/// exp(exponent) / denominator; exponents are those of the kernel plus bias minus slope times distance.
template <class Real> struct Weighted {
  std::int64_t read = 0, colour = 0;
  Real factor = 1, exponent = 0, weight = 0, per_factor = 0;
};

/// Computes rows of one call, one batch element and one head after the other.
template <class Real> class AttentionRow {
public:
  AttentionRow(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
               std::shared_ptr<const KernelFunction> kernel, bool exact);

  /// Weights of reader i; nothing is left of a row that is empty or whose denominator vanishes. Arranges `sums` for the
  /// row.
  void compute(std::int64_t batch, std::int64_t head, std::int64_t reader);
  [[nodiscard]] const std::vector<Weighted<Real>>& reads() const { return reads_; }
  [[nodiscard]] Real sink_weight() const { return sink_weight_; } ///< e^s / denominator
  [[nodiscard]] Real largest() const { return largest_; }
  [[nodiscard]] Real denominator() const { return denominator_; }
  [[nodiscard]] std::int64_t key_head(std::int64_t head) const { return head / (shape_.heads / shape_.key_heads); }
  /// Derivatives of the weight of (i, j) by the scaled query (dx) and the key (dy), given those by factor and exponent.
  void differentiate(std::int64_t batch, std::int64_t head, std::int64_t reader, std::int64_t read, Real of_factor,
                     Real of_exponent, Real* dx, Real* dy);
  OrderedSum sums;

private:
  void add_biases(std::int64_t head, std::int64_t reader);
  void select_largest();
  [[nodiscard]] const Real* scaled_query(std::int64_t batch, std::int64_t head, std::int64_t reader);

  const Plan& plan_;
  const AttentionRule& rule_;
  const Shape& shape_;
  const AttentionInputs<Real>& in_;
  bool exact_;
  std::shared_ptr<const KernelFunction> kernel_;
  KernelFunction::Workspace<Real> work_;
  std::vector<Real> query_;
  std::vector<Weighted<Real>> reads_;
  Real sink_weight_ = 0, largest_ = 0, denominator_ = 0;
};

} // namespace sightline::mixer::reference
