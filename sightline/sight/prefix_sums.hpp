// Sums over what stands along a step, for rows that read by it. Not for other rooms.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::sight {

/// Sums of numbers that are put in one after the other, along every step that rows use.
class PrefixSums {
public:
  explicit PrefixSums(layout::Vertex vertices) : vertices_(vertices) {}

  // Not when there are many others.
  void use(layout::Vertex step) {
    if (!knows(step) && sums_.size() < most_steps) sums_.emplace(step, std::vector<std::uint64_t>(std::size_t{vertices_} + step, 0));
  }
  /// All steps by which the rows of the relation may read.
  void use(const layout::Pattern& pattern) {
    for (const layout::AffineRun& run : pattern.affine_runs()) {
      if (run.step > 1) use(run.step);
    }
    for (const layout::Pattern::RunList& list : pattern.lists()) {
      layout::split_into_runs(pattern.written(list), [&](layout::Vertex, layout::Vertex, layout::Vertex step) { use(step); });
    }
  }

  [[nodiscard]] bool knows(layout::Vertex step) const { return sums_.count(step) != 0; }

  /// In ascending order.
  void put(layout::Vertex x, std::uint64_t value) {
    for (auto& [step, sum] : sums_) sum[std::size_t{x} + step] = sum[x] + value;
  }

  /// Of a step that is known.
  [[nodiscard]] std::uint64_t over(layout::Vertex first, layout::Vertex last, layout::Vertex step) const {
    const std::vector<std::uint64_t>& sum = sums_.at(step);
    return sum[std::size_t{last} + step] - sum[first];
  }

private:
  static constexpr Threshold<std::size_t> most_steps{8, 1, "prefix sums"};
  layout::Vertex vertices_;
  std::map<layout::Vertex, std::vector<std::uint64_t>> sums_;
};

}  // namespace sightline::sight
