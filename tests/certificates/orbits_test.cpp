// Reach from some columns, against all: one of each orbit where orbits are many, and those that come late.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker/bit_reach.hpp"
#include "checker/reach.hpp"
#include "../unit/sight/oracle.hpp"
#include "convert.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

/// `turns` copies of `count` tokens around a circle, numbered at random: a few arcs from each token to copies, the same at every turn, so that turning the circle is a symmetry of the layout;
/// and registers that read and are read by whole orbits.
/// @param joined  one token of each orbit reads those before and behind it
struct Cover {
  Layout layout;
  std::vector<Vertex> orbit;
};

Cover draw_cover(std::mt19937_64& random, Vertex count, Vertex turns, Vertex registers, double arcs, Vertex most_layers = 2, bool joined = false) {
  const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
  const Vertex tokens = count * turns;
  std::vector<Vertex> name(tokens);
  std::iota(name.begin(), name.end(), Vertex{0});
  std::shuffle(name.begin(), name.end(), random);
  const auto at = [&](Vertex b, Vertex turn) { return name[b * turns + turn % turns]; };
  std::vector<std::vector<oracle::Head>> layers;
  for (Vertex more = 1 + draw(most_layers); more > 0; --more) {
    oracle::Head head;
    head.rows.resize(tokens + registers);
    const auto most = static_cast<Vertex>(arcs * count);
    for (Vertex b = 0; joined && b + 1 < count; ++b) {
      for (Vertex t = 0; t < turns; ++t) head.rows[at(b, t)].push_back(at(b + 1, t)), head.rows[at(b + 1, t)].push_back(at(b, t));
    }
    for (Vertex k = 0; k < most; ++k) {
      const Vertex b = draw(count), c = draw(4) == 0 ? draw(count) : std::min<Vertex>(count - 1, b + draw(3)), by = draw(3);
      for (Vertex t = 0; t < turns; ++t) head.rows[at(b, t)].push_back(at(c, t + by));
    }
    for (Vertex r = 0; r < registers; ++r) {
      const Vertex read = draw(count), reader = draw(count);
      for (Vertex t = 0; t < turns; ++t) head.rows[tokens + r].push_back(at(read, t)), head.rows[at(reader, t)].push_back(tokens + r);
    }
    for (std::vector<Vertex>& row : head.rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
    }
    layers.push_back({head});
  }
  Cover cover{oracle::make_layout(tokens, registers, layers), std::vector<Vertex>(tokens)};
  for (Vertex b = 0; b < count; ++b) {
    Vertex least = tokens;
    for (Vertex t = 0; t < turns; ++t) least = std::min(least, at(b, t));
    for (Vertex t = 0; t < turns; ++t) cover.orbit[at(b, t)] = least;
  }
  return cover;
}

}  // namespace

TEST_CASE("where orbits are many, one column of each tells what all tokens see") {
  std::mt19937_64 random(115);
  int connected = 0, never = 0;
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    const Cover cover = draw_cover(random, static_cast<Vertex>(66 + random() % 6), 80, k % 3 == 0 ? 2 : 0, k % 2 == 0 ? 4 : 2);
    const checker::Layout copy = convert::to_checker(cover.layout);
    for (const checker::ClassKind kind : {checker::ClassKind::all, checker::ClassKind::seen}) {
      for (const bool registers_too : {false, true}) {
        const std::uint64_t skip = random() % 2;
        checker::ReachMemory known(copy), unknown(copy);
        checker::ReachQuestion question{.kind = kind, .registers_too = registers_too, .skip = skip, .memory = &unknown};
        checker::ReachQuestion by_orbits = question;
        by_orbits.orbit = &cover.orbit;
        by_orbits.memory = &known;
        const checker::Reach all = checker::compute_reach(copy, question), few = checker::compute_reach(copy, by_orbits);
        REQUIRE(few.layers == all.layers);
        REQUIRE(few.missed.has_value() == all.missed.has_value());
        if (few.missed) {
          const auto [reader, missed] = *few.missed;
          const std::uint64_t before = few.layers ? *few.layers - 1 : checker::ever_of(copy);
          REQUIRE(checker::compute_latest(copy, before, reader, skip)[missed] < 0);
        }
        ++(few.layers ? connected : never);
        for (const std::optional<std::uint64_t> depth : {std::optional<std::uint64_t>{}, {2}, {7}}) {
          const checker::Unseen mine = checker::compute_unseen(copy, by_orbits, depth), theirs = checker::compute_unseen(copy, question, depth);
          REQUIRE(mine.count == theirs.count);
          REQUIRE(mine.first == theirs.first);
        }
      }
    }
  }
  CHECK(connected > 3);
  CHECK(never > 3);
}

