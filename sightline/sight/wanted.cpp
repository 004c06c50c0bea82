#include "sightline/sight/wanted.hpp"

#include "sightline/base/error.hpp"
#include "sightline/sight/parted_class.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// May G map what the class gives to a onto something else than what it gives to g(a)? No symmetry but the trivial one
/// keeps every 0..a; the layout's own keeps what is ever seen.
bool moves_class(const ViewQuestion& question) {
  if (question.target_class == ClassKind::all || question.target->is_trivial()) return false;
  return question.target_class == ClassKind::causal || question.target != question.layout_group;
}

std::vector<bool> to_members(const std::vector<layout::Run>& runs, Vertex tokens) {
  std::vector<bool> members(tokens, false);
  for (const layout::Run& run : runs) {
    for (std::uint64_t j = run.first; j <= run.last && j < tokens; j += run.step) members[j] = true;
  }
  return members;
}

/// What is wanted and out of view; `first_only`: the first pair, without the count. The layout's own group takes what is seen, and what is wanted, along: one token of each orbit tells.
UnseenPairs count_pairs(const ViewQuestion& question, const WantedTokens& wanted, std::uint64_t depth, bool ordinary_only, bool first_only, const Budget& budget) {
  UnseenPairs result;
  const Vertex tokens = question.layout->tokens;
  constexpr std::uint64_t most_compared = 5'000'000'000;
  if (std::uint64_t{tokens} * tokens > most_compared) throw OutOfReach("what a symmetric target lets tokens use is compared with what they see in at most 5 10^9 steps");
  std::vector<Vertex> alike(tokens, 1);  // how many tokens this one stands for
  if (question.target == question.layout_group && !ordinary_only) {
    alike.assign(tokens, 0);
    for (Vertex a = 0; a < tokens; ++a) ++alike[question.target->orbit[a]];
  }
  // Who sees all that the class allows sees what is wanted of it, and everybody sees itself.
  const std::vector<Vertex> unseen = compute_unseen(*question.layout, depth, {question.target_class, ordinary_only}, budget);
  for (Vertex a = 0; a < tokens; ++a) {
    if (alike[a] == 0 || unseen[a] == 0 || wanted.own_only(a)) continue;
    budget.poll();
    const std::vector<bool> needed = wanted.of(a), seen = to_members(compute_view(*question.layout, depth, a, budget), tokens);
    for (Vertex j = ordinary_only ? 1 : 0; j < tokens; ++j) {
      if (!needed[j] || seen[j]) continue;
      result.count += alike[a];
      if (!result.first) result.first = UnreachablePair{a, j};
      if (first_only) return result;
    }
  }
  return result;
}

}  // namespace

std::uint64_t compute_stable_depth(const Layout& layout, const Budget& budget) {
  return compute_class_reach(layout, {ClassKind::seen, false}, budget).layers.value_or(0);
}

Connected compute_wanted_reach(const ViewQuestion& question, bool ordinary_only, const Budget& budget) {
  if (!moves_class(question)) return compute_class_reach(*question.layout, {question.target_class, ordinary_only}, budget);
  const WantedTokens wanted(question, budget);
  if (wanted.own_only()) return {0, std::nullopt};
  if (wanted.parts() != nullptr && !ordinary_only) return wanted.parts()->compute_reach(budget);
  Connected result;
  std::uint64_t low = 0, high = compute_stable_depth(*question.layout, budget);
  result.witness = count_pairs(question, wanted, high, ordinary_only, true, budget).first;
  if (result.witness) return result;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const UnseenPairs missing = count_pairs(question, wanted, middle, ordinary_only, true, budget);
    if (missing.first) {
      result.witness = missing.first;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  result.layers = low;
  return result;
}

UnseenPairs find_unseen_pairs(const ViewQuestion& question, std::optional<std::uint64_t> depth, bool ordinary_only, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (moves_class(question)) {
    const WantedTokens wanted(question, budget);
    if (wanted.parts() != nullptr && !ordinary_only) return wanted.parts()->count_unseen(depth, budget);
    return wanted.own_only() ? UnseenPairs{} : count_pairs(question, wanted, depth ? *depth : compute_stable_depth(layout, budget), ordinary_only, false, budget);
  }
  UnseenPairs result;
  const std::vector<Vertex> unseen = compute_unseen(layout, depth, {question.target_class, ordinary_only}, budget);
  for (Vertex a = 0; a < layout.tokens; ++a) {
    result.count += unseen[a];
    if (unseen[a] == 0 || result.first) continue;
    const std::uint64_t at = depth ? *depth : compute_stable_depth(layout, budget);
    const std::vector<bool> seen = to_members(compute_view(layout, at, a, budget), layout.tokens);
    const std::vector<bool> ever = question.target_class == ClassKind::seen
                                       ? to_members(compute_view(layout, compute_stable_depth(layout, budget), a, budget), layout.tokens)
                                       : std::vector<bool>(layout.tokens, true);
    for (Vertex j = ordinary_only ? 1 : 0; j < layout.tokens && !result.first; ++j) {
      if (question.target_class == ClassKind::causal && j > a) break;
      if (!seen[j] && ever[j]) result.first = UnreachablePair{a, j};
    }
  }
  return result;
}

}  // namespace sightline::sight
