// Colours that name offsets: where a colour stands at one offset j - i only, an isomorphism of views a -> b is forced arc by arc from the root on and moves
// every token in view by b - a. Where token 0 is in view of all it is the first that any of them sees, so a = b and nothing moves (docs/theory.md 16.31).
#include <algorithm>
#include <array>
#include <map>

#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

constexpr std::uint64_t most_arcs = std::uint64_t{1} << 22;

/// Arcs that lie evenly, in offset and in colour, and those of them that were looked at: begin .. end-1, counted in steps from offset `base`.
struct OffsetLine {
  std::int64_t step, colour_step, base, colour;
  auto operator<=>(const OffsetLine&) const = default;
};
struct MetArcs {
  std::int64_t begin, end;
};

bool do_colours_name_offsets(const Relation& relation, Vertex tokens) {
  std::map<OffsetLine, MetArcs> lines;
  std::vector<std::pair<std::int64_t, std::int64_t>> named;  // colour, offset
  std::vector<Run> row;
  for (Vertex i = 0; i < tokens; ++i) {
    poll();
    relation.row(i, row);
    for (const Run& run : row) {
      if (run.colour_step == 0 && run.size() > 1) return false;
      const std::int64_t offset = std::int64_t{run.first} - i, step = run.step, base = (offset % step + step) % step, first = (offset - base) / step, behind = first + run.size();
      const OffsetLine line{step, run.colour_step, base, run.colour - first * run.colour_step};
      const auto look_at = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end && named.size() <= most_arcs; ++k) named.emplace_back(line.colour + k * line.colour_step, base + k * step);
      };
      const auto [at, fresh] = lines.try_emplace(line, MetArcs{first, behind});
      MetArcs& met = at->second;
      if (fresh || behind < met.begin || first > met.end) {
        look_at(first, behind);  // a gap in between is not met
      } else {
        look_at(first, met.begin);
        look_at(met.end, behind);
        met = {std::min(met.begin, first), std::max(met.end, behind)};
      }
      if (named.size() + lines.size() > most_arcs) return false;
    }
  }
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  return std::adjacent_find(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first == b.first; }) == named.end();
}

}  // namespace

bool do_offsets_explain(const Layout& layout, std::uint64_t depth, ReachMemory& memory) {
  if (layout.registers > 0 || layout.tokens < 2 || layout.order.empty()) return false;
  for (const Relation& relation : layout.relations) {
    if (!do_colours_name_offsets(relation, layout.tokens)) return false;
  }
  return std::ranges::any_of(std::array{ClassKind::all, ClassKind::causal}, [&](ClassKind kind) {
    const Unseen unseen = compute_unseen(layout, {kind, false, false, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &memory}, depth);
    return std::ranges::all_of(unseen.count, [](Vertex count) { return count == 0; });
  });
}

}  // namespace checker
