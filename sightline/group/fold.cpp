#include "sightline/group/fold.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "sightline/group/congruence.hpp"

namespace sightline::group {

namespace {

constexpr Point open = std::numeric_limits<Point>::max();
constexpr std::uint64_t most_steps = 100000000;

std::uint64_t signature(const MovesByPoint& moves, Point x) {
  std::uint64_t hash = 1469598103934665603ull;
  for (const auto* move = moves.begin(x); move != moves.end(x); ++move) hash = (hash ^ move->generator) * 1099511628211ull;
  return hash;
}

}  // namespace

Fold find_fold(Point degree, const std::vector<Permutation>& generators, const Budget& budget) {
  Fold fold;
  fold.base.resize(degree);
  std::iota(fold.base.begin(), fold.base.end(), Point{0});
  fold.orbit = compute_orbits(degree, {}, generators);
  const MovesByPoint moves(degree, generators, budget);
  std::uint64_t steps = 0;

  // image[z] for z in the kept orbit of x, when x -> y extends to an equivariant map; nothing otherwise.
  std::vector<Point> image(degree, open);
  auto walk = [&](Point x, Point y) -> std::optional<std::vector<Point>> {
    std::vector<Point> reached{x};
    image[x] = y;
    bool fits = true;
    for (std::size_t k = 0; fits && k < reached.size(); ++k) {
      const Point z = reached[k];
      const auto* left = moves.begin(z);
      const auto* right = moves.begin(image[z]);
      fits = moves.end(z) - left == moves.end(image[z]) - right;
      for (; fits && left != moves.end(z); ++left, ++right) {
        ++steps;
        fits = left->generator == right->generator;
        if (!fits) break;
        if (image[left->image] == open) {
          image[left->image] = right->image;
          reached.push_back(left->image);
        } else {
          fits = image[left->image] == right->image;
        }
      }
    }
    if (fits) return reached;
    for (const Point z : reached) image[z] = open;
    return std::nullopt;
  };

  std::unordered_map<std::uint64_t, std::vector<Point>> kept;  // signature -> least points of kept orbits
  const auto orbits = list_classes(fold.orbit);
  std::unordered_map<Point, std::size_t> size;
  for (const auto& orbit : orbits) size.emplace(orbit.front(), orbit.size());
  for (const auto& orbit : orbits) {
    budget.poll();
    bool copy = false;
    for (const Point y : orbit) {
      if (copy || steps > most_steps) break;
      const auto candidates = kept.find(signature(moves, y));
      if (candidates == kept.end()) continue;
      for (const Point x : candidates->second) {
        if (size.at(x) != orbit.size()) continue;
        const auto reached = walk(x, y);
        if (!reached) continue;
        // An equivariant map between orbits of one size is onto, so it is a bijection.
        for (const Point z : *reached) {
          fold.base[image[z]] = z;
          image[z] = open;
        }
        copy = fold.any = true;
        break;
      }
    }
    if (!copy) kept[signature(moves, orbit.front())].push_back(orbit.front());
  }
  return fold;
}

}  // namespace sightline::group
