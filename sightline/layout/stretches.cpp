#include "sightline/layout/stretches.hpp"

namespace sightline::layout {

bool StretchMarks::mark_rows(const Pattern& pattern, const Budget& budget) {
  constexpr Vertex few = 4;
  std::vector<Run> row;
  for (Vertex i = 0, end = 0; i < pattern.vertex_count(); i = end) {
    budget.poll();
    end = pattern.same_row_until(i);
    mark(i);
    mark(end);
    pattern.row(i, row);
    for (const Run& run : row) {
      if (run.step == 1) {
        mark(run.first);
        mark(std::uint64_t{run.last} + 1);
        continue;
      }
      if (run.size() > few) return false;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
        mark(j);
        mark(j + 1);
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

}  // namespace sightline::layout
