// A million tokens in megabytes: how much structured patterns store, not how long they take.
#include <doctest/doctest.h>

#include <functional>

#include "sightline/layout/layout.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

constexpr Vertex n = 1u << 20;
constexpr std::uint64_t megabyte = 1u << 20;

Pattern make_pattern(PatternKind kind, const std::function<void(PatternSpec&)>& set) {
  PatternSpec spec;
  spec.kind = kind;
  set(spec);
  return make_patterns(spec, {n, 0, 1}, Budget{}).front();
}

}  // namespace

TEST_CASE("full, causal, window, strided: one run or a few for all tokens") {
  const Pattern causal = make_pattern(PatternKind::full, [](PatternSpec& s) { s.causal = true; });
  CHECK(causal.memory_bytes() < 200);
  CHECK(causal.arc_count() == std::uint64_t{n} * (n + 1) / 2);
  CHECK(causal.run_count() == n);
  const Pattern window = make_pattern(PatternKind::window, [](PatternSpec& s) { s.radius = 256; });
  CHECK(window.memory_bytes() < 200);
  CHECK(window.arc_count() == std::uint64_t{513} * n - std::uint64_t{256} * 257);
  const Pattern strided = make_pattern(PatternKind::strided, [](PatternSpec& s) { s.stride = 1024; s.causal = true; });
  CHECK(strided.memory_bytes() < 500);
  CHECK(strided.row(5000).size() == 2);
  const Pattern ring = make_pattern(PatternKind::ring, [](PatternSpec& s) { s.radius = 100; });
  CHECK(ring.memory_bytes() < 500);
  CHECK(ring.arc_count() == std::uint64_t{201} * n);
}

TEST_CASE("windows with globals, blocks, fixed, grids, BigBird, butterfly: at most 10 MB") {
  const Pattern longformer = make_pattern(PatternKind::window, [](PatternSpec& s) {
    s.radius = 256;
    for (int g = 0; g < 16; ++g) s.global.push_back(g * 65536);
  });
  CHECK(longformer.memory_bytes() < 20000);
  const Pattern dilated = make_pattern(PatternKind::window, [](PatternSpec& s) {
    s.radius = 256;
    s.dilation = 4;
    for (int g = 0; g < 16; ++g) s.global.push_back(g * 65537);
  });
  CHECK(dilated.memory_bytes() < 50000);
  const Pattern blocks = make_pattern(PatternKind::shifted_blocks, [](PatternSpec& s) { s.size = 64; s.shift = 32; });
  CHECK(blocks.memory_bytes() < 2 * megabyte);
  const Pattern fixed = make_pattern(PatternKind::fixed, [](PatternSpec& s) { s.stride = 128; s.summary = 32; s.causal = true; });
  CHECK(fixed.memory_bytes() < megabyte);
  const Pattern swin = make_pattern(PatternKind::grid, [](PatternSpec& s) {
    s.shape = {1024, 1024};
    s.grid_blocks = {7, 7};
    s.grid_shift = {3, 3};
  });
  CHECK(swin.memory_bytes() < 10 * megabyte);
  const Pattern near = make_pattern(PatternKind::grid, [](PatternSpec& s) { s.shape = {1024, 1024}; s.grid_window = {3, 3}; });
  CHECK(near.memory_bytes() < megabyte);
  const Pattern columns = make_pattern(PatternKind::grid, [](PatternSpec& s) { s.shape = {1024, 1024}; s.grid_columns = true; });
  CHECK(columns.memory_bytes() < 200);
  CHECK(columns.arc_count() == std::uint64_t{n} * 1024);
  const Pattern bigbird = make_pattern(PatternKind::bigbird, [](PatternSpec&) {});
  CHECK(bigbird.memory_bytes() < 10 * megabyte);
  const Pattern evaluated = make_pattern(PatternKind::bigbird, [](PatternSpec& s) { s.variant = "huggingface"; s.mode = "eval"; });
  CHECK(evaluated.memory_bytes() < 10 * megabyte);
  const Pattern butterfly = make_pattern(PatternKind::butterfly, [](PatternSpec& s) { s.distance = 1; });
  CHECK(butterfly.memory_bytes() < 10 * megabyte);
  CHECK(butterfly.arc_count() == 2 * std::uint64_t{n});
}

TEST_CASE("combinators keep segments") {
  const Pattern combined = make_pattern(PatternKind::minus, [](PatternSpec& s) {
    PatternSpec both, window, summary, self;
    window.kind = PatternKind::window;
    window.radius = 100;
    window.global = {0};
    summary.kind = PatternKind::strided;
    summary.stride = 1024;
    summary.part = "summary";
    both.kind = PatternKind::union_of;
    both.of = {summary, window};
    self.kind = PatternKind::self;
    s.of = {both, self};
    s.causal = true;
  });
  CHECK(combined.memory_bytes() < megabyte);
  CHECK(combined.degree(5000) == 100 + 4 + 1);
}

TEST_CASE("a window that passes over columns at equal distances is cut where they enter and leave") {
  const Pattern combined = make_pattern(PatternKind::union_of, [](PatternSpec& s) {
    PatternSpec window, summary;
    window.kind = PatternKind::window;
    window.radius = 100;
    summary.kind = PatternKind::fixed;
    summary.stride = 4096;
    summary.summary = 1;
    summary.part = "summary";
    s.of = {window, summary};
  });
  CHECK(combined.memory_bytes() < megabyte);
  CHECK(combined.degree(5000) == 201 + 256);
  CHECK(combined.degree(4050) == 201 + 255);
}

TEST_CASE("relative colours of a million tokens are a few coloured runs a row") {
  const Pattern causal = make_pattern(PatternKind::full, [](PatternSpec& s) { s.causal = true; });
  const Relation relation(causal, {RelativeKind::bucket, 32, 128, false, 0}, Cancels::single_colour, n);
  std::vector<ColouredRun> runs;
  relation.row(n - 1, runs);
  CHECK(runs.size() == 32);
  CHECK(!relation.is_plain());
}
