// Grids whose tokens read their rows and columns in full, beside something local: views, the group, and who sees whom, by library and checker (docs/theory.md 16.107, 16.108).
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "asked_columns.hpp"
#include "checker/boxes.hpp"
#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::sight {

namespace {

struct Drawn {
  Layout layout;
  Vertex width, height;
};

template <class Reads>
oracle::Head fill(Vertex n, const Reads& reads) {
  oracle::Head head;
  head.rows.resize(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (reads(i, j)) head.rows[i].push_back(j);
    }
  }
  return head;
}

/// Rows and columns by one relation, by two of a layer or by two layers; something local that is the same along all rows and columns, mostly; at times an arc too many or too few, a token of another
/// colour, arcs of two colours.
Drawn draw_grid(std::mt19937& random, Vertex most_tokens, Vertex most_side) {
  const auto below = [&](std::uint64_t k) { return static_cast<Vertex>(random() % k); };
  Vertex h = 2 + below(most_side - 1), w = below(2) == 0 ? h : 2 + below(most_side - 1);
  while (h * w > most_tokens) --(h > w ? h : w);
  const Vertex n = h * w;
  const bool loops = below(4) > 0;
  const auto same_row = [w](Vertex i, Vertex j) { return i / w == j / w; };
  const auto same_column = [w](Vertex i, Vertex j) { return i % w == j % w; };
  const oracle::Head rows = fill(n, [&](Vertex i, Vertex j) { return same_row(i, j) && (loops || i != j); }), columns = fill(n, [&](Vertex i, Vertex j) { return same_column(i, j) && (loops || i != j); });
  const oracle::Head both = fill(n, [&](Vertex i, Vertex j) { return (same_row(i, j) || same_column(i, j)) && (loops || i != j); });
  const auto draw_local = [&] {
    // What is read so many rows further up or down and columns to the side.
    const Vertex kind = below(6), reach = 1 + below(2);
    std::vector<bool> taken((2 * h + 1) * (2 * w + 1));
    for (std::size_t k = 0; k < taken.size(); ++k) taken[k] = below(3) == 0;
    return fill(n, [&](Vertex i, Vertex j) {
      const int dr = static_cast<int>(j / w) - static_cast<int>(i / w), dc = static_cast<int>(j % w) - static_cast<int>(i % w), near = static_cast<int>(reach);
      if (i == j) return loops;
      if (kind < 3) return std::max(std::abs(dr), std::abs(dc)) <= near;
      if (kind == 3) return std::abs(dr) + std::abs(dc) <= near;
      if (kind == 4) return dr == 0 ? dc > 0 && dc <= near : dc == 0 && dr > 0 && dr <= near;
      return bool{taken[static_cast<std::size_t>((dr + static_cast<int>(h)) * (2 * static_cast<int>(w) + 1) + dc + static_cast<int>(w))]};
    });
  };
  std::vector<std::vector<oracle::Head>> layers;
  switch (below(4)) {
    case 0: layers = {{rows, columns}, {draw_local()}}; break;
    case 1: layers = {{rows}, {columns}, {draw_local()}}; break;
    case 2: layers = {{both, draw_local()}}; break;
    default: layers = {{both}, {draw_local()}};
  }
  if (below(3) == 0) layers.push_back({draw_local()});
  if (below(3) == 0) std::shuffle(layers.begin(), layers.end(), random);
  if (below(5) == 0) {
    oracle::Head& head = layers[below(layers.size())].back();
    auto& row = head.rows[below(n)];
    if (!row.empty()) row.erase(row.begin() + below(row.size()));
  }
  if (below(5) == 0) {
    oracle::Head& head = layers[below(layers.size())].front();
    head.colours.resize(n);
    for (Vertex i = 0; i < n; ++i) {
      for (const Vertex j : head.rows[i]) head.colours[i].push_back(1 + (below(2) == 0 && i == 0 && j > 0 ? 1 : 0));
    }
  }
  Drawn drawn{oracle::make_layout(n, 0, layers), w, h};
  if (below(6) == 0) drawn.layout.vertex_colour[below(n)] = 1;
  return drawn;
}

