// Distances from and to a few vertices say what columns of bits say: library and checker, each by its own files.
#include <doctest/doctest.h>

#include <random>

#include "../unit/sight/oracle.hpp"
#include "checker/centre.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

/// One pattern in all layers: trees with some more arcs, paths, meshes, cycles one way, several side by side or not, paths some of whose arcs go one way, cycles one of
/// which reads another, arcs to anywhere, arcs that never lead back; tokens in any order, the last vertices registers.
Layout make_graph(std::mt19937& random, Vertex vertices, bool& leads_back) {
  std::vector<Vertex> place(vertices);
  std::iota(place.begin(), place.end(), Vertex{0});
  std::shuffle(place.begin(), place.end(), random);
  oracle::Rows rows(vertices);
  const int kind = static_cast<int>(random() % 8);
  leads_back = kind < 4;
  const Vertex parts = 1 + random() % 3, width = 2 + random() % 8;
  const auto join = [&](Vertex a, Vertex b, bool both) {
    rows[place[a]].push_back(place[b]);
    if (both) rows[place[b]].push_back(place[a]);
  };
  for (Vertex v = 0; v < vertices; ++v) {
    const Vertex begin = v - v % ((vertices + parts - 1) / parts), index = v - begin;
    if (kind == 6) {
      join(v, static_cast<Vertex>(random()) % vertices, random() % 3 == 0);
      if (random() % 2 == 0) join(v, static_cast<Vertex>(random()) % vertices, false);
    } else if (kind == 7) {
      if (v > 0) join(v, static_cast<Vertex>(random()) % v, false);
    } else if (kind == 3 || kind == 5) {  // one way round, with a short cut
      const Vertex end = std::min(vertices, begin + (vertices + parts - 1) / parts);
      join(v, v + 1 < end ? v + 1 : begin, false);
      if (random() % 4 == 0) join(v, begin + static_cast<Vertex>(random()) % (end - begin), false);
      if (kind == 5 && begin > 0 && random() % 4 == 0) join(v, static_cast<Vertex>(random()) % begin, false);
    } else if (index > 0) {
      join(v, kind == 0 ? begin + static_cast<Vertex>(random()) % index : v - 1, kind != 4 || random() % 6 > 0);
      if (kind == 2 && index >= width) join(v, v - width, true);
    }
  }
  for (oracle::Rows::value_type& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  const Vertex registers = random() % 3 == 0 ? 1 + random() % 2 : 0;
  return oracle::make_layout(vertices - registers, registers, {{{rows, {}, {}, layout::Cancels::single_colour}}}, {}, std::vector<std::uint32_t>(1 + random() % 3, 0));
}

}  // namespace

