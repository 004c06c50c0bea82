// Rows with their colours, and biases that go by colour.
#pragma once

#include <vector>

#include "sightline/mixer/cpu/tiles.hpp"

namespace sightline::mixer::cpu {

/// Found once per plan. Colours, readers and reads must fit 31 bits.
[[nodiscard]] const std::vector<ColourRows>& find_colour_rows(const Plan& plan);
/// The runs of a reader's row, by rising first read.
[[nodiscard]] ColourSpan find_span(const ColourRows& rows, std::int64_t reader);
/// Writes the colours of the arcs of readers taken one by one; `rows` must be arcs of the coloured rows.
void find_arc_colours(const ColourRows& coloured, const SparseList& rows);
/// The same for all relations of a compiled plan, once.
void find_arc_colours(const Plan& plan, const CompiledPlan& compiled);

/// The colours of the arcs of find_exact_rows (exact.hpp), by relation, once.
[[nodiscard]] const std::vector<std::vector<std::int32_t>>& find_exact_colours(const Plan& plan,
                                                                               const std::vector<Tiles>& exact_rows);

/// Learned biases of any colouring and slopes beside registers, one table per head. What OffsetBias leaves.
template <class Real> class ColourBiases {
public:
  /// False when there are more colours than a call should carry. The shape's heads are the rule's from first_head on;
  /// the bias is theirs.
  [[nodiscard]] bool build(const Plan& plan, const AttentionRule& rule, const Shape& shape, std::int64_t first_head,
                           const Real* bias);
  /// Null before build().
  [[nodiscard]] const ColourBias<Real>* of(std::int64_t head) const {
    return heads_.empty() ? nullptr : &heads_[static_cast<std::size_t>(head)];
  }
  [[nodiscard]] bool has_table() const { return !tables_.empty(); }

private:
  std::vector<ColourBias<Real>> heads_;
  std::vector<Real> tables_;
};

} // namespace sightline::mixer::cpu
