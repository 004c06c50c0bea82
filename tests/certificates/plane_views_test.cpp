// Views of windows on grids under a causal mask: what is said of all of them is so, by the library and by the checker (docs/theory.md 16.104).
#include <doctest/doctest.h>

#include "../unit/sight/shown_views.hpp"
#include "checker/views.hpp"
#include "plane_layouts.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/descending_views.hpp"

namespace sightline::sight {

namespace {

Layout make_one(std::mt19937& random) {
  Layout layout = make_plane(random, 1, 5).layout;
  if (random() % 8 == 0) layout.vertex_colour[random() % layout.tokens] = 3;
  return layout;
}

}  // namespace

TEST_CASE("windows on grids under a causal mask: views named beside their frontiers have no isomorphisms") {
  check_what_is_shown(104, 2500, make_one, [](const Layout& layout, const group::Group&, std::uint64_t depth, const auto& roots, const auto&) {
    return do_plane_views_explain(layout, depth, roots, unlimited);
  });
  check_what_is_shown(105, 2500, make_one, [](const Layout& layout, const group::Group& group, std::uint64_t depth, const auto& roots, const auto&) {
    const checker::Layout copy = convert::to_checker(layout);
    checker::ReachMemory memory(copy);
    return checker::do_plane_views_explain(copy, {group.orbit.begin(), group.orbit.end()}, depth, roots, memory);
  });
}

}  // namespace sightline::sight
