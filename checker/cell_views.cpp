// Automorphisms of one view that are known by what they do in one cell (docs/theory.md 16.106): if naming each token of the cell tells all that is in sight apart, and
// automorphisms of the layout that fix the root permute the cell in every way there is, each automorphism of the view is what one of the layout's does there.
#include <algorithm>
#include <map>

#include "views.hpp"

namespace checker {

namespace {

/// Generators that exchange two of the cell: is it one orbit of these exchanges?
bool are_joined(const Group& group, Vertex root, const std::vector<Vertex>& cell) {
  const auto place = [&](Vertex x) {
    const auto at = std::ranges::lower_bound(cell, x);
    return at != cell.end() && *at == x ? static_cast<Vertex>(at - cell.begin()) : none;
  };
  Group exchanges{static_cast<Vertex>(cell.size()), {}, {}};
  for (const auto& members : group.classes) {
    std::vector<Vertex> inside;
    for (const Vertex x : members) {
      if (place(x) != none) inside.push_back(place(x));
    }
    if (inside.size() > 1) exchanges.classes.push_back(std::move(inside));
  }
  for (const Permutation& g : group.generators) {
    if (g(root) != root) continue;
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (const auto& [x, image] : g.moves()) {
      if (place(x) != none) moves.emplace_back(place(x), place(image));
      if (moves.size() > 2) break;
    }
    if (moves.size() == 2) exchanges.generators.emplace_back(std::move(moves));
  }
  return std::ranges::all_of(orbits(exchanges), [](Vertex least) { return least == 0; });
}

}  // namespace

bool does_cell_explain(Rooted rooted, Vertex root, const Layout& layout, const Group& layout_group) {
  if (has_equal_registers(layout)) return false;
  const RootColours colours = colour_root(rooted);
  std::map<std::uint64_t, std::vector<Vertex>> cells;
  for (Vertex j = 0; j < layout.tokens; ++j) {
    if (rooted.seen[j]) cells[colours.hash[j]].push_back(j);
  }
  const std::vector<Vertex>* least = nullptr;
  for (const auto& [hash, cell] : cells) {
    if (cell.size() > 1 && (least == nullptr || std::pair(cell.size(), cell.front()) < std::pair(least->size(), least->front()))) least = &cell;
  }
  if (least == nullptr || !are_joined(layout_group, root, *least)) return false;
  std::uint64_t fresh = std::ranges::max(rooted.structure.colour);
  for (const Vertex j : *least) rooted.structure.colour[j] = ++fresh;
  return colour_root(rooted).discrete;
}

bool do_many_generators_fix(const Group& layout_group, Vertex root) {
  return std::ranges::count_if(layout_group.generators, [root](const Permutation& g) { return g(root) == root; }) >= 8;
}

}  // namespace checker
