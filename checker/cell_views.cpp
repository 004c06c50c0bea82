// Automorphisms of one view that are known by what they do in one cell (docs/theory.md 16.106): if naming each token of the cell tells all that is in sight apart, and
// automorphisms of the layout that fix the root permute the cell in every way there is, each automorphism of the view is what one of the layout's does there.
#include <algorithm>
#include <map>
#include <numeric>

#include "views.hpp"

namespace checker {

namespace {

/// Generators that exchange two of the cell join them: do they join all?
bool are_joined(const Group& group, Vertex root, const std::vector<Vertex>& cell) {
  const auto place = [&](Vertex x) {
    const auto at = std::ranges::lower_bound(cell, x);
    return at != cell.end() && *at == x ? static_cast<std::size_t>(at - cell.begin()) : cell.size();
  };
  std::vector<std::size_t> to(cell.size());
  std::iota(to.begin(), to.end(), std::size_t{0});
  const auto head = [&](std::size_t k) {
    while (to[k] != k) k = to[k] = to[to[k]];
    return k;
  };
  std::size_t parts = cell.size();
  const auto join = [&](std::size_t k, std::size_t l) {
    parts -= head(k) == head(l) ? 0 : 1;
    to[head(k)] = head(l);
  };
  for (const auto& members : group.classes) {
    std::size_t before = cell.size();
    for (const Vertex x : members) {
      const std::size_t k = place(x);
      if (k == cell.size()) continue;
      if (before != cell.size()) join(before, k);
      before = k;
    }
  }
  for (const Permutation& g : group.generators) {
    if (g(root) != root) continue;
    std::vector<std::size_t> moved;
    for (const auto& [x, image] : g.moves()) {
      if (const std::size_t k = place(x); k != cell.size()) moved.push_back(k);
      if (moved.size() > 2) break;
    }
    if (moved.size() == 2) join(moved[0], moved[1]);
  }
  return parts == 1;
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
