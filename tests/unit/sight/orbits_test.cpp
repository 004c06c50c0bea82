// One column of each orbit says what all columns say: counts, layers and the very pair that is shown.
#include <doctest/doctest.h>

#include <random>

#include "oracle.hpp"
#include "sightline/sight/known_orbits.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

/// Cycles of one length side by side, each token reading by offsets, some layers a hub as well; tokens in random order. Registers: hubs that nobody
/// or everybody reads.
Layout make_cycles(std::mt19937& random, Vertex length, Vertex copies) {
  const Vertex hubs = random() % 2, registers = random() % 3, tokens = length * copies + hubs;
  std::vector<Vertex> place(tokens);
  std::iota(place.begin(), place.end(), Vertex{0});
  std::shuffle(place.begin(), place.end(), random);
  std::vector<std::vector<oracle::Head>> layers(1 + random() % 3);
  for (auto& heads : layers) {
    oracle::Head head;
    head.rows.resize(tokens + registers);
    const Vertex offsets[] = {1 + static_cast<Vertex>(random()) % 3, static_cast<Vertex>(random()) % length}, across = random() % 3;
    const bool reads_hub = random() % 2 == 0, hub_reads = random() % 2 == 0, reads_register = random() % 4 == 0;
    for (Vertex c = 0; c < copies; ++c) {
      for (Vertex p = 0; p < length; ++p) {
        std::vector<Vertex>& row = head.rows[place[c * length + p]];
        for (const Vertex offset : offsets) row.push_back(place[c * length + (p + offset) % length]);
        if (across == 0) row.push_back(place[(c + 1) % copies * length + p]);
        for (Vertex h = 0; h < hubs; ++h) {
          const Vertex hub = place[tokens - 1];
          if (reads_hub) row.push_back(hub);
          if (hub_reads && p % 2 == 0) head.rows[hub].push_back(place[c * length + p]);
        }
        for (Vertex r = 0; r < registers; ++r) {
          if (reads_register) row.push_back(tokens + r);
          if (r == 1) head.rows[tokens + r].push_back(place[c * length + p]);
        }
      }
    }
    for (std::vector<Vertex>& row : head.rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
    }
    heads.push_back(std::move(head));
  }
  return oracle::make_layout(tokens, registers, layers);
}

}  // namespace

TEST_CASE("one column of each orbit says what all columns say") {
  std::mt19937 random(11);
  int never = 0, layers = 0, counted = 0;
  const auto check = [&](const Layout& layout) {
    const std::vector<Vertex> orbit = symmetry::compute_layout_group(layout, unlimited).orbit;
    for (int k = 0; k < 6; ++k) {
      ReachQuestion question;
      question.layout = &layout;
      question.wanted.kind = k % 2 == 0 ? ClassKind::all : ClassKind::seen;
      question.skip = random() % 4;
      question.registers_too = random() % 2 == 0;
      question.count_unseen = random() % 2 == 0;
      question.find_layers = !question.count_unseen || random() % 2 == 0;
      if (random() % 2 == 0) question.depth = random() % 8;
      const ReachAnswer expected = answer_by_bits(question, unlimited), found = answer_by_orbits(question, orbit, unlimited);
      REQUIRE(found.unseen == expected.unseen);
      if (!question.find_layers) continue;
      REQUIRE(found.reach.layers == expected.reach.layers);
      REQUIRE(found.reach.witness.has_value() == expected.reach.witness.has_value());
      if (found.reach.witness) REQUIRE((found.reach.witness->reader == expected.reach.witness->reader && found.reach.witness->unseen == expected.reach.witness->unseen));
      never += found.reach.layers ? 0 : 1;
      layers += found.reach.layers && *found.reach.layers > 2 ? 1 : 0;
      counted += std::any_of(found.unseen.begin(), found.unseen.end(), [](Vertex count) { return count > 0; }) ? 1 : 0;
    }
  };
  for (int k = 0; k < 60; ++k) check(make_cycles(random, 3 + random() % 9, 1 + random() % 4));
  for (int k = 0; k < 3; ++k) check(make_cycles(random, 300 + random() % 100, 2 + random() % 2));  // several strips
  CHECK(never > 20);
  CHECK(layers > 20);
  CHECK(counted > 20);
}

TEST_CASE("large layouts ask for orbits where every column would be followed, and not while orbits are looked for") {
  std::mt19937 random(12);
  int asked = 0;
  for (int k = 0; k < 4; ++k) {
    const Layout layout = make_cycles(random, 500 + random() % 100, 3);
    const Connected expected = compute_connected(layout, unlimited);
    const std::vector<Vertex> unseen = compute_unseen(layout, 40, {}, unlimited);
    const ClassKind kind = compute_class_kind(layout, unlimited);
    std::vector<Vertex> orbit;
    const KnownOrbits orbits(layout, [&]() -> const std::vector<Vertex>& {
      ++asked;
      REQUIRE(compute_unseen(layout, 40, {}, unlimited) == unseen);  // does not ask again
      orbit = symmetry::compute_layout_group(layout, unlimited).orbit;
      return orbit;
    });
    CHECK(compute_connected(layout, unlimited).layers == expected.layers);
    CHECK(compute_unseen(layout, 40, {}, unlimited) == unseen);
    CHECK(compute_class_kind(layout, unlimited) == kind);
  }
  CHECK(asked > 0);
  CHECK(KnownOrbits::find_few(oracle::make_layout(3, {{0}, {1}, {2}}), 1) == nullptr);
}

}  // namespace sightline::sight
