// Automorphisms of one view that are known by what they do in one cell: columns of a video, any of which may be exchanged (docs/theory.md 16.106).
//
// If naming each token of a cell of H_a tells all that a sees apart, an automorphism is known by what it does on the cell. If the layout's generators that fix a permute
// the cell in every way there is, each automorphism is one of the layout's.
#include <algorithm>
#include <map>

#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/orbits.hpp"

namespace sightline::sight {

namespace {

/// Do the elements of the group that fix `root` act on the cell, which they keep, as all permutations? Looked at are generators that exchange two of its tokens.
bool do_generators_permute(const group::Group& group, Vertex root, const std::vector<Vertex>& cell) {
  std::vector<Vertex> place(group.degree, ~Vertex{0});
  for (Vertex k = 0; k < cell.size(); ++k) place[cell[k]] = k;
  symmetry::Orbits joined(static_cast<Vertex>(cell.size()));
  for (const auto& members : group.symmetric_classes) {
    Vertex previous = ~Vertex{0};
    for (const group::Point x : members) {
      if (place[x] == ~Vertex{0}) continue;
      if (previous != ~Vertex{0}) joined.join(place[previous], place[x]);
      previous = x;
    }
  }
  for (const group::Permutation& g : group.generators) {
    if (g(root) != root) continue;
    std::vector<Vertex> moved;
    for (const group::Point x : g.moved()) {
      if (place[x] != ~Vertex{0}) moved.push_back(x);
      if (moved.size() > 2) break;
    }
    if (moved.size() == 2) joined.join(place[moved[0]], place[moved[1]]);
  }
  return joined.size(0) == cell.size();
}

}  // namespace

bool does_cell_explain(Rooted rooted, Vertex root, const Layout& layout, const group::Group& layout_group, const Budget& budget) {
  if (layout.has_equal_registers()) return false;
  const RootColours colours = compute_root_colours(rooted, budget);
  std::map<std::uint64_t, std::vector<Vertex>> cells;
  for (Vertex j = 0; j < layout.tokens; ++j) {
    if (rooted.seen[j]) cells[colours.hash[j]].push_back(j);
  }
  const std::vector<Vertex>* least = nullptr;
  for (const auto& [hash, cell] : cells) {
    if (cell.size() > 1 && (least == nullptr || std::pair(cell.size(), cell.front()) < std::pair(least->size(), least->front()))) least = &cell;
  }
  if (least == nullptr || !do_generators_permute(layout_group, root, *least)) return false;
  std::uint64_t fresh = *std::max_element(rooted.structure.vertex_colour.begin(), rooted.structure.vertex_colour.end());
  for (const Vertex j : *least) rooted.structure.vertex_colour[j] = ++fresh;
  return compute_root_colours(rooted, budget).discrete;
}

bool do_many_generators_fix(const group::Group& layout_group, Vertex root) {
  constexpr std::ptrdiff_t many = 8;
  return std::count_if(layout_group.generators.begin(), layout_group.generators.end(), [root](const group::Permutation& g) { return g(root) == root; }) >= many;
}

}  // namespace sightline::sight
