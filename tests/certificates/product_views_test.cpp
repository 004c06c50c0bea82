// Views on grids of products in the checker: it explains what the library explains, and never more than is so (docs/theory.md 16.26).
#include <doctest/doctest.h>

#include <random>

#include "../unit/sight/product_grids.hpp"
#include "checker/product_views.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/product_views.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

bool are_isomorphisms_in(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const group::Membership& member) {
  const auto maker = make_plain_roots(layout, depth);
  for (const Vertex a : roots) {
    const Rooted first = maker->make(a, unlimited);
    if (std::find(first.seen.begin(), first.seen.end(), false) != first.seen.end()) return false;
    for (const group::Permutation& g : group::list_generators(symmetry::compute_automorphisms(first.structure, unlimited), ~std::size_t{0})) {
      if (!member.contains(g)) return false;
    }
    for (const Vertex b : roots) {
      if (b > a && symmetry::find_isomorphism(first.structure, maker->make(b, unlimited).structure, unlimited)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("the checker explains views on grids of products as the library does") {
  std::mt19937 random(31);
  int explained = 0, refused = 0, open = 0;
  for (int k = 0; k < 2500; ++k) {
    const Layout layout = oracle::make_product_grid(random, 8);
    const group::Group group = symmetry::compute_layout_group(layout, unlimited);
    const std::uint64_t depth = compute_connected(layout, unlimited).layers.value_or(3) + random() % 2;
    const std::vector<bool> complete = find_complete_roots(layout, depth, unlimited);
    std::vector<Vertex> roots;
    for (Vertex a = 0; a < layout.tokens; ++a) {
      if (group.orbit[a] == a && !complete[a]) roots.push_back(a);
    }
    if (roots.empty()) continue;
    const std::vector<Vertex> number = number_symmetric_classes(group);
    auto products = ProductViews::make(layout, depth, unlimited);
    const bool theirs = products && products->explain(roots, number).explained;
    const checker::Layout copy = convert::to_checker(layout);
    const auto grid = checker::find_grid(copy);
    const bool mine = checker::do_products_explain(copy, grid ? &*grid : nullptr, depth, roots, number, {});
    REQUIRE(mine == theirs);
    if (!mine) {
      ++open;
      continue;
    }
    ++explained;
    REQUIRE(are_isomorphisms_in(layout, depth, roots, group::Membership(group, unlimited)));
    // A smaller group explains them only as far as it holds the symmetries that are met.
    int asked = 0;
    const bool without = checker::do_products_explain(copy, &*grid, depth, roots, number, [&](const checker::Permutation& symmetry) {
      REQUIRE(checker::AutomorphismTest(checker::make_structure(copy))(symmetry));
      ++asked;
      return false;
    });
    REQUIRE(without == (asked == 0));
    refused += asked;
  }
  MESSAGE(explained, " explained, ", open, " open, ", refused, " symmetries asked about");
  CHECK(explained > 100);
  CHECK(open > 300);
  CHECK(refused > 20);
}

}  // namespace sightline::sight
