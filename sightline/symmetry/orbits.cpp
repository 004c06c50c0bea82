#include "sightline/symmetry/orbits.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace sightline::symmetry {

void sort_moved(MovedPairs& moved, Vertex n) {
  if (std::is_sorted(moved.begin(), moved.end())) return;
  if (moved.size() * 8 < n) {
    std::sort(moved.begin(), moved.end());
    return;
  }
  std::vector<Vertex> images(n);
  std::iota(images.begin(), images.end(), Vertex{0});
  for (const auto& [x, y] : moved) images[x] = y;
  moved.clear();
  for (Vertex x = 0; x < n; ++x) {
    if (images[x] != x) moved.emplace_back(x, images[x]);
  }
}

Orbits::Orbits(Vertex n) : parent_(n), size_(n, 1), least_(n) {
  std::iota(parent_.begin(), parent_.end(), Vertex{0});
  std::iota(least_.begin(), least_.end(), Vertex{0});
}

Vertex Orbits::root(Vertex x) const {
  while (parent_[x] != x) {
    parent_[x] = parent_[parent_[x]];
    x = parent_[x];
  }
  return x;
}

Vertex Orbits::find(Vertex x) const { return least_[root(x)]; }

void Orbits::join(Vertex x, Vertex y) {
  x = root(x);
  y = root(y);
  if (x == y) return;
  if (size_[x] < size_[y]) std::swap(x, y);
  parent_[y] = x;
  size_[x] += size_[y];
  least_[x] = std::min(least_[x], least_[y]);
}

void Orbits::join(const MovedPairs& permutation) {
  // A pair that is exchanged comes twice.
  for (const auto& [x, y] : permutation) {
    if (parent_[x] != y && parent_[y] != x) join(x, y);
  }
}

namespace {

using Images = std::vector<Vertex>;

Images compose(const Images& left, const Images& right) {
  Images product(right.size());
  for (std::size_t x = 0; x < right.size(); ++x) product[x] = left[right[x]];
  return product;
}

Images invert(const Images& images) {
  Images inverse(images.size());
  for (Vertex x = 0; x < images.size(); ++x) inverse[images[x]] = x;
  return inverse;
}

/// Random elements by product replacement.
class RandomElements {
public:
  RandomElements(const std::vector<Images>& generators, std::mt19937_64& random) : pool_(generators), random_(random) {
    for (std::size_t k = 0; pool_.size() < 10; ++k) pool_.push_back(generators[k % generators.size()]);
    accumulator_ = pool_[0];
    for (int k = 0; k < 12; ++k) next();
  }
  const Images& next() {
    const std::size_t a = random_() % pool_.size();
    std::size_t b = random_() % (pool_.size() - 1);
    if (b >= a) ++b;
    const std::uint64_t side = random_();
    const Images other = (side & 1) != 0 ? invert(pool_[b]) : pool_[b];
    pool_[a] = (side & 2) != 0 ? compose(pool_[a], other) : compose(other, pool_[a]);
    accumulator_ = compose(accumulator_, pool_[a]);
    return accumulator_;
  }

private:
  std::vector<Images> pool_;
  Images accumulator_;
  std::mt19937_64& random_;
};

}  // namespace

ImageLists to_images(Vertex n, const std::vector<MovedPairs>& generators) {
  ImageLists group;
  for (const MovedPairs& generator : generators) {
    Images images(n);
    std::iota(images.begin(), images.end(), Vertex{0});
    for (const auto& [x, y] : generator) images[x] = y;
    group.push_back(std::move(images));
  }
  return group;
}

ImageLists stabilise(Vertex n, const ImageLists& group, Vertex point, const Budget& budget) {
  budget.poll();
  if (std::all_of(group.begin(), group.end(), [point](const Images& g) { return g[point] == point; })) return group;
  // Schreier tree of the point: which generator brought us to each point of its orbit.
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> arrived_by(n, none);
  std::vector<Vertex> queue{point};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (std::uint32_t k = 0; k < group.size(); ++k) {
      const Vertex y = group[k][queue[head]];
      if (y == point || arrived_by[y] != none) continue;
      arrived_by[y] = k;
      queue.push_back(y);
    }
  }
  std::vector<Images> inverses;
  inverses.reserve(group.size());
  for (const Images& g : group) inverses.push_back(invert(g));
  ImageLists next;
  for (const Images& g : group) {
    if (g[point] == point) next.push_back(g);
  }
  std::mt19937_64 random(20240601);
  RandomElements elements(group, random);
  for (int k = 0; k < 12; ++k) {
    Images element = elements.next();
    for (Vertex x = element[point]; x != point; x = element[point]) element = compose(inverses[arrived_by[x]], element);
    bool identity = true;
    for (Vertex x = 0; x < n && identity; ++x) identity = element[x] == x;
    if (!identity && std::find(next.begin(), next.end(), element) == next.end()) next.push_back(std::move(element));
  }
  return next;
}

Orbits find_orbits(Vertex n, const ImageLists& group) {
  Orbits orbits(n);
  for (const Images& g : group) {
    for (Vertex x = 0; x < n; ++x) {
      if (g[x] != x) orbits.join(x, g[x]);
    }
  }
  return orbits;
}

}  // namespace sightline::symmetry
