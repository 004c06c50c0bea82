// Views of causal windows, in one layer or several, whose first tokens all others may read as well (sinks; docs/theory.md 16.113).
//
// In a layer token x reads 0 .. s-1 and lo(x) .. x, where lo never falls. In the first layer it reads x - 1, and lo rises by at most one from token to token. What is seen with a layer left is an
// interval up to the root and some first tokens, in which every token shows who it read in the first layer: the one before it, so what the root comes to that way is ordered in one way, and the
// other first tokens are. Isomorphisms keep that order. What is seen with no layer left is told apart by who reads it. So nothing moves in a view, and views of different sizes have different roots.
#include <algorithm>
#include <set>

#include "sightline/sight/reach.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// What the heads of a layer read together, as intervals that neither meet nor touch.
class IntervalRows {
public:
  IntervalRows(const Layout& layout, std::uint32_t l) {
    for (const std::uint32_t r : layout.layers[l].relations) patterns_.push_back(&layout.relations[r].pattern());
  }

  /// Empty where there are gaps in a run.
  const std::vector<std::pair<Vertex, Vertex>>& read(Vertex i) {
    runs_.clear();
    intervals_.clear();
    for (const layout::Pattern* const pattern : patterns_) {
      pattern->row(i, row_);
      for (const layout::Run& run : row_) {
        if (run.step != 1 && run.first != run.last) return intervals_;
        runs_.emplace_back(run.first, run.last);
      }
    }
    if (!std::is_sorted(runs_.begin(), runs_.end())) std::sort(runs_.begin(), runs_.end());
    for (const auto& [first, last] : runs_) {
      if (!intervals_.empty() && first <= intervals_.back().second + 1) intervals_.back().second = std::max(intervals_.back().second, last);
      else intervals_.emplace_back(first, last);
    }
    return intervals_;
  }

private:
  std::vector<const layout::Pattern*> patterns_;
  std::vector<layout::Run> row_;
  std::vector<std::pair<Vertex, Vertex>> runs_, intervals_;
};

/// @param is_first  must x - 1 be read, and windows begin no more than one token behind those before?
bool are_windows_with_sinks(IntervalRows rows, Vertex tokens, bool is_first, const Budget& budget) {
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
    if ((row.size() == 1 && sinks > 0 && !is_whole) || next < low) return false;
    if (is_first && (next > low + 1 || (x > 0 && row.back().first == x))) return false;
    low = next;
  }
  return true;
}

/// Does every token read in one layer all that it reads in the other? Rows end with the reader, behind at most one interval of first tokens.
bool holds_all(IntervalRows wide, IntervalRows narrow, Vertex tokens, const Budget& budget) {
  for (Vertex x = 0; x < tokens; ++x) {
    budget.poll();
    const auto &outer = wide.read(x), &inner = narrow.read(x);
    if (outer.back().first == 0) continue;
    if (outer.back().first > inner.back().first || (inner.size() == 2 && (outer.size() == 1 || outer.front().second < inner.front().second))) return false;
  }
  return true;
}

}  // namespace

bool do_windows_explain(const Layout& layout, std::uint64_t depth, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty()) return false;
  const std::uint32_t first = layout.order.front();
  const std::set<std::uint32_t> layers(layout.order.begin(), layout.order.end());
  if (depth < 2) return false;
  for (const std::uint32_t l : layers) {
    if (!are_windows_with_sinks({layout, l}, layout.tokens, l == first, budget)) return false;
  }
  // What is read in the first layer is to be read with a layer left as well.
  bool is_held = depth > layout.order.size();
  for (std::uint64_t q = 2; q <= depth && !is_held; ++q) {
    const std::uint32_t l = layout.order[q - 1];
    is_held = l == first || holds_all({layout, l}, {layout, first}, layout.tokens, budget);
  }
  if (!is_held) return false;
  std::vector<bool> met(std::size_t{layout.tokens} + 1, false);
  for (const Vertex unseen : compute_unseen(layout, depth, {}, budget)) {
    if (met[unseen]) return false;
    met[unseen] = true;
  }
  return true;
}

}  // namespace sightline::sight
