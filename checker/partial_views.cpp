// Views that hold all rows of some relations. If t_a(j) >= F for every vertex j, an isomorphism of the view of a moves all vertices and keeps every row of the
// relations that have occurred by layer F: it is an automorphism of what these make by themselves (docs/theory.md 16.39). Where that has no other
// automorphisms than the layout's, such roots need no comparing.
#include <algorithm>
#include <numeric>

#include "product_group.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// Is every element of the group, which acts on tokens, an automorphism of the layout? Registers do not start equal.
bool lies_in(const Group& group, const Layout& layout, const Group& layout_group) {
  std::vector<Vertex> number(layout.tokens);
  std::iota(number.begin(), number.end(), Vertex{0});
  for (const auto& members : layout_group.classes) {
    for (const Vertex x : members) number[x] = members.front();
  }
  Group open{group.degree, group.classes, group.generators};  // not its order: classes go
  std::erase_if(open.classes, [&](const auto& members) { return std::ranges::all_of(members, [&](Vertex x) { return number[x] == number[members.front()]; }); });
  std::optional<AutomorphismTest> test;
  for (const Permutation& g : list_generators(open, ~std::size_t{0})) {
    if (std::ranges::any_of(layout_group.generators, [&](const Permutation& own) { return own.moves() == g.moves(); })) continue;
    if (!test) test.emplace(make_structure(layout));
    if (!(*test)(g)) return false;
  }
  return true;
}

/// The group of the relations that have occurred by a layer.
ConfirmedGroup confirm_level(const Layout& layout, const std::vector<std::uint64_t>& first, std::uint64_t level, const Json& evidence, const std::string& claim) {
  Layout part;
  part.tokens = layout.tokens;
  part.registers = layout.registers;
  part.vertex_colour = layout.vertex_colour;
  part.layers.emplace_back();
  part.order = {0};
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] > level) continue;
    part.layers[0].push_back(static_cast<std::uint32_t>(part.relations.size()));
    part.relations.push_back(layout.relations[r]);
  }
  return confirm_part(part, evidence, claim);
}

}  // namespace

ConfirmedGroup confirm_part(const Layout& part, const Json& evidence, const std::string& claim) {
  if (std::optional<ConfirmedGroup> named = find_named_group(part, evidence)) return *std::move(named);
  std::optional<std::optional<Grid>> grid;
  if (std::optional<ConfirmedGroup> product = confirm_on_grid(part, evidence, grid)) return *std::move(product);
  return confirm_automorphisms(make_structure(part), part.tokens, evidence, claim);
}

void drop_partly_complete(const Layout& layout, const Group& layout_group, std::uint64_t depth, const Json& evidence, const std::string& claim, ReachMemory& memory,
                          std::vector<Vertex>& roots) {
  const std::vector<std::uint64_t> first = first_layers(layout);
  std::vector<bool> is_tried(layout.order.size() + 1, false);
  for (const auto& [key, group] : evidence.object()) {
    if (key == "ground") {
      drop_grounded(layout, layout_group, depth, group, claim, memory, roots);
      continue;
    }
    const auto level = std::find_if(first.begin(), first.end(), [&](std::uint64_t q) { return q != absent && key == std::to_string(q); });
    if (level == first.end() || *level > depth || is_tried[*level]) throw Malformed("evidence \"parts\": every key is \"ground\" or a layer at which a relation occurs for the first time");
    is_tried[*level] = true;
    if (!lies_in(confirm_level(layout, first, *level, group, claim).group, layout, layout_group)) throw Rejected(claim, "the rows of the first layers have symmetries that the layout lacks");
    // t_a(j) >= F: j comes into view within the last depth - F layers.
    const Unseen unseen = compute_unseen(layout, {ClassKind::all, false, true, *level, nullptr, nullptr, nullptr, nullptr, nullptr, &memory}, depth - *level);
    std::erase_if(roots, [&](Vertex a) { return unseen.count[a] == 0; });
  }
}

}  // namespace checker
