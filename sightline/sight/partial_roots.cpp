// Views that hold all rows of some relations: their isomorphisms are automorphisms of what these relations alone make (docs/theory.md 16.39).
#include <algorithm>

#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::sight {

namespace {

constexpr std::size_t fewest_roots = 4;  // comparing fewer is as quick

/// Is the group of the relations that have occurred by layer `first` no larger than the layout's, which lies in it?
bool is_part_group_own(const Layout& layout, const group::Group& layout_group, std::uint64_t first, ViewRecords* records, const Budget& budget) {
  if (records != nullptr) {
    if (const auto known = records->parts.find(first); known != records->parts.end()) return known->second.is_own;
  }
  ViewRecords::Part part;
  part.is_own = symmetry::compute_layout_group(make_part(layout, first), budget, &part.search).order == layout_group.order;
  const bool result = part.is_own;
  if (records != nullptr) records->parts.emplace(first, std::move(part));
  return result;
}

}  // namespace

Layout make_part(const Layout& layout, std::uint64_t first) {
  const std::vector<std::uint64_t> layers = compute_first_layers(layout);
  Layout part;
  part.tokens = layout.tokens;
  part.registers = layout.registers;
  part.vertex_colour = layout.vertex_colour;
  part.layers.emplace_back();
  part.order = {0};
  for (std::size_t r = 0; r < layers.size(); ++r) {
    if (layers[r] == 0 || layers[r] > first) continue;
    part.layers.front().relations.push_back(static_cast<std::uint32_t>(part.relations.size()));
    part.relations.push_back(layout.relations[r]);
  }
  return part;
}

std::vector<std::uint64_t> drop_partly_complete(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots,
                                                ViewRecords* records, const Budget& budget) {
  std::vector<std::uint64_t> used;
  if (layout.has_equal_registers() || roots.size() < fewest_roots) return used;
  std::vector<std::uint64_t> levels = compute_first_layers(layout);
  std::erase_if(levels, [depth](std::uint64_t first) { return first == 0 || first >= depth; });
  std::sort(levels.begin(), levels.end(), std::greater<>());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  // Where all relations are in view the root is complete.
  if (!levels.empty() && levels.front() == compute_first_occurrence(layout)) levels.erase(levels.begin());
  for (const std::uint64_t first : levels) {
    const std::optional<std::vector<Vertex>> unseen = count_unseen_behind(layout, first, depth, budget);
    if (!unseen) break;
    const auto is_open = [&](Vertex a) { return (*unseen)[a] != 0; };
    if (std::all_of(roots.begin(), roots.end(), is_open)) continue;
    if (!is_part_group_own(layout, layout_group, first, records, budget)) break;  // with fewer relations there are no fewer automorphisms
    std::erase_if(roots, [&](Vertex a) { return !is_open(a); });
    used.push_back(first);
    if (roots.size() < fewest_roots) break;
  }
  return used;
}

}  // namespace sightline::sight
