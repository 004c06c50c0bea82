// Colours that name offsets: where a colour stands at one offset j - i only, an isomorphism of views a -> b is forced arc by arc from the root on and moves
// every token in view by b - a. Where all tokens are in view it maps 0 .. n-1 onto itself, so a = b and nothing moves (docs/theory.md 16.31).
#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

constexpr std::uint64_t most_arcs = std::uint64_t{1} << 22;

bool do_colours_name_offsets(const Relation& relation, Vertex tokens) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Vertex, Vertex>> met;
  std::unordered_map<std::int64_t, std::int64_t> offset;
  std::vector<Run> row;
  std::uint64_t arcs = 0;
  for (Vertex i = 0; i < tokens; ++i) {
    poll();
    relation.row(i, row);
    for (const Run& run : row) {
      std::int64_t there = std::int64_t{run.first} - i, colour = run.colour;
      if (!met.emplace(there, colour, run.colour_step, run.step, run.size()).second) continue;
      if (run.colour_step == 0 && run.size() > 1) return false;
      arcs += run.size() + 1;
      if (arcs > most_arcs) return false;
      for (Vertex k = 0; k < run.size(); ++k, there += run.step, colour += run.colour_step) {
        if (offset.try_emplace(colour, there).first->second != there) return false;
      }
    }
  }
  return true;
}

}  // namespace

bool do_offsets_explain(const Layout& layout, std::uint64_t depth, ReachMemory& memory) {
  if (layout.registers > 0 || layout.tokens < 2 || layout.order.empty()) return false;
  for (const Relation& relation : layout.relations) {
    if (!do_colours_name_offsets(relation, layout.tokens)) return false;
  }
  const Unseen unseen = compute_unseen(layout, {ClassKind::all, false, false, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &memory}, depth);
  return std::all_of(unseen.count.begin(), unseen.count.end(), [](Vertex count) { return count == 0; });
}

}  // namespace checker
