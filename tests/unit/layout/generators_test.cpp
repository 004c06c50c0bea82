#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "dense_oracle.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/run_algebra.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

void check(const PatternSpec& spec, const PatternSize& size) {
  for (const bool causal : {false, true}) {
    PatternSpec asked = spec;
    asked.causal = causal;
    const auto found = make_patterns(asked, size, Budget{});
    const auto expected = oracle::make_dense(asked, size);
    REQUIRE(found.size() == expected.size());
    for (std::size_t h = 0; h < found.size(); ++h) {
      CAPTURE(size.tokens);
      CAPTURE(causal);
      const std::string difference = oracle::compare(expected[h], oracle::expand(found[h]));
      REQUIRE(difference == "");
    }
  }
}

PatternSpec make(PatternKind kind, const std::function<void(PatternSpec&)>& set = {}) {
  PatternSpec spec;
  spec.kind = kind;
  spec.where = "/mixer/pattern";
  if (set) set(spec);
  return spec;
}

std::string error_of(const PatternSpec& spec, const PatternSize& size) {
  try {
    (void)make_patterns(spec, size, Budget{});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("full and self, with registers") {
  for (Vertex n = 1; n <= 9; ++n) {
    for (Vertex r = 0; r <= 2; ++r) {
      check(make(PatternKind::full), {n, r, 1});
      check(make(PatternKind::self), {n, r, 1});
    }
  }
}

TEST_CASE("windows: one-sided, dilated, on the ring") {
  for (Vertex n = 1; n <= 13; ++n) {
    for (int before = 0; before <= 14; before += before > 4 ? 4 : 1) {
      for (int after = 0; after <= 14; after += after > 4 ? 4 : 1) {
        for (int dilation = 1; dilation <= 15; dilation += dilation > 4 ? 5 : 1) {
          for (const bool wrap : {false, true}) {
            check(make(PatternKind::window, [&](PatternSpec& s) {
                    s.before = before;
                    s.after = after;
                    s.dilation = dilation;
                    s.wrap = wrap;
                  }), {n, n % 2, 1});
          }
        }
      }
    }
    for (int radius = 0; radius <= 8; ++radius) {
      check(make(PatternKind::ring, [&](PatternSpec& s) { s.radius = radius; }), {n, 0, 1});
      check(make(PatternKind::window, [&](PatternSpec& s) { s.radius = radius; }), {n, 0, 1});
    }
  }
}

TEST_CASE("windows with global tokens read and are read by all") {
  std::mt19937_64 engine(1);
  for (int round = 0; round < 400; ++round) {
    const auto n = static_cast<Vertex>(1 + draw_below(engine, 20));
    check(make(PatternKind::window, [&](PatternSpec& s) {
            s.radius = static_cast<std::int64_t>(draw_below(engine, 6));
            s.dilation = static_cast<std::int64_t>(1 + draw_below(engine, 4));
            s.wrap = draw_below(engine, 3) == 0;
            for (std::uint64_t g = draw_below(engine, 5); g-- > 0;) s.global.push_back(static_cast<std::int64_t>(draw_below(engine, n)));
          }), {n, static_cast<Vertex>(draw_below(engine, 2)), 1});
  }
}

TEST_CASE("blocks, the last one shorter, and shifted blocks, joined or cut") {
  for (Vertex n = 1; n <= 13; ++n) {
    for (int size = 1; size <= 14; ++size) {
      check(make(PatternKind::blocks, [&](PatternSpec& s) { s.size = size; }), {n, 1, 1});
      for (int shift = -3; shift <= 15; ++shift) {
        for (const bool wrap : {false, true}) {
          check(make(PatternKind::shifted_blocks, [&](PatternSpec& s) {
                  s.size = size;
                  s.shift = shift;
                  s.wrap = wrap;
                }), {n, 0, 1});
        }
      }
    }
  }
}

TEST_CASE("the strided and fixed patterns of the Sparse Transformer") {
  for (Vertex n = 1; n <= 20; n += 1) {
    for (int stride = 1; stride <= 22; ++stride) {
      for (const char* part : {"", "merged", "local", "summary"}) {
        for (const char* variant : {"paper", "code"}) {
          check(make(PatternKind::strided, [&](PatternSpec& s) {
                  s.stride = stride;
                  s.part = part;
                  s.variant = variant;
                }), {n, 0, 1});
        }
        for (int summary = 1; summary <= stride; summary += 1 + stride / 4) {
          check(make(PatternKind::fixed, [&](PatternSpec& s) {
                  s.stride = stride;
                  s.part = part;
                  s.summary = summary;
                }), {n, n % 2, 1});
        }
      }
    }
  }
}

TEST_CASE("grids: windows, rows, columns, blocks") {
  for (int h = 1; h <= 6; ++h) {
    for (int w = 1; w <= 6; ++w) {
      const PatternSize size{static_cast<Vertex>(h * w), static_cast<Vertex>(h % 2), 1};
      const auto grid = [&](const std::function<void(PatternSpec&)>& set) {
        PatternSpec spec = make(PatternKind::grid, set);
        spec.shape = {h, w};
        check(spec, size);
      };
      grid([](PatternSpec& s) { s.grid_rows = true; });
      grid([](PatternSpec& s) { s.grid_columns = true; });
      for (const bool wrap : {false, true}) {
        for (int r = 0; r <= 6; ++r) {
          for (int c = 0; c <= 6; ++c) {
            grid([&](PatternSpec& s) {
              s.grid_window = {r, c};
              s.wrap = wrap;
            });
          }
        }
        for (int a = 1; a <= 4; ++a) {
          for (int b = 1; b <= 4; ++b) {
            grid([&](PatternSpec& s) {
              s.grid_blocks = {a, b};
              s.wrap = wrap;
            });
            for (int p = 0; p <= a; ++p) {
              grid([&](PatternSpec& s) {
                s.grid_blocks = {a, b};
                s.grid_shift = {p, b / 2};
                s.wrap = wrap;
              });
            }
          }
        }
      }
    }
  }
}

TEST_CASE("wide grids share their lists and are still right") {
  for (const auto& [h, w, r, c] : {std::array{3, 40, 1, 9}, {40, 3, 9, 1}, {12, 12, 1, 5}, {12, 12, 5, 1}, {2, 60, 0, 25}}) {
    for (const bool wrap : {false, true}) {
      check(make(PatternKind::grid, [&](PatternSpec& s) {
              s.shape = {h, w};
              s.grid_window = {r, c};
              s.wrap = wrap;
            }), {static_cast<Vertex>(h * w), 0, 1});
    }
  }
}

TEST_CASE("star, butterfly, circulant, graph") {
  for (Vertex n = 1; n <= 9; ++n) check(make(PatternKind::star), {n, 1, 1});
  for (Vertex n = 2; n <= 32; n *= 2) {
    for (Vertex d = 1; d < n; d *= 2) check(make(PatternKind::butterfly, [&](PatternSpec& s) { s.distance = d; }), {n, 1, 1});
  }
  std::mt19937_64 engine(2);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<Vertex>(1 + draw_below(engine, 12));
    check(make(PatternKind::circulant, [&](PatternSpec& s) {
            for (std::uint64_t k = draw_below(engine, 7); k-- > 0;) s.offsets.push_back(static_cast<std::int64_t>(draw_below(engine, 40)) - 20);
          }), {n, 1, 1});
    check(make(PatternKind::graph, [&](PatternSpec& s) {
            s.directed = draw_below(engine, 2) == 0;
            s.loops = draw_below(engine, 2) == 0;
            for (std::uint64_t k = draw_below(engine, 14); k-- > 0;) {
              s.edges.emplace_back(draw_below(engine, n), draw_below(engine, n));
            }
          }), {n, 1, 1});
  }
}

TEST_CASE("rows and matrices come as they are given, in any order") {
  std::mt19937_64 engine(3);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<Vertex>(1 + draw_below(engine, 12)), r = static_cast<Vertex>(draw_below(engine, 3));
    check(make(PatternKind::rows, [&](PatternSpec& s) {
            for (Vertex i = 0; i < n + r; ++i) {
              s.rows.emplace_back();
              for (Vertex j = n + r; j-- > 0;) {
                if (draw_below(engine, 2) == 0) s.rows.back().push_back(j);
              }
            }
          }), {n, r, 1});
    check(make(PatternKind::matrix, [&](PatternSpec& s) {
            s.matrix.assign(n + r, std::vector<std::int64_t>(n + r));
            for (auto& row : s.matrix) {
              for (auto& entry : row) entry = static_cast<std::int64_t>(draw_below(engine, 4));
            }
          }), {n, r, 1});
  }
}

