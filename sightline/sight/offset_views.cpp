// Views of layouts whose colours name offsets (learned, rotary, ALiBi on one side, tables of a grid without wrapping): isomorphisms are shifts.
#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "sightline/sight/reach.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// Different runs, and arcs of different runs, that are looked at: more are left to others.
constexpr std::uint64_t most_arcs = std::uint64_t{1} << 22;

/// Has every colour one offset j - i? Runs met before, at the same distance from their reader, say nothing new.
bool do_colours_name_offsets(const layout::Relation& relation, Vertex tokens, const Budget& budget) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Vertex, Vertex>> met;
  std::unordered_map<std::int64_t, std::int64_t> offset;
  std::vector<layout::ColouredRun> row;
  std::uint64_t arcs = 0;
  for (Vertex i = 0; i < tokens; ++i) {
    budget.poll();
    relation.row(i, row);
    for (const layout::ColouredRun& run : row) {
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

bool do_offsets_explain(const Layout& layout, std::uint64_t depth, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  if (layout.registers > 0 || layout.tokens < 2 || layout.order.empty()) return false;
  budget.ask(std::uint64_t{1} << 16);
  const bool named = std::all_of(layout.relations.begin(), layout.relations.end(),
                                 [&](const layout::Relation& relation) { return do_colours_name_offsets(relation, layout.tokens, budget); });
  if (!named) return false;
  const Connected connected = compute_connected(layout, budget);
  return connected.layers && *connected.layers <= depth;
}

}  // namespace sightline::sight
