// Stabiliser chains (Schreier-Sims), deterministic and complete; copies of orbits and classes are divided out first.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "blocks.hpp"
#include "copies.hpp"
#include "group.hpp"
#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

using Images = std::vector<Vertex>;
constexpr std::uint64_t most_chain_steps = 20'000'000'000u;
constexpr Threshold<Vertex> least_reduced{64, 6, "reduced group"};  // smaller groups have short chains
/// Few points fix everything in a group of small order. `known`: log10 of the order, negative when unknown.
bool is_small(Vertex points, double known) { return points < least_reduced || (known >= 0 && known < 4 * std::log10(points)); }
constexpr std::uint32_t unreached = ~std::uint32_t{0}, root_label = unreached - 1;

bool is_identity(const Images& g) {
  for (Vertex x = 0; x < g.size(); ++x) {
    if (g[x] != x) return false;
  }
  return true;
}

class Sims {
public:
  /// @param known log10 of the order, negative when unknown; every proper divisor is at most half as large.
  Sims(Vertex degree, const std::vector<Images>& generators, const std::vector<Vertex>& prefix, double known) : degree_(degree), known_(known) {
    for (const Vertex point : prefix) add_level(point);
    for (const Images& generator : generators) {
      Images g = generator;
      const std::size_t at = sift(g, 0);
      if (at < levels_.size() || !is_identity(g)) insert(g, 0, at);
    }
    for (std::size_t i = levels_.size(); i-- > 0 && !is_complete();) i = check_level(i);
  }

  [[nodiscard]] Order order() const {
    Order product;
    for (const Level& level : levels_) product.multiply(Natural(level.orbit.size()));
    return product;
  }
  [[nodiscard]] bool contains(Images g) const { return sift(g, 0) == levels_.size() && is_identity(g); }
  /// The base starts with the prefix; does an element map it to `to`?
  [[nodiscard]] bool extends(std::vector<Vertex> to) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (levels_[i].label[to[i]] == unreached) return false;
      while (to[i] != levels_[i].base) {
        const Images& back = inverses_[levels_[i].label[to[i]]];
        for (Vertex& x : to) x = back[x];
      }
    }
    return true;
  }

