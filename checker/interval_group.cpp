// Relations that are lines of intervals (theory 16.102).
#include <algorithm>

#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// With itself, what each token reads is an interval, and both ends rise: neighbours, those that it reads or that read it, then are one as well. Consecutive ones
/// have to overlap and to differ.
bool is_line(const Relation& relation, Vertex tokens) {
  std::vector<std::pair<Vertex, Vertex>> reads(tokens);
  std::vector<Run> row;
  for (Vertex i = 0; i < tokens; ++i) {
    poll();
    relation.row(i, row);
    Vertex low = i, high = i;
    for (const Run& run : row) low = std::min(low, run.first), high = std::max(high, run.last);
    std::uint64_t others = 0;
    for (const Run& run : row) others += run.size() - (run.first <= i && i <= run.last && (i - run.first) % run.step == 0 ? 1 : 0);
    if (others != std::uint64_t{high} - low) return false;
    if (i > 0 && (low < reads[i - 1].first || high < reads[i - 1].second)) return false;
    reads[i] = {low, high};
  }
  std::pair<Vertex, Vertex> before;
  for (Vertex i = 0; i < tokens; ++i) {
    // The first that reads up to i, and the last that reads down to i.
    const auto first = std::ranges::lower_bound(reads, i, {}, [](const auto& ends) { return ends.second; });
    const auto last = std::ranges::upper_bound(reads, i, {}, [](const auto& ends) { return ends.first; }) - 1;
    const std::pair neighbours{std::min(reads[i].first, static_cast<Vertex>(first - reads.begin())), std::max(reads[i].second, static_cast<Vertex>(last - reads.begin()))};
    if ((i + 1 < tokens && neighbours.second == i) || (i > 0 && neighbours == before)) return false;
    before = neighbours;
  }
  return true;
}

}  // namespace

bool has_line_of_intervals(const Layout& layout) {
  if (layout.tokens < 2 || layout.vertices() != layout.tokens) return false;
  const std::vector<std::uint64_t> first = first_layers(layout);
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] != absent && is_line(layout.relations[r], layout.tokens)) return true;
  }
  return false;
}

}  // namespace checker
