// Inside of quotients and of views: how far runs with steps stay runs with steps when their vertices are numbered anew.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "threshold.hpp"

namespace checker {

/// Vertices of which some are numbered, ascending. Along a step, numbers are even as long as all are there and each is as far from the next.
class EvenSteps {
public:
  /// @param number  by vertex, `none` for those that are left out
  explicit EvenSteps(std::vector<Vertex> number) : number_(std::move(number)) {}

  [[nodiscard]] bool is_numbered(Vertex v) const { return number_[v] != none; }
  /// By vertex: of one that is numbered the last one along the step up to which numbers are even, perhaps itself; of the others the first one along the step that is
  /// numbered, or how many vertices there are. Null beyond the first few steps.
  const std::vector<Vertex>* along(Vertex step) {
    constexpr Threshold<std::size_t> most_steps{4, 1, "even steps"};
    const auto known = std::ranges::find(along_, step, [](const auto& entry) { return entry.first; });
    if (known != along_.end()) return &known->second;
    if (along_.size() == most_steps) return nullptr;
    const auto vertices = static_cast<Vertex>(number_.size());
    std::vector<Vertex>& along = along_.emplace_back(step, std::vector<Vertex>(vertices)).second;
    for (Vertex v = vertices; v-- > 0;) {
      const bool is_last = vertices - v <= step;
      if (!is_numbered(v)) {
        along[v] = is_last ? vertices : is_numbered(v + step) ? v + step : along[v + step];
        continue;
      }
      along[v] = v;
      if (is_last || !is_numbered(v + step)) continue;
      const bool goes_on = along[v + step] > v + step && number_[v + 2 * step] - number_[v + step] == number_[v + step] - number_[v];
      along[v] = goes_on ? along[v + step] : v + step;
    }
    return &along;
  }

private:
  std::vector<Vertex> number_;
  std::vector<std::pair<Vertex, std::vector<Vertex>>> along_;  ///< by step
};

}  // namespace checker
