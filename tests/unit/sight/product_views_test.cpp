// Views on grids of products: what the factors explain is what all isomorphisms of the views are (docs/theory.md 16.26).
#include <doctest/doctest.h>

#include <random>

#include "product_grids.hpp"
#include "sightline/sight/isomorphisms.hpp"
#include "sightline/sight/product_views.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

struct Asked {
  Layout layout;
  std::uint64_t depth = 0;
  group::Group group;          ///< the layout's
  std::vector<Vertex> roots, number;
};

/// Views of about the depth at which all is seen; sometimes tokens of a random partition may be exchanged freely beside the layout's own symmetries.
Asked draw(std::mt19937& random, Vertex most_side) {
  Asked asked{oracle::make_product_grid(random, most_side), 0, {}, {}, {}};
  asked.group = symmetry::compute_layout_group(asked.layout, unlimited);
  asked.depth = compute_connected(asked.layout, unlimited).layers.value_or(3) + random() % 2;
  const std::vector<bool> complete = find_complete_roots(asked.layout, asked.depth, unlimited);
  for (Vertex a = 0; a < asked.layout.tokens; ++a) {
    if (asked.group.orbit[a] == a && !complete[a]) asked.roots.push_back(a);
  }
  asked.number = number_symmetric_classes(asked.group);
  for (Vertex k = random() % 3 == 0 ? random() % asked.layout.tokens : 0; k > 0; --k) {
    const Vertex x = random() % asked.layout.tokens, y = std::min<Vertex>(x + 1, asked.layout.tokens - 1);
    std::replace(asked.number.begin(), asked.number.end(), std::max(asked.number[x], asked.number[y]), std::min(asked.number[x], asked.number[y]));
  }
  return asked;
}

/// The layout's symmetries and all permutations within equal numbers.
group::Group make_allowed(const Asked& asked) {
  std::vector<group::Permutation> swaps;
  std::map<Vertex, Vertex> last;
  for (Vertex j = 0; j < asked.layout.tokens; ++j) {
    const auto [at, fresh] = last.emplace(asked.number[j], j);
    if (!fresh) swaps.push_back(group::Permutation::transposition(std::exchange(at->second, j), j));
  }
  return group::make_join({asked.group, group::make_group(asked.layout.tokens, swaps, unlimited)}, unlimited);
}

void check_explained(int layouts, unsigned seed) {
  std::mt19937 random(seed);
  int explained = 0, open = 0, missed = 0, moved = 0, wrong_suspects = 0, suspects = 0;
  for (int k = 0; k < layouts; ++k) {
    const Asked asked = draw(random, 9);
    if (asked.roots.empty()) continue;
    auto products = ProductViews::make(asked.layout, asked.depth, unlimited);
    if (!products) continue;
    const ProductViews::Answer answer = products->explain(asked.roots, asked.number);
    const group::Group allowed = make_allowed(asked);
    const group::Membership member(allowed, unlimited);
    const auto maker = make_plain_roots(asked.layout, asked.depth);
    bool truth = true;
    for (const Vertex a : asked.roots) {
      const Rooted first = maker->make(a, unlimited);
      truth = truth && std::find(first.seen.begin(), first.seen.end(), false) == first.seen.end();
      for (const group::Permutation& g : group::list_generators(symmetry::compute_automorphisms(first.structure, unlimited), ~std::size_t{0})) {
        truth = truth && member.contains(g);
        ++moved;
      }
      for (const Vertex b : asked.roots) truth = truth && (b <= a || !symmetry::find_isomorphism(first.structure, maker->make(b, unlimited).structure, unlimited));
      if (!truth) break;
    }
    if (answer.explained) {
      REQUIRE(truth);
      ++explained;
    } else {
      ++open;
      missed += truth ? 1 : 0;
    }
    for (const auto& [root, x, y] : answer.suspects) {
      REQUIRE(asked.number[x] != asked.number[y]);
      ++suspects;
      if (root == x || root == y || !symmetry::is_automorphism(maker->make(root, unlimited).structure, group::Permutation::transposition(x, y), unlimited)) ++wrong_suspects;
    }
  }
  MESSAGE(explained, " explained, ", open, " open, ", missed, " of them missed; ", suspects, " suspects, ", wrong_suspects, " wrong; ", moved, " generators");
  CHECK(explained > layouts / 30);
  CHECK(open > layouts / 10);
}

}  // namespace

TEST_CASE("isomorphisms of views on grids of products that the factors explain are in the group") { check_explained(1000, 16); }

TEST_CASE("isomorphisms of views on many grids of products are in the group" * doctest::test_suite("slow")) { check_explained(10000, 17); }

TEST_CASE("isomorphisms of views on small grids of products, listed one by one") {
  std::mt19937 random(26);
  int explained = 0, listed = 0;
  for (int k = 0; k < 3000; ++k) {
    const Asked asked = draw(random, 5);
    if (asked.roots.empty()) continue;
    auto products = ProductViews::make(asked.layout, asked.depth, unlimited);
    if (!products || !products->explain(asked.roots, asked.number).explained) continue;
    ++explained;
    const group::Group allowed = make_allowed(asked);
    const group::Membership member(allowed, unlimited);
    const auto classes = list_isomorphisms({&asked.layout, &asked.group, &asked.group}, asked.depth, 2000, unlimited);
    for (std::size_t c = 0; classes && c < classes->size(); ++c) {
      for (const auto& [b, maps] : (*classes)[c].to) {
        for (const std::vector<Vertex>& images : maps) {
          REQUIRE(member.contains(group::Permutation::from_images(images)));
          ++listed;
        }
      }
    }
  }
  CHECK(explained > 50);
  MESSAGE(explained, " explained, ", listed, " isomorphisms");
  CHECK(listed > 1000);
}

}  // namespace sightline::sight
