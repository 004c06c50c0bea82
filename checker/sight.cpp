#include "sight.hpp"

#include <algorithm>

#include "grid.hpp"
#include "parted_class.hpp"
#include "reach.hpp"

namespace checker {

namespace {

constexpr Vertex most_tokens_in_sets = 8192;

}  // namespace

bool is_trivial(const Group& group) {
  return group.classes.empty() && std::all_of(group.generators.begin(), group.generators.end(), [](const Permutation& g) { return g.is_identity(); });
}

WantedTokens::WantedTokens(const Layout& layout, const ViewQuestion& question, ReachMemory& memory) : layout_(layout), kind_(question.kind) {
  const Group& target = question.target != nullptr ? *question.target : question.layout_group->group;
  // The layout's own group maps what a token ever sees to what its image ever sees; no other keeps every 0..a but the trivial one.
  if (kind_ == ClassKind::all || is_trivial(target) || (kind_ == ClassKind::seen && question.target == nullptr)) return;
  const bool transitive = std::ranges::all_of(orbits(target), [](Vertex least) { return least == 0; });
  own_only_ = transitive && kind_ == ClassKind::causal;  // sums over G of g(a) - g(j) are 0 within an orbit (16.93)
  if (own_only_ || (parts_ = PartedClass::find(layout, question, memory))) return;
  if (kind_ == ClassKind::causal) {
    pairs_.emplace(target);
  } else {
    if (layout.tokens > most_tokens_in_sets) throw Rejected("limit", "a symmetric target in a class other than `all` or `causal` is compared on at most 8,192 tokens");
    std::vector<std::vector<bool>> sets;
    for (Vertex a = 0; a < layout.tokens; ++a) sets.push_back(list(a));
    pairs_.emplace(target, std::move(sets));
  }
  own_only_ = transitive && pairs_->own_only();
}

const WantedTokens* WantedTokens::sets() const {
  if (!parts_ && !pairs_) return nullptr;
  constexpr std::uint64_t most_compared = 5'000'000'000;
  if (std::uint64_t{layout_.tokens} * layout_.tokens > most_compared) throw Rejected("limit", "what a symmetric target lets tokens use is compared with what they see in at most 5 10^9 steps");
  return this;
}

bool WantedTokens::may_hold(Vertex a, Vertex j) const {
  if (parts_) return parts_->wants(a, j);
  if (pairs_) return pairs_->holds(a, j);
  return own_only_ ? j == a : kind_ != ClassKind::causal || j <= a;
}

const std::vector<bool>& WantedTokens::of(Vertex a) const {
  if (!last_ || (!everything() && last_->first != a)) last_.emplace(a, list(a));
  return last_->second;
}

std::vector<bool> WantedTokens::list(Vertex a) const {
  std::vector<bool> set(layout_.tokens, everything());
  if (own_only_) {
    set[a] = true;
    return set;
  }
  if (parts_ || pairs_) {
    for (Vertex j = 0; j < layout_.tokens; ++j) set[j] = may_hold(a, j);
    return set;
  }
  if (kind_ == ClassKind::causal) std::fill(set.begin(), set.begin() + a + 1, true);
  if (kind_ != ClassKind::seen) return set;
  const auto latest = compute_latest(layout_, ever_of(layout_), a);
  for (Vertex j = 0; j < layout_.tokens; ++j) set[j] = latest[j] >= 0;
  return set;
}

Sight::Sight(const Layout& layout, const Json& evidence, const ConfirmedGroup* group)
    : state_(new State{layout, evidence, group == nullptr ? std::vector<Vertex>{} : checker::orbits(group->group), ReachMemory{layout}, {}}) {}
Sight::~Sight() { delete state_; }

void Sight::keep_grid(std::optional<Grid> grid) { checker::keep_grid(state_->memory, std::move(grid)); }

std::optional<std::uint64_t> Sight::connected() const {
  ReachQuestion question = state_->ask();
  return compute_reach(state_->layout, question).layers;
}

ClassKind Sight::class_kind() const {
  const Layout& layout = state_->layout;
  ReachQuestion question = state_->ask();
  if (compute_reach(layout, question).layers) return ClassKind::all;
  const Unseen of_all = compute_unseen(layout, question, std::nullopt);
  bool all = true, causal = true;
  for (Vertex i = 0; i < layout.tokens; ++i) {
    all = all && of_all.count[i] == 0;
    causal = causal && of_all.count[i] == layout.tokens - 1 - i;
  }
  if (all) return ClassKind::all;
  question.kind = ClassKind::causal;
  return causal && !compute_unseen(layout, question, std::nullopt).first ? ClassKind::causal : ClassKind::seen;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> Sight::unseen(std::optional<std::uint64_t> depth, const std::vector<Vertex>& tokens_of_places) const {
  ReachQuestion question = state_->ask();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
  std::vector<Vertex> counts = compute_unseen(state_->layout, question, depth).count;
  if (!tokens_of_places.empty()) {
    std::vector<Vertex> by_token(counts.size());
    for (std::size_t k = 0; k < counts.size(); ++k) by_token[tokens_of_places[k]] = counts[k];
    counts.swap(by_token);
  }
  for (const Vertex count : counts) {
    if (runs.empty() || runs.back().first != count) runs.emplace_back(count, 0);
    ++runs.back().second;
  }
  return runs;
}

Reach Sight::State::wanted_reach(const WantedTokens& wanted, ClassKind kind, bool ordinary_only) const {
  if (wanted.own_only()) return {0, std::nullopt};
  if (wanted.parts() != nullptr && !ordinary_only) return wanted.parts()->reach();
  ReachQuestion question = ask(kind, ordinary_only);
  question.sets = wanted.sets();
  return compute_reach(layout, question);
}

Reach Sight::wanted_reach(const ViewQuestion& question, bool ordinary_only) const {
  return state_->wanted_reach(WantedTokens(state_->layout, question, state_->memory), question.kind, ordinary_only);
}

std::pair<std::uint64_t, std::optional<std::pair<Vertex, Vertex>>> Sight::unseen_pairs(const ViewQuestion& question, std::optional<std::uint64_t> depth,
                                                                                      bool ordinary_only) const {
  const WantedTokens wanted(state_->layout, question, state_->memory);
  if (wanted.own_only()) return {0, std::nullopt};
  if (wanted.parts() != nullptr && !ordinary_only) return wanted.parts()->unseen(depth);
  ReachQuestion ask = state_->ask(question.kind, ordinary_only);
  ask.sets = wanted.sets();
  const Unseen unseen = compute_unseen(state_->layout, ask, depth);
  std::uint64_t count = 0;
  for (const Vertex c : unseen.count) count += c;
  return {count, unseen.first};
}

}  // namespace checker
