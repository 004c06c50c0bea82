// Twins from lists that many vertices share against those of find_twins, stage by stage.
#include <doctest/doctest.h>

#include <numeric>
#include <random>

#include "sample.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/symmetry/listed_twins.hpp"
#include "tests/unlimited.hpp"
#include "towers.hpp"

namespace sightline::symmetry {

namespace {

constexpr Vertex n = 4096;

std::vector<Vertex> shuffle_vertices(std::mt19937_64& random) {
  std::vector<Vertex> order(n);
  std::iota(order.begin(), order.end(), Vertex{0});
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// Parts of `order` of these sizes in turn read a few parts each, mostly themselves among them.
sample::Rows make_mask(const std::vector<Vertex>& order, const std::vector<Vertex>& sizes, std::mt19937_64& random) {
  std::vector<Vertex> part(n);
  Vertex parts = 0;
  for (Vertex k = 0, end = 0; k < n; ++k) {
    if (k == end) end += sizes[parts++ % sizes.size()];
    part[k] = parts - 1;
  }
  std::vector<std::vector<bool>> reads(parts, std::vector<bool>(parts));
  for (Vertex p = 0; p < parts; ++p) {
    for (Vertex q = 0; q < parts; ++q) reads[p][q] = p == q ? random() % 8 != 0 : random() % parts < 2;
  }
  sample::Rows rows(n);
  for (Vertex k = 0; k < n; ++k) {
    for (Vertex m = 0; m < n; ++m) {
      if (reads[part[k]][part[m]]) rows[order[k]].push_back(order[m]);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("twins of relabelled block masks are the same from lists") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::vector<Vertex> order = shuffle_vertices(random);
    sample::Sample sample(n);
    const auto cancels = seed % 4 < 2 ? layout::Cancels::nothing : seed % 4 == 2 ? layout::Cancels::single_colour : layout::Cancels::common_shift;
    sample.add(layout::make_pattern_from_rows(n, make_mask(order, {64}, random)), {}, cancels);
    if (seed % 3 > 0) sample.add(make_mask(order, seed % 2 == 0 ? std::vector<Vertex>{96, 2, 30} : std::vector<Vertex>{32, 64}, random));
    if (seed % 3 > 1) sample.add(make_mask(order, {128, 16}, random));
    if (seed % 4 == 3) {
      for (Vertex k = 100; k < 300; ++k) sample.structure.vertex_colour[order[k]] = 7;
    }
    CHECK(find_listed_twins(sample.structure, n, unlimited));
    CHECK_FALSE(find_listed_twins(sample.structure, 16, unlimited));
    compare_towers(sample.structure);
  }
}

TEST_CASE("windows on a grid that shift by half, relabelled, from lists") {
  std::mt19937_64 random(3);
  const std::vector<Vertex> order = shuffle_vertices(random);
  constexpr Vertex width = 64, window = 8;
  sample::Sample sample(n);
  for (const Vertex shift : {Vertex{0}, window / 2}) {
    const auto place = [&](Vertex x) { return (x / width + shift) / window * width + (x % width + shift) / window; };
    sample::Rows rows(n);
    for (Vertex x = 0; x < n; ++x) {
      for (Vertex y = 0; y < n; ++y) {
        if (place(x) == place(y)) rows[order[x]].push_back(order[y]);
      }
    }
    sample::tidy(rows);
    sample.add(rows);
  }
  const auto found = find_listed_twins(sample.structure, n, unlimited);
  REQUIRE(found);
  CHECK(found->classes.size() == 256);
  compare_towers(sample.structure);
  const group::Group group = compute_automorphisms(sample.structure, unlimited);
  CHECK(group.generators.size() == 3);
  for (const group::Permutation& generator : group.generators) CHECK(is_automorphism(sample.structure, generator, unlimited));
  for (Vertex x = 0; x < n; ++x) CHECK(group.orbit[group.orbit[x]] == group.orbit[x]);
}

TEST_CASE("twins that do not read each other as themselves are left to others") {
  std::mt19937_64 random(5);
  const std::vector<Vertex> order = shuffle_vertices(random);
  for (const bool reads_itself : {true, false}) {
    sample::Rows rows = make_mask(order, {64}, random);
    // Six vertices read a block, and themselves alone of the six, or the others alone.
    for (Vertex k = 0; k < 6; ++k) {
      std::vector<Vertex>& row = rows[order[k]];
      row.assign(order.begin() + 640, order.begin() + 704);
      for (Vertex m = 0; m < 6; ++m) {
        if ((k == m) == reads_itself) row.push_back(order[m]);
      }
    }
    // Nobody else tells them apart.
    for (Vertex k = 6; k < n; ++k) std::erase_if(rows[order[k]], [&](Vertex y) { return std::find(order.begin(), order.begin() + 6, y) != order.begin() + 6; });
    sample::tidy(rows);
    sample::Sample sample(n);
    sample.add(rows);
    CHECK_FALSE(find_listed_twins(sample.structure, n, unlimited));
    compare_towers(sample.structure);
    const group::Group group = compute_automorphisms(sample.structure, unlimited);
    for (Vertex k = 0; k < 6; ++k) CHECK(group.orbit[order[k]] == *std::min_element(order.begin(), order.begin() + 6));
  }
}

TEST_CASE("one row in two lists is left to others, and lists that move are") {
  layout::PatternBuilder builder(n, unlimited);
  for (Vertex begin = 0; begin < n; begin += 64) {
    std::vector<layout::AffineRun> runs{layout::make_constant_run(begin / 128 * 128, begin / 128 * 128 + 127)};
    builder.add_segment(begin, builder.add_list(runs));
  }
  sample::Sample twice(n);
  twice.add(builder.build());
  CHECK_FALSE(find_listed_twins(twice.structure, n, unlimited));
  compare_towers(twice.structure);

  layout::PatternBuilder window(n, unlimited);
  const std::vector<layout::AffineRun> runs{{.lo_base = -1, .hi_base = 1, .limit = n, .lo_moves = true, .hi_moves = true}};
  window.add_segment(0, window.add_list(runs));
  sample::Sample moving(n);
  moving.add(window.build());
  CHECK_FALSE(find_listed_twins(moving.structure, n, unlimited));
}

}  // namespace sightline::symmetry
