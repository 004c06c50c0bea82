#include <doctest/doctest.h>

#include <array>
#include <numeric>

#include "dense_oracle.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

PatternSpec make_spec(const char* variant, std::int64_t block, std::int64_t random, std::uint64_t seed) {
  PatternSpec spec;
  spec.kind = PatternKind::bigbird;
  spec.where = "/mixer/pattern";
  spec.variant = variant;
  spec.block = block;
  spec.random_blocks = random;
  spec.seed = seed;
  return spec;
}

// How often each block stands in block row k.
std::vector<std::uint32_t> count_blocks(const Pattern& pattern, Vertex k, Vertex block, Vertex count) {
  std::vector<std::uint32_t> times(count);
  for (Vertex c = 0; c < count; ++c) times[c] = pattern.colour(k * block, c * block);
  return times;
}

// The random blocks of row k, sorted: what stands there beyond the window and the two global blocks.
std::vector<std::uint32_t> find_random_blocks(const Pattern& pattern, Vertex k, Vertex block, Vertex count) {
  auto times = count_blocks(pattern, k, block, count);
  std::vector<Vertex> listed;
  if (k == 1) {
    listed = {0, 1, 2, count - 1};
  } else if (k == count - 2) {
    listed = {0, count - 3, count - 2, count - 1};
  } else {
    listed = {0, count - 1, k - 1, k, k + 1};
  }
  for (const Vertex c : listed) {
    REQUIRE(times[c] > 0);
    --times[c];
  }
  std::vector<std::uint32_t> out;
  for (Vertex c = 0; c < count; ++c) out.insert(out.end(), times[c], c);
  return out;
}

}  // namespace

TEST_CASE("the legacy generator shuffles as NumPy does") {
  std::vector<std::uint32_t> values(20);
  std::iota(values.begin(), values.end(), 0u);
  CHECK(LegacyGenerator(0).permute(values) ==
        std::vector<std::uint32_t>{18, 1, 19, 8, 10, 17, 6, 13, 4, 2, 5, 14, 9, 7, 16, 11, 3, 0, 15, 12});
  CHECK(LegacyGenerator(4294967295u).permute(values) ==
        std::vector<std::uint32_t>{11, 17, 19, 15, 1, 5, 8, 16, 13, 18, 14, 9, 10, 6, 0, 4, 7, 12, 2, 3});
  LegacyGenerator generator(7);
  CHECK(generator.permute(values) == std::vector<std::uint32_t>{1, 17, 2, 5, 11, 0, 18, 6, 13, 19, 10, 14, 8, 16, 9, 12, 7, 3, 4, 15});
  std::vector<std::uint32_t> more(1000);
  std::iota(more.begin(), more.end(), 0u);
  more = generator.permute(more);
  more.resize(8);
  CHECK(more == std::vector<std::uint32_t>{418, 615, 662, 321, 179, 956, 9, 619});
  CHECK(generator.permute({}).empty());
  CHECK(generator.permute({4}) == std::vector<std::uint32_t>{4});
}

