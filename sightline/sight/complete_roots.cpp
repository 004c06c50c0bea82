#include <algorithm>
#include <set>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/symmetry/orbits.hpp"

namespace sightline::sight {

namespace {

/// Vertices that arcs join, whichever way they point: by vertex, how many stand in its component. O(ranges, and members of those with steps).
std::vector<Vertex> measure_components(const Layout& layout, const Budget& budget) {
  const Vertex vertices = layout.vertices();
  const Booking booking(budget, std::uint64_t{vertices} * 24);
  symmetry::Orbits components(vertices);
  std::vector<std::int64_t> linked(std::size_t{vertices} + 1, 0);  // differences: is x in one component with x + 1?
  const auto link = [&](Vertex first, Vertex last) {
    ++linked[first];
    --linked[last];
  };
  std::vector<bool> used(layout.layers.size(), false);
  for (const std::uint32_t l : layout.order) used[l] = true;
  for (const auto& layer : find_read_layers(layout, used, budget)) {
    for (const ReadGroup& group : layer->groups) {
      budget.poll();
      if (group.ranges_begin == group.ranges_end) continue;
      link(group.begin, group.end - 1);
      for (std::uint64_t k = group.ranges_begin; k < group.ranges_end; ++k) {
        const ReadRange& range = layer->ranges[k];
        components.join(group.begin, range.first);
        if (range.step == 1) link(range.first, range.last);
        else for (std::uint64_t x = range.first; x <= range.last; x += range.step) components.join(range.first, static_cast<Vertex>(x));
      }
    }
  }
  std::int64_t open = 0;
  for (Vertex x = 0; x + 1 < vertices; ++x) {
    open += linked[x];
    if (open > 0) components.join(x, x + 1);
  }
  std::vector<Vertex> size(vertices);
  for (Vertex x = 0; x < vertices; ++x) size[x] = components.size(x);
  return size;
}

}  // namespace

std::vector<bool> find_complete_roots(const Layout& layout, std::uint64_t depth, const Budget& budget) {
  std::vector<bool> complete(layout.tokens, false);
  const std::uint64_t first = compute_first_occurrence(layout);
  if (layout.has_equal_registers() || depth < first) return complete;
  // t_a(j) >= first: j comes into view within the last depth - first layers.
  ReachQuestion question;
  question.layout = &layout;
  question.skip = first;
  question.depth = depth - first;
  question.registers_too = true;
  question.count_unseen = true;
  constexpr Vertex few = 16384;
  const std::optional<ReachAnswer> answer = layout.vertices() <= few ? answer_reach(question, budget) : answer_cheaply(question, budget);
  if (!answer) return complete;
  const std::vector<Vertex>& unseen = answer->unseen;
  for (Vertex a = 0; a < layout.tokens; ++a) complete[a] = unseen[a] == 0;
  if (std::find(complete.begin(), complete.end(), true) != complete.end()) return complete;
  // Nobody sees everything: perhaps there is more than one component.
  const std::vector<Vertex> component = measure_components(layout, budget);
  if (component[0] == layout.vertices()) return complete;
  // A root of another component that has as many rows in view, but not the whole of its component, might have a view like one that is whole.
  std::set<Vertex> doubtful;
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if (unseen[a] + component[a] != layout.vertices()) doubtful.insert(unseen[a]);
  }
  for (Vertex a = 0; a < layout.tokens; ++a) complete[a] = unseen[a] + component[a] == layout.vertices() && !doubtful.contains(unseen[a]);
  return complete;
}

}  // namespace sightline::sight
