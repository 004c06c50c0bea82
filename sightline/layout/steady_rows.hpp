// Rows of successive readers, without going again through runs that stay as they are from reader to reader.
#pragma once

#include <vector>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// Goes through the readers of a pattern in ascending order, stretch by stretch: in a stretch some runs are the same for all readers (the summary columns of
/// a fixed pattern, which a causal cut moves past no member), and only the rest is written down reader by reader. Stretches without such runs are single readers.
class SteadyRows {
public:
  /// @param fewest_runs  with less of them in common, readers stay by themselves
  explicit SteadyRows(const Pattern& pattern, std::size_t fewest_runs) : pattern_(pattern), fewest_runs_(fewest_runs) {}

  /// Goes to reader i, and says whether a stretch begins there. First 0, then one more each time, or the end() of the stretch.
  bool go_to(Vertex i);
  [[nodiscard]] Vertex end() const { return end_; }
  /// Pattern::same_row_until of the reader gone to.
  [[nodiscard]] Vertex same_row_until(Vertex i) const { return is_constant_ ? segment_end_ : i + 1; }
  /// What all readers of the stretch read.
  [[nodiscard]] const std::vector<Run>& steady() const { return steady_; }
  /// Is that all they read?
  [[nodiscard]] bool is_whole() const { return !steady_.empty() && moving_.empty(); }
  /// What reader i reads beyond that, sorted. O(runs that move).
  void rest(Vertex i, std::vector<Run>& out) const;

private:
  static constexpr Threshold<Vertex> fewest_readers{8, 2, "steady rows"};

  const Pattern& pattern_;
  std::size_t fewest_runs_;
  std::size_t next_segment_ = 0;
  Vertex segment_end_ = 0, end_ = 0;
  bool is_constant_ = false;  ///< have all readers of the segment one row?
  std::vector<Run> steady_;
  std::vector<AffineRun> moving_;
};

}  // namespace sightline::layout
