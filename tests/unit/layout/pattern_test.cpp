#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "dense_oracle.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/layout/run_algebra.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

TEST_CASE("explicit rows keep their arcs and colours, in any order") {
  std::mt19937_64 engine(5);
  for (int round = 0; round < 500; ++round) {
    const auto n = static_cast<Vertex>(1 + draw_below(engine, 20));
    std::vector<std::vector<Vertex>> rows(n);
    std::vector<std::vector<std::uint32_t>> colours(n);
    oracle::Dense dense(n, std::vector<std::uint32_t>(n));
    const std::uint64_t kinds = 1 + draw_below(engine, 3), gap = 1 + draw_below(engine, 4);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = n; j-- > 0;) {
        if (draw_below(engine, gap) != 0) continue;
        rows[i].push_back(j);
        colours[i].push_back(static_cast<std::uint32_t>(1 + draw_below(engine, kinds)));
        dense[i][j] = colours[i].back();
      }
    }
    const Pattern pattern = make_pattern_from_rows(n, rows, colours);
    CHECK(oracle::compare(dense, oracle::expand(pattern)) == "");
    CHECK(pattern.is_plain() == std::all_of(colours.begin(), colours.end(), [](const auto& row) {
      return std::all_of(row.begin(), row.end(), [](auto colour) { return colour == 1; });
    }));
  }
}

TEST_CASE("explicit rows that are wrong are refused") {
  CHECK_THROWS_AS((void)make_pattern_from_rows(2, {{0}}), ArgumentError);
  CHECK_THROWS_AS((void)make_pattern_from_rows(2, {{0}, {2}}), ArgumentError);
  CHECK_THROWS_AS((void)make_pattern_from_rows(2, {{0}, {1, 1}}), ArgumentError);
  CHECK_THROWS_AS((void)make_pattern_from_rows(2, {{0}, {1}}, {{1}, {0}}), ArgumentError);
}

TEST_CASE("rows are equal as sets of coloured vertices, however they are cut into runs") {
  CHECK(same_row({{0, 8, 2, 1}}, {{0, 4, 4, 1}, {2, 6, 4, 1}, {8, 8, 1, 1}}));
  CHECK(same_row({{0, 3, 1, 1}, {4, 5, 1, 1}}, {{0, 5, 1, 1}}));
  CHECK(!same_row({{0, 3, 1, 1}, {4, 5, 1, 2}}, {{0, 5, 1, 1}}));
  CHECK(!same_row({{0, 8, 2, 1}}, {{1, 9, 2, 1}}));
  CHECK(!same_row({{0, 8, 4, 1}}, {{0, 2, 1, 1}}));
  // Random cuts of random rows, and rows with one vertex or one colour changed.
  std::mt19937_64 engine(6);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint32_t> row(1 + draw_below(engine, 30));
    for (auto& colour : row) colour = static_cast<std::uint32_t>(draw_below(engine, 3));
    const auto cut = [&](std::vector<std::uint32_t> left) {
      std::vector<Run> runs;
      for (Vertex j = 0; j < left.size(); ++j) {
        if (left[j] == 0) continue;
        Run run{j, j, static_cast<Vertex>(1 + draw_below(engine, 4)), left[j]};
        left[j] = 0;
        while (run.last + run.step < row.size() && left[run.last + run.step] == run.colour && draw_below(engine, 5) != 0) {
          run.last += run.step;
          left[run.last] = 0;
        }
        if (run.first == run.last) run.step = 1;
        runs.push_back(run);
      }
      return runs;
    };
    auto other = row;
    const bool changed = draw_below(engine, 2) == 0;
    if (changed) {
      auto& entry = other[draw_below(engine, other.size())];
      entry = (entry + 1) % 3;
    }
    CHECK(same_row(cut(row), cut(other)) == !changed);
  }
}

