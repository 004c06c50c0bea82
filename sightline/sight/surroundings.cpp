// What stands near the roots of many views, and what of it goes down: the ways to show that it tells all of them apart, in the order in which they are tried.
#include "sightline/sight/view_sweep.hpp"

#include <algorithm>

#include "sightline/sight/descending_views.hpp"
#include "sightline/sight/local_views.hpp"

namespace sightline::sight {

std::uint64_t allow_local_steps(const Layout& layout, const std::vector<Vertex>& roots) {
  return std::min(32 * std::uint64_t{roots.size()} * layout.vertices(), most_local_steps);
}

SurroundingsAnswer explain_surroundings(const SurroundingsQuestion& question, std::optional<ViewColours>& views, const Budget& budget) {
  const Layout& layout = *question.layout;
  std::vector<Vertex>& roots = *question.roots;
  const std::size_t all = roots.size();
  const std::vector<group::Point>& orbit = question.group->orbit;
  if (!question.is_open) {
    if (do_plane_views_explain(layout, question.depth, roots, budget)) return SurroundingsAnswer::explained;
    if (drop_by_local_views(layout, orbit, question.depth, roots, budget, few_local_steps)) return SurroundingsAnswer::explained;
    const DescendingAnswer descending = explain_descending_rows(layout, question.depth, roots, budget);
    if (descending.explained) return SurroundingsAnswer::explained;
    if (question.is_refuted && descending.alike && question.is_refuted(*descending.alike)) return SurroundingsAnswer::refuted;
  }
  const bool rigid = question.is_rigid && question.is_rigid();
  if (!rigid && !layout.has_equal_registers() && are_classes_uniform(*question.group, *question.number)) {
    if (auto made = ViewColours::make(layout, *question.group, question.depth, budget)) views.emplace(std::move(*made));
  }
  if (question.is_open) return SurroundingsAnswer::open;
  // This takes a pass over the rows for each of a few clusters of roots, the last way a look at the surroundings of each.
  if (views && views->explains_all(roots, *question.number, question.few_roots, question.few_vertices)) return SurroundingsAnswer::explained;
  if (question.most_local > few_local_steps && roots.size() == all && drop_by_local_views(layout, orbit, question.depth, roots, budget, question.most_local)) return SurroundingsAnswer::explained;
  return SurroundingsAnswer::open;
}

}  // namespace sightline::sight
