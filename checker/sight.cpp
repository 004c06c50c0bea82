#include "sight.hpp"

#include <algorithm>

#include "grid.hpp"
#include "reach.hpp"

namespace checker {

bool is_trivial(const Group& group) {
  return group.classes.empty() && std::all_of(group.generators.begin(), group.generators.end(), [](const Permutation& g) { return g.is_identity(); });
}

WantedTokens::WantedTokens(const Layout& layout, const ViewQuestion& question) : layout_(layout), kind_(question.kind) {
  constexpr Vertex most_tokens = 512;
  const Group& target = question.target != nullptr ? *question.target : question.layout_group->group;
  // The layout's own group maps what a token ever sees to what its image ever sees; no other keeps every 0..a but the trivial one.
  if (kind_ == ClassKind::all || is_trivial(target) || (kind_ == ClassKind::seen && question.target == nullptr)) return;
  if (layout.tokens > most_tokens) throw Rejected("target", "a symmetric target in a class other than `all` is compared on at most 512 tokens");
  std::vector<std::vector<bool>> sets;
  for (Vertex a = 0; a < layout.tokens; ++a) sets.push_back(of(a));
  const std::vector<Permutation> generators = list_generators(target, ~std::size_t{0});
  for (bool changed = true; changed;) {
    changed = false;
    for (const Permutation& g : generators) {
      for (Vertex a = 0; a < layout.tokens; ++a) {
        for (Vertex j = 0; j < layout.tokens; ++j) {
          if (!sets[a][j] || sets[g(a)][g(j)]) continue;
          sets[a][j] = false;
          changed = true;
        }
      }
    }
  }
  sets_ = std::move(sets);
}

std::vector<bool> WantedTokens::of(Vertex a) const {
  if (!sets_.empty()) return sets_[a];
  std::vector<bool> set(layout_.tokens, kind_ == ClassKind::all);
  if (kind_ == ClassKind::causal) std::fill(set.begin(), set.begin() + a + 1, true);
  if (kind_ != ClassKind::seen) return set;
  const auto latest = compute_latest(layout_, ever_of(layout_), a);
  for (Vertex j = 0; j < layout_.tokens; ++j) set[j] = latest[j] >= 0;
  return set;
}

Sight::Sight(const Layout& layout, const Json& evidence, const ConfirmedGroup* group)
    : state_(new State{layout, evidence, group == nullptr ? std::vector<Vertex>{} : checker::orbits(group->group), ReachMemory{layout}}) {}
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

std::vector<std::pair<std::uint64_t, std::uint64_t>> Sight::unseen(std::optional<std::uint64_t> depth) const {
  ReachQuestion question = state_->ask();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
  for (const Vertex count : compute_unseen(state_->layout, question, depth).count) {
    if (runs.empty() || runs.back().first != count) runs.emplace_back(count, 0);
    ++runs.back().second;
  }
  return runs;
}

Reach Sight::wanted_reach(const ViewQuestion& question, bool ordinary_only) const {
  const WantedTokens wanted(state_->layout, question);
  ReachQuestion reach = state_->ask(question.kind, ordinary_only);
  reach.sets = wanted.sets();
  return compute_reach(state_->layout, reach);
}

std::pair<std::uint64_t, std::optional<std::pair<Vertex, Vertex>>> Sight::unseen_pairs(const ViewQuestion& question, std::optional<std::uint64_t> depth,
                                                                                      bool ordinary_only) const {
  const WantedTokens wanted(state_->layout, question);
  ReachQuestion ask = state_->ask(question.kind, ordinary_only);
  ask.sets = wanted.sets();
  const Unseen unseen = compute_unseen(state_->layout, ask, depth);
  std::uint64_t count = 0;
  for (const Vertex c : unseen.count) count += c;
  return {count, unseen.first};
}

}  // namespace checker
