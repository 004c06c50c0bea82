// Views of layouts whose colours name offsets (learned, rotary, ALiBi on one side, tables of a grid without wrapping): isomorphisms are shifts.
#include <algorithm>
#include <array>
#include <map>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// Arcs of different runs that are looked at: more are left to others.
constexpr std::uint64_t most_arcs = std::uint64_t{1} << 22;

using Arc = std::pair<std::int64_t, std::int64_t>;  // colour, offset

/// Has every colour one offset j - i? Along a run colours and offsets rise evenly, so runs are pieces of lines: what lies on a piece that was met says nothing
/// new, and a run that goes on from there only its other end (a causal row of n tokens adds one arc to the row before).
bool do_colours_name_offsets(const layout::Relation& relation, Vertex tokens, const Budget& budget) {
  // By steps of offset and colour, the offset and the colour where the line begins: arcs begin .. end-1 of it were met.
  std::map<std::array<std::int64_t, 4>, std::pair<std::int64_t, std::int64_t>> met;
  std::vector<Arc> arcs;
  std::vector<layout::ColouredRun> row;
  Booking booking(budget);
  for (Vertex i = 0; i < tokens; ++i) {
    budget.poll();
    relation.row(i, row);
    for (const layout::ColouredRun& run : row) {
      if (run.colour_step == 0 && run.size() > 1) return false;
      const std::int64_t there = std::int64_t{run.first} - i, step = run.step, size = run.size();
      // There is one arc per step: number them from the one whose offset is in 0 .. step - 1.
      const std::int64_t at = (there - (there % step + step) % step) / step;
      const std::array<std::int64_t, 4> line{step, run.colour_step, there - at * step, run.colour - at * run.colour_step};
      std::int64_t from = at, until = at + size;
      const auto [known, fresh] = met.try_emplace(line, from, until);
      if (!fresh) {
        auto& [begin, end] = known->second;
        if (from >= begin && until <= end) continue;
        if (from >= begin && from <= end) from = end;
        else if (until >= begin && until <= end) until = begin;
        if (from == end) {
          end = until;
        } else if (until == begin) {
          begin = from;
        } else if (from < begin && until > end) {
          begin = from;
          end = until;
        }
      }
      if (arcs.size() + met.size() + static_cast<std::uint64_t>(until - from) > most_arcs) return false;
      if (arcs.size() + static_cast<std::size_t>(until - from) > arcs.capacity()) {
        const std::size_t grown = std::max(2 * arcs.capacity(), arcs.size() + static_cast<std::size_t>(until - from));
        booking.grow((grown - arcs.capacity()) * sizeof(Arc));
        arcs.reserve(grown);
      }
      for (std::int64_t k = from; k < until; ++k) arcs.emplace_back(run.colour + (k - at) * run.colour_step, there + (k - at) * step);
    }
  }
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
  return std::adjacent_find(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) { return a.first == b.first; }) == arcs.end();
}

}  // namespace

bool do_offsets_explain(const Layout& layout, std::uint64_t depth, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  if (layout.registers > 0 || layout.tokens < 2 || layout.order.empty()) return false;
  budget.ask(std::uint64_t{1} << 16);
  const bool named = std::all_of(layout.relations.begin(), layout.relations.end(),
                                 [&](const layout::Relation& relation) { return do_colours_name_offsets(relation, layout.tokens, budget); });
  if (!named) return false;
  // With all of 0 .. i in view of every i token 0 is the first that any of them sees, as it is where everything is seen.
  for (const ClassKind kind : {ClassKind::all, ClassKind::causal}) {
    const Connected reach = compute_class_reach(layout, {kind, false}, budget);
    if (reach.layers && *reach.layers <= depth) return true;
  }
  return false;
}

}  // namespace sightline::sight