TEST_CASE("the table of 4096 tokens: published sample rows") {
  struct Row {
    std::uint64_t seed;
    std::size_t head;
    Vertex row;
    std::vector<std::uint32_t> blocks;  // sorted
  };
  const std::vector<Row> rows{
      {0, 0, 1, {7, 9, 14}},    {0, 0, 2, {6, 7, 9}},    {0, 0, 3, {5, 10, 14}},   {0, 0, 4, {6, 8, 12}},
      {0, 0, 5, {1, 2, 13}},    {0, 0, 6, {3, 4, 11}},   {0, 0, 7, {1, 5, 10}},    {0, 0, 8, {2, 3, 15}},
      {0, 0, 9, {11, 13, 14}},  {0, 0, 10, {8, 13, 15}}, {0, 0, 11, {4, 7, 9}},    {0, 0, 12, {1, 2, 5}},
      {0, 0, 13, {7, 8, 9}},    {0, 0, 14, {2, 5, 6}},   {0, 0, 59, {4, 11, 14}},  {0, 0, 60, {12, 14, 15}},
      {0, 0, 61, {2, 6, 7}},    {0, 0, 62, {5, 6, 12}},  {0, 1, 1, {6, 10, 11}},   {0, 1, 2, {4, 8, 12}},
      {0, 1, 3, {10, 11, 12}},  {0, 1, 4, {7, 10, 11}},  {1, 0, 1, {5, 6, 7}},     {1, 0, 2, {4, 5, 11}},
      {1, 0, 3, {7, 9, 15}},    {1, 0, 4, {6, 10, 12}}};
  for (const Row& row : rows) {
    const auto heads = make_patterns(make_spec("original", 64, 3, row.seed), {4096, 0, 2}, Budget{});
    REQUIRE(heads.size() == 2);
    CHECK(find_random_blocks(heads[row.head], row.row, 64, 64) == row.blocks);
  }
  // 1024 tokens cut the table to 14 rows; block 15 is then the last global block too, and counts twice in two rows.
  const Pattern cut = make_patterns(make_spec("original", 64, 3, 0), {1024, 0, 1}, Budget{}).front();
  for (Vertex k = 1; k < 15; ++k) CHECK(count_blocks(cut, k, 64, 16)[15] == (k == 8 || k == 10 ? 2 : 1));
  CHECK(cut.row(0) == std::vector<Run>{{0, 1023, 1, 1}});
  CHECK(cut.row(1023) == std::vector<Run>{{0, 1023, 1, 1}});
}

TEST_CASE("all rows and heads of both plans, against the published program") {
  struct Case {
    Vertex tokens, block;
    std::int64_t random;
    Vertex heads;
    std::uint64_t seed;
    int original;
    std::uint64_t hash;  // of head after head, row after row, sorted blocks; 0: the program stops with an error
  };
  const std::vector<Case> cases{
    {1024, 64, 3, 2, 0, 1, 0xb5e0fd5377626a07u},
    {2048, 64, 3, 2, 5, 1, 0x318060513db371c1u},
    {2048, 64, 3, 2, 5, 0, 0xd0c25366551f79ccu},
    {3072, 64, 3, 1, 11, 1, 0xf2e89cc8c53e9883u},
    {4096, 64, 3, 12, 3, 1, 0x497b0a6544e062a2u},
    {4096, 16, 3, 2, 1, 1, 0xb64ce832b2f74c8u},
    {1024, 16, 2, 2, 9, 0, 0xbb7ced91d9d0aeabu},
    {1024, 32, 1, 1, 2, 1, 0x15de894d2d5645a6u},
    {512, 32, 3, 2, 4, 1, 0xb466949a6596e858u},
    {640, 64, 3, 2, 4, 1, 0},
    {576, 64, 4, 3, 8, 1, 0xd6cb829ac2f103f2u},
    {1280, 64, 3, 3, 6, 0, 0xb0ecda8699342792u},
    {160, 16, 3, 2, 1, 1, 0},
    {112, 16, 1, 1, 0, 1, 0},
    {128, 16, 2, 2, 0, 1, 0},
    {96, 16, 1, 2, 3, 1, 0x150cd9fcc7c0d615u},
    {80, 16, 1, 1, 2, 1, 0},
    {4096, 512, 2, 1, 1, 1, 0xa8c86adebebf3c87u},
    {2048, 256, 3, 1, 1, 1, 0},
    {768, 64, 3, 2, 2, 0, 0x13e055878e2ebda8u},
    {65536, 64, 3, 1, 7, 0, 0x273c7edd730e0ab9u},
  };
  for (const Case& c : cases) {
    CAPTURE(c.tokens);
    CAPTURE(c.block);
    CAPTURE(c.random);
    const PatternSpec spec = make_spec(c.original == 1 ? "original" : "huggingface", c.block, c.random, c.seed);
    if (c.hash == 0) {
      CHECK_THROWS_AS((void)make_patterns(spec, {c.tokens, 0, c.heads}, Budget{}), InputError);
      continue;
    }
    const auto heads = make_patterns(spec, {c.tokens, 0, c.heads}, Budget{});
    REQUIRE(heads.size() == c.heads);
    std::uint64_t hash = 0xcbf29ce484222325u;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
    const Vertex count = c.tokens / c.block;
    for (const Pattern& head : heads) {
      for (Vertex k = 1; k + 1 < count; ++k) {
        for (const std::uint32_t block : find_random_blocks(head, k, c.block, count)) mix(block);
        mix(0xffff);
      }
    }
    CHECK(hash == c.hash);
  }
}

