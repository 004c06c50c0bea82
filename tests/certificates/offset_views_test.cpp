// Colours that name offsets: what library and checker conclude about all views at once holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <random>

#include "../unit/sight/oracle.hpp"
#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

bool offsets_explain(const Layout& layout, std::uint64_t depth) {
  const bool found = do_offsets_explain(layout, depth, unlimited);
  const checker::Layout theirs = convert::to_checker(layout);
  checker::ReachMemory memory(theirs);
  REQUIRE(checker::do_offsets_explain(theirs, depth, memory) == found);
  return found;
}

}  // namespace

TEST_CASE("colours that name offsets: no view is like another once everything is seen") {
  std::mt19937_64 random(16);
  int shown = 0, early = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(2 + random() % 11);
    std::vector<std::vector<oracle::Head>> layers;
    for (std::uint64_t l = 0, count = 1 + random() % 2; l < count; ++l) {
      oracle::Rows rows(n);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < n; ++j) {
          if (random() % 4 == 0 || (i > j ? i - j : j - i) <= random() % 3) rows[i].push_back(j);
        }
      }
      layout::Relative relative;
      relative.kind = k % 4 == 3 ? layout::RelativeKind::distance : layout::RelativeKind::offset;
      layers.push_back({{rows, {}, relative, random() % 2 == 0 ? layout::Cancels::nothing : layout::Cancels::single_colour}});
    }
    const Layout layout = oracle::make_layout(n, 0, layers);
    for (std::uint64_t depth = 1; depth <= 5; ++depth) {
      if (!offsets_explain(layout, depth)) {
        ++early;
        continue;
      }
      ++shown;
      CHECK(is_so(layout, depth, false));
    }
  }
  CHECK(shown > 150);
  CHECK(early > 150);
}

TEST_CASE("colours that name two offsets, and tokens out of view, are left to others") {
  const auto make = [](Vertex n, const oracle::Rows& rows, layout::RelativeKind kind) {
    layout::Relative relative;
    relative.kind = kind;
    return oracle::make_layout(n, 0, {{{rows, {}, relative, layout::Cancels::nothing}}});
  };
  const oracle::Rows path{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}};
  CHECK(offsets_explain(make(4, path, layout::RelativeKind::offset), 3));
  CHECK(!offsets_explain(make(4, path, layout::RelativeKind::offset), 2));
  CHECK(!offsets_explain(make(4, path, layout::RelativeKind::distance), 3));
  CHECK(!offsets_explain(make(4, path, layout::RelativeKind::none), 3));
}

}  // namespace sightline::sight
