#include <doctest/doctest.h>

#include <random>

#include "dense_oracle.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

// A random leaf whose parameters fit n tokens.
PatternSpec make_leaf(std::mt19937_64& engine, const PatternSize& size) {
  const auto draw = [&](std::int64_t from, std::int64_t to) { return from + static_cast<std::int64_t>(draw_below(engine, static_cast<std::uint64_t>(to - from + 1))); };
  const std::int64_t n = size.tokens, vertices = n + size.registers;
  PatternSpec s;
  s.where = "/pattern";
  switch (draw(0, 11)) {
  case 0: s.kind = PatternKind::full; break;
  case 1: s.kind = PatternKind::self; break;
  case 2:
    s.kind = PatternKind::window;
    s.before = draw(0, 5);
    s.after = draw(0, 5);
    s.dilation = draw(1, 4);
    s.wrap = draw(0, 1) == 1;
    if (draw(0, 2) == 0) s.global = {draw(0, n - 1)};
    break;
  case 3:
    s.kind = PatternKind::blocks;
    s.size = draw(1, 7);
    break;
  case 4:
    s.kind = PatternKind::shifted_blocks;
    s.size = draw(2, 7);
    s.shift = draw(0, 7);
    break;
  case 5:
    s.kind = PatternKind::strided;
    s.stride = draw(1, 6);
    s.part = std::array{"merged", "local", "summary"}[static_cast<std::size_t>(draw(0, 2))];
    break;
  case 6:
    s.kind = PatternKind::fixed;
    s.stride = draw(1, 6);
    s.summary = draw(1, *s.stride);
    s.part = std::array{"merged", "local", "summary"}[static_cast<std::size_t>(draw(0, 2))];
    break;
  case 7:
    s.kind = PatternKind::circulant;
    for (std::int64_t k = draw(1, 4); k-- > 0;) s.offsets.push_back(draw(-9, 9));
    break;
  case 8:
    s.kind = PatternKind::rows;
    s.rows.resize(static_cast<std::size_t>(vertices));
    for (auto& row : s.rows) {
      for (std::int64_t j = 0; j < vertices; ++j) {
        if (draw(0, 2) == 0) row.push_back(j);
      }
    }
    break;
  case 9:
    s.kind = PatternKind::matrix;
    s.matrix.assign(static_cast<std::size_t>(vertices), std::vector<std::int64_t>(static_cast<std::size_t>(vertices)));
    for (auto& row : s.matrix) {
      for (auto& entry : row) entry = std::max<std::int64_t>(0, draw(-2, 3));
    }
    break;
  case 10:
    s.kind = PatternKind::graph;
    for (std::int64_t k = draw(0, 12); k-- > 0;) s.edges.emplace_back(draw(0, n - 1), draw(0, n - 1));
    break;
  default: {
    s.kind = PatternKind::grid;
    std::int64_t h = draw(1, n);
    while (n % h != 0) --h;
    s.shape = {h, n / h};
    if (draw(0, 1) == 0) {
      s.grid_columns = true;
    } else {
      s.grid_window = {draw(0, 2), draw(0, 2)};
    }
    break;
  }
  }
  s.causal = draw(0, 4) == 0;
  return s;
}

PatternSpec make_tree(std::mt19937_64& engine, const PatternSize& size, int depth) {
  if (depth == 0 || draw_below(engine, 4) == 0) return make_leaf(engine, size);
  PatternSpec s;
  s.where = "/pattern";
  s.kind = std::array{PatternKind::union_of, PatternKind::intersection_of, PatternKind::minus}[draw_below(engine, 3)];
  for (std::uint64_t k = 1 + draw_below(engine, 3); k-- > 0;) s.of.push_back(make_tree(engine, size, depth - 1));
  s.causal = draw_below(engine, 5) == 0;
  return s;
}

void check_trees(std::uint64_t seed, int rounds, std::uint64_t most_tokens) {
  std::mt19937_64 engine(seed);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const PatternSize size{static_cast<Vertex>(1 + draw_below(engine, most_tokens)), static_cast<Vertex>(draw_below(engine, 3)), 1};
    const PatternSpec spec = make_tree(engine, size, 3);
    const auto found = make_patterns(spec, size, Budget{});
    REQUIRE(found.size() == 1);
    const std::string difference = oracle::compare(oracle::make_dense(spec, size).front(), oracle::expand(found.front()));
    REQUIRE(difference == "");
  }
}

}  // namespace

TEST_CASE("random trees of union, intersection and minus agree with full matrices") { check_trees(11, 3000, 24); }

TEST_CASE("random trees of longer patterns" * doctest::test_suite("slow")) {
  check_trees(12, 60000, 24);
  check_trees(13, 2000, 120);
}

TEST_CASE("heads: one operand serves all, counts must agree") {
  const auto window = [](std::int64_t radius) {
    PatternSpec s;
    s.kind = PatternKind::window;
    s.radius = radius;
    return s;
  };
  PatternSpec heads, cut;
  heads.kind = PatternKind::per_head;
  heads.of = {window(0), window(1), window(2)};
  cut.kind = PatternKind::minus;
  cut.where = "/pattern";
  cut.of = {heads, window(0)};
  cut.causal = true;
  const PatternSize size{9, 0, 3};
  const auto found = make_patterns(cut, size, Budget{});
  const auto expected = oracle::make_dense(cut, size);
  REQUIRE(found.size() == 3);
  for (std::size_t h = 0; h < 3; ++h) CHECK(oracle::compare(expected[h], oracle::expand(found[h])) == "");
  CHECK(found[0].arc_count() == 0);
  PatternSpec two = heads;
  two.of.pop_back();
  cut.of = {heads, two};
  CHECK_THROWS_AS((void)make_patterns(cut, size, Budget{}), InputError);
}