TEST_CASE("what is unseen a few layers before all is seen follows from the columns that come late") {
  std::mt19937_64 random(116);
  int some = 0;
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    const Vertex registers = k % 3 == 0 ? 2 : 0;
    const Vertex count = k < 2 ? 1300 : 8400;  // of many columns a few are followed first
    const Cover cover = draw_cover(random, count, 1, registers, k == 3 ? 0.05 : 0.2, k < 2 ? 2 : 1, true);
    const checker::Layout copy = convert::to_checker(cover.layout);
    checker::ReachMemory memory(copy);
    const ReachMemory mine;
    for (const bool registers_too : {false, true}) {
      const std::uint64_t skip = random() % 2;
      ReachQuestion asked;
      asked.layout = &cover.layout;
      asked.registers_too = registers_too;
      asked.skip = skip;
      ReachQuestion layers = asked;
      layers.find_layers = true;
      const std::optional<std::uint64_t> all = answer_by_bits(layers, unlimited).reach.layers;
      const checker::ReachQuestion question{.registers_too = registers_too, .skip = skip, .memory = &memory};
      REQUIRE(checker::compute_reach(copy, question).layers == all);
      if (!all) continue;
      for (std::uint64_t before = 0; before <= std::min<std::uint64_t>(2, *all); ++before) {
        asked.count_unseen = true;
        asked.depth = *all - before;
        const std::vector<Vertex> late = answer_by_bits(asked, unlimited).unseen;
        const std::vector<Vertex> theirs = checker::compute_unseen(copy, question, asked.depth).count;
        REQUIRE(late == theirs);
        for (Vertex a = 0; a < cover.layout.tokens; a += count / 260) {
          Vertex expected = 0;
          const auto latest = compute_latest_after(cover.layout, skip, *asked.depth, a, unlimited);
          for (Vertex j = 0; j < (registers_too ? cover.layout.vertices() : cover.layout.tokens); ++j) expected += latest[j] < 0 ? 1 : 0;
          REQUIRE(late[a] == expected);
        }
        some += before > 0 && std::any_of(late.begin(), late.end(), [](Vertex unseen) { return unseen > 0; });
      }
    }
  }
  CHECK(some > 8);
}

TEST_CASE("after how many layers all see a column is bounded from those that were followed, and known for the last") {
  std::mt19937_64 random(117);
  for (const Vertex registers : {0, 2}) {
    const Cover cover = draw_cover(random, 8400, 1, registers, 0.2, 1, true);
    const checker::Layout copy = convert::to_checker(cover.layout);
    checker::SharedLayers layers;
    layers.emplace(0, checker::share_ranges(checker::make_read_layer(copy, copy.layers[0])));
    const checker::ReachQuestion question{.registers_too = registers > 0};
    std::vector<std::uint64_t> late;
    const checker::Reach reach = checker::BitReach<>(copy, layers, question).layers_and_late(late);
    REQUIRE(reach.layers);
    REQUIRE(reach.layers == checker::BitReach<>(copy, layers, question).layers().layers);
    for (int k = 0; k < 100; ++k) {
      const auto j = static_cast<Vertex>(random() % (cover.layout.tokens + registers));
      const auto layers_of_j = checker::reach_of_columns(copy, layers, question, {j}).layers;
      REQUIRE(layers_of_j);
      CHECK(late[j] >= *layers_of_j);
      CHECK((late[j] >= *reach.layers) == (*layers_of_j == *reach.layers));
    }
  }
}

}  // namespace sightline::sight
