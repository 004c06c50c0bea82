// Layouts whose rows are translates of one another around the circle: i reads i + d modulo n for the same d everywhere. The rotations are automorphisms then.
// What two tokens read in common, and whether they read each other, depends on how far apart they are, and is kept by every automorphism. Where that tells
// the pairs i, i + e from all others, and e goes round the whole circle, an automorphism maps the circle 0, e, 2e, .. onto itself: it is a rotation or a reflection (docs/theory.md 16.82).
#include <algorithm>
#include <map>
#include <numeric>

#include "field.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// The offsets of one relation: member[d] for d = 0 .. n-1.
using Members = std::vector<bool>;

/// Is every arc of the relation like every other?
bool has_one_colour(const Relation& relation) {
  if (relation.relative == RelativeKind::none) {
    std::optional<std::uint32_t> colour;
    return std::ranges::all_of(relation.pattern->lists, [&](const std::vector<MovingRun>& list) {
      return std::ranges::all_of(list, [&](const MovingRun& run) { return run.colour == *(colour = colour.value_or(run.colour)); });
    });
  }
  std::optional<std::int64_t> colour;
  std::vector<Run> row;
  for (Vertex i = 0; i < relation.pattern->vertices; ++i) {
    poll();
    relation.row(i, row);
    for (const Run& run : row) {
      colour = colour.value_or(run.colour);
      if (run.colour != *colour || (run.colour_step != 0 && run.size() > 1)) return false;
    }
  }
  return true;
}

Members read_first_row(const Relation& relation, Vertex n) {
  Members member(n, false);
  std::vector<Run> row;
  relation.pattern->row(0, row);
  for (const Run& run : row) {
    for (std::uint64_t j = run.first; j <= run.last; j += run.step) member[j] = true;
  }
  return member;
}

/// Does every reader read what the first one reads, moved around the circle to it?
bool go_round(const Pattern& pattern, const Members& member) {
  const auto n = static_cast<std::int64_t>(member.size());
  std::vector<std::uint32_t> below(2 * member.size() + 1, 0);  // members among the first offsets, the circle gone round twice
  for (std::size_t d = 0; d < 2 * member.size(); ++d) below[d + 1] = below[d] + (member[d % member.size()] ? 1 : 0);
  const std::uint32_t size = below[member.size()];
  const bool constant = size == 0 || size == member.size();
  std::uint64_t walked = 0;
  return pattern.visit_stretches([&](Vertex begin, Vertex end, const std::vector<Run>& row, bool moves) {
    if (end - begin > 1 && !moves && !constant) return false;
    // Runs of a row are disjoint: as many as there should be, each of them one that should be.
    std::uint64_t held = 0;
    for (const Run& run : row) {
      const std::int64_t first = (std::int64_t{run.first} - begin + n) % n;
      held += run.size();
      if (run.step == 1) {
        const auto from = static_cast<std::size_t>(first);
        if (below[from + run.size()] - below[from] != run.size()) return false;
        continue;
      }
      walked += run.size();
      if (walked > 256 * static_cast<std::uint64_t>(n)) return false;
      for (std::int64_t k = 0; k < run.size(); ++k) {
        if (!member[static_cast<std::size_t>((first + k * run.step) % n)]) return false;
      }
    }
    return held == size;
  });
}

/// By distance: the vertices that two tokens so far apart read in common. Runs [a, b] and [c, d] of offsets share min(.., ..) of them at each distance: as the
/// distance grows, one more, level, one less; how that changes is added up twice.
std::optional<std::vector<std::int64_t>> count_shared(const Members& member) {
  constexpr std::size_t most_runs = 1024;
  const auto n = static_cast<std::int64_t>(member.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // first, length
  for (std::int64_t d = 0; d < n; ++d) {
    if (!member[static_cast<std::size_t>(d)]) continue;
    if (!runs.empty() && runs.back().first + runs.back().second == d) ++runs.back().second;
    else runs.emplace_back(d, 1);
  }
  if (runs.size() > most_runs) return std::nullopt;
  std::vector<std::int64_t> bend(static_cast<std::size_t>(2 * n) + 2, 0);  // by distance + n
  for (const auto& [from, length] : runs) {
    poll();
    for (const auto& [other, other_length] : runs) {
      const std::int64_t at = other - (from + length - 1) + n;
      bend[static_cast<std::size_t>(at)] += 1;
      bend[static_cast<std::size_t>(at + length)] -= 1;
      bend[static_cast<std::size_t>(at + other_length)] -= 1;
      bend[static_cast<std::size_t>(at + length + other_length)] += 1;
    }
  }
  std::vector<std::int64_t> shared(static_cast<std::size_t>(n), 0);
  std::int64_t slope = 0, value = 0;
  for (std::int64_t at = 0; at < 2 * n; ++at) {
    slope += bend[static_cast<std::size_t>(at)];
    value += slope;
    shared[static_cast<std::size_t>(at % n)] += value;  // distance at - n
  }
  return shared;
}

}  // namespace

std::optional<Circle> find_circle(const Layout& layout) {
  const Vertex n = layout.tokens;
  if (n < 5 || layout.registers > 0 || layout.order.empty()) return std::nullopt;
  if (!std::ranges::all_of(layout.vertex_colour, [&](std::uint64_t c) { return c == layout.vertex_colour[0]; })) return std::nullopt;
  std::vector<std::uint64_t> kept(n, 0);
  Circle circle;
  const std::vector<std::uint64_t> first = first_layers(layout);
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] == absent) continue;
    const Relation& relation = layout.relations[r];
    if (!has_one_colour(relation)) return std::nullopt;
    const Members member = read_first_row(relation, n);
    if (!go_round(*relation.pattern, member)) return std::nullopt;
    const auto shared = count_shared(member);
    if (!shared) return std::nullopt;
    for (Vertex d = 1; d < n; ++d) {
      const bool there = member[d], back = member[n - d];
      kept[d] = mix(mix(kept[d], static_cast<std::uint64_t>((*shared)[d])), there * 2 + back);
      circle.reflected = circle.reflected && there == back;
    }
  }
  // Equal numbers show nothing; a distance that is alone with its opposite is told apart.
  const auto alone = [&](Vertex e) {
    const auto like = [&](Vertex d) { return kept[d] == kept[e] || kept[d] == kept[n - e]; };
    for (Vertex d = 1; d < n; ++d) {
      if (d != e && d != n - e && like(d)) return false;
    }
    return true;
  };
  if (alone(1)) return circle;
  std::map<std::uint64_t, Vertex> count;
  for (Vertex d = 1; d < n; ++d) ++count[kept[d]];
  for (Vertex e = 2; 2 * e < n; ++e) {
    const bool same = kept[e] == kept[n - e];
    if (std::gcd(e, n) == 1 && count[kept[e]] == (same ? 2U : 1U) && count[kept[n - e]] == (same ? 2U : 1U)) return circle;
  }
  return std::nullopt;
}

}  // namespace checker
