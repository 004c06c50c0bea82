// The checker's colours of views: on two tokens per class those of all tokens, and the same in whatever runs rows are written.
#include <doctest/doctest.h>

#include "../unit/sight/shown_views.hpp"
#include "../unit/sight/stepped_layouts.hpp"
#include "checker/views.hpp"
#include "sight_convert.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline {

namespace {

/// Every run vertex by vertex.
checker::Layout write_out(const checker::Layout& layout) {
  checker::Layout result = layout;
  auto pattern = std::make_shared<checker::Pattern>();
  pattern->vertices = layout.vertices();
  std::vector<checker::Run> row;
  for (checker::Vertex i = 0; i < layout.vertices(); ++i) {
    layout.relations[0].pattern->row(i, row);
    pattern->segments.push_back({i, 1, i, checker::Pattern::none});
    auto& list = pattern->lists.emplace_back();
    for (const checker::Run& run : row) {
      for (checker::Vertex j = run.first; j <= run.last; j += run.step) list.push_back({j, j, 1, 1, 0, 0});
    }
  }
  result.relations[0].pattern = std::move(pattern);
  return result;
}

}  // namespace

TEST_CASE("the checker's colours of views with steps") {
  std::size_t views = 0, left_out = 0;
  for (const layout::PatternKind kind : {layout::PatternKind::window, layout::PatternKind::strided, layout::PatternKind::fixed}) {
    for (const layout::Vertex tokens : {95u, 140u, 143u}) {
      for (const std::int64_t summary : {1, 2}) {
        const layout::Layout ours = sight::make_stepped(tokens, kind, summary);
        const checker::Layout layout = convert::to_checker(ours), written = write_out(layout);
        const checker::ConfirmedGroup group = convert::to_checker(symmetry::compute_layout_group(ours, unlimited));
        for (std::uint64_t depth = 1; depth <= 3; ++depth) {
          const auto places = checker::PlaceColours::make(layout, group.group, depth);
          REQUIRE(places);
          const auto maker = checker::make_roots(layout, true, depth), other = checker::make_roots(written, true, depth);
          for (checker::Vertex a = 0; a < tokens; ++a) {
            const checker::Rooted rooted = maker->make(a);
            const checker::RootColours expected = checker::colour_root(rooted);
            if (a % 5 == 0) REQUIRE(checker::colour_root(other->make(a)).hash == expected.hash);
            const auto found = places->colour(a);
            if (!found) continue;
            ++views;
            left_out += tokens - places->vertex.size();
            for (std::size_t p = 0; p < places->vertex.size(); ++p) {
              REQUIRE(found->seen[p] == rooted.seen[places->vertex[p]]);
              if (found->seen[p]) REQUIRE(found->at.hash[p] == expected.hash[places->vertex[p]]);
            }
          }
        }
      }
    }
  }
  CHECK(views > 1000);
  CHECK(left_out > 2000);
}

TEST_CASE("what the checker reads off the surroundings of roots, and off the lengths of rows, is so") {
  const auto make_places = [](const layout::Layout& layout, const group::Group& group, std::uint64_t depth, const auto& use) {
    const checker::Layout copy = convert::to_checker(layout);
    return use(*checker::PlaceColours::make(copy, convert::to_checker(group).group, depth));
  };
  sight::check_what_is_shown(3, 3000, sight::make_local, [&](const auto& layout, const auto& group, std::uint64_t depth, const auto& roots, const auto& number) {
    return make_places(layout, group, depth, [&](const checker::PlaceColours& places) { return places.explains_all(roots, number, 1, 1); });
  });
  sight::check_what_is_shown(17, 1000, sight::make_window, [&](const auto& layout, const auto& group, std::uint64_t depth, const auto& roots, const auto& number) {
    return make_places(layout, group, depth, [&](const checker::PlaceColours& places) { return places.explains_by_lengths(roots, number); });
  });
}

}  // namespace sightline
