#include "sightline/layout/token_lists.hpp"

#include <algorithm>

#include "sightline/base/threshold.hpp"

namespace sightline::layout {

bool TokenLists::read() {
  const Vertex n = layout_.tokens;
  bool goes_down = true;
  for (const Relation& relation : layout_.relations) {
    const Pattern& pattern = relation.pattern();
    if (relation.relative().kind != RelativeKind::none) return false;
    first_.push_back(count_);
    std::vector<Vertex> last(pattern.lists().size(), 0), size(pattern.lists().size(), 0);
    for (std::uint32_t l = 0; l < pattern.lists().size(); ++l) {
      if (!pattern.is_constant(l)) return false;
      const auto count_run = [&](Vertex first, Vertex end, Vertex step) {
        ++runs_;
        last[l] = std::max(last[l], end);
        size[l] += (end - first) / step + 1;
      };
      if (const auto written = pattern.written(pattern.lists()[l]); !written.empty()) {
        split_into_runs(written, count_run);
      } else {
        pattern.row_by(pattern.lists()[l], 0, row_);
        for (const Run& run : row_) count_run(run.first, run.last, run.step);
      }
      listed_ += size[l];
    }
    constexpr Threshold<std::uint64_t> readers_per_list{8, 1, "few lists"};
    is_few_ = is_few_ && pattern.lists().size() * readers_per_list <= n;
    count_ += static_cast<std::uint32_t>(pattern.lists().size());
    read_.emplace_back(n);
    const auto& segments = pattern.segments();
    for (std::size_t s = 0; s < segments.size(); ++s) {
      goes_down = goes_down && last[segments[s].list] <= segments[s].begin;
      const Vertex end = s + 1 < segments.size() ? segments[s + 1].begin : n;
      arcs_ += std::uint64_t{size[segments[s].list]} * (end - segments[s].begin);
      std::fill(read_.back().begin() + segments[s].begin, read_.back().begin() + end, first_.back() + segments[s].list);
    }
  }
  return !goes_down;
}

std::pair<const Pattern*, const Pattern::RunList*> TokenLists::find(std::uint32_t list) const {
  const auto relation = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), list) - first_.begin()) - 1;
  const Pattern& pattern = layout_.relations[relation].pattern();
  return {&pattern, &pattern.lists()[list - first_[relation]]};
}

std::span<const Vertex> TokenLists::written(std::uint32_t list) const {
  const auto& [pattern, runs] = find(list);
  return pattern->written(*runs);
}

const std::vector<Run>& TokenLists::runs_of(std::uint32_t list) {
  const auto& [pattern, runs] = find(list);
  pattern->row_by(*runs, 0, row_);
  budget_.poll();
  return row_;
}

const Members& TokenLists::members(std::uint32_t list) {
  members_.clear();
  visit(list, [this](Vertex vertex, std::uint32_t colour) { members_.emplace_back(vertex, colour); });
  return members_;
}

}  // namespace sightline::layout