private:
  struct Level {
    Vertex base;
    std::vector<std::uint32_t> generators, tree;  ///< S_i; and S_i with powers, so that the tree is shallow
    std::vector<Vertex> orbit;
    std::vector<std::uint32_t> label;             ///< element that leads here
  };

  bool is_complete() const {
    double found = 0;
    for (const Level& level : levels_) found += std::log10(static_cast<double>(level.orbit.size()));
    return known_ >= 0 && found > known_ - 0.15;
  }

  void step(std::uint64_t count) const {
    poll();
    if ((steps_ += count) > most_chain_steps) throw Rejected("limit", "a group needs more than 2 10^10 steps to be confirmed");
  }

  void add_level(Vertex base) {
    levels_.push_back({base, {}, {}, {base}, std::vector<std::uint32_t>(degree_, unreached)});
    levels_.back().label[base] = root_label;
  }

  std::uint32_t store(Images g) {
    Images inverse(degree_);
    for (Vertex x = 0; x < degree_; ++x) inverse[g[x]] = x;
    elements_.push_back(std::move(g));
    inverses_.push_back(std::move(inverse));
    return static_cast<std::uint32_t>(elements_.size() - 1);
  }

  /// Leaves the residue in g; returns the level where it fell out.
  std::size_t sift(Images& g, std::size_t from) const {
    for (std::size_t i = from; i < levels_.size(); ++i) {
      const Level& level = levels_[i];
      if (level.label[g[level.base]] == unreached) return i;
      while (g[level.base] != level.base) {
        const Images& back = inverses_[level.label[g[level.base]]];
        for (Vertex& x : g) x = back[x];
        step(degree_);
      }
    }
    return levels_.size();
  }

  /// Takes a residue of level `at` into the levels from .. at; the base grows when it fixes all of it.
  void insert(const Images& g, std::size_t from, std::size_t at) {
    if (at == levels_.size()) {
      Vertex moved = 0;
      while (g[moved] == moved) ++moved;
      add_level(moved);
    }
    const std::uint32_t element = store(g);
    for (std::size_t i = from; i <= at; ++i) {
      Level& level = levels_[i];
      level.generators.push_back(element);
      level.tree.push_back(element);
      Images power = g;
      for (Vertex length = 2; length < level.orbit.size() * 2 + 64 && length <= degree_ && g[level.base] != level.base; length *= 2) {
        Images square(degree_);
        for (Vertex x = 0; x < degree_; ++x) square[x] = power[power[x]];
        step(degree_);
        if (is_identity(square)) break;
        level.tree.push_back(store(square));
        power.swap(square);
      }
      grow(level);
    }
  }

  /// The orbit and its tree again, breadth first.
  void grow(Level& level) {
    level.label.assign(degree_, unreached);
    level.label[level.base] = root_label;
    level.orbit.assign(1, level.base);
    for (std::size_t head = 0; head < level.orbit.size(); ++head) {
      for (const std::uint32_t element : level.tree) {
        const Vertex y = elements_[element][level.orbit[head]];
        if (level.label[y] != unreached) continue;
        level.label[y] = element;
        level.orbit.push_back(y);
      }
    }
    step(degree_ + level.orbit.size() * level.tree.size());
  }

  /// Sifts the Schreier generators of level i; returns the level to go on above (i itself when all of them are known).
  std::size_t check_level(std::size_t i) {
    const std::vector<Vertex> orbit = levels_[i].orbit;
    for (const Vertex b : orbit) {
      Images up(degree_);  // maps the base to b
      std::iota(up.begin(), up.end(), Vertex{0});
      for (Vertex x = b; x != levels_[i].base;) {
        const Images& back = inverses_[levels_[i].label[x]];
        for (Vertex& y : up) y = back[y];
        x = back[x];
        step(degree_);
      }
      // `up` maps b to the base now
      Images down(degree_);
      for (Vertex x = 0; x < degree_; ++x) down[up[x]] = x;
      for (const std::uint32_t s : std::vector<std::uint32_t>(levels_[i].generators)) {
        Images g(degree_);
        for (Vertex x = 0; x < degree_; ++x) g[x] = elements_[s][down[x]];
        step(degree_);
        const std::size_t at = sift(g, i);
        if (at == levels_.size() && is_identity(g)) continue;
        insert(g, i + 1, at);
        return levels_.size();
      }
    }
    return i;
  }

  Vertex degree_;
  double known_;
  mutable std::uint64_t steps_ = 0;
  std::vector<Images> elements_, inverses_;
  std::vector<Level> levels_;
};

}  // namespace

struct Chain::State {
  std::optional<Copies> copies;           ///< then `next` is the folded group, and the rest is empty
  Vertex degree = 0, points = 0;
  std::vector<Vertex> name, least, size;  ///< quotient point of x; least member and number of members of a quotient point
  Order order;
  double known = -1;                      ///< log10 of the quotient's order
  std::unique_ptr<Chain> next;            ///< the quotient, when anything is divided out
  std::unique_ptr<Reduction> reduction;   ///< else this, where there is one,
  std::vector<Images> generators;
  std::unique_ptr<Sims> sims;             ///< or this
  std::map<std::vector<Vertex>, std::unique_ptr<Sims>> by_prefix;
};

Chain::Chain(const Group& group, const Order* known) : Chain(group, known != nullptr ? known->log10() : group.order ? group.order->log10() : -1) {}

