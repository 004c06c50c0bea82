#include "tests/unit/design/groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>

namespace small_groups {

std::set<Images> list_elements(std::size_t n, const std::vector<Images>& generators) {
  Images identity(n);
  std::iota(identity.begin(), identity.end(), 0u);
  std::set<Images> elements{identity};
  std::vector<Images> open{identity};
  while (!open.empty()) {
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

namespace {

std::map<std::vector<std::size_t>, std::size_t> count_cycle_types(const std::set<Images>& elements) {
  std::map<std::vector<std::size_t>, std::size_t> count;
  for (const Images& g : elements) {
    std::vector<std::size_t> type;
    std::vector<bool> done(g.size(), false);
    for (std::size_t x = 0; x < g.size(); ++x) {
      std::size_t length = 0;
      for (std::size_t y = x; !done[y]; y = g[y]) {
        done[y] = true;
        ++length;
      }
      if (length > 0) type.push_back(length);
    }
    std::sort(type.begin(), type.end());
    ++count[type];
  }
  return count;
}

bool is_transitive(std::size_t n, const std::set<Images>& elements) {
  std::set<unsigned> reached;
  for (const Images& g : elements) reached.insert(g[0]);
  return reached.size() == n;
}

}  // namespace

std::vector<std::vector<Images>> list_transitive_groups(std::size_t n) {
  static constexpr std::size_t known[] = {0, 1, 1, 2, 5, 5, 16, 7};
  std::vector<std::vector<Images>> groups;
  std::set<std::map<std::vector<std::size_t>, std::size_t>> seen;
  std::mt19937 random(static_cast<unsigned>(n));
  // Pairs of elements of large groups hardly ever generate small ones, so half of the pairs are drawn inside found groups.
  std::vector<std::vector<Images>> inside;
  for (int tries = 0; tries < 200'000 && groups.size() < known[n]; ++tries) {
    std::vector<Images> generators;
    if (tries % 2 == 0 || inside.empty()) {
      Images a(n), b(n);
      std::iota(a.begin(), a.end(), 0u);
      b = a;
      std::shuffle(a.begin(), a.end(), random);
      std::shuffle(b.begin(), b.end(), random);
      generators = {a, b};
    } else {
      const std::vector<Images>& elements = inside[random() % inside.size()];
      generators = {elements[random() % elements.size()], elements[random() % elements.size()]};
    }
    const std::set<Images> elements = list_elements(n, generators);
    if (!is_transitive(n, elements) || !seen.insert(count_cycle_types(elements)).second) continue;
    groups.push_back(generators);
    inside.emplace_back(elements.begin(), elements.end());
  }
  if (groups.size() != known[n]) throw std::runtime_error("not all transitive groups were found");
  return groups;
}

std::vector<Images> draw_intransitive_group(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (;;) {
    // Points fall into 2 or 3 parts that the generators keep; a generator acts on one part or on several at once.
    std::vector<unsigned> part(n);
    for (auto& p : part) p = random() % 3;
    std::vector<Images> generators;
    for (unsigned k = 0, count = 1 + random() % 3; k < count; ++k) {
      Images g(n);
      std::iota(g.begin(), g.end(), 0u);
      for (unsigned p = 0; p < 3; ++p) {
        if (random() % 3 == 0) continue;
        std::vector<unsigned> members;
        for (unsigned x = 0; x < n; ++x) {
          if (part[x] == p) members.push_back(x);
        }
        std::vector<unsigned> images = members;
        if (random() % 2 == 0) std::shuffle(images.begin(), images.end(), random);
        else if (!images.empty()) std::rotate(images.begin(), images.begin() + 1, images.end());
        for (std::size_t m = 0; m < members.size(); ++m) g[members[m]] = images[m];
      }
      generators.push_back(g);
    }
    if (!is_transitive(n, list_elements(n, generators))) return generators;
  }
}

std::vector<std::uint32_t> colour_pairs(std::size_t n, const std::set<Images>& elements) {
  std::vector<std::uint32_t> colour(n * n, ~0u);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (colour[i * n + j] != ~0u) continue;
      for (const Images& g : elements) colour[g[i] * n + g[j]] = next;
      ++next;
    }
  }
  return colour;
}

std::uint64_t count_preserving(std::size_t n, const std::vector<std::uint32_t>& colours) {
  Images g(n);
  std::iota(g.begin(), g.end(), 0u);
  std::uint64_t count = 0;
  do {
    bool same = true;
    for (std::size_t i = 0; same && i < n; ++i) {
      for (std::size_t j = 0; same && j < n; ++j) same = colours[g[i] * n + g[j]] == colours[i * n + j];
    }
    count += same;
  } while (std::next_permutation(g.begin(), g.end()));
  return count;
}

sightline::group::Group to_group(std::size_t n, const std::vector<Images>& generators) {
  std::vector<sightline::group::Permutation> permutations;
  for (const Images& g : generators) permutations.push_back(sightline::group::Permutation::from_images(g));
  return sightline::group::make_group(static_cast<sightline::group::Point>(n), permutations, sightline::Budget{});
}

}  // namespace small_groups
