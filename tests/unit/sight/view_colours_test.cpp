#include <doctest/doctest.h>

#include <numeric>
#include <random>

#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/view_colours.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "shown_views.hpp"
#include "stepped_layouts.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

// Tokens come in classes, shuffled: relations are drawn between classes, and within each of them once for loops and once for the rest.
Layout make_classes(std::mt19937& random, std::size_t layers) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const Vertex tokens = 6 + draw(20);
  const std::uint32_t classes = 2 + draw(7);
  std::vector<std::uint32_t> of(tokens);
  for (std::uint32_t& c : of) c = draw(classes);
  Layout layout;
  layout.tokens = tokens;
  layout.registers = draw(2);
  for (Vertex j = 0; j < tokens; ++j) layout.vertex_colour.push_back(of[j] == 0 ? 1 : 0);
  if (layout.registers > 0) layout.vertex_colour.push_back(2);
  const bool coloured = draw(2) == 0;
  for (std::size_t q = 0; q < layers; ++q) {
    std::vector<std::vector<std::uint32_t>> between(classes + 1, std::vector<std::uint32_t>(classes + 1));
    std::vector<std::uint32_t> loop(classes + 1);
    for (auto& row : between) {
      for (std::uint32_t& colour : row) colour = draw(5) < 2 ? 1 + (coloured ? draw(2) : 0) : 0;
    }
    for (std::uint32_t& colour : loop) colour = draw(2) == 0 ? 1 + (coloured ? draw(2) : 0) : 0;
    std::vector<std::vector<Vertex>> rows(layout.vertices());
    std::vector<std::vector<std::uint32_t>> colours(layout.vertices());
    const auto class_of = [&](Vertex j) { return j < tokens ? of[j] : classes; };
    for (Vertex i = 0; i < layout.vertices(); ++i) {
      for (Vertex j = 0; j < layout.vertices(); ++j) {
        const std::uint32_t colour = i == j ? loop[class_of(i)] : between[class_of(i)][class_of(j)];
        if (colour == 0) continue;
        rows[i].push_back(j);
        colours[i].push_back(colour);
      }
    }
    layout.relations.emplace_back(layout::make_pattern_from_rows(layout.vertices(), rows, colours), layout::Relative{}, layout::Cancels::nothing, tokens);
    layout.layers.push_back({{static_cast<std::uint32_t>(q)}});
    layout.order.push_back(static_cast<std::uint32_t>(q));
  }
  return layout;
}

/// How many views were compared, and how many vertices stood for others in them.
struct Compared {
  std::size_t views = 0, left_out = 0;
};

void compare(const Layout& layout, std::uint64_t depth, Compared& compared) {
  const group::Group group = symmetry::compute_layout_group(layout, unlimited);
  auto views = ViewColours::make(layout, group, depth, unlimited);
  REQUIRE(views);
  const auto maker = make_plain_roots(layout, depth);
  for (Vertex a = 0; a < layout.tokens; ++a) {
    const auto colours = views->colour(a);
    if (!colours) continue;
    const Rooted rooted = maker->make(a, unlimited);
    const RootColours expected = compute_root_colours(rooted, unlimited), found = views->expand(*colours);
    REQUIRE(found.hash == expected.hash);
    CHECK(found.invariant == expected.invariant);
    CHECK(found.discrete == expected.discrete);
    for (std::size_t p = 0; p < views->vertices().size(); ++p) REQUIRE(colours->seen[p] == rooted.seen[views->vertices()[p]]);
    ++compared.views;
    compared.left_out += layout.vertices() - views->vertices().size();
  }
}

}  // namespace

TEST_CASE("what the surroundings of the roots show about all views at once") {
  check_what_is_shown(3, 150, make_local, [](const Layout& layout, const group::Group& group, std::uint64_t depth, const auto& roots, const auto& number) {
    return ViewColours::make(layout, group, depth, unlimited)->explains_all(roots, number, 1, 1);
  });
}

TEST_CASE("what the lengths of rows show about all views at once") {
  const auto by_rows = [](const Layout& layout, const group::Group& group, std::uint64_t depth, const auto& roots, const auto& number) {
    return ViewColours::make(layout, group, depth, unlimited)->explains_by_rows(roots, number);
  };
  check_what_is_shown(5, 1000, make_window, by_rows);
  check_what_is_shown(7, 1000, [](std::mt19937& random) { return random() % 2 == 0 ? make_local(random) : make_window(random); }, by_rows);
}