Chain::Chain(const Group& group, double known) {
  auto owned = std::make_unique<State>();
  State& state = *owned;
  state.degree = group.degree;
  if (state.copies = Copies::find(group); state.copies) {
    state.next.reset(new Chain(state.copies->folded(), known));
    state.order = state.next->order();
    state_ = owned.release();
    return;
  }
  Pairs together;
  for (const std::vector<Vertex>& members : group.classes) {
    for (const Vertex x : members) together.emplace_back(members[0], x);
  }
  for (const Permutation& g : group.generators) {
    if (g.moves().size() == 2) together.push_back(g.moves()[0]);
  }
  // Sym(C) and its image Sym(g C) are in the group, and two that meet generate Sym of their union.
  const std::vector<Vertex> least = close(group, together);
  state.name.resize(group.degree);
  for (Vertex x = 0; x < group.degree; ++x) {
    if (least[x] == x) {
      state.name[x] = static_cast<Vertex>(state.least.size());
      state.least.push_back(x);
      state.size.push_back(0);
    }
    state.name[x] = state.name[least[x]];
    ++state.size[state.name[x]];
  }
  state.points = static_cast<Vertex>(state.least.size());
  for (const Vertex members : state.size) state.order.multiply_factorial(members);
  const double left = known >= 0 ? known - state.order.log10() : -1;
  Group quotient;
  quotient.degree = state.points;
  for (const Permutation& g : group.generators) {
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (const auto& [x, y] : g.moves()) {
      const Vertex q = state.name[x];
      if (state.least[q] == x && state.name[y] != q) moves.emplace_back(q, state.name[y]);
    }
    if (moves.empty()) continue;
    quotient.generators.emplace_back(std::move(moves));
  }
  if (state.points < state.degree) {  // what is divided out may leave classes and copies
    state.next.reset(new Chain(quotient, left));
    state.order.multiply(state.next->order());
  } else if (!is_small(state.points, left) && (state.reduction = find_reduction(quotient))) {
    state.order.multiply(state.reduction->order());
  } else {
    for (const Permutation& g : quotient.generators) {
      state.generators.emplace_back(state.points);
      std::iota(state.generators.back().begin(), state.generators.back().end(), Vertex{0});
      for (const auto& [x, y] : g.moves()) state.generators.back()[x] = y;
    }
    state.sims = std::make_unique<Sims>(state.points, state.generators, std::vector<Vertex>(), left);
    const Order rest = state.sims->order();
    state.known = rest.log10();
    state.order.multiply(rest);
  }
  state_ = owned.release();
}

Chain::~Chain() { delete state_; }

const Order& Chain::order() const { return state_->order; }

bool Chain::contains(const Permutation& permutation) const {
  const State& state = *state_;
  if (state.copies) {
    const std::optional<Permutation> folded = state.copies->fold(permutation);
    return folded && state.next->contains(*folded);
  }
  if (!permutation.moves().empty() && permutation.moves().back().first >= state.degree) return false;
  const auto stays = [&](const auto& move) { return state.name[move.first] == state.name[move.second]; };
  if (std::all_of(permutation.moves().begin(), permutation.moves().end(), stays)) return true;  // a product of the Sym(C)
  Images images(state.points);
  std::iota(images.begin(), images.end(), Vertex{0});
  std::vector<std::pair<Vertex, Vertex>> moves;
  for (const auto& [x, y] : permutation.moves()) {
    const Vertex q = state.name[x];
    if (state.least[q] != x || state.name[y] == q) continue;
    images[q] = state.name[y];
    moves.emplace_back(q, images[q]);
  }
  std::uint64_t moving = 0;  // members of classes that move: all of them do, and as their first one does
  for (const auto& [q, image] : moves) {
    if (state.size[q] != state.size[image]) return false;
    moving += state.size[q];
  }
  for (const auto& [x, y] : permutation.moves()) {
    if (state.name[y] != images[state.name[x]]) return false;
    moving -= images[state.name[x]] != state.name[x] ? 1 : 0;
  }
  if (moving != 0) return false;
  if (state.reduction) return state.reduction->contains(Permutation(std::move(moves)));
  return state.next ? state.next->contains(Permutation(std::move(moves))) : state.sims->contains(std::move(images));
}

bool Chain::extends(const std::vector<Vertex>& from, const std::vector<Vertex>& to) const {
  State& state = *state_;
  if (from.size() != to.size()) return false;
  if (state.copies) {
    const auto folded = state.copies->fold(from, to);
    return folded && state.next->extends(folded->first, folded->second);
  }
  std::map<Vertex, Vertex> points, quotient, points_back, quotient_back;
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] >= state.degree || to[k] >= state.degree) return false;
    const Vertex a = state.name[from[k]], b = state.name[to[k]];
    if (state.size[a] != state.size[b]) return false;
    if (points.try_emplace(from[k], to[k]).first->second != to[k] || points_back.try_emplace(to[k], from[k]).first->second != from[k]) return false;
    if (quotient.try_emplace(a, b).first->second != b || quotient_back.try_emplace(b, a).first->second != a) return false;
  }
  std::vector<Vertex> below, images;
  for (const auto& [a, b] : quotient) {
    below.push_back(a);
    images.push_back(b);
  }
  if (state.next) return state.next->extends(below, images);
  if (state.reduction) return state.reduction->extends(below, images);
  std::unique_ptr<Sims>& sims = state.by_prefix[below];
  if (!sims) sims = std::make_unique<Sims>(state.points, state.generators, below, state.known);
  return sims->extends(images);
}

}  // namespace checker