TEST_CASE("huggingface: short inputs read everything, evaluation repeats block 0, the end is padded") {
  PatternSpec spec = make_spec("huggingface", 4, 3, 0);
  CHECK(make_patterns(spec, {44, 0, 2}, Budget{}).front().row(20) == std::vector<Run>{{0, 43, 1, 1}});
  CHECK(make_patterns(spec, {44, 0, 2}, Budget{}).size() == 1);
  spec.mode = "eval";
  const auto heads = make_patterns(spec, {46, 0, 2}, Budget{});
  REQUIRE(heads.size() == 1);
  const Pattern& pattern = heads.front();
  // 12 blocks, the last of two tokens.
  CHECK(pattern.row(0) == std::vector<Run>{{0, 45, 1, 1}});
  CHECK(pattern.row(4) == std::vector<Run>{{0, 3, 1, 4}, {4, 11, 1, 1}, {44, 45, 1, 1}});
  CHECK(pattern.row(8) == std::vector<Run>{{0, 3, 1, 4}, {4, 15, 1, 1}, {44, 45, 1, 1}});
  CHECK(pattern.row(20) == std::vector<Run>{{0, 3, 1, 4}, {16, 27, 1, 1}, {44, 45, 1, 1}});
  CHECK(pattern.row(43) == std::vector<Run>{{0, 3, 1, 4}, {36, 45, 1, 1}});
  CHECK(pattern.row(45) == std::vector<Run>{{0, 45, 1, 1}});
  spec.causal = true;
  CHECK(make_patterns(spec, {46, 1, 2}, Budget{}).front().row(5) == std::vector<Run>{{0, 3, 1, 4}, {4, 5, 1, 1}});
}

TEST_CASE("paper: global ends, clipped window, random blocks never the own one") {
  PatternSpec spec = make_spec("", 3, 2, 4);
  spec.globals = 3;
  const PatternSize size{29, 1, 4};
  const auto heads = make_patterns(spec, size, Budget{});
  REQUIRE(heads.size() == 1);
  const oracle::Dense dense = oracle::expand(heads.front());
  for (Vertex k = 0; k < 10; ++k) {
    std::vector<Vertex> seen;
    for (Vertex c = 0; c < 10; ++c) {
      if (dense[k * 3][c * 3] != 0) seen.push_back(c);
    }
    // 10 blocks; blocks 0, 1 and 9 are global.
    if (k < 2 || k == 9) {
      CHECK(seen.size() == 10);
      continue;
    }
    for (const Vertex must : {0u, 1u, k - 1, k, k + 1, 9u}) CHECK(std::count(seen.begin(), seen.end(), must) == 1);
    CHECK(seen.size() <= 8);
  }
  CHECK(heads.front().degree(29) == 0);
  CHECK(heads.front().is_plain());
  for (Vertex i = 0; i < 29; ++i) CHECK(dense[i] == dense[i / 3 * 3]);
  spec.random_blocks = 0;
  spec.globals = 0;
  CHECK(make_patterns(spec, size, Budget{}).front().row(0) == std::vector<Run>{{0, 5, 1, 1}});
  CHECK(make_patterns(spec, size, Budget{}).front().row(28) == std::vector<Run>{{24, 28, 1, 1}});
}

TEST_CASE("what the published programs cannot do is an input error") {
  const auto fails = [](const PatternSpec& spec, Vertex tokens) {
    CHECK_THROWS_AS((void)make_patterns(spec, {tokens, 0, 1}, Budget{}), InputError);
  };
  fails(make_spec("original", 64, 3, 0), 1000);
  fails(make_spec("original", 512, 3, 0), 1024);
  fails(make_spec("original", 64, 3, std::uint64_t{1} << 32), 4096);
  fails(make_spec("other", 64, 3, 0), 4096);
  PatternSpec spec = make_spec("original", 64, 3, 0);
  spec.globals = 4;
  fails(spec, 4096);
}
