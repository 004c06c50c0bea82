#include "sightline/layout/stretches.hpp"

#include <algorithm>

namespace sightline::layout {

bool StretchMarks::mark_rows(const Pattern& pattern, const Budget& budget) {
  std::vector<Run> row;
  std::vector<WideRun> wide;
  for (Vertex i = 0, end = 0; i < pattern.vertex_count(); i = end) {
    budget.poll();
    end = pattern.same_row_until(i);
    mark(i);
    mark(end);
    pattern.row(i, row);
    widen(row, wide);
    for (const WideRun& run : wide) {
      if (run.count > 1 && !stepped_.emplace(run.first, run.width, run.step, run.count).second) continue;
      for (std::uint64_t k = 0, j = run.first; k < run.count; ++k, j += run.step) {
        mark(j);
        mark(j + run.width);
      }
    }
    if (too_many()) return false;
  }
  return true;
}

std::vector<Vertex> StretchMarks::list() const {
  std::vector<Vertex> out;
  for (std::size_t v = 0; v + 1 < begins_.size(); ++v) {
    if (begins_[v]) out.push_back(static_cast<Vertex>(v));
  }
  return out;
}

KeptVertices keep_two(const StretchMarks& marks, Vertex vertices) {
  KeptVertices kept;
  kept.place.resize(std::size_t{vertices} + 1);
  const std::vector<Vertex> begins = marks.list();
  for (std::size_t k = 0; k < begins.size(); ++k) {
    const Vertex v = begins[k], end = k + 1 < begins.size() ? begins[k + 1] : vertices;
    const auto place = static_cast<Vertex>(kept.first.size());
    kept.place[v] = place;
    kept.first.push_back(v);
    kept.count.push_back(1);
    kept.lead.push_back(place);
    if (end == v + 1) continue;
    kept.first.push_back(v + 1);
    kept.count.push_back(end - v - 1);
    kept.lead.push_back(place);
  }
  kept.place[vertices] = static_cast<Vertex>(kept.first.size());
  return kept;
}

const std::vector<Vertex>* KeptRuns::find_even(Vertex step) {
  constexpr std::size_t most_steps = 4;
  const auto known = std::find_if(even_.begin(), even_.end(), [step](const auto& entry) { return entry.first == step; });
  if (known != even_.end()) return &known->second;
  if (even_.size() == most_steps) return nullptr;
  std::vector<bool> begins(std::size_t{vertices_} + 1, false);
  for (std::size_t k = 0; k < kept_.first.size(); ++k) begins[kept_.first[k]] = kept_.lead[k] == k;
  begins[vertices_] = true;
  std::vector<Vertex>& until = even_.emplace_back(step, std::vector<Vertex>(std::size_t{vertices_} + 1)).second;
  const std::vector<Vertex>& place = kept_.place;
  for (Vertex v = vertices_ + 1; v-- > 0;) {
    until[v] = v;
    if (vertices_ - v < step || !begins[v] || !begins[v + step]) continue;
    const bool goes_on = until[v + step] > v + step && place[v + 2 * step] - place[v + step] == place[v + step] - place[v];
    until[v] = goes_on ? until[v + step] : v + step;
  }
  return &until;
}

void KeptRuns::append(const WideRun& run, std::vector<Run>& out) {
  constexpr Vertex few = 4;
  const std::vector<Vertex>& place = kept_.place;
  const std::vector<Vertex>* const until = run.count < few ? nullptr : find_even(run.step);
  for (std::uint64_t k = 0, at = run.first; k < run.count; ++k, at += run.step) {
    const auto j = static_cast<Vertex>(at);
    const Vertex first = place[j], width = place[j + run.width] - first;
    const std::uint64_t far = until == nullptr ? 0 : std::min({std::uint64_t{(*until)[j]} - j, std::uint64_t{(*until)[j + run.width]} - (j + run.width), (std::uint64_t{run.count} - 1 - k) * run.step}) / run.step;
    const Vertex gap = far == 0 ? 0 : place[j + run.step] - first;
    if (far < 2 || place[j + run.width + run.step] - place[j + run.width] != gap) {
      out.push_back({first, first + width - 1, 1});
      continue;
    }
    const Vertex last = first + static_cast<Vertex>(far) * gap;
    if (gap == width) out.push_back({first, last + width - 1, 1});
    for (Vertex q = 0; gap != width && q < width; ++q) out.push_back({first + q, last + q, gap});
    k += far;
    at += far * run.step;
  }
}

}  // namespace sightline::layout
