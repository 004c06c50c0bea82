#include "sightline/sight/wanted_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/symmetry/orbits.hpp"

namespace sightline::sight {

namespace {

constexpr Vertex none = ~Vertex{0};

/// Calls take(image of a, image of b) for every permutation that moves one of the two.
template <class Take>
void move_pair(const WantedPairs::Moves& moves, Vertex a, Vertex b, const Take& take) {
  auto of_a = moves[a].begin(), of_b = moves[b].begin();
  const auto a_end = moves[a].end(), b_end = moves[b].end();
  while (of_a != a_end || of_b != b_end) {
    const std::uint32_t g = of_b == b_end || (of_a != a_end && of_a->first <= of_b->first) ? of_a->first : of_b->first;
    const Vertex to_a = of_a != a_end && of_a->first == g ? of_a++->second : a, to_b = of_b != b_end && of_b->first == g ? of_b++->second : b;
    take(to_a, to_b);
  }
}

/// By token: does it stand in one stretch with the one before it? None of a symmetric class does.
std::vector<bool> find_joined(const group::Group& group) {
  std::vector<bool> joined(group.degree, true);
  joined[0] = false;
  std::vector<Vertex> cut;  // whose preimages are to be cut as well
  const auto part = [&](Vertex i) {
    if (i > 0 && i < group.degree && joined[i]) {
      joined[i] = false;
      cut.push_back(i);
    }
  };
  for (const auto& members : group.symmetric_classes) {
    for (const Vertex x : members) {
      part(x);
      part(x + 1);
    }
  }
  const auto are_beside = [](Vertex x, Vertex y) { return x + 1 == y || y + 1 == x; };
  WantedPairs::Moves from(group.degree);  // by preimages
  for (std::uint32_t k = 0; k < group.generators.size(); ++k) {
    const group::Permutation& g = group.generators[k];
    for (std::size_t at = 0; at < g.moved().size(); ++at) {
      const Vertex x = g.moved()[at], y = g.image()[at];
      from[y].emplace_back(k, x);
      if (x > 0 && !are_beside(g(x - 1), y)) part(x);
      if (x + 1 < group.degree && !are_beside(y, g(x + 1))) part(x + 1);
    }
  }
  while (!cut.empty()) {
    const Vertex i = cut.back();
    cut.pop_back();
    move_pair(from, i - 1, i, [&](Vertex x, Vertex y) {
      if (are_beside(x, y)) part(std::max(x, y));
    });
  }
  return joined;
}

}  // namespace

WantedPairs WantedPairs::make_causal(const group::Group& group, const Budget& budget) {
  WantedPairs result;
  if (!result.unite(group)) result.separate(group.degree);
  const Moves moves = result.list_moves(group);
  result.check_steps(moves);
  budget.ask(std::uint64_t{result.units_.size()} * result.units_.size() / 4);  // and a copy
  for (const Unit& u : result.units_) {
    std::vector<bool>& set = result.sets_.emplace_back();
    for (const Unit& v : result.units_) set.push_back(v.most < u.least);
  }
  result.shrink(moves, budget);
  return result;
}

WantedPairs WantedPairs::make(const group::Group& group, std::vector<std::vector<bool>> sets, const Budget& budget) {
  WantedPairs result;
  result.separate(group.degree);
  const Moves moves = result.list_moves(group);
  result.check_steps(moves);
  result.sets_ = std::move(sets);
  result.shrink(moves, budget);
  return result;
}

bool WantedPairs::unite(const group::Group& group) {
  const std::vector<bool> joined = find_joined(group);
  std::vector<Vertex> class_of(group.degree, none);
  for (const auto& members : group.symmetric_classes) {
    for (const Vertex x : members) class_of[x] = members.front();
  }
  unit_of_.assign(group.degree, none);
  for (Vertex x = 0; x < group.degree; ++x) {
    if (class_of[x] != none && class_of[x] != x) unit_of_[x] = unit_of_[class_of[x]];
    else if (joined[x]) unit_of_[x] = unit_of_[x - 1];
    else {
      unit_of_[x] = static_cast<Vertex>(units_.size());
      units_.push_back({x, x, 0, class_of[x] == x});
    }
    Unit& unit = units_[unit_of_[x]];
    unit.most = x;
    ++unit.size;
  }
  std::vector<Vertex> moved(units_.size(), 0), image(units_.size());
  for (const group::Permutation& g : group.generators) {
    for (std::size_t k = 0; k < g.moved().size(); ++k) {
      const Vertex u = unit_of_[g.moved()[k]], v = unit_of_[g.image()[k]];
      if (moved[u]++ == 0) image[u] = v;
      if (image[u] != v || units_[u].size != units_[v].size || units_[u].is_class != units_[v].is_class) return false;
    }
    for (const Vertex x : g.moved()) {
      const Vertex u = unit_of_[x], count = std::exchange(moved[u], 0);
      if (count > 0 && count < units_[u].size && image[u] != u) return false;
    }
  }
  return true;
}

void WantedPairs::separate(Vertex tokens) {
  unit_of_.resize(tokens);
  std::iota(unit_of_.begin(), unit_of_.end(), Vertex{0});
  units_.clear();
  for (Vertex x = 0; x < tokens; ++x) units_.push_back({x, x, 1, false});
}

WantedPairs::Moves WantedPairs::list_moves(const group::Group& group) {
  const auto count = static_cast<Vertex>(units_.size());
  Moves moves(count);
  std::uint32_t number = 0;
  for (const std::vector<group::Point>& members : group.symmetric_classes) {
    if (units_[unit_of_[members.front()]].is_class) continue;
    // Two permutations generate all those of a class.
    for (std::size_t k = 0; k < members.size(); ++k) moves[unit_of_[members[k]]].emplace_back(number, unit_of_[members[(k + 1) % members.size()]]);
    moves[unit_of_[members[0]]].emplace_back(number + 1, unit_of_[members[1]]);
    moves[unit_of_[members[1]]].emplace_back(number + 1, unit_of_[members[0]]);
    number += 2;
  }
  symmetry::Orbits orbits(count);
  std::vector<Vertex> turned;
  for (const group::Permutation& g : group.generators) {
    for (const Vertex x : g.moved()) {
      const Vertex u = unit_of_[x];
      if (x != units_[u].least) continue;
      if (units_[u].size > 1 && !units_[u].is_class && g(x) > g(x + 1)) turned.push_back(u);
      const Vertex v = unit_of_[g(x)];
      if (u == v) continue;
      moves[u].emplace_back(number, v);
      orbits.join(u, v);
    }
    ++number;
  }
  in_order_.assign(count, true);
  for (const Vertex u : turned) in_order_[orbits.find(u)] = false;
  for (Vertex u = 0; u < count; ++u) in_order_[u] = !units_[u].is_class && in_order_[orbits.find(u)];  // the least of an orbit comes first
  return moves;
}

void WantedPairs::check_steps(const Moves& moves) const {
  constexpr std::uint64_t most_units = 8192, most_steps = 1'000'000'000;
  std::uint64_t moved = 0;
  for (const auto& list : moves) moved += list.size();
  if (units_.size() > most_units || 2 * moved * units_.size() > most_steps) {
    throw OutOfReach("a symmetric target in a class other than `all` is compared on at most 8,192 stretches of tokens that move as one, and in at most 10^9 steps");
  }
}

// Whatever G makes of a pair that is not in the class is not wanted.
void WantedPairs::shrink(const Moves& moves, const Budget& budget) {
  const std::vector<std::vector<bool>> allowed = sets_;  // each pair is moved on once: in its turn, or when it is dropped
  std::vector<std::pair<Vertex, Vertex>> open;
  const auto drop = [&](Vertex a, Vertex j) {
    if (!sets_[a][j]) return;
    sets_[a][j] = false;
    open.emplace_back(a, j);
  };
  for (Vertex a = 0; a < units_.size(); ++a) {
    for (Vertex j = 0; j < units_.size(); ++j) {
      if (j == a || allowed[a][j]) continue;
      budget.poll();
      move_pair(moves, a, j, drop);
      while (!open.empty()) {
        const auto [b, k] = open.back();
        open.pop_back();
        move_pair(moves, b, k, drop);
      }
    }
  }
  for (Vertex a = 0; a < units_.size(); ++a) is_apart_.push_back(std::count(sets_[a].begin(), sets_[a].end(), true) == (sets_[a][a] ? 1 : 0));
}

std::vector<bool> WantedPairs::list(Vertex a) const {
  const Vertex u = unit_of_[a];
  const std::vector<bool>& row = sets_[u];
  std::vector<bool> set(unit_of_.size());
  for (Vertex j = 0; j < set.size(); ++j) set[j] = row[unit_of_[j]];
  if (in_order_[u]) std::fill(set.begin() + units_[u].least, set.begin() + a, true);
  set[a] = true;
  return set;
}

bool WantedPairs::own_only() const {
  for (Vertex u = 0; u < units_.size(); ++u) {
    if (!is_apart_[u] || (in_order_[u] && units_[u].size > 1)) return false;
  }
  return true;
}

}  // namespace sightline::sight
