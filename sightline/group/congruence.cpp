#include "sightline/group/congruence.hpp"

#include <algorithm>
#include <numeric>

namespace sightline::group {

UnionFind::UnionFind(Point size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), Point{0}); }

Point UnionFind::find(Point x) const {
  while (parent_[x] != x) {
    parent_[x] = parent_[parent_[x]];
    x = parent_[x];
  }
  return x;
}

bool UnionFind::unite(Point x, Point y) {
  x = find(x);
  y = find(y);
  if (x == y) return false;
  parent_[std::max(x, y)] = std::min(x, y);
  return true;
}

std::vector<Point> compute_orbits(Point degree, const std::vector<std::vector<Point>>& classes, const std::vector<Permutation>& generators) {
  UnionFind orbits(degree);
  for (const auto& members : classes) {
    for (const Point x : members) orbits.unite(members.front(), x);
  }
  for (const Permutation& g : generators) {
    for (std::size_t k = 0; k < g.moved().size(); ++k) orbits.unite(g.moved()[k], g.image()[k]);
  }
  std::vector<Point> least(degree);
  for (Point x = 0; x < degree; ++x) least[x] = orbits.find(x);
  return least;
}

MovesByPoint::MovesByPoint(Point degree, const std::vector<Permutation>& generators, const Budget& budget) : start_(static_cast<std::size_t>(degree) + 1, 0) {
  std::size_t total = 0;
  for (const Permutation& g : generators) {
    total += g.moved().size();
    for (const Point x : g.moved()) ++start_[x + 1];
  }
  budget.ask(total * sizeof(Move));
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  moves_.resize(total);
  std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
  for (std::size_t k = 0; k < generators.size(); ++k) {
    const Permutation& g = generators[k];
    for (std::size_t i = 0; i < g.moved().size(); ++i) moves_[next[g.moved()[i]]++] = {static_cast<std::uint32_t>(k), g.image()[i]};
  }
}

std::vector<Point> compute_congruence(Point degree, const MovesByPoint& moves, std::vector<std::pair<Point, Point>> pairs, const Budget& budget) {
  UnionFind classes(degree);
  while (!pairs.empty()) {
    const auto [a, b] = pairs.back();
    pairs.pop_back();
    if (!classes.unite(a, b)) continue;
    budget.poll();
    // Both lists are sorted by generator; one that moves neither point maps the pair to itself.
    const auto* left = moves.begin(a);
    const auto* right = moves.begin(b);
    while (left != moves.end(a) || right != moves.end(b)) {
      if (right == moves.end(b) || (left != moves.end(a) && left->generator < right->generator)) {
        pairs.emplace_back(left++->image, b);
      } else if (left == moves.end(a) || right->generator < left->generator) {
        pairs.emplace_back(a, right++->image);
      } else {
        pairs.emplace_back(left++->image, right++->image);
      }
    }
  }
  std::vector<Point> label(degree);
  for (Point x = 0; x < degree; ++x) label[x] = classes.find(x);
  return label;
}

std::vector<std::vector<Point>> list_classes(const std::vector<Point>& label) {
  std::vector<std::uint32_t> size(label.size(), 0), index(label.size(), 0);
  for (const Point root : label) ++size[root];
  std::vector<std::vector<Point>> classes;
  for (Point x = 0; x < label.size(); ++x) {
    const Point root = label[x];
    if (size[root] < 2) continue;
    if (root == x) {
      index[root] = static_cast<std::uint32_t>(classes.size());
      classes.emplace_back();
      classes.back().reserve(size[root]);
    }
    classes[index[root]].push_back(x);
  }
  return classes;
}

}  // namespace sightline::group
