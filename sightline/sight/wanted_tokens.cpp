// Which tokens the output of another may depend on, in the class of a target whose group moves it.
#include <algorithm>

#include "sightline/base/error.hpp"
#include "sightline/sight/parted_class.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

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
  if (question.target_class == ClassKind::causal) {
    pairs_ = WantedPairs::make_causal(*question.target, budget_);
  } else {
    constexpr Vertex most_tokens = 8192;
    if (question.layout->tokens > most_tokens) throw OutOfReach("a symmetric target in a class other than `all` or `causal` is compared on at most 8,192 tokens");
    budget_.ask(std::uint64_t{question.layout->tokens} * question.layout->tokens / 4);  // and a copy
    std::vector<std::vector<bool>> sets;
    for (Vertex a = 0; a < question.layout->tokens; ++a) sets.push_back(list(a));
    pairs_ = WantedPairs::make(*question.target, std::move(sets), budget_);
  }
  own_only_ = transitive && pairs_->own_only();
}

bool WantedTokens::may_be_moved(Vertex a, const group::Permutation& tau) const {
  if (everything_) return !tau.is_identity();
  if (own_only_) return tau(a) != a;
  if (!pairs_ && question_.target_class == ClassKind::seen) return !tau.is_identity();  // a whole view would have to be asked for
  return std::any_of(tau.moved().begin(), tau.moved().end(), [&](Vertex j) { return j < question_.layout->tokens && (parts_ ? parts_->wants(a, j) : pairs_ ? pairs_->holds(a, j) : j <= a); });
}

const std::vector<bool>& WantedTokens::of(Vertex a) const {
  if (!last_ || (!everything_ && last_->first != a)) last_.emplace(a, list(a));
  return last_->second;
}

std::vector<bool> WantedTokens::list(Vertex a) const {
  const Layout& layout = *question_.layout;
  if (pairs_ && !own_only_) return pairs_->list(a);
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
