#include "sightline/group/blocks.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "sightline/group/chain.hpp"
#include "sightline/group/congruence.hpp"

namespace sightline::group {

namespace {

constexpr std::size_t most_systems = 64;

BlockSystem number_blocks(const std::vector<Point>& label) {
  BlockSystem system;
  system.block_of.resize(label.size());
  for (Point x = 0; x < label.size(); ++x) system.block_of[x] = label[x] == x ? system.count++ : system.block_of[label[x]];
  return system;
}

/// The orbits of the stabiliser of 0, as labels, from all Schreier generators; and u[x], which maps 0 to x.
struct Suborbits {
  std::vector<Point> label;
  std::vector<Images> to_point;
};

Suborbits find_suborbits(Point degree, const std::vector<Permutation>& generators, const Budget& budget) {
  Suborbits result;
  result.to_point.resize(degree);
  std::vector<Images> dense;
  for (const Permutation& g : generators) dense.push_back(g.images(degree));
  result.to_point[0] = Permutation().images(degree);
  std::vector<Point> open{0};
  for (std::size_t k = 0; k < open.size(); ++k) {
    for (const Images& g : dense) {
      const Point to = g[open[k]];
      if (!result.to_point[to].empty()) continue;
      result.to_point[to] = compose(g, result.to_point[open[k]]);
      open.push_back(to);
    }
  }
  UnionFind orbits(degree);
  for (const Images& g : dense) {
    for (const Point x : open) {
      budget.poll();
      const Images back = invert(result.to_point[g[x]]);
      const Images& there = result.to_point[x];
      for (Point y = 0; y < degree; ++y) orbits.unite(y, back[g[there[y]]]);
    }
  }
  for (Point x = 0; x < degree; ++x) result.label.push_back(orbits.find(x));
  return result;
}

/// The corners' numbers if this graph is the cube, else nothing. Labels are forced: 0 is the empty set, its neighbours are the singletons, and every further
/// vertex is the union of its neighbours one step nearer to 0.
std::vector<Point> label_cube(const std::vector<std::vector<Point>>& neighbours, unsigned dimension) {
  const auto size = static_cast<Point>(neighbours.size());
  constexpr Point open = std::numeric_limits<Point>::max();
  std::vector<Point> distance(size, open), label(size, 0), queue{0};
  distance[0] = 0;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    const Point x = queue[k];
    for (const Point y : neighbours[x]) {
      if (distance[y] == open) {
        distance[y] = distance[x] + 1;
        queue.push_back(y);
      }
    }
  }
  if (queue.size() != size) return {};
  for (unsigned k = 0; k < dimension; ++k) label[neighbours[0][k]] = Point{1} << k;
  for (const Point x : queue) {
    if (distance[x] < 2) continue;
    for (const Point y : neighbours[x]) {
      if (distance[y] + 1 == distance[x]) label[x] |= label[y];
    }
  }
  std::set<Point> used(label.begin(), label.end());
  if (used.size() != size || *used.rbegin() != size - 1) return {};
  for (Point x = 0; x < size; ++x) {
    for (const Point y : neighbours[x]) {
      if (std::popcount(label[x] ^ label[y]) != 1) return {};
    }
  }
  return label;
}

}  // namespace

std::vector<BlockSystem> find_block_systems(Point degree, const std::vector<Permutation>& generators, const Budget& budget) {
  const MovesByPoint moves(degree, generators, budget);
  std::set<std::vector<Point>> labels;
  auto proper = [&](const std::vector<Point>& label) { return std::any_of(label.begin(), label.end(), [](Point root) { return root != 0; }); };
  for (Point x = 1; x < degree && labels.size() < most_systems; ++x) {
    auto label = compute_congruence(degree, moves, {{0, x}}, budget);
    if (proper(label)) labels.insert(std::move(label));
  }
  std::vector<std::vector<Point>> list(labels.begin(), labels.end());
  const std::size_t principal = list.size();
  for (std::size_t a = 0; a < list.size(); ++a) {
    for (std::size_t b = 0; b < principal && list.size() < most_systems; ++b) {
      UnionFind joined(degree);
      for (Point x = 0; x < degree; ++x) {
        joined.unite(x, list[a][x]);
        joined.unite(x, list[b][x]);
      }
      std::vector<Point> label(degree);
      for (Point x = 0; x < degree; ++x) label[x] = joined.find(x);
      if (proper(label) && labels.insert(label).second) list.push_back(std::move(label));
    }
  }
  std::vector<BlockSystem> systems;
  for (const auto& label : list) systems.push_back(number_blocks(label));
  return systems;
}

