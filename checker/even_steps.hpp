// Inside of quotients and of views: how far runs with steps stay runs with steps when their vertices are numbered anew.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "layout.hpp"

namespace checker {

/// Vertices of which some are numbered, ascending; of the first few steps that are asked about.
class EvenSteps {
public:
  /// @param number  by vertex, `none` for those that are left out
  explicit EvenSteps(std::vector<Vertex> number) : number_(std::move(number)) {}

  [[nodiscard]] Vertex number(Vertex v) const { return number_[v]; }
  /// By vertex the last one along the step up to which all are numbered, each as far from the next; null for further steps.
  const std::vector<Vertex>* along(Vertex step) {
    constexpr std::size_t most_steps = 4;
    const auto known = std::ranges::find(until_, step, [](const auto& entry) { return entry.first; });
    if (known != until_.end()) return &known->second;
    if (until_.size() == most_steps) return nullptr;
    std::vector<Vertex>& until = until_.emplace_back(step, std::vector<Vertex>(number_.size())).second;
    for (auto v = static_cast<Vertex>(number_.size()); v-- > 0;) {
      until[v] = v;
      if (number_.size() - v <= step || number_[v] == none || number_[v + step] == none) continue;
      const bool goes_on = until[v + step] > v + step && number_[v + 2 * step] - number_[v + step] == number_[v + step] - number_[v];
      until[v] = goes_on ? until[v + step] : v + step;
    }
    return &until;
  }

private:
  std::vector<Vertex> number_;
  std::vector<std::pair<Vertex, std::vector<Vertex>>> until_;
};

}  // namespace checker
