// Large block masks are asked about on two vertices per stretch: the answers are those of all vertices.
#include <doctest/doctest.h>

#include <random>

#include "block_masks.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

TEST_CASE("reach on stretches is reach") {
  std::mt19937 random(5);
  int found = 0, shorter = 0, unseen = 0;
  for (int k = 0; k < 400; ++k) {
    const Layout layout = oracle::make_blocks(random, 12 + random() % 60, 2 + random() % 8);
    for (const ClassKind kind : {ClassKind::all, ClassKind::seen}) {
      for (const std::optional<std::uint64_t> depth : {std::optional<std::uint64_t>{}, {1}, {2}, {3}}) {
        ReachQuestion question;
        question.layout = &layout;
        question.depth = depth;
        question.wanted = {kind, random() % 2 == 0};
        question.registers_too = random() % 2 == 0 && !question.wanted.ordinary_only;
        question.count_unseen = question.find_layers = true;
        question.skip = random() % 2;
        const auto answer = answer_by_stretches(question, unlimited, false, 0, 1);
        if (!answer) continue;
        const ReachAnswer expected = answer_by_bits(question, unlimited);
        REQUIRE(answer->unseen == expected.unseen);
        REQUIRE(answer->reach.layers == expected.reach.layers);
        REQUIRE(answer->reach.witness.has_value() == expected.reach.witness.has_value());
        if (answer->reach.witness && kind == ClassKind::all) {
          const std::uint64_t before = answer->reach.layers ? *answer->reach.layers - 1 : 1000;
          REQUIRE(compute_latest_after(layout, question.skip, before, answer->reach.witness->reader, unlimited)[answer->reach.witness->unseen] < 0);
        }
        ++found;
        unseen += std::any_of(answer->unseen.begin(), answer->unseen.end(), [](Vertex count) { return count > 0; }) ? 1 : 0;
        if (shorten(layout, unlimited, 0, 1)->layout.vertices() < layout.vertices()) ++shorter;
        // On their own, near views and single rows count with weights as well.
        ReachQuestion counted = question;
        counted.find_layers = false;
        REQUIRE(answer_by_stretches(counted, unlimited, false, 0, 1)->unseen == expected.unseen);
      }
    }
  }
  CHECK(found > 1000);
  CHECK(shorter > 800);
  CHECK(unseen > 300);
}

TEST_CASE("a swap is a symmetry of what is visible when the test for all permutations says so") {
  std::mt19937 random(9);
  int kept = 0, broken = 0;
  for (int k = 0; k < 300; ++k) {
    const Layout layout = oracle::make_blocks(random, 8 + random() % 12, 2 + random() % 5);
    const std::uint64_t depth = 1 + random() % 3;
    const auto maker = make_plain_roots(layout, depth);
    const Vertex a = random() % layout.tokens;
    const std::vector<std::int64_t> latest = compute_latest(layout, depth, a, unlimited);
    const Rooted rooted = maker->make(a, unlimited);
    for (Vertex x = 0; x < layout.tokens; ++x) {
      for (Vertex y = x + 1; y < layout.tokens; ++y) {
        const group::Permutation swap = group::Permutation::transposition(x, y);
        const auto layout_keeps = is_swap_symmetric(layout, {}, x, y, unlimited);
        REQUIRE(layout_keeps);
        CHECK(*layout_keeps == symmetry::is_automorphism(symmetry::make_structure(layout), swap, unlimited));
        if (x == a || y == a) continue;
        const auto view_keeps = is_swap_symmetric(layout, latest, x, y, unlimited);
        REQUIRE(view_keeps);
        CHECK(*view_keeps == symmetry::is_automorphism(rooted.structure, swap, unlimited));
        ++(*view_keeps ? kept : broken);
      }
    }
  }
  CHECK(kept > 500);
  CHECK(broken > 500);
}

