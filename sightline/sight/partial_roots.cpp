// Views that hold all rows of some relations: their isomorphisms are automorphisms of what these relations alone make (docs/theory.md 16.39).
#include <algorithm>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/product_group.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::sight {

namespace {

constexpr Threshold<std::size_t> fewest_roots{4, 1, "partial roots"};  // comparing fewer is as quick

/// Is the group of the relations that have occurred by layer `first` no larger than the layout's, which lies in it?
bool is_part_group_own(const Layout& layout, const group::Group& layout_group, std::uint64_t first, ViewRecords* records, const Budget& budget) {
  if (records != nullptr) {
    if (const auto known = records->parts.find(first); known != records->parts.end()) return known->second.is_own;
  }
  ViewRecords::Part part;
  part.is_own = sight::compute_layout_group(make_part(layout, first), budget, &part.search).order == layout_group.order;
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
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  // Where all relations are in view the root is complete.
  if (!levels.empty() && levels.back() == compute_first_occurrence(layout)) levels.pop_back();
  // With more relations there are no more automorphisms, and no more roots that go: the least F that has no others says all. Mostly it is the first.
  std::vector<Vertex> left;
  for (std::size_t low = 0, high = levels.size(), at = 0; low < high; at = low + (high - low) / 2) {
    const std::optional<std::vector<Vertex>> unseen = count_unseen_behind(layout, levels[at], depth, budget);
    const auto is_open = [&](Vertex a) { return (*unseen)[a] != 0; };
    if (unseen && std::all_of(roots.begin(), roots.end(), is_open)) {
      high = at;
    } else if (!unseen || !is_part_group_own(layout, layout_group, levels[at], records, budget)) {
      low = at + 1;
    } else {
      left.clear();
      std::copy_if(roots.begin(), roots.end(), std::back_inserter(left), is_open);
      used = {levels[at]};
      high = at;
    }
  }
  if (!used.empty()) roots = std::move(left);
  return used;
}

}  // namespace sightline::sight
