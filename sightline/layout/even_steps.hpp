// How far runs with steps stay runs with steps when their vertices are numbered anew.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// Vertices of which some are numbered, the numbers ascending. Along a step, numbers are even as long as all are there and each is as far from the
/// next. O(vertices) for each step that is asked about, and so much memory.
class EvenSteps {
public:
  static constexpr Vertex unnumbered = ~Vertex{0};
  /// @param number  by vertex
  /// @param budget  is asked for what is remembered of each step
  EvenSteps(std::vector<Vertex> number, const Budget& budget) : number_(std::move(number)), budget_(budget) {}
  EvenSteps(const EvenSteps&) = delete;
  EvenSteps& operator=(const EvenSteps&) = delete;
  ~EvenSteps() { budget_.give_back(number_.size() * sizeof(Vertex) * along_.size()); }

  [[nodiscard]] bool is_numbered(Vertex v) const { return number_[v] != unnumbered; }
  [[nodiscard]] Vertex number(Vertex v) const { return number_[v]; }
  /// By vertex: of one that is numbered the last one along the step up to which numbers are even, perhaps itself; of the others the first one along the step that
  /// is numbered, or how many vertices there are. Null beyond the first few steps.
  const std::vector<Vertex>* along(Vertex step) {
    constexpr Threshold<std::size_t> most_steps{4, 1, "even steps"};
    const auto known = std::find_if(along_.begin(), along_.end(), [step](const auto& entry) { return entry.first == step; });
    if (known != along_.end()) return &known->second;
    if (along_.size() == most_steps) return nullptr;
    const auto vertices = static_cast<Vertex>(number_.size());
    budget_.ask(vertices * sizeof(Vertex));
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
  const Budget& budget_;
  std::vector<std::pair<Vertex, std::vector<Vertex>>> along_;  ///< by step
};

}  // namespace sightline::layout
