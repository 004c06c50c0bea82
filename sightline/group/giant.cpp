#include "sightline/group/giant.hpp"

#include <numeric>

#include "sightline/group/congruence.hpp"

namespace sightline::group {

namespace {

bool is_prime(Point p) {
  for (Point q = 2; q <= p / q; ++q) {
    if (p % q == 0) return false;
  }
  return p >= 2;
}

std::vector<Point> cycle_lengths(const Images& g) {
  std::vector<bool> done(g.size(), false);
  std::vector<Point> lengths;
  for (Point x = 0; x < g.size(); ++x) {
    if (done[x]) continue;
    Point length = 0;
    for (Point y = x; !done[y]; y = g[y]) {
      done[y] = true;
      ++length;
    }
    lengths.push_back(length);
  }
  return lengths;
}

}  // namespace

bool is_even(const Images& permutation) { return (permutation.size() - cycle_lengths(permutation).size()) % 2 == 0; }

Images complete_map(Point degree, const std::vector<Point>& from, const std::vector<Point>& to) {
  constexpr Point open = ~Point{0};
  Images images(degree, open);
  std::vector<bool> taken(degree, false);
  for (std::size_t k = 0; k < from.size(); ++k) {
    images[from[k]] = to[k];
    taken[to[k]] = true;
  }
  Point next = 0;
  for (Point& image : images) {
    if (image != open) continue;
    while (taken[next]) ++next;
    image = next++;
  }
  return images;
}

Giant recognise_giant(Point degree, const std::vector<Images>& generators, const Budget& budget) {
  if (degree < 8) return Giant::neither;  // chains are instant there
  UnionFind orbits(degree);
  for (const Images& g : generators) {
    for (Point x = 0; x < degree; ++x) orbits.unite(x, g[x]);
  }
  for (Point x = 0; x < degree; ++x) {
    if (orbits.find(x) != 0) return Giant::neither;
  }
  RandomElements random(degree, generators);
  const int tries = degree < 1000 ? 60 : 100;
  for (int k = 0; k < tries; ++k) {
    budget.poll();
    for (const Point p : cycle_lengths(random.next())) {
      // The only cycle of that length, and longer than all others: a power of the element is the p-cycle alone.
      if (2 * static_cast<std::uint64_t>(p) <= degree || p + 3 > degree || !is_prime(p)) continue;
      for (const Images& g : generators) {
        if (!is_even(g)) return Giant::symmetric;
      }
      return Giant::alternating;
    }
  }
  return Giant::neither;
}

}  // namespace sightline::group
