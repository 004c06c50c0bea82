// From an attention rule as written to what the kernels compute with.
#pragma once

#include <optional>
#include <vector>

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

inline constexpr double log2_e = 1.44269504088896340736;

/// False when the rule is not one that the kernels know (the reference computes it). The sink is set per head.
template <class Real> [[nodiscard]] bool translate(const AttentionRule& rule, Rule<Real>& out);

/// The kernels' operation for that of an expression; none for dot products and what makes no number.
[[nodiscard]] std::optional<Operation> find_operation(attention_kernel::Op op);

enum class Names { none, allowed };
/// A kernel written as an expression in x.y, |x|^2, |y|^2, |x - y|^2.
template <class Real> class ProgramNumbers {
public:
  /// False when the expression holds anything else, or is too long. `out` points into this object. Names::allowed: what
  /// is another kernel under another name becomes that.
  [[nodiscard]] bool build(const AttentionRule& rule, std::int64_t width, Names names, Rule<Real>& out);

private:
  std::vector<ProgramStep<Real>> steps_;
  std::vector<Real> constants_;
  Program<Real> program_;
};

/// eps and the head's sink, to base 2.
template <class Real> void set_extra(const AttentionRule& rule, const Real* sink, std::int64_t head, Rule<Real>& out);

/// Learned biases and slopes that depend on i - j alone among tokens, and are one number where a register is read; one
/// table per head.
template <class Real> class OffsetBias {
public:
  /// False when they depend on more than that. Nothing to add: tables are null.
  /// The shape's heads are the rule's from first_head on; the bias is theirs.
  [[nodiscard]] bool build(const Plan& plan, const AttentionRule& rule, const Shape& shape, std::int64_t first_head,
                           const Real* bias);
  /// Indexed by i - j.
  [[nodiscard]] const Real* table(std::int64_t head) const {
    return tables_.empty() ? nullptr : tables_.data() + head * length_ + zero_;
  }

  [[nodiscard]] std::int64_t length() const { return length_; } ///< of a table
  [[nodiscard]] std::int64_t zero() const { return zero_; }     ///< where i - j = 0 is
  /// Vertices from here on are registers. Their own rows, where i - j says nothing, are left to ColourBiases.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] bool has_registers() const { return has_registers_; }
  /// A table's numbers from here on, relative to i - j = 0, are those of registers, as many as a tile has readers.
  [[nodiscard]] std::ptrdiff_t registers_at() const { return length_ - tile_readers - zero_; }
  /// Adds the gradients of a head's offsets, `sums` [length], to those of its colours, `totals` [colours].
  void add_gradient(const Plan& plan, std::int64_t head, const double* sums, double* totals) const;

private:
  [[nodiscard]] static std::int64_t colour_of(std::int64_t tokens, const layout::Relation* relation, std::int64_t offset);
  std::int64_t first_head_ = 0;
  std::vector<Real> tables_;
  std::int64_t length_ = 0, zero_ = 0, tokens_ = 0;
  bool has_registers_ = false;
};

} // namespace sightline::mixer::cpu
