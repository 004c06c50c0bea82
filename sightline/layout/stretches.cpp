#include "sightline/layout/stretches.hpp"

#include <algorithm>

#include "sightline/base/threshold.hpp"

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

namespace {

std::vector<Vertex> number_beginnings(const KeptVertices& kept, Vertex vertices) {
  std::vector<Vertex> number(std::size_t{vertices} + 1, EvenSteps::unnumbered);
  for (Vertex k = 0; k < kept.first.size(); ++k) {
    if (kept.lead[k] == k) number[kept.first[k]] = k;
  }
  number[vertices] = kept.place[vertices];
  return number;
}

}  // namespace

KeptRuns::KeptRuns(const KeptVertices& kept, Vertex vertices, const Budget& budget) : place_(kept.place), even_(number_beginnings(kept, vertices), budget) {}

void KeptRuns::append(const WideRun& run, std::vector<Run>& out) {
  constexpr Threshold<Vertex> few{4, 1, "few stretches"};
  const std::vector<Vertex>* const until = run.count < few ? nullptr : even_.along(run.step);
  for (std::uint64_t k = 0, at = run.first; k < run.count; ++k, at += run.step) {
    const auto j = static_cast<Vertex>(at);
    const Vertex first = place_[j], width = place_[j + run.width] - first;
    const std::uint64_t far = until == nullptr ? 0 : std::min({std::uint64_t{(*until)[j]} - j, std::uint64_t{(*until)[j + run.width]} - (j + run.width), (std::uint64_t{run.count} - 1 - k) * run.step}) / run.step;
    const Vertex gap = far == 0 ? 0 : place_[j + run.step] - first;
    if (far < 2 || place_[j + run.width + run.step] - place_[j + run.width] != gap) {
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