TEST_CASE("random rows have the degree asked for, never the own token, and the same bits everywhere") {
  const PatternSpec spec = make(PatternKind::random, [](PatternSpec& s) {
    s.degree = 3;
    s.seed = 7;
  });
  const Pattern pattern = make_patterns(spec, {10, 1, 1}, Budget{}).front();
  for (Vertex i = 0; i < 10; ++i) {
    CHECK(pattern.degree(i) == 3);
    CHECK(!pattern.reads(i, i));
    CHECK(!pattern.reads(i, 10));
  }
  CHECK(pattern.degree(10) == 0);
  CHECK(pattern == make_patterns(spec, {10, 1, 1}, Budget{}).front());
  // The engine is fixed by the standard: its 10000th word after seeding with 5489 is this one.
  std::mt19937_64 engine(5489);
  engine.discard(9999);
  CHECK(engine() == 9981545732273789042u);
  const Pattern all = make_patterns(make(PatternKind::random, [](PatternSpec& s) { s.degree = 9; }), {10, 0, 1}, Budget{}).front();
  CHECK(all.arc_count() == 90);
  const Pattern dense = make_patterns(make(PatternKind::random, [](PatternSpec& s) { s.density = 1; }), {10, 0, 1}, Budget{}).front();
  CHECK(dense == all);
  const Pattern half = make_patterns(make(PatternKind::random, [](PatternSpec& s) { s.density = 0.5; }), {100, 0, 1}, Budget{}).front();
  CHECK(half.arc_count() > 4500);
  CHECK(half.arc_count() < 5400);
  CHECK(make_patterns(make(PatternKind::random, [](PatternSpec& s) { s.density = 0; }), {10, 0, 1}, Budget{}).front().arc_count() == 0);
}

