// What ranges with steps add to each of their members, without going through the members. Not for other rooms but certificate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::sight {

/// sums[j] = the sum of the values of all ranges first, first+step, .., last that hold j. A difference array for each of the first few steps that
/// occur; ranges of further steps, and short ones, are gone through. O(ranges + vertices * steps).
/// Values must be added exactly (integers, also when held in a double): they come in another order.
template <class Value>
class SteppedSums {
public:
  explicit SteppedSums(layout::Vertex vertices) : sums_(vertices, 0) {}

  void add(layout::Vertex first, layout::Vertex last, layout::Vertex step, Value value) {
    std::vector<Value>* const change = last - first < std::uint64_t{short_range} * step ? nullptr : find_change(step);
    if (change == nullptr) {
      for (std::uint64_t j = first; j <= last; j += step) sums_[j] += value;
      return;
    }
    (*change)[first] += value;
    (*change)[std::size_t{last} + step] -= value;
  }

  [[nodiscard]] std::vector<Value> take() && {
    for (auto& [step, change] : changes_) {
      for (std::size_t j = step; j < sums_.size(); ++j) change[j] += change[j - step];
      for (std::size_t j = 0; j < sums_.size(); ++j) sums_[j] += change[j];
    }
    return std::move(sums_);
  }

private:
  /// The differences of a step; null beyond the first few steps.
  std::vector<Value>* find_change(layout::Vertex step) {
    const auto at = std::find_if(changes_.begin(), changes_.end(), [step](const auto& entry) { return entry.first == step; });
    if (at != changes_.end()) return &at->second;
    if (changes_.size() == most_steps) return nullptr;
    return &changes_.emplace_back(step, std::vector<Value>(sums_.size() + step, 0)).second;
  }

  static constexpr Threshold<layout::Vertex> short_range{4, 1, "stepped sums"};
  static constexpr Threshold<std::size_t> most_steps{4, 1, "stepped sums"};
  std::vector<Value> sums_;
  std::vector<std::pair<layout::Vertex, std::vector<Value>>> changes_;
};

}  // namespace sightline::sight