namespace {

/// Every isomorphism between the views of these roots that a search finds stays within equal numbers.
void require_within(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
  const auto maker = make_plain_roots(layout, depth);
  for (const Vertex a : roots) {
    const Rooted first = maker->make(a, unlimited);
    for (const group::Permutation& g : group::list_generators(symmetry::compute_automorphisms(first.structure, unlimited), ~std::size_t{0})) {
      for (std::size_t m = 0; m < g.moved().size(); ++m) {
        if (g.moved()[m] < layout.tokens && first.seen[g.moved()[m]]) REQUIRE(number[g.moved()[m]] == number[g.image()[m]]);
      }
    }
    for (const Vertex b : roots) {
      const auto images = symmetry::find_isomorphism(first.structure, maker->make(b, unlimited).structure, unlimited);
      for (Vertex j = 0; images && j < layout.tokens; ++j) {
        if (first.seen[j]) REQUIRE(number[j] == number[(*images)[j]]);
      }
    }
  }
}

/// Rows of a few tokens, and hubs that nearly everybody reads in some layer; they read much, little, or what others read.
Layout make_hubs(std::mt19937& random, Vertex tokens, Vertex hubs) {
  Layout layout;
  layout.tokens = tokens;
  layout.vertex_colour.assign(tokens, 0);
  const std::uint32_t layers = 1 + random() % 2;
  for (std::uint32_t q = 0; q < layers; ++q) {
    std::vector<std::vector<Vertex>> rows(tokens);
    const bool forgetful = random() % 4 == 0, gathers = random() % 3 > 0;
    for (Vertex i = 0; i < tokens; ++i) {
      for (Vertex j = 0; j < tokens; ++j) {
        const bool hub = j < hubs && (i != j || random() % 2 == 0) && !(forgetful && random() % tokens == 0);
        if (hub || random() % 6 == 0 || (i < hubs && gathers)) rows[i].push_back(j);
      }
    }
    layout.relations.emplace_back(layout::make_pattern_from_rows(tokens, rows), layout::Relative{}, layout::Cancels::nothing, tokens);
    layout.layers.push_back({{q}});
    layout.order.push_back(q);
  }
  return layout;
}

}  // namespace

TEST_CASE("views explained by times: whatever the search finds stays within the numbers") {
  std::mt19937 random(21);
  int shown = 0, open = 0;
  for (int k = 0; k < 300; ++k) {
    const Layout layout = oracle::make_blocks(random, 6 + random() % 8, 3 + random() % 6);
    const std::uint64_t depth = 1 + random() % 3;
    std::vector<Vertex> roots, number(layout.tokens);
    for (Vertex a = 0; a < layout.tokens; ++a) {
      roots.push_back(a);
      number[a] = random() % 4 == 0 ? 1 : 0;
    }
    if (k % 3 == 0) number.assign(layout.tokens, 0);
    if (k % 3 == 1) {
      for (Vertex a = 0; a < layout.tokens; ++a) number[a] = static_cast<Vertex>(layout.relations.front().pattern().degree(a));
    }
    if (!do_times_explain(layout, depth, roots, number, unlimited)) {
      ++open;
      continue;
    }
    ++shown;
    require_within(layout, depth, roots, number);
  }
  CHECK(shown > 100);
  CHECK(open > 60);
}

TEST_CASE("views explained by what all roots read: whatever the search finds stays within the numbers") {
  std::mt19937 random(22);
  int shown = 0, open = 0;
  for (int k = 0; k < 600; ++k) {
    const Vertex tokens = 6 + random() % 7, hubs = 1 + random() % 3;
    const Layout layout = make_hubs(random, tokens, hubs);
    const std::uint64_t depth = 1 + random() % 4;
    std::vector<Vertex> roots, number(tokens);
    for (Vertex a = 0; a < tokens; ++a) {
      if (random() % 4 > 0) roots.push_back(a);
      number[a] = a < hubs && k % 3 > 0 ? (k % 3 == 1 ? tokens + a : tokens) : 0;
    }
    if (roots.empty() || !do_times_explain(layout, depth, roots, number, unlimited)) {
      ++open;
      continue;
    }
    ++shown;
    require_within(layout, depth, roots, number);
  }
  CHECK(shown > 200);
  CHECK(open > 100);
}

}  // namespace sightline::sight