TEST_CASE("bad descriptions are named in one line") {
  const PatternSize size{8, 0, 1};
  CHECK(error_of(make(PatternKind::window), size) == "/mixer/pattern: expected radius, before or after, found none of them");
  CHECK(error_of(make(PatternKind::window, [](PatternSpec& s) { s.radius = 1; s.global = {8}; }), size) ==
        "/mixer/pattern/global: expected tokens from 0 to 7, found 8");
  CHECK(error_of(make(PatternKind::blocks), size) == "/mixer/pattern/size: expected an integer >= 1, found nothing");
  CHECK(error_of(make(PatternKind::grid, [](PatternSpec& s) { s.shape = {3, 3}; s.grid_rows = true; }), size) ==
        "/mixer/pattern/shape: expected h x w = 8 tokens, found 3 x 3");
  CHECK(error_of(make(PatternKind::star), size) == "/mixer/pattern: expected exactly one register for a star, found 0");
  CHECK(error_of(make(PatternKind::butterfly, [](PatternSpec& s) { s.distance = 3; }), size) ==
        "/mixer/pattern/distance: expected a power of two, found 3");
  CHECK(error_of(make(PatternKind::rows, [](PatternSpec& s) { s.rows.assign(8, {1, 1}); }), size) ==
        "/mixer/pattern/rows/0: expected every index once, found 1 twice");
  CHECK(error_of(make(PatternKind::fixed, [](PatternSpec& s) { s.stride = 4; s.summary = 5; }), size) ==
        "/mixer/pattern/summary: expected at most the stride 4, found 5");
  CHECK(error_of(make(PatternKind::random), size) == "/mixer/pattern: expected either degree or density, found neither");
}

TEST_CASE("empty rows are found in run-length form") {
  const Pattern pattern = make_pattern_from_rows(6, {{}, {}, {1}, {}, {4}, {}});
  const std::vector<std::pair<Vertex, Vertex>> expected{{0, 2}, {3, 1}, {5, 1}};
  CHECK(find_empty_rows(pattern) == expected);
}