std::optional<BlockSystem> find_common_blocks(Point degree, const std::vector<Permutation>& generators, const std::vector<std::vector<Point>>& orbits,
                                              const Budget& budget) {
  const MovesByPoint moves(degree, generators, budget);
  auto count_blocks = [&](const std::vector<Point>& label) {
    std::set<Point> roots;
    for (const Point x : orbits.front()) roots.insert(label[x]);
    return roots.size();
  };
  std::vector<std::pair<Point, Point>> pairs;
  std::vector<Point> label;
  for (std::size_t k = 1; k < orbits.size(); ++k) {
    std::size_t best = 1;
    Point partner = 0;
    for (std::size_t tried = 0; tried < std::min(orbits[k].size(), most_systems); ++tried) {
      auto tie = pairs;
      tie.emplace_back(orbits.front()[0], orbits[k][tried]);
      auto candidate = compute_congruence(degree, moves, tie, budget);
      const std::size_t blocks = count_blocks(candidate);
      if (blocks <= best) continue;
      best = blocks;
      partner = orbits[k][tried];
      label = std::move(candidate);
    }
    if (best < 2) return std::nullopt;
    pairs.emplace_back(orbits.front()[0], partner);
  }
  if (label.empty()) return std::nullopt;
  BlockSystem system = number_blocks(label);
  if (system.count != count_blocks(label)) return std::nullopt;
  return system;
}

std::vector<Permutation> act_on_blocks(const BlockSystem& blocks, const std::vector<Permutation>& generators) {
  std::vector<Permutation> result;
  for (const Permutation& g : generators) {
    auto images = Permutation().images(blocks.count);
    for (std::size_t k = 0; k < g.moved().size(); ++k) images[blocks.block_of[g.moved()[k]]] = blocks.block_of[g.image()[k]];
    Permutation image = Permutation::from_images(images);
    if (!image.is_identity()) result.push_back(std::move(image));
  }
  return result;
}

std::vector<Permutation> act_inside_block(const BlockSystem& blocks, const std::vector<Permutation>& generators, const Budget& budget,
                                          std::vector<std::vector<Point>>* members) {
  const auto degree = static_cast<Point>(blocks.block_of.size());
  const Point size = degree / blocks.count;
  std::vector<Images> dense;
  for (const Permutation& g : generators) dense.push_back(g.images(degree));
  // along[b][k]: where the transversal element of block b takes the k-th point of block 0; position: its inverse.
  std::vector<Images> along(blocks.count);
  std::vector<Point> position(degree, 0), queue{0};
  for (Point x = 0; x < degree; ++x) {
    if (blocks.block_of[x] == 0) along[0].push_back(x);
  }
  for (std::size_t k = 0; k < queue.size(); ++k) {
    const Point block = queue[k];
    for (const Images& g : dense) {
      const Point to = blocks.block_of[g[along[block][0]]];
      if (!along[to].empty()) continue;
      for (const Point x : along[block]) along[to].push_back(g[x]);
      queue.push_back(to);
    }
  }
  for (const Images& points : along) {
    for (Point k = 0; k < size; ++k) position[points[k]] = k;
  }
  std::set<Images> found;
  for (const Images& points : along) {
    for (const Images& g : dense) {
      budget.poll();
      Images inside(size);
      for (Point k = 0; k < size; ++k) inside[k] = position[g[points[k]]];
      if (!is_identity(inside)) found.insert(std::move(inside));
    }
  }
  std::vector<Permutation> result;
  for (const Images& g : found) result.push_back(Permutation::from_images(g));
  if (members != nullptr) *members = std::move(along);
  return result;
}

std::vector<Point> find_cube(Point degree, const std::vector<Permutation>& generators, const Budget& budget) {
  if (degree < 2 || !std::has_single_bit(degree)) return {};
  const auto dimension = static_cast<unsigned>(std::bit_width(degree) - 1);
  const Suborbits suborbits = find_suborbits(degree, generators, budget);
  for (const auto& suborbit : list_classes(suborbits.label)) {
    if (suborbit.size() != dimension) continue;
    std::vector<std::vector<Point>> neighbours(degree);
    std::set<std::pair<Point, Point>> arcs;
    for (Point x = 0; x < degree; ++x) {
      for (const Point y : suborbit) {
        neighbours[x].push_back(suborbits.to_point[x][y]);
        arcs.emplace(x, neighbours[x].back());
      }
    }
    const bool undirected = std::all_of(arcs.begin(), arcs.end(), [&](const auto& arc) { return arcs.count({arc.second, arc.first}) > 0; });
    if (!undirected) continue;
    std::vector<Point> corners = label_cube(neighbours, dimension);
    if (!corners.empty()) return corners;
  }
  return {};
}

}  // namespace sightline::group
