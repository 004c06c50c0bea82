// Pairs that a class allows whatever a group makes of them, beside every element of the group: engine and checker (docs/theory.md 16.118).
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "checker/wanted_pairs.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/wanted_pairs.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

using Images = std::vector<Vertex>;

/// Stretches of tokens that are exchanged, some of them turned round, or one that is turned round where it stands; classes, side by side or among each other; what is left stays.
group::Group draw_group(std::mt19937_64& random, Vertex n) {
  const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
  std::vector<group::Permutation> generators;
  std::vector<std::vector<Vertex>> classes;
  std::vector<Vertex> tokens(n);
  std::iota(tokens.begin(), tokens.end(), Vertex{0});
  if (draw(3) == 0) std::shuffle(tokens.begin(), tokens.end(), random);
  const auto exchange = [&](Vertex one, Vertex other, Vertex length, bool turns) {
    Images images(n);
    std::iota(images.begin(), images.end(), Vertex{0});
    for (Vertex k = 0; k < length; ++k) {
      const Vertex x = tokens[one + k], y = tokens[turns ? other + length - 1 - k : other + k];
      images[x] = y;
      images[y] = x;
    }
    generators.push_back(group::Permutation::from_images(images));
  };
  for (Vertex begin = draw(2); begin + 1 < n;) {
    const Vertex length = 1 + draw(3), count = 1 + draw((n - begin) / length < 3 ? 1 : 3), kind = draw(4);
    if (begin + length * count > n) break;
    if (kind == 0 && length > 1) {  // classes, which may be exchanged as well
      for (Vertex c = 0; c < count; ++c) classes.emplace_back(tokens.begin() + begin + c * length, tokens.begin() + begin + (c + 1) * length);
      for (auto at = classes.end() - count; at != classes.end(); ++at) std::sort(at->begin(), at->end());
    }
    for (Vertex c = 1; c < count && kind < 3; ++c) exchange(begin, begin + c * length, length, draw(6) == 0);
    if (draw(6) == 0) exchange(begin, begin, length, true);
    begin += length * count;
    if (const Vertex part = 1 + draw(length); draw(2) == 0 && count > 1 && begin + part <= n) {  // which cuts all the stretches, or classes
      exchange(begin - part, begin, part, false);
      begin += part;
    }
    begin += draw(2);
  }
  group::Group group = group::make_group(n, generators, unlimited);
  group::Group symmetric = group::make_trivial_group(n);
  std::sort(classes.begin(), classes.end());
  symmetric.symmetric_classes = classes;
  group::Group joined = group::make_join({group, symmetric}, unlimited);
  return joined;
}

std::vector<Images> list_elements(const group::Group& group, std::size_t most) {
  std::vector<Images> generators;
  for (const group::Permutation& g : group::list_generators(group, ~std::size_t{0})) generators.push_back(g.images(group.degree));
  Images identity(group.degree);
  std::iota(identity.begin(), identity.end(), Vertex{0});
  std::set<Images> known{identity};
  std::vector<Images> elements{identity};
  for (std::size_t k = 0; k < elements.size() && elements.size() < most; ++k) {
    for (const Images& g : generators) {
      Images next(group.degree);
      for (Vertex x = 0; x < group.degree; ++x) next[x] = g[elements[k][x]];
      if (known.insert(next).second) elements.push_back(std::move(next));
    }
  }
  return elements;
}

}  // namespace

TEST_CASE("pairs that a class allows whatever the group makes of them are those that all its elements keep in the class") {
  std::mt19937_64 random(118);
  std::size_t alone = 0, ordered = 0, classes = 0, turned = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto n = static_cast<Vertex>(2 + random() % 11);
    const group::Group group = draw_group(random, n);
    constexpr std::size_t most = 3000;
    const std::vector<Images> elements = list_elements(group, most);
    if (elements.size() >= most) continue;
    CAPTURE(round);
    std::vector<std::vector<bool>> sets(n, std::vector<bool>(n));
    const bool causal = round % 3 != 0;
    for (Vertex a = 0; a < n; ++a) {
      for (Vertex j = 0; j < n; ++j) sets[a][j] = a == j || (causal ? j < a : random() % 8 != 0);
    }
    const checker::Group theirs = convert::to_checker(group).group;
    const WantedPairs pairs = causal ? WantedPairs::make_causal(group, unlimited) : WantedPairs::make(group, sets, unlimited);
    const checker::WantedPairs checked = causal ? checker::WantedPairs(theirs) : checker::WantedPairs(theirs, sets);
    bool all_alone = true;
    for (Vertex a = 0; a < n; ++a) {
      std::vector<bool> wanted(n);
      for (Vertex j = 0; j < n; ++j) wanted[j] = std::ranges::all_of(elements, [&](const Images& g) { return sets[g[a]][g[j]]; });
      REQUIRE(pairs.list(a) == wanted);
      for (Vertex j = 0; j < n; ++j) {
        REQUIRE(pairs.holds(a, j) == wanted[j]);
        REQUIRE(checked.holds(a, j) == wanted[j]);
      }
      const bool is_alone = std::count(wanted.begin(), wanted.end(), true) == 1;
      REQUIRE(pairs.own_only(a) == is_alone);
      REQUIRE(checked.own_only(a) == is_alone);
      all_alone = all_alone && is_alone;
      alone += causal && is_alone && a > 0 ? 1 : 0;
      ordered += causal && group.orbit[a] != a && !is_alone ? 1 : 0;
    }
    REQUIRE(pairs.own_only() == all_alone);
    REQUIRE(checked.own_only() == all_alone);
    classes += !group.symmetric_classes.empty() && !group.generators.empty() ? 1 : 0;
    turned += std::ranges::any_of(group.generators, [](const group::Permutation& g) {
      return std::ranges::any_of(g.moved(), [&](Vertex x) { return g(x + 1) + 1 == g(x) && x + 1 < g.moved().back(); });
    }) ? 1 : 0;
  }
  CHECK(alone > 500);
  CHECK(ordered > 1000);
  CHECK(classes > 100);
  CHECK(turned > 100);
}

}  // namespace sightline::sight
