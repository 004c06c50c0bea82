// Which tokens the output of another may depend on, in the class of a target whose group moves it.
#include <algorithm>

#include "sightline/base/error.hpp"
#include "sightline/sight/parted_class.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

// Tokens, and steps from pair to pair, of targets whose group moves the class: fixed numbers, so that the same input gets the same answer everywhere.
constexpr Vertex most_tokens_wanted = 8192;
constexpr std::uint64_t most_pairs_moved = 1'000'000'000;

WantedTokens::WantedTokens(const ViewQuestion& question, const Budget& budget) : question_(question), budget_(budget) {
  if (question.target_class == ClassKind::all) {
    everything_ = true;
    return;
  }
  if (question.target->is_trivial()) return;
  // The layout's own group maps what a token ever sees to what its image ever sees.
  if (question.target_class == ClassKind::seen && question.target == question.layout_group) return;
  const bool transitive = std::all_of(question.target->orbit.begin(), question.target->orbit.end(), [](group::Point least) { return least == 0; });
  own_only_ = transitive && question.target_class == ClassKind::causal;
  if (own_only_) return;
  parts_ = PartedClass::find(question, budget);
  if (parts_) return;
  sets_ = shrink();
  own_only_ = transitive && std::all_of(sets_.begin(), sets_.end(), [](const std::vector<bool>& set) { return std::count(set.begin(), set.end(), true) == 1; });
}

std::vector<std::vector<bool>> WantedTokens::shrink() const {
  const Vertex tokens = question_.layout->tokens;
  // Who moves a token: two permutations generate all those of a class.
  std::vector<std::vector<std::pair<std::uint32_t, Vertex>>> moves(tokens);  // (generator, image), by generator
  std::uint32_t count = 0;
  for (const std::vector<group::Point>& members : question_.target->symmetric_classes) {
    for (std::size_t k = 0; k < members.size(); ++k) moves[members[k]].emplace_back(count, members[(k + 1) % members.size()]);
    moves[members[0]].emplace_back(count + 1, members[1]);
    moves[members[1]].emplace_back(count + 1, members[0]);
    count += 2;
  }
  for (const group::Permutation& g : question_.target->generators) {
    for (const group::Point x : g.moved()) moves[x].emplace_back(count, g(x));
    ++count;
  }
  std::uint64_t moved = 0;
  for (const auto& list : moves) moved += list.size();
  if (tokens > most_tokens_wanted || 2 * moved * tokens > most_pairs_moved) {
    throw OutOfReach("a symmetric target in a class other than `all` is compared on at most 8,192 tokens and in at most 10^9 steps");
  }
  budget_.ask(std::uint64_t{tokens} * tokens / 8);
  std::vector<std::vector<bool>> sets;
  for (Vertex a = 0; a < tokens; ++a) sets.push_back(of(a));
  // Whatever G makes of a pair that is not in the class is not wanted.
  std::vector<std::pair<Vertex, Vertex>> open;
  const auto drop = [&](Vertex a, Vertex j) {
    if (!sets[a][j]) return;
    sets[a][j] = false;
    open.emplace_back(a, j);
  };
  const auto move_on = [&](Vertex a, Vertex j) {
    auto of_a = moves[a].begin(), of_j = moves[j].begin();
    const auto a_end = moves[a].end(), j_end = moves[j].end();
    while (of_a != a_end || of_j != j_end) {
      const std::uint32_t g = of_j == j_end || (of_a != a_end && of_a->first <= of_j->first) ? of_a->first : of_j->first;
      drop(of_a != a_end && of_a->first == g ? of_a++->second : a, of_j != j_end && of_j->first == g ? of_j++->second : j);
    }
  };
  for (Vertex a = 0; a < tokens; ++a) {
    // Those at and below a are moved on when they are dropped.
    for (Vertex j = question_.target_class == ClassKind::causal ? a + 1 : 0; j < tokens; ++j) {
      if (sets[a][j]) continue;
      budget_.poll();
      move_on(a, j);
      while (!open.empty()) {
        const auto [b, k] = open.back();
        open.pop_back();
        move_on(b, k);
      }
    }
  }
  return sets;
}

bool WantedTokens::may_be_moved(Vertex a, const group::Permutation& tau) const {
  if (everything_) return !tau.is_identity();
  if (own_only_) return tau(a) != a;
  if (sets_.empty() && question_.target_class == ClassKind::seen) return !tau.is_identity();  // a whole view would have to be asked for
  return std::any_of(tau.moved().begin(), tau.moved().end(), [&](Vertex j) { return j < question_.layout->tokens && (parts_ ? parts_->wants(a, j) : sets_.empty() ? j <= a : sets_[a][j]); });
}

const std::vector<bool>& WantedTokens::of(Vertex a) const {
  if (!sets_.empty()) return sets_[a];
  if (!last_ || (!everything_ && last_->first != a)) last_.emplace(a, list(a));
  return last_->second;
}

std::vector<bool> WantedTokens::list(Vertex a) const {
  const Layout& layout = *question_.layout;
  std::vector<bool> set(layout.tokens, everything_);
  if (own_only_) set[a] = true;
  if (everything_ || own_only_) return set;
  if (parts_) {
    for (Vertex j = 0; j < layout.tokens; ++j) set[j] = parts_->wants(a, j);
    return set;
  }
  if (question_.target_class == ClassKind::causal) {
    std::fill(set.begin(), set.begin() + a + 1, true);
    return set;
  }
  const std::uint64_t ever = (std::uint64_t{layout.vertices()} + 1) * std::max<std::uint64_t>(1, layout.order.size());
  const std::vector<std::int64_t> latest = compute_latest(layout, ever, a, budget_);
  for (Vertex j = 0; j < layout.tokens; ++j) set[j] = latest[j] >= 0;
  return set;
}

}  // namespace sightline::sight
