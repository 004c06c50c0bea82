// The oracle of this room's tests: a group as the full list of its elements, found by closure. Shares no code with the room.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "sightline/group/permutation.hpp"

namespace brute {

using Images = std::vector<sightline::group::Point>;

inline Images identity(std::size_t n) {
  Images images(n);
  std::iota(images.begin(), images.end(), 0u);
  return images;
}

/// @param most  of more elements some are left out
inline std::set<Images> closure(std::size_t n, const std::vector<Images>& generators, std::size_t most = ~std::size_t{0}) {
  std::set<Images> elements{identity(n)};
  std::vector<Images> open{identity(n)};
  while (!open.empty() && elements.size() <= most) {
    const Images x = open.back();
    open.pop_back();
    for (const Images& g : generators) {
      Images y(n);
      for (std::size_t k = 0; k < n; ++k) y[k] = g[x[k]];
      if (elements.insert(y).second) open.push_back(y);
    }
  }
  return elements;
}

inline bool extends(const std::set<Images>& elements, const Images& from, const Images& to) {
  return std::any_of(elements.begin(), elements.end(), [&](const Images& g) {
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (g[from[k]] != to[k]) return false;
    }
    return true;
  });
}

/// A random generator of one of several shapes: anything, few points moved, block-preserving, of small order.
inline Images random_generator(std::size_t n, std::mt19937& random) {
  Images g = identity(n);
  const unsigned shape = random() % 5;
  if (shape == 0) {
    std::shuffle(g.begin(), g.end(), random);
  } else if (shape == 1) {
    for (unsigned k = 0; k < 1 + random() % 3; ++k) std::swap(g[random() % n], g[random() % n]);
  } else if (shape == 2 && n % 2 == 0) {
    Images blocks = identity(n / 2);
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (std::size_t x = 0; x < n; ++x) g[x] = 2 * blocks[x / 2] + (x + random() % 1) % 2;
  } else if (shape == 3) {
    for (std::size_t x = 0; x < n; ++x) g[x] = static_cast<unsigned>(n - 1 - x);
  } else {
    const std::size_t width = 2 + random() % (n - 1);
    const std::size_t start = random() % (n - width + 1);
    for (std::size_t k = 0; k < width; ++k) g[start + k] = static_cast<unsigned>(start + (k + 1) % width);
  }
  return g;
}

}  // namespace brute
