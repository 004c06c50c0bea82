// Inside of views.hpp: what many rows say about each vertex that they hold, in one sum.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "field.hpp"
#include "layout.hpp"
#include "threshold.hpp"

namespace checker {

/// Numbers for what rows hold, added up by vertex; runs of one colour are written down at their ends, along their step.
class RowMarks {
public:
  explicit RowMarks(Vertex vertices) : marks_(vertices, 0) {}

  void add(const Run& run, std::uint64_t value) {
    constexpr Threshold<std::size_t> most_steps{8, 1, "row marks"};
    const auto at = run.size() < 4 || (ends_.size() == most_steps && !ends_.contains(run.step)) ? ends_.end() : ends_.try_emplace(run.step, marks_.size() + run.step, 0).first;
    if (at == ends_.end()) {
      for (Vertex k = 0; k < run.size(); ++k) marks_[run.first + k * run.step] += value;
      return;
    }
    at->second[run.first] += value;
    at->second[std::size_t{run.last} + run.step] -= value;
  }

  /// What one reader reads by the run, colour by colour. Returns the steps it took.
  std::uint64_t add_row_run(const Run& run, std::uint64_t reader) {
    if (run.colour_step == 0) {
      add(run, mix(reader, static_cast<std::uint64_t>(run.colour)));
      return 1;
    }
    for (Vertex k = 0; k < run.size(); ++k) marks_[run.first + k * run.step] += mix(reader, static_cast<std::uint64_t>(run.colour + k * run.colour_step));
    return run.size();
  }

  [[nodiscard]] std::vector<std::uint64_t> take() {
    for (auto& [step, open] : ends_) {
      for (std::size_t j = 0; j < marks_.size(); ++j) {
        if (j >= step) open[j] += open[j - step];
        marks_[j] += open[j];
      }
    }
    ends_.clear();
    return std::move(marks_);
  }

private:
  std::vector<std::uint64_t> marks_;
  std::map<Vertex, std::vector<std::uint64_t>> ends_;  ///< by step
};

}  // namespace checker