TEST_CASE("lengths of rows do not explain a view with a mirror, nor two views that are alike") {
  const auto make = [](Vertex n, Vertex radius, Vertex part) {
    Layout layout;
    layout.tokens = n;
    layout.vertex_colour.assign(n, 0);
    std::vector<std::vector<Vertex>> rows(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (i / part == j / part && std::max(i, j) - std::min(i, j) <= radius) rows[i].push_back(j);
      }
    }
    if (part < n) rows[n - 1] = {n - 1};  // in sight of nobody in its part but itself
    layout.relations.emplace_back(layout::make_pattern_from_rows(n, rows), layout::Relative{}, layout::Cancels::nothing, n);
    layout.layers.push_back({{0}});
    layout.order.push_back(0);
    return layout;
  };
  std::vector<Vertex> number(64);
  std::iota(number.begin(), number.end(), Vertex{0});
  const auto explains = [&](const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots) {
    number.resize(layout.tokens);
    return ViewColours::make(layout, group::make_trivial_group(layout.tokens), depth, unlimited)->explains_by_rows(roots, number);
  };
  for (Vertex radius = 2; radius <= 5; ++radius) {
    const Vertex n = 8 * radius + 1;  // the middle sees all after 4 layers, the rows at both ends are hidden
    const Layout window = make(n, radius, n);
    CHECK_FALSE(explains(window, 4, {4 * radius}));
    CHECK(explains(window, 8, {0, 1}));
    const Layout two = make(8 * radius + 2, radius, 4 * radius + 1);
    CHECK(explains(two, 4, {0}));
    CHECK(explains(two, 4, {4 * radius + 1}));
    CHECK_FALSE(explains(two, 4, {0, 4 * radius + 1}));
  }
}

TEST_CASE("colours of views on two tokens per class are those of all tokens") {
  std::mt19937 random(11);
  Compared compared;
  for (int k = 0; k < 300; ++k) {
    const Layout layout = make_classes(random, 1 + k % 3);
    for (std::uint64_t depth = 1; depth <= 4; ++depth) compare(layout, depth, compared);
  }
  CHECK(compared.views > 5000);
  CHECK(compared.left_out > 5000);
}

TEST_CASE("colours of views with runs that have steps") {
  Compared compared;
  for (const Vertex tokens : {60u, 61u, 95u}) {
    for (std::uint64_t depth = 1; depth <= 3; ++depth) {
      compare(make_stepped(tokens, layout::PatternKind::window), depth, compared);
      compare(make_stepped(tokens, layout::PatternKind::strided), depth, compared);
    }
  }
  CHECK(compared.views > 1000);
}

TEST_CASE("colours of views with runs that have steps, on two tokens per class") {
  Compared compared;
  for (const Vertex tokens : {84u, 140u, 143u}) {
    for (const std::int64_t summary : {1, 2, 3}) {
      for (std::uint64_t depth = 1; depth <= 3; ++depth) compare(make_stepped(tokens, layout::PatternKind::fixed, summary), depth, compared);
    }
  }
  CHECK(compared.views > 200);
  CHECK(compared.left_out > 2000);
}

TEST_CASE("colours of a view do not depend on the runs that rows are written in") {
  for (const layout::PatternKind kind : {layout::PatternKind::window, layout::PatternKind::strided, layout::PatternKind::fixed}) {
    for (const Vertex tokens : {95u, 141u}) {
      const Layout layout = make_stepped(tokens, kind, 2);
      Layout written = layout;
      layout::PatternBuilder builder(tokens, unlimited);
      std::vector<layout::Run> row;
      for (Vertex i = 0; i < tokens; ++i) {
        layout.relations[0].pattern().row(i, row);
        std::vector<layout::AffineRun> single;
        for (const layout::Run& run : row) {
          for (Vertex j = run.first; j <= run.last; j += run.step) single.push_back(layout::make_constant_run(j, j, run.colour));
        }
        builder.add_segment(i, builder.add_list(single));
      }
      written.relations[0] = layout::Relation(builder.build(), {}, layout::Cancels::single_colour, tokens);
      for (std::uint64_t depth = 1; depth <= 3; ++depth) {
        const auto maker = make_plain_roots(layout, depth), other = make_plain_roots(written, depth);
        for (Vertex a = 0; a < tokens; a += 5) {
          const RootColours found = compute_root_colours(maker->make(a, unlimited), unlimited), expected = compute_root_colours(other->make(a, unlimited), unlimited);
          REQUIRE(found.hash == expected.hash);
          if (kind == layout::PatternKind::window) CHECK(found.work < expected.work);  // no neighbours in its runs: each counts as one
        }
      }
    }
  }
}

}  // namespace sightline::sight
