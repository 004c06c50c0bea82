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
  shrink(target);
  own_only_ = transitive && std::ranges::all_of(sets_, [](const std::vector<bool>& set) { return std::ranges::count(set, true) == 1; });
}

/// The class's sets without the pairs that G moves out of the class.
void WantedTokens::shrink(const Group& target) {
  const Vertex tokens = layout_.tokens;
  const std::vector<Permutation> generators = few_generators(target);
  std::vector<std::vector<std::pair<std::size_t, Vertex>>> images(tokens);  // of each token that the generator moves
  std::uint64_t moved = 0;
  for (std::size_t g = 0; g < generators.size(); ++g) {
    for (const auto& [x, image] : generators[g].moves()) images[x].emplace_back(g, image);
    moved += generators[g].moves().size();
  }
  constexpr std::uint64_t most_steps = 1'000'000'000;
  if (tokens > most_tokens_in_sets || 2 * moved * tokens > most_steps) throw Rejected("limit", "a symmetric target in a class other than `all` is compared on at most 8,192 tokens and in at most 10^9 steps");
  std::vector<std::vector<bool>> sets;
  for (Vertex a = 0; a < tokens; ++a) sets.push_back(of(a));
  std::vector<std::pair<Vertex, Vertex>> open;
  const auto drop_images = [&](Vertex a, Vertex j) {
    const auto drop = [&](Vertex b, Vertex k) {
      if (!sets[b][k]) return;
      sets[b][k] = false;
      open.emplace_back(b, k);
    };
    std::size_t x = 0, y = 0;
    const auto &of_a = images[a], &of_j = images[j];
    while (x < of_a.size() || y < of_j.size()) {
      const std::size_t g = std::min(x < of_a.size() ? of_a[x].first : generators.size(), y < of_j.size() ? of_j[y].first : generators.size());
      const bool first = x < of_a.size() && of_a[x].first == g, second = y < of_j.size() && of_j[y].first == g;
      drop(first ? of_a[x++].second : a, second ? of_j[y++].second : j);
    }
  };
  for (Vertex a = 0; a < tokens; ++a) {
    for (Vertex j = kind_ == ClassKind::causal ? a + 1 : 0; j < tokens; ++j) {  // what is wanted of 0 .. a goes on when it is dropped
      if (sets[a][j]) continue;
      poll();
      drop_images(a, j);
      while (!open.empty()) {
        const auto [b, k] = open.back();
        open.pop_back();
        drop_images(b, k);
      }
    }
  }
  sets_ = std::move(sets);
}

const std::vector<std::vector<bool>>* WantedTokens::sets() const {
  if (parts_ && sets_.empty()) {
    if (layout_.tokens > most_tokens_in_sets) throw Rejected("limit", "what tokens of parts are to see beside a BOS is compared on at most 8,192 tokens");
    for (Vertex a = 0; a < layout_.tokens; ++a) sets_.push_back(list(a));
  }
  return sets_.empty() ? nullptr : &sets_;
}

bool WantedTokens::may_hold(Vertex a, Vertex j) const {
  if (parts_) return parts_->wants(a, j);
  return own_only_ ? j == a : sets_.empty() ? kind_ != ClassKind::causal || j <= a : sets_[a][j];
}

const std::vector<bool>& WantedTokens::of(Vertex a) const {
  if (!sets_.empty()) return sets_[a];
  if (!last_ || (!everything() && last_->first != a)) last_.emplace(a, list(a));
  return last_->second;
}

std::vector<bool> WantedTokens::list(Vertex a) const {
  std::vector<bool> set(layout_.tokens, everything());
  if (own_only_) {
    set[a] = true;
    return set;
  }
  if (parts_) {
    for (Vertex j = 0; j < layout_.tokens; ++j) set[j] = parts_->wants(a, j);
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
