// Layouts as people use them, each against the rule its authors publish, written out here once more.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>

#include "dense_oracle.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

void check(const PatternSpec& spec, Vertex tokens, const std::function<bool(int, int)>& reads) {
  const oracle::Dense found = oracle::expand(make_patterns(spec, {tokens, 0, 1}, Budget{}).front());
  for (int i = 0; i < static_cast<int>(tokens); ++i) {
    for (int j = 0; j < static_cast<int>(tokens); ++j) {
      CAPTURE(i);
      CAPTURE(j);
      REQUIRE((found[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] != 0) == reads(i, j));
    }
  }
}

}  // namespace

TEST_CASE("Longformer: a window each side, global tokens both ways; autoregressive: the left half") {
  PatternSpec spec;
  spec.kind = PatternKind::window;
  spec.radius = 8;
  spec.global = {0, 30};
  const auto longformer = [](int i, int j) { return std::abs(i - j) <= 8 || i == 0 || j == 0 || i == 30 || j == 30; };
  check(spec, 64, longformer);
  spec.causal = true;
  check(spec, 64, [&](int i, int j) { return j <= i && longformer(i, j); });
}

TEST_CASE("Sparse Transformer: strided and fixed heads of the paper and of the code, causal and both ways") {
  for (const bool causal : {false, true}) {
    const auto strided = [&](const char* variant, const char* part, const std::function<bool(int, int)>& reads) {
      PatternSpec spec;
      spec.kind = PatternKind::strided;
      spec.stride = 8;
      spec.variant = variant;
      spec.part = part;
      spec.causal = causal;
      check(spec, 64, [&](int i, int j) { return (!causal || j <= i) && reads(i, j); });
    };
    // The paper's local head reads l + 1 tokens, the code's l.
    strided("paper", "local", [](int i, int j) { return std::abs(i - j) <= 8; });
    strided("code", "local", [](int i, int j) { return std::abs(i - j) <= 7; });
    strided("paper", "summary", [](int i, int j) { return std::abs(i - j) % 8 == 0; });
    strided("code", "merged", [](int i, int j) { return std::abs(i - j) <= 7 || std::abs(i - j) % 8 == 0; });
    const auto fixed = [&](const char* part, const std::function<bool(int, int)>& reads) {
      PatternSpec spec;
      spec.kind = PatternKind::fixed;
      spec.stride = 8;
      spec.summary = 2;
      spec.part = part;
      spec.causal = causal;
      check(spec, 60, [&](int i, int j) { return (!causal || j <= i) && reads(i, j); });
    };
    fixed("local", [](int i, int j) { return i / 8 == j / 8; });
    fixed("summary", [](int i, int j) { return j % 8 == 6 || j % 8 == 7 || i == j; });
    fixed("merged", [](int i, int j) { return i / 8 == j / 8 || j % 8 >= 6; });
  }
}

TEST_CASE("Swin: shifted windows, joined by the cyclic shift alone, cut at the border by its mask") {
  for (const bool wrap : {false, true}) {
    PatternSpec spec;
    spec.kind = PatternKind::grid;
    spec.shape = {8, 12};
    spec.grid_blocks = {4, 4};
    spec.grid_shift = {2, 2};
    spec.wrap = wrap;
    // The program rolls the grid by the shift and cuts it into windows; the mask then parts what the roll brought together.
    const auto window = [](int x, int extent) { return (x - 2 + extent) % extent / 4; };
    const auto parted = [&](int x, int u) { return !wrap && (x < 2) != (u < 2); };
    check(spec, 96, [&](int i, int j) {
      const int y = i / 12, x = i % 12, v = j / 12, u = j % 12;
      return window(y, 8) == window(v, 8) && window(x, 12) == window(u, 12) && !parted(y, v) && !parted(x, u);
    });
  }
}

TEST_CASE("axial attention: rows, then columns") {
  PatternSpec spec;
  spec.kind = PatternKind::grid;
  spec.shape = {5, 7};
  spec.grid_rows = true;
  check(spec, 35, [](int i, int j) { return i / 7 == j / 7; });
  spec.grid_rows = false;
  spec.grid_columns = true;
  check(spec, 35, [](int i, int j) { return i % 7 == j % 7; });
}

TEST_CASE("Star-Transformer: a ring of satellites and one relay") {
  PatternSpec spec;
  spec.kind = PatternKind::star;
  const oracle::Dense found = oracle::expand(make_patterns(spec, {6, 1, 1}, Budget{}).front());
  CHECK(found == oracle::Dense{{1, 1, 0, 0, 0, 1, 1},
                               {1, 1, 1, 0, 0, 0, 1},
                               {0, 1, 1, 1, 0, 0, 1},
                               {0, 0, 1, 1, 1, 0, 1},
                               {0, 0, 0, 1, 1, 1, 1},
                               {1, 0, 0, 0, 1, 1, 1},
                               {1, 1, 1, 1, 1, 1, 1}});
}
