// How far runs with steps stay runs with steps when their vertices are numbered anew.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// Vertices of which some are numbered, the numbers ascending. Along a step, numbers are even as long as all are there and each is as far from the
/// next. O(vertices) for each step that is asked about, and so much memory.
class EvenSteps {
public:
  static constexpr Vertex unnumbered = ~Vertex{0};
  /// @param number  by vertex
  /// @param most_steps  nothing is known about further steps
  explicit EvenSteps(std::vector<Vertex> number, std::size_t most_steps = 4) : number_(std::move(number)), most_steps_(most_steps) {}

  [[nodiscard]] Vertex number(Vertex v) const { return number_[v]; }
  /// By vertex the last one up to which numbers are even along the step, itself where the next is none; null beyond the first few steps.
  const std::vector<Vertex>* along(Vertex step) {
    const auto known = std::find_if(until_.begin(), until_.end(), [step](const auto& entry) { return entry.first == step; });
    if (known != until_.end()) return &known->second;
    if (until_.size() == most_steps_) return nullptr;
    const auto vertices = static_cast<Vertex>(number_.size());
    std::vector<Vertex>& until = until_.emplace_back(step, std::vector<Vertex>(vertices)).second;
    for (Vertex v = vertices; v-- > 0;) {
      until[v] = v;
      if (vertices - v <= step || number_[v] == unnumbered || number_[v + step] == unnumbered) continue;
      const bool goes_on = until[v + step] > v + step && number_[v + 2 * step] - number_[v + step] == number_[v + step] - number_[v];
      until[v] = goes_on ? until[v + step] : v + step;
    }
    return &until;
  }

private:
  std::vector<Vertex> number_;
  std::size_t most_steps_;
  std::vector<std::pair<Vertex, std::vector<Vertex>>> until_;
};

}  // namespace sightline::layout
