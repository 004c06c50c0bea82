// The first stage of twins on two vertices per stretch against the one on all vertices.
#include <doctest/doctest.h>

#include <random>

#include "sample.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "tests/unlimited.hpp"
#include "towers.hpp"

namespace sightline::symmetry {

namespace {

using layout::AffineRun;
using layout::make_constant_run;

/// A block mask: every block reads a few blocks, perhaps itself, in colours below `colours`; some blocks read and are read by all.
layout::Relation make_block_mask(Vertex n, Vertex block, std::uint32_t colours, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  layout::PatternBuilder builder(n, unlimited);
  const Vertex count = n / block;
  for (Vertex b = 0; b < count; ++b) {
    std::vector<AffineRun> runs;
    for (Vertex c = 0; c < count; ++c) {
      const bool global = b < 2 || c < 2 || c + 1 == count;
      if (global || random() % count < 3) runs.push_back(make_constant_run(c * block, (c + 1) * block - 1, global ? 1 : 1 + static_cast<std::uint32_t>(random() % colours)));
    }
    builder.add_segment(b * block, builder.add_list(runs));
  }
  return layout::Relation(builder.build(), {}, layout::Cancels::nothing, n);
}

}  // namespace

TEST_CASE("twins of block masks are the same on stretches") {
  constexpr Vertex n = 9216;
  int rigid = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    // With twelve colours none is tried inside of classes, so blocks that read themselves fall apart and the long way is taken.
    const layout::Relation first = make_block_mask(n, 96, seed % 3 == 2 ? 12 : 2, seed), second = make_block_mask(n, seed % 2 == 0 ? 96 : 64, 1, seed + 100);
    Structure structure;
    structure.vertices = n;
    structure.vertex_colour.assign(n, 0);
    structure.relations = {{&first, {}}, {&second, {}}};
    const bool is_rigid = compare_towers(structure);
    if (seed % 3 == 2) CHECK_FALSE(is_rigid);
    rigid += is_rigid ? 1 : 0;
    for (Vertex v = 1000; v < 1100; ++v) structure.vertex_colour[v] = 5;
    structure.relations[1].visible.assign(n, true);
    for (Vertex v = 3000; v < 5000; ++v) structure.relations[1].visible[v] = false;
    compare_towers(structure);
  }
  CHECK(rigid > 2);
}

TEST_CASE("twins of blocks whose summaries are read with steps are the same on stretches") {
  constexpr Vertex n = 8192, block = 128, summary = 4;
  for (const bool own : {true, false}) {
    layout::PatternBuilder builder(n, unlimited);
    for (Vertex begin = 0; begin < n; begin += block) {
      std::vector<AffineRun> runs;
      if (own || begin % 512 == 0) runs.push_back(make_constant_run(begin, begin + block - summary - 1));
      for (Vertex j = block - summary; j < block; ++j) runs.push_back(AffineRun{j, n - 1, n, block});
      builder.add_segment(begin, builder.add_list(runs));
    }
    sample::Sample sample(n);
    sample.add(builder.build());
    compare_towers(sample.structure);
    CHECK(TwinTower::make_shrunk(sample.structure, unlimited).graph().vertices == (own ? 2 * n / block : 2 * n / block / 4 + 2));
  }
}

TEST_CASE("a token that reads its block but not itself is alone in its stretch") {
  constexpr Vertex n = 8192, block = 64;
  layout::PatternBuilder builder(n, unlimited);
  for (Vertex i = 0; i < n; ++i) {
    const Vertex begin = i / block * block, end = begin + block - 1;
    std::vector<AffineRun> runs;
    if (i < 256 && i > begin) runs.push_back(make_constant_run(begin, i - 1));
    if (i < 256 && i < end) runs.push_back(make_constant_run(i + 1, end));
    if (i >= 256) runs.push_back(make_constant_run(begin, end));
    builder.add_segment(i, builder.add_list_once(runs));
  }
  sample::Sample sample(n);
  sample.add(builder.build());
  compare_towers(sample.structure);
}

}  // namespace sightline::symmetry
