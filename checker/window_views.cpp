// Causal windows with sinks: in each layer x reads the first s tokens and low(x) .. x, where low does not fall; in the first layer x - 1 among them, and low grows by at most one from token to token
// (theory 16.113). With a layer left tokens show what they read in the first: the one before, so isomorphisms of views keep the order of what the root comes to that way, and of the first tokens
// that it does not. What only rows at the edge of a view hold is known by its readers. Views of one size each belong to one root.
#include <algorithm>
#include <set>

#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// What the heads of one layer read together.
class HeadRows {
public:
  HeadRows(const Layout& layout, std::uint32_t l) {
    for (const std::uint32_t r : layout.layers[l]) patterns_.push_back(layout.relations[r].pattern.get());
  }

  /// Sorted, those that meet or touch joined; nothing where there are gaps in a run.
  const std::vector<Run>& at(Vertex x) {
    all_.clear();
    for (const Pattern* const pattern : patterns_) {
      pattern->row(x, row_);
      all_.insert(all_.end(), row_.begin(), row_.end());
    }
    std::ranges::sort(all_, {}, &Run::first);
    std::size_t kept = 0;
    for (const Run run : all_) {
      if (run.step != 1 && run.first != run.last) {
        kept = 0;
        break;
      }
      if (kept > 0 && run.first <= all_[kept - 1].last + 1) all_[kept - 1].last = std::max(all_[kept - 1].last, run.last);
      else all_[kept++] = {run.first, run.last, 1, 0, 0};
    }
    all_.resize(kept);
    return all_;
  }

private:
  std::vector<const Pattern*> patterns_;
  std::vector<Run> row_, all_;
};

bool are_windows(HeadRows heads, Vertex tokens, bool is_first) {
  Vertex sinks = 0;
  if (const std::vector<Run>& row = heads.at(tokens - 1); row.size() == 2 && row[0].first == 0) sinks = row[0].last + 1;
  Vertex low = sinks;
  for (Vertex x = 0; x < tokens; ++x) {
    poll();
    const std::vector<Run>& row = heads.at(x);
    if (row.empty() || row.back().last != x) return false;
    const Vertex start = row.back().first;
    if (is_first && x > 0 && start == x) return false;
    Vertex here = sinks;  // where the window begins, sinks left aside
    if (row.size() == 2 && x >= sinks && row[0].first == 0 && row[0].last + 1 == sinks) here = start;
    else if (row.size() != 1 || (start != 0 && sinks != 0)) return false;
    else if (start != 0) here = start;
    if (x < sinks) continue;
    if (here < low || (is_first && here > low + 1)) return false;
    low = here;
  }
  return true;
}

/// Of rows of this kind: does each hold that of the other layer?
bool holds_all(HeadRows wide, HeadRows narrow, Vertex tokens) {
  for (Vertex x = 0; x < tokens; ++x) {
    poll();
    const std::vector<Run>& outer = wide.at(x);
    const bool holds = std::ranges::all_of(narrow.at(x), [&](const Run& part) { return std::ranges::any_of(outer, [&](const Run& whole) { return whole.first <= part.first && part.last <= whole.last; }); });
    if (!holds) return false;
  }
  return true;
}

}  // namespace

bool do_windows_explain(const Layout& layout, std::uint64_t depth, ReachMemory& memory) {
  if (layout.registers > 0 || layout.order.empty() || depth < 2) return false;
  const std::set<std::uint32_t> layers(layout.order.begin(), layout.order.end());
  const std::uint32_t first = layout.order.front();
  if (!std::ranges::all_of(layers, [&](std::uint32_t l) { return are_windows({layout, l}, layout.tokens, l == first); })) return false;
  // Of what the first layer reads nothing is read there alone.
  bool again = depth > layout.order.size();
  for (std::uint64_t q = 2; q <= depth && !again; ++q) {
    const std::uint32_t l = layout.order[q - 1];
    again = l == first || holds_all({layout, l}, {layout, first}, layout.tokens);
  }
  if (!again) return false;
  std::vector<Vertex> count = compute_unseen(layout, {.memory = &memory}, depth).count;
  std::ranges::sort(count);
  return std::ranges::adjacent_find(count) == count.end();
}

}  // namespace checker
