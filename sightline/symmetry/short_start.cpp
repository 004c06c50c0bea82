// The first stage of a twin tower on stretches: neighbours with one row everywhere, which every row reads alike.
#include <algorithm>
#include <numeric>

#include "sightline/layout/stretches.hpp"
#include "sightline/symmetry/tower.hpp"

namespace sightline::symmetry {

namespace {

constexpr Vertex few_vertices = 8192, share = 16;

/// Stretches of the structure: colours and visibility are the same within them as well. Nothing where they are short.
std::optional<layout::KeptVertices> keep_stretches(const Structure& structure, const Budget& budget) {
  const Vertex n = structure.vertices;
  if (n < few_vertices || structure.relations.empty() || structure.vertex_colour.size() != n) return std::nullopt;
  layout::StretchMarks marks(n, n / share);
  for (Vertex v = 1; v < structure.vertex_colour.size() && !marks.too_many(); ++v) {
    if (structure.vertex_colour[v] != structure.vertex_colour[v - 1]) marks.mark(v);
  }
  for (const VisibleRelation& relation : structure.relations) {
    if (relation.relation == nullptr || relation.relation->vertex_count() != n || relation.relation->relative().kind != layout::RelativeKind::none) return std::nullopt;
    if (!relation.visible.empty() && relation.visible.size() != n) return std::nullopt;
    for (Vertex v = 1; v < relation.visible.size() && !marks.too_many(); ++v) {
      if (relation.visible[v] != relation.visible[v - 1]) marks.mark(v);
    }
    if (marks.too_many() || !marks.mark_rows(relation.relation->pattern(), budget)) return std::nullopt;
  }
  return layout::keep_two(marks, n);
}

RunGraph make_kept_graph(const Structure& structure, const layout::KeptVertices& kept, const Budget& budget) {
  std::vector<std::uint64_t> colour;
  for (const Vertex x : kept.first) colour.push_back(structure.vertex_colour[x]);
  const auto count = static_cast<Vertex>(kept.first.size());
  RunGraphBuilder builder(count, std::move(colour), budget);
  std::vector<ColouredRun> row, mapped;
  std::vector<layout::WideRun> wide;
  for (const VisibleRelation& relation : structure.relations) {
    builder.begin_relation();
    for (Vertex k = 0; k < count; ++k) {
      budget.poll();
      if (kept.lead[k] != k) {
        builder.repeat_row(k - 1);
        continue;
      }
      const bool visible = relation.visible.empty() || relation.visible[kept.first[k]];
      mapped.clear();
      if (visible) relation.relation->row(kept.first[k], row);
      else row.clear();
      layout::widen(row, wide);
      for (const layout::WideRun& run : wide) {
        for (std::uint64_t n = 0, j = run.first; n < run.count; ++n, j += run.step) {
          mapped.push_back({kept.place[j], kept.place[j + run.width] - 1, 1, run.colour, 0});
        }
      }
      if (wide.size() > 1 && mapped.size() > wide.size()) std::sort(mapped.begin(), mapped.end(), [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; });
      builder.add_row(mapped, visible);
    }
  }
  return builder.take();
}

}  // namespace

TwinTower::TwinTower(RunGraph graph, const std::vector<Vertex>& first, Vertex vertices) : graph_(std::move(graph)), begin_(first), fibre_(vertices) {
  begin_.push_back(vertices);
  std::iota(fibre_.begin(), fibre_.end(), Vertex{0});
}

// Twins among the two vertices of each stretch are twins altogether: every other vertex is read, and reads, as one of the two that is not swapped.
std::optional<TwinTower> TwinTower::start_short(const Structure& structure, ColourNames& names, const Budget& budget) {
  const std::optional<layout::KeptVertices> kept = keep_stretches(structure, budget);
  if (!kept) return std::nullopt;
  TwinTower tower(make_kept_graph(structure, *kept, budget), kept->first, structure.vertices);
  const std::vector<const RunGraph*> graphs{&tower.graph_};
  const auto classes = find_twins(graphs, budget);
  if (!classes) return std::nullopt;
  const std::vector<std::uint32_t>& class_of = classes->front().class_of;
  for (std::size_t k = 0; k < class_of.size(); ++k) {
    if (class_of[k] != class_of[kept->lead[k]]) return std::nullopt;
  }
  tower.inner_colours_.push_back(list_inner_colours(graphs));
  tower.apply(classes->front(), names, budget);
  return tower;
}

}  // namespace sightline::symmetry