void compare_views(std::uint32_t seed, int count, int least_shown) {
  std::mt19937 random(seed);
  int shown = 0, open = 0, larger = 0;
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const Layout layout = draw_grid(random, 12, 4).layout;
    const checker::Layout theirs = convert::to_checker(layout);
    const group::Group own = symmetry::compute_layout_group(layout, unlimited);
    const group::Membership member(own, unlimited);
    const auto confirms = [&](const checker::Permutation& tau) {
      std::vector<group::Point> images(layout.tokens);
      for (Vertex j = 0; j < layout.tokens; ++j) images[j] = tau(j);
      return member.contains(group::Permutation::from_images(images));
    };
    for (std::uint64_t depth = 1; depth <= 4; ++depth) {
      CAPTURE(depth);
      const bool found = do_crosses_explain(layout, depth, [&](const group::Permutation& tau) { return member.contains(tau); }, unlimited);
      REQUIRE(found == checker::do_crosses_explain(theirs, depth, confirms));
      ++(found ? shown : open);
      if (!found) continue;
      larger += own.order == group::Order(mpz_class(1)) ? 0 : 1;
      REQUIRE(each_isomorphism(layout, depth, [&](Vertex, const auto& seen, const auto& map) {
        std::vector<group::Point> from, to;
        for (Vertex j = 0; j < layout.tokens; ++j) {
          if (!seen[j]) continue;
          from.push_back(j);
          to.push_back(map[j]);
        }
        return member.extends(from, to);
      }));
    }
  }
  MESSAGE(shown << " answered, " << larger << " of them with symmetries, " << open << " open");
  CHECK(shown > least_shown);
  CHECK(larger > least_shown / 3);
}

}  // namespace

TEST_CASE("rows and columns in full: isomorphisms of views are symmetries of the layout") { compare_views(107, 600, 200); }

TEST_CASE("rows and columns in full: the group that shows is what a search finds, and the checker confirms just this") {
  std::mt19937 random(108);
  int by_order[9] = {}, others = 0;
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    const auto [layout, width, height] = draw_grid(random, 49, 7);
    const checker::Layout theirs = convert::to_checker(layout);
    symmetry::SearchRecord record;
    const auto found = find_cross_group(layout, unlimited, record);
    const group::Group expected = symmetry::compute_layout_group(layout, unlimited);
    if (!found) {
      ++others;
      continue;
    }
    REQUIRE(found->order == expected.order);
    REQUIRE(found->orbit == expected.orbit);
    const nlohmann::json evidence = certificate::to_plain(certificate::to_evidence(record));
    const auto confirmed = checker::confirm_cross_group(theirs, checker::parse(evidence.dump()));
    REQUIRE(confirmed);
    REQUIRE(confirmed->order->factored() == found->order.factored());
    ++by_order[1 << found->generators.size()];
    // One generator less, or a path of another kind, is not what shows.
    for (std::size_t g = 0; g < record.generators.size(); ++g) {
      symmetry::SearchRecord lie = record;
      lie.generators.erase(lie.generators.begin() + static_cast<std::ptrdiff_t>(g));
      if (lie.generators.empty()) lie.path.clear();
      CHECK_FALSE(checker::confirm_cross_group(theirs, checker::parse(certificate::to_plain(certificate::to_evidence(lie)).dump())));
    }
    symmetry::SearchRecord lie = record;
    lie.path.push_back(1);
    CHECK_FALSE(checker::confirm_cross_group(theirs, checker::parse(certificate::to_plain(certificate::to_evidence(lie)).dump())));
  }
  MESSAGE(by_order[1] << " of order 1, " << by_order[2] << " of 2, " << by_order[4] << " of 4, " << by_order[8] << " of 8, " << others << " others");
  for (const int order : {1, 2, 4, 8}) CHECK(by_order[order] > 30);
  CHECK(others > 100);
}

TEST_CASE("rows that are few boxes: who sees whom is what all columns say") {
  std::mt19937 random(109);
  int answered = 0, passed = 0, seen = 0, counted = 0;
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    const Layout layout = draw_grid(random, 80, 12).layout;
    const checker::Layout copy = convert::to_checker(layout);
    const auto boxes = checker::Boxes::find(copy);
    checker::SharedLayers shared;
    for (std::uint32_t l = 0; l < copy.layers.size(); ++l) shared.emplace(l, checker::share_ranges(checker::make_read_layer(copy, copy.layers[l])));
    AskedColumns columns(random, layout);
    const auto found = answer_by_boxes(columns.question, unlimited);
    if (!found) {
      ++passed;
      continue;
    }
    ++answered;
    columns.require_found(*found);
    REQUIRE(boxes);
    REQUIRE(checker::Boxes::takes(copy, columns.asked));
    columns.require_confirmed(copy, shared, boxes->layers(columns.asked), boxes->unseen(columns.asked, columns.question.depth));
    seen += columns.question.wanted.kind == ClassKind::seen ? 1 : 0;
    counted += std::any_of(found->unseen.begin(), found->unseen.end(), [](Vertex missed) { return missed > 0; }) ? 1 : 0;
  }
  MESSAGE(answered << " answered, " << seen << " of them of class seen, " << counted << " with something out of view, " << passed << " passed over");
  CHECK(answered > 300);
  CHECK(seen > 100);
  CHECK(counted > 50);
}

TEST_SUITE("slow") {
TEST_CASE("rows and columns in full: 10,000 lists of layers") { compare_views(110, 10000, 3000); }
}

}  // namespace sightline::sight
