#include "sightline/group/group.hpp"

#include <algorithm>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/group/analysis.hpp"
#include "sightline/group/congruence.hpp"

namespace sightline::group {

namespace {

Group make_from_seeds(Point degree, const std::vector<std::vector<Point>>& seeds, const std::vector<Permutation>& generators, const Order* at_most, const Budget& budget) {
  for (const Permutation& g : generators) {
    if (!g.moved().empty() && g.moved().back() >= degree) throw ArgumentError("a generator moves a point beyond the degree of its group");
  }
  const Analysis analysis(degree, seeds, generators, at_most, at_most == nullptr, budget);
  Group group;
  group.degree = degree;
  group.symmetric_classes = analysis.classes();
  for (const std::size_t k : analysis.irredundant()) group.generators.push_back(generators[k]);
  group.order = analysis.order();
  group.orbit = compute_orbits(degree, group.symmetric_classes, group.generators);
  return group;
}

bool lies_in(const Group& small, const Membership& large) {
  for (const auto& members : small.symmetric_classes) {
    for (std::size_t k = 1; k < members.size(); ++k) {
      if (!large.contains(Permutation::transposition(members[k - 1], members[k]))) return false;
    }
  }
  return std::all_of(small.generators.begin(), small.generators.end(), [&](const Permutation& g) { return large.contains(g); });
}

}  // namespace

Permutation rename(const Permutation& permutation, const std::vector<Point>& names) {
  std::vector<std::pair<Point, Point>> moves;
  for (std::size_t k = 0; k < permutation.moved().size(); ++k) moves.emplace_back(names[permutation.moved()[k]], names[permutation.image()[k]]);
  std::sort(moves.begin(), moves.end());
  std::vector<Point> moved, image;
  for (const auto& [from, to] : moves) {
    moved.push_back(from);
    image.push_back(to);
  }
  return Permutation::from_support(std::move(moved), std::move(image));
}

Group rename(const Group& group, const std::vector<Point>& names) {
  Group result{group.degree, {}, {}, group.order, std::vector<Point>(group.degree)};
  for (const std::vector<Point>& members : group.symmetric_classes) {
    std::vector<Point>& named = result.symmetric_classes.emplace_back();
    for (const Point x : members) named.push_back(names[x]);
    std::sort(named.begin(), named.end());
  }
  for (const Permutation& generator : group.generators) result.generators.push_back(rename(generator, names));
  std::vector<Point> least(group.degree, group.degree);
  for (Point x = 0; x < group.degree; ++x) least[group.orbit[x]] = std::min(least[group.orbit[x]], names[x]);
  for (Point x = 0; x < group.degree; ++x) result.orbit[names[x]] = least[group.orbit[x]];
  return result;
}

Group make_trivial_group(Point degree) {
  Group group;
  group.degree = degree;
  group.orbit.resize(degree);
  std::iota(group.orbit.begin(), group.orbit.end(), Point{0});
  return group;
}

Group make_symmetric_group(Point degree) {
  Group group = make_trivial_group(degree);
  if (degree < 2) return group;
  group.symmetric_classes.push_back(group.orbit);
  group.orbit.assign(degree, 0);
  group.order.multiply_factorial(degree);
  return group;
}

Group make_group(Point degree, std::vector<Permutation> generators, const Budget& budget) {
  return make_group(degree, std::move(generators), std::nullopt, budget);
}

Group make_group(Point degree, std::vector<Permutation> generators, const std::optional<Order>& at_most, const Budget& budget) {
  return make_from_seeds(degree, {}, generators, at_most ? &*at_most : nullptr, budget);
}

Group make_join(const std::vector<Group>& groups, const Budget& budget) {
  if (groups.empty()) throw ArgumentError("the join of no groups has no degree");
  const Group* largest = &groups.front();
  for (const Group& group : groups) {
    if (group.degree != largest->degree) throw ArgumentError("groups of different degrees have no join");
    if (group.order.log10() > largest->order.log10()) largest = &group;
  }
  // Often one of them contains the others; its order is known, so that its chain needs no proof.
  std::vector<const Group*> others;
  for (const Group& group : groups) {
    if (&group != largest && !group.is_trivial()) others.push_back(&group);
  }
  if (others.empty()) return *largest;
  const Membership inside(*largest, budget);
  std::erase_if(others, [&](const Group* group) { return lies_in(*group, inside); });
  if (others.empty()) return *largest;
  std::vector<std::vector<Point>> seeds = largest->symmetric_classes;
  std::vector<Permutation> generators = largest->generators;
  for (const Group* group : others) {
    seeds.insert(seeds.end(), group->symmetric_classes.begin(), group->symmetric_classes.end());
    for (const Permutation& g : group->generators) {
      if (!inside.contains(g)) generators.push_back(g);
    }
  }
  return make_from_seeds(largest->degree, seeds, generators, nullptr, budget);
}

std::vector<Permutation> list_generators(const Group& group, std::size_t limit) {
  std::vector<Permutation> list;
  for (const auto& members : group.symmetric_classes) {
    for (std::size_t k = 1; k < members.size(); ++k) {
      if (list.size() == limit) return list;
      list.push_back(Permutation::transposition(members[k - 1], members[k]));
    }
  }
  for (const Permutation& g : group.generators) {
    if (list.size() == limit) return list;
    list.push_back(g);
  }
  return list;
}

struct Membership::State {
  Analysis analysis;
};

Membership::Membership(const Group& group, const Budget& budget)
    : state_(new State{Analysis(group.degree, group.symmetric_classes, group.generators, &group.order, true, budget)}) {}

Membership::~Membership() { delete state_; }

Membership::Membership(Membership&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Membership& Membership::operator=(Membership&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

bool Membership::contains(const Permutation& permutation) const { return state_->analysis.contains(permutation); }

bool Membership::extends(const std::vector<Point>& from, const std::vector<Point>& to) const { return state_->analysis.extends(from, to); }

mpz_class Membership::order() const {
  const auto value = state_->analysis.order().value(1000000);
  if (!value) throw OutOfReach("a group order above a million digits is not written out");
  return *value;
}

}  // namespace sightline::group
