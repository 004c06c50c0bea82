// Causal windows with sinks: x reads the first s tokens and low(x) .. x, where low grows by at most one from token to token (theory 16.113). Whatever x reads is in one
// order, each of it reading what comes before there, so an isomorphism of views moves what x reads as it moves x, in order; what only rows at the edge of a view hold is
// known by its readers. Views of one size each belong to one root.
#include <algorithm>

#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// Where the window of x begins, sinks left aside; nothing where its row is of another kind.
std::optional<Vertex> window_start(const Pattern& pattern, Vertex x, Vertex sinks, std::vector<Run>& row) {
  pattern.row(x, row);
  std::ranges::sort(row, {}, &Run::first);
  if (row.empty() || std::ranges::any_of(row, [](const Run& run) { return run.step != 1 && run.first != run.last; })) return std::nullopt;
  // The runs up to x, as far as one touches the next, and those before them.
  std::size_t split = row.size() - 1;
  while (split > 0 && row[split - 1].last + 1 == row[split].first) --split;
  if (row.back().last != x) return std::nullopt;
  const Vertex start = row[split].first;
  if (split == 0) return start == 0 ? std::optional(std::min(x, sinks)) : sinks == 0 ? std::optional(start) : std::nullopt;
  if (x < sinks || row.front().first != 0 || row[split - 1].last + 1 != sinks) return std::nullopt;
  for (std::size_t k = 1; k < split; ++k) {
    if (row[k - 1].last + 1 != row[k].first) return std::nullopt;
  }
  return start;
}

bool are_windows(const Pattern& pattern, Vertex tokens) {
  std::vector<Run> row;
  pattern.row(tokens - 1, row);
  std::ranges::sort(row, {}, &Run::first);
  Vertex sinks = 0;
  for (const Run& run : row) {
    if (run.first != sinks || run.step != 1) break;
    sinks = run.last + 1;
  }
  if (sinks == tokens) sinks = 0;
  Vertex low = sinks;
  for (Vertex x = 0; x < tokens; ++x) {
    poll();
    const std::optional<Vertex> start = window_start(pattern, x, sinks, row);
    if (!start) return false;
    if (x < sinks) continue;
    if (*start != low && *start != low + 1) return false;
    low = *start;
  }
  return true;
}

}  // namespace

bool do_windows_explain(const Layout& layout, std::uint64_t depth, ReachMemory& memory) {
  if (layout.registers > 0 || layout.order.empty() || depth < 2) return false;
  const std::vector<std::uint32_t>& heads = layout.layer(1);
  if (heads.size() != 1 || std::ranges::any_of(layout.order, [&](std::uint32_t l) { return layout.layers[l] != heads; })) return false;
  if (!are_windows(*layout.relations[heads.front()].pattern, layout.tokens)) return false;
  std::vector<Vertex> count = compute_unseen(layout, {ClassKind::all, false, false, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &memory}, depth).count;
  std::ranges::sort(count);
  return std::ranges::adjacent_find(count) == count.end();
}

}  // namespace checker
