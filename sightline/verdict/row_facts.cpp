#include "sightline/verdict/row_facts.hpp"

#include <algorithm>
#include <set>

namespace sightline::verdict {

using layout::ColouredRun;
using layout::RelativeKind;
using layout::Run;
using layout::Vertex;

namespace {

bool contains(const std::vector<Run>& row, Vertex j) {
  return std::any_of(row.begin(), row.end(), [&](const Run& run) { return run.contains(j); });
}

/// Do the raw colours of this row name their token? Runs whose colours move with the token are injective in themselves.
bool is_injective_row(const std::vector<ColouredRun>& row) {
  std::set<std::int64_t> constants;
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
  for (const ColouredRun& run : row) {
    if (run.colour_step == 0) {
      if (run.size() > 1 || !constants.insert(run.colour).second) return false;
      continue;
    }
    const std::int64_t end = run.colour + run.colour_step * (static_cast<std::int64_t>(run.size()) - 1);
    // Two runs may interleave; comparing their hulls is safe (it may only deny, never grant).
    const auto hull = std::minmax(run.colour, end);
    for (auto [low, high] : intervals) {
      if (hull.first <= high && low <= hull.second) return false;
    }
    intervals.emplace_back(hull.first, hull.second);
  }
  return std::none_of(constants.begin(), constants.end(), [&](std::int64_t c) {
    return std::any_of(intervals.begin(), intervals.end(), [&](auto hull) { return hull.first <= c && c <= hull.second; });
  });
}

}  // namespace

RowFacts compute_row_facts(const layout::Relation& relation, Vertex tokens, const Budget& budget) {
  RowFacts facts;
  const bool offsets = relation.relative().kind == RelativeKind::offset || relation.relative().kind == RelativeKind::grid_offset ||
                       relation.relative().kind == RelativeKind::column || relation.relative().kind == RelativeKind::pair;
  const bool any_colours = relation.relative().kind != RelativeKind::none || !relation.pattern().is_plain();
  std::vector<Run> row;
  std::vector<ColouredRun> coloured;
  for (Vertex i = 0; i < tokens; ++i) {
    budget.poll();
    relation.pattern().row(i, row);
    std::uint64_t read = 0, early = 0;
    for (const Run& run : row) {
      if (run.last >= tokens) facts.registers = true;
      if (run.first >= tokens) continue;
      const Vertex last = std::min<Vertex>(run.last, tokens - 1);
      const std::uint64_t size = (last - run.first) / run.step + 1;
      read += size;
      if (run.first <= i) early += (std::min(last, i) - run.first) / run.step + 1;
      if (run.first + (size - 1) * run.step > i) facts.causal = false;
    }
    if (row.empty()) facts.nonempty = false;
    const bool own = contains(row, i);
    if (!own) facts.loops = false;
    if (read != tokens) facts.full = false;
    if (early != i + 1ull || read != early) facts.full_causal = false;
    if (!contains(row, 0)) facts.bos_in_every_row = false;
    if (facts.injective) {
      if (!any_colours) {
        facts.injective = read <= 1 && !facts.registers;
      } else if (!offsets || facts.registers) {
        relation.raw_row(i, coloured);
        facts.injective = is_injective_row(coloured);
      }
    }
  }
  return facts;
}

std::uint64_t compute_widest_row(const layout::Relation& relation, Vertex tokens, bool bos, const Budget& budget) {
  std::uint64_t widest = 0;
  std::vector<Run> row;
  for (Vertex i = 0; i < tokens; ++i) {
    budget.poll();
    relation.pattern().row(i, row);
    std::uint64_t read = 0;
    for (const Run& run : row) {
      if (run.first >= tokens) continue;
      read += (std::min<Vertex>(run.last, tokens - 1) - run.first) / run.step + 1;
    }
    if (contains(row, i)) --read;
    if (bos && i != 0 && contains(row, 0)) --read;
    widest = std::max(widest, read);
  }
  return widest;
}

}  // namespace sightline::verdict
