#include "sightline/layout/steady_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sightline/layout/pattern_spec.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

/// Affine runs of all kinds, one residue each, so that rows are disjoint whatever their ends do.
Pattern make_random_pattern(std::mt19937_64& random, Vertex n) {
  std::vector<Pattern::Segment> segments;
  std::vector<Pattern::RunList> lists;
  std::vector<AffineRun> runs;
  const auto step = static_cast<Vertex>(7 + random() % 12);
  for (Vertex begin = 0; begin < n; begin += static_cast<Vertex>(1 + random() % 60)) {
    const auto first = static_cast<std::uint32_t>(runs.size());
    for (Vertex residue = 0; residue < step; residue += static_cast<Vertex>(1 + random() % 3)) {
      AffineRun run;
      run.lo_base = residue;
      run.step = step;
      run.limit = random() % 4 == 0 ? static_cast<std::int64_t>(random() % n) + 1 : n;
      run.hi_moves = random() % 2 == 0;
      run.hi_base = run.hi_moves ? static_cast<std::int64_t>(random() % 40) - 20 : static_cast<std::int64_t>(random() % n);
      run.floor_moves = random() % 8 == 0;
      if (run.floor_moves || random() % 8 == 0) run.floor_base = static_cast<std::int64_t>(random() % 30) - 20;
      runs.push_back(run);
    }
    segments.push_back({begin, static_cast<std::uint32_t>(lists.size())});
    Pattern::RunList list;
    list.runs_begin = first;
    list.runs_count = static_cast<std::uint32_t>(runs.size()) - first;
    lists.push_back(list);
  }
  return Pattern(n, std::move(segments), std::move(lists), std::move(runs));
}

}  // namespace

TEST_CASE("what readers have in common and the rest of each are its row") {
  std::mt19937_64 random(5);
  std::size_t shared = 0, whole = 0;
  for (int k = 0; k < 200; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(20 + random() % 300);
    Pattern pattern;
    if (k % 3 == 0) {
      PatternSpec spec;
      spec.kind = PatternKind::fixed;
      spec.stride = static_cast<std::int64_t>(6 + random() % 40);
      spec.summary = static_cast<std::int64_t>(1 + random() % 6);
      spec.causal = k % 2 == 0;
      pattern = make_patterns(spec, {n, 0, 1}, unlimited).front();
    } else {
      pattern = make_random_pattern(random, n);
    }
    SteadyRows rows(pattern, 1 + k % 4);
    std::vector<Run> rest;
    Vertex began = 0;
    for (Vertex i = 0; i < n; ++i) {
      CAPTURE(i);
      REQUIRE(rows.go_to(i) == (i == began));
      REQUIRE(rows.end() > i);
      if (i + 1 == rows.end()) began = i + 1;
      rows.rest(i, rest);
      if (rows.is_whole()) REQUIRE(rest.empty());
      shared += rows.steady().size();
      whole += rows.is_whole() ? 1 : 0;
      rest.insert(rest.end(), rows.steady().begin(), rows.steady().end());
      std::sort(rest.begin(), rest.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
      REQUIRE(rest == pattern.row(i));
    }
  }
  CHECK(shared > 20'000);
  CHECK(whole > 100);
}
