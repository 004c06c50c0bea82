// From an attention rule as written to what the kernels compute with.
#pragma once

#include <vector>

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

/// False when the rule is not one that the kernels know (the reference computes it). The sink is set per head.
template <class Real> [[nodiscard]] bool translate(const AttentionRule& rule, Rule<Real>& out);

/// A kernel written as an expression in x.y, |x|^2, |y|^2, |x - y|^2.
template <class Real> class ProgramNumbers {
public:
  /// False when the expression holds anything else, or is too long. `out` points into this object.
  [[nodiscard]] bool build(const AttentionRule& rule, std::int64_t width, Rule<Real>& out);

private:
  std::vector<ProgramStep<Real>> steps_;
  std::vector<Real> constants_;
  Program<Real> program_;
};

/// eps and the head's sink, to base 2.
template <class Real> void set_extra(const AttentionRule& rule, const Real* sink, std::int64_t head, Rule<Real>& out);

/// Learned biases and slopes that depend on i - j alone, one table per head.
template <class Real> class OffsetBias {
public:
  /// False when they depend on more than i - j. Nothing to add: tables are null.
  /// The shape's heads are the rule's from first_head on; the bias is theirs.
  [[nodiscard]] bool build(const Plan& plan, const AttentionRule& rule, const Shape& shape, std::int64_t first_head,
                           const Real* bias);
  /// Indexed by i - j.
  [[nodiscard]] const Real* table(std::int64_t head) const {
    return tables_.empty() ? nullptr : tables_.data() + head * length_ + zero_;
  }

  [[nodiscard]] std::int64_t length() const { return length_; } ///< of a table
  [[nodiscard]] std::int64_t zero() const { return zero_; }     ///< where i - j = 0 is
  /// The gradients of a head's biases from those of its offsets, `sums` [length].
  void set_gradient(const Plan& plan, std::int64_t head, const double* sums, Real* bias) const;

private:
  [[nodiscard]] static std::int64_t colour_of(const Plan& plan, const layout::Relation* relation, std::int64_t offset);
  std::int64_t first_head_ = 0;
  std::vector<Real> tables_;
  std::int64_t length_ = 0, zero_ = 0;
};

} // namespace sightline::mixer::cpu
