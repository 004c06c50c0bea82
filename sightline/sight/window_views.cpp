// Views of causal windows whose first tokens all others read as well (sinks; docs/theory.md 16.113).
//
// Token x reads 0 .. s-1 and lo(x) .. x, where lo rises by 0 or 1 from one token to the next. Of what a token reads each member reads all that stand before it there: the relation orders it
// in one way, so isomorphisms take it to what the image reads in order, from the root on wherever rows are in sight. What is read by those rows alone whose own members' rows are hidden is told
// apart by who reads it. So nothing moves in a view of two layers or more, and views of different sizes have different roots.
#include <algorithm>

#include "sightline/sight/reach.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// The rows of a pattern as intervals that neither meet nor touch.
class IntervalRows {
public:
  explicit IntervalRows(const layout::Pattern& pattern) : pattern_(pattern) {}

  /// Empty where there are gaps in a run.
  const std::vector<std::pair<Vertex, Vertex>>& read(Vertex i) {
    pattern_.row(i, row_);
    intervals_.clear();
    if (!std::all_of(row_.begin(), row_.end(), [](const layout::Run& run) { return run.step == 1 || run.first == run.last; })) return intervals_;
    const auto by_first = [](const layout::Run& a, const layout::Run& b) { return a.first < b.first; };
    if (!std::is_sorted(row_.begin(), row_.end(), by_first)) std::sort(row_.begin(), row_.end(), by_first);
    for (const layout::Run& run : row_) {
      if (!intervals_.empty() && run.first <= intervals_.back().second + 1) intervals_.back().second = std::max(intervals_.back().second, run.last);
      else intervals_.emplace_back(run.first, run.last);
    }
    return intervals_;
  }

private:
  const layout::Pattern& pattern_;
  std::vector<layout::Run> row_;
  std::vector<std::pair<Vertex, Vertex>> intervals_;
};

bool are_windows_with_sinks(const layout::Pattern& pattern, Vertex tokens, const Budget& budget) {
  IntervalRows rows(pattern);
  const auto& last = rows.read(tokens - 1);
  const Vertex sinks = last.size() == 2 && last.front().first == 0 ? last.front().second + 1 : 0;
  Vertex low = sinks;  // of the window of the token before
  for (Vertex x = 0; x < tokens; ++x) {
    budget.poll();
    const auto& row = rows.read(x);
    if (row.empty() || row.back().second != x || row.size() > 2) return false;
    const bool is_whole = row.size() == 1 && row.front().first == 0;
    if (x < sinks && !is_whole) return false;
    if (row.size() == 2 && row.front() != std::pair<Vertex, Vertex>{0, sinks - 1}) return false;
    if (x < sinks) continue;
    const Vertex next = is_whole ? sinks : row.back().first;
    if ((row.size() == 1 && sinks > 0 && !is_whole) || (next != low && next != low + 1)) return false;
    low = next;
  }
  return true;
}

}  // namespace

bool do_windows_explain(const Layout& layout, std::uint64_t depth, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty() || depth < 2 || layout.layer(1).relations.size() != 1) return false;
  const std::uint32_t relation = layout.layer(1).relations.front();
  const auto is_same = [&](std::uint32_t l) { return layout.layers[l].relations.size() == 1 && layout.layers[l].relations.front() == relation; };
  if (!std::all_of(layout.order.begin(), layout.order.end(), is_same)) return false;
  if (!are_windows_with_sinks(layout.relations[relation].pattern(), layout.tokens, budget)) return false;
  std::vector<bool> met(std::size_t{layout.tokens} + 1, false);
  for (const Vertex unseen : compute_unseen(layout, depth, {}, budget)) {
    if (met[unseen]) return false;
    met[unseen] = true;
  }
  return true;
}

}  // namespace sightline::sight