TEST_CASE("distances from and to a few vertices say what columns of bits say") {
  std::mt19937 random(21);
  int answered = 0, never = 0, counted = 0, passed = 0, left = 0, one_way = 0;
  for (int k = 0; k < 800; ++k) {
    bool leads_back = false;
    const Layout layout = make_graph(random, 4 + random() % (k % 5 == 0 ? 150 : 40), leads_back);
    if (layout.tokens < 2) continue;
    const checker::Layout copy = convert::to_checker(layout);
    const checker::SharedLayer shared = checker::share_ranges(checker::make_read_layer(copy, copy.layers[0]));
    const auto centre = checker::Centre::make(copy, shared);
    if (leads_back) REQUIRE(centre != nullptr);  // else there may be many parts, some of which read others
    for (int q = 0; q < 6; ++q) {
      ReachQuestion question;
      question.layout = &layout;
      question.wanted.kind = q % 2 == 0 ? ClassKind::all : ClassKind::seen;
      question.registers_too = random() % 2 == 0;
      question.skip = random() % 3;
      question.count_unseen = question.find_layers = true;
      if (random() % 4 > 0) question.depth = random() % 12;
      const ReachAnswer expected = answer_by_bits(question, unlimited);
      const auto found = answer_by_centre(question, unlimited);
      if (centre == nullptr) {
        ++passed;
        REQUIRE_FALSE(found);
        continue;
      }
      if (!found) {  // many tokens miss something at the depth
        REQUIRE((question.depth.has_value() && layout.tokens > 64));
        ++left;
        continue;
      }
      ++answered;
      one_way += leads_back ? 0 : 1;
      REQUIRE(found->unseen == expected.unseen);
      REQUIRE(found->reach.layers == expected.reach.layers);
      REQUIRE(found->reach.witness.has_value() == expected.reach.witness.has_value());
      const auto is_missed = [&](Vertex i, Vertex j) {
        const std::uint64_t before = expected.reach.layers ? *expected.reach.layers - 1 : layout.vertices();
        return compute_latest_after(layout, question.skip, before, i, unlimited)[j] < 0;
      };
      if (found->reach.witness) REQUIRE(is_missed(found->reach.witness->reader, found->reach.witness->unseen));
      checker::ReachQuestion asked;
      asked.kind = static_cast<checker::ClassKind>(question.wanted.kind);
      asked.registers_too = question.registers_too;
      const auto layers = centre->layers(asked);
      REQUIRE(layers.has_value());
      REQUIRE(layers->layers == expected.reach.layers);
      REQUIRE(layers->missed.has_value() == expected.reach.witness.has_value());
      if (layers->missed) REQUIRE(is_missed(layers->missed->first, layers->missed->second));
      const auto unseen = centre->unseen(asked, question.depth);
      REQUIRE(unseen.has_value());
      REQUIRE(unseen->count == expected.unseen);
      const auto reader = std::find_if(expected.unseen.begin(), expected.unseen.end(), [](Vertex count) { return count > 0; });
      REQUIRE(unseen->first.has_value() == (reader != expected.unseen.end()));
      if (unseen->first) {
        const auto [i, j] = *unseen->first;
        REQUIRE(i == reader - expected.unseen.begin());
        REQUIRE(j < (question.registers_too ? layout.vertices() : layout.tokens));
        REQUIRE(compute_latest_after(layout, question.skip, question.depth.value_or(layout.vertices()), i, unlimited)[j] < 0);
        if (question.wanted.kind == ClassKind::seen) REQUIRE(compute_latest_after(layout, question.skip, layout.vertices(), i, unlimited)[j] >= 0);
      }
      never += expected.reach.layers ? 0 : 1;
      counted += unseen->first ? 1 : 0;
    }
  }
  CHECK(answered > 3000);
  CHECK(one_way > 1500);
  CHECK(never > 200);
  CHECK(counted > 500);
  CHECK(passed > 50);
  CHECK(left > 5);
  CHECK(left < 500);
}

TEST_CASE("where a few vertices leave most open, columns are followed") {
  // Ten arcs each to anywhere: all distances are nearly the same, and a way by way of a third vertex is twice as long.
  std::mt19937 random(22);
  oracle::Rows rows(600);
  for (Vertex i = 0; i < 600; ++i) {
    for (int k = 0; k < 5; ++k) {
      const Vertex j = static_cast<Vertex>(random()) % 600;
      rows[i].push_back(j);
      rows[j].push_back(i);
    }
  }
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  const Layout layout = oracle::make_layout(600, rows);
  ReachQuestion question;
  question.layout = &layout;
  question.find_layers = true;
  CHECK_FALSE(answer_by_centre(question, unlimited));
  const checker::Layout copy = convert::to_checker(layout);
  const auto centre = checker::Centre::make(copy, checker::share_ranges(checker::make_read_layer(copy, copy.layers[0])));
  REQUIRE(centre != nullptr);
  CHECK_FALSE(centre->layers({}));
  CHECK_FALSE(centre->unseen({}, 3));
  CHECK(centre->unseen({}, std::nullopt)->count == std::vector<Vertex>(600, 0));
}

}  // namespace sightline::sight