TEST_CASE("patterns are equal when their rows are") {
  const Budget budget;
  PatternBuilder builder(6, budget);
  builder.add_segment(0, builder.add_list(std::vector{make_moving_run(-1, 1, 6)}));
  const Pattern window = builder.build();
  const Pattern rows = make_pattern_from_rows(6, {{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5}});
  const Pattern less = make_pattern_from_rows(6, {{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {5}});
  CHECK(window == rows);
  CHECK(!(window == less));
  CHECK(window.memory_bytes() < rows.memory_bytes());
}

TEST_CASE("a floor cuts a run in whole steps") {
  AffineRun run = make_moving_run(-100, 100, 20, 5);
  run.floor_base = 3;
  // Reader 7: ... 2, 7, 12, 17 of the class of 7, from 3 on.
  const auto found = evaluate(run, 7);
  REQUIRE(found);
  CHECK(*found == Run{7, 17, 5, 1});
  run.floor_base = 11;
  run.floor_moves = true;
  CHECK(!evaluate(run, 9));
  const auto late = evaluate(run, 4);
  REQUIRE(late);
  CHECK(*late == Run{19, 19, 1, 1});
}

TEST_CASE("builders book what the pattern occupies and refuse what the budget does not hold") {
  const Budget budget(std::nullopt, std::uint64_t{64} << 20);
  PatternSpec spec;
  spec.kind = PatternKind::random;
  spec.degree = 100;
  CHECK_NOTHROW((void)make_patterns(spec, {1000, 0, 1}, budget));
  CHECK_THROWS_AS((void)make_patterns(spec, {200000, 0, 1}, budget), BudgetExhausted);
}

TEST_CASE("rows written out are the rows that their runs are, in every use") {
  std::mt19937_64 engine(6);
  const Budget budget;
  std::size_t written = 0, as_runs = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const auto n = static_cast<Vertex>(1 + draw_below(engine, 60));
    const auto tokens = static_cast<Vertex>(1 + draw_below(engine, n));
    PatternBuilder short_builder(n, budget), run_builder(n, budget);
    std::vector<Vertex> row;
    std::vector<AffineRun> runs;
    for (Vertex i = 0; i < n; ++i) {
      if (i == 0 || draw_below(engine, 3) != 0) {
        row.clear();
        const std::uint64_t gap = 1 + draw_below(engine, 6), step = 1 + draw_below(engine, 4);
        for (Vertex j = 0; j < n; ++j) {
          if (round % 2 == 0 ? draw_below(engine, gap) == 0 : j % step == 0 && draw_below(engine, 9) != 0) row.push_back(j);
        }
      }
      runs.clear();
      append_runs(row, {}, runs);
      short_builder.add_segment(i, round % 3 == 0 ? short_builder.add_row(row) : short_builder.add_row_once(row));
      run_builder.add_segment(i, round % 3 == 0 ? run_builder.add_list(runs) : run_builder.add_list_once(runs));
    }
    const Pattern a = short_builder.build(), b = run_builder.build();
    written += a.written_vertices().size();
    as_runs += a.affine_runs().size();
    for (Vertex i = 0; i < n; ++i) {
      CHECK(a.row(i) == b.row(i));
      CHECK(a.same_row_until(i) == b.same_row_until(i));
      CHECK(a.degree(i) == b.degree(i));
      for (Vertex j = 0; j < n; ++j) CHECK(a.colour(i, j) == b.colour(i, j));
    }
    CHECK(a.arc_count() == b.arc_count());
    CHECK(a.run_count() == b.run_count());
    CHECK(a.memory_bytes() <= b.memory_bytes() + a.lists().size() * 8);
    CHECK(a == b);
    CHECK(make_causal(a, tokens, budget) == make_causal(b, tokens, budget));
    const Pattern other = make_pattern_from_rows(n, std::vector<std::vector<Vertex>>(n, {0}));
    for (const SetOperation operation : {SetOperation::unite, SetOperation::intersect, SetOperation::subtract}) {
      CHECK(combine(operation, a, other, budget) == combine(operation, b, other, budget));
      CHECK(combine(operation, other, a, budget) == combine(operation, other, b, budget));
    }
  }
  CHECK(written > 1000);
  CHECK(as_runs > 100);
}

TEST_CASE("a sample of few choices is the sample that marks give") {
  std::mt19937_64 a(9), b(9);
  std::vector<bool> marks(40);
  for (Vertex count = 0; count <= 30; ++count) {
    for (const Vertex excluded : {Vertex{0}, Vertex{17}, Vertex{39}}) {
      std::vector<Vertex> sample, expected;
      append_sample(a, 40, count, excluded, marks, sample);
      // Floyd's method, word by word.
      for (Vertex k = 40 - 1 - count; k + 1 < 40; ++k) {
        const auto choice = static_cast<Vertex>(draw_below(b, std::uint64_t{k} + 1));
        expected.push_back(std::find(expected.begin(), expected.end(), choice) != expected.end() ? k : choice);
      }
      for (Vertex& x : expected) x += x >= excluded ? 1 : 0;
      std::sort(expected.begin(), expected.end());
      CHECK(sample == expected);
    }
  }
}
