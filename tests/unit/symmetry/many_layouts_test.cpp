// Layouts of all generators, against nauty: several layers, unions, registers, colours, relative positions.
#include <doctest/doctest.h>

#include <cstdlib>

#include "against_nauty.hpp"
#include "sample.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sample;
using sightline::layout::Layout;
using sightline::layout::PatternKind;
using sightline::layout::PatternSpec;
namespace symmetry = sightline::symmetry;

namespace {

std::int64_t pick(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
}

/// A pattern of any generator for n = h * w tokens.
PatternSpec make_spec(std::mt19937_64& random, Vertex n, std::int64_t h, std::int64_t w, Vertex registers, int depth) {
  static const std::vector<PatternKind> kinds{PatternKind::full,    PatternKind::self,   PatternKind::window,    PatternKind::ring,      PatternKind::blocks, PatternKind::shifted_blocks, PatternKind::strided, PatternKind::fixed,
                                              PatternKind::grid,    PatternKind::grid,   PatternKind::grid,      PatternKind::bigbird,   PatternKind::random, PatternKind::circulant,      PatternKind::graph,   PatternKind::star,
                                              PatternKind::union_of, PatternKind::minus, PatternKind::intersection_of, PatternKind::butterfly};
  PatternSpec spec;
  spec.kind = kinds[random() % kinds.size()];
  if (spec.kind == PatternKind::star && registers != 1) spec.kind = PatternKind::window;
  if (spec.kind == PatternKind::butterfly && (n & (n - 1)) != 0) spec.kind = PatternKind::blocks;
  const bool combines = spec.kind == PatternKind::union_of || spec.kind == PatternKind::minus || spec.kind == PatternKind::intersection_of;
  if (combines && depth > 1) spec.kind = PatternKind::window;
  spec.causal = random() % 8 == 0;
  const std::int64_t block = pick(random, 2, 9);
  switch (spec.kind) {
    case PatternKind::window:
      if (random() % 2 == 0) spec.radius = pick(random, 1, 6);
      else spec.before = pick(random, 0, 5), spec.after = pick(random, 1, 3);
      spec.dilation = random() % 3 == 0 ? pick(random, 2, 4) : 1;
      if (random() % 3 == 0) spec.wrap = true;
      if (random() % 3 == 0) spec.global = {0, pick(random, 1, n - 1)};
      break;
    case PatternKind::ring: spec.radius = pick(random, 1, 5); break;
    case PatternKind::blocks: spec.size = block; break;
    case PatternKind::shifted_blocks:
      spec.size = block;
      spec.shift = pick(random, 0, block - 1);
      if (random() % 2 == 0) spec.wrap = false;
      break;
    case PatternKind::strided:
    case PatternKind::fixed:
      spec.stride = pick(random, 2, 12);
      if (spec.kind == PatternKind::fixed) spec.summary = pick(random, 1, std::min<std::int64_t>(3, *spec.stride));
      spec.part = std::vector<std::string>{"", "local", "summary"}[random() % 3];
      break;
    case PatternKind::grid:
      spec.shape = {h, w};
      switch (random() % 4) {
        case 0: spec.grid_rows = true; break;
        case 1: spec.grid_columns = true; break;
        case 2: spec.grid_window = {pick(random, 0, 2), pick(random, 1, 3)}; break;
        default:
          spec.grid_blocks = {pick(random, 2, 5), pick(random, 2, 5)};
          if (random() % 2 == 0) spec.grid_shift = {1, 1};
      }
      break;
    case PatternKind::bigbird:
      spec.block = pick(random, 3, 8);
      spec.random_blocks = pick(random, 0, 2);
      spec.globals = pick(random, 0, 2);
      spec.seed = random() % 1000;
      break;
    case PatternKind::random:
      spec.degree = pick(random, 1, 4);
      spec.seed = random() % 1000;
      break;
    case PatternKind::butterfly: spec.distance = std::int64_t{1} << (random() % static_cast<std::uint64_t>(__builtin_ctz(n))); break;
    case PatternKind::circulant: spec.offsets = {pick(random, 1, 5), -pick(random, 1, 5), pick(random, 6, 12)}; break;
    case PatternKind::graph:
      for (Vertex k = 0; k < n; ++k) spec.edges.emplace_back(static_cast<std::int64_t>(random() % n), static_cast<std::int64_t>(random() % n));
      spec.loops = random() % 2 == 0;
      break;
    default: break;
  }
  if (combines && depth <= 1) {
    for (int k = 0; k < 2; ++k) spec.of.push_back(make_spec(random, n, h, w, registers, depth + 1));
  }
  return spec;
}

Layout make_random_layout(std::mt19937_64& random, std::int64_t most) {
  const std::int64_t w = pick(random, 4, 20);
  std::int64_t h = pick(random, (50 + w - 1) / w, std::max<std::int64_t>((50 + w - 1) / w, most / w));
  Layout layout;
  layout.tokens = static_cast<Vertex>(h * w);
  if (random() % 8 == 0) {
    layout.tokens = 64u << (random() % 2);
    h = 8;
  }
  const std::int64_t width = layout.tokens / h;
  layout.registers = random() % 3 == 0 ? static_cast<Vertex>(1 + random() % 3) : 0;
  layout.vertex_colour.assign(layout.vertices(), 0);
  const auto period = random() % 4 == 0 ? 1 + random() % 5 : 1;
  for (Vertex x = 0; x < layout.tokens; ++x) layout.vertex_colour[x] = x % period;
  const auto kinds = 1 + random() % 2;
  for (Vertex x = layout.tokens; x < layout.vertices(); ++x) layout.vertex_colour[x] = 1000 + x % kinds;
  const auto layers = 1 + random() % 3;
  for (std::uint64_t l = 0; l < layers; ++l) {
    Relative relative;
    if (random() % 8 == 0) {
      relative.kind = std::vector<RelativeKind>{RelativeKind::distance, RelativeKind::bucket, RelativeKind::offset}[random() % 3];
      relative.buckets = 8;
      relative.max_distance = 16;
    }
    PatternSpec spec = make_spec(random, layout.tokens, h, width, layout.registers, 0);
    Pattern pattern = sightline::layout::make_patterns(spec, {layout.tokens, layout.registers, 1}, budget).front();
    layout.layers.push_back({{static_cast<std::uint32_t>(layout.relations.size())}});
    layout.order.push_back(static_cast<std::uint32_t>(l));
    layout.relations.emplace_back(std::move(pattern), relative, random() % 2 == 0 ? Cancels::nothing : Cancels::single_colour, layout.tokens);
  }
  return layout;
}

/// False when nauty gave up; then only the generators are checked.
bool agrees_with_nauty(std::uint64_t seed, std::int64_t most) {
  std::mt19937_64 random(seed);
  const Layout layout = make_random_layout(random, most);
  return check_against_nauty(symmetry::make_structure(layout));
}

}  // namespace

TEST_CASE("layouts of all generators have the order and the orbits nauty finds") {
  int compared = 0;
  for (std::uint64_t k = 0; k < 150; ++k) {
    CAPTURE(k);
    compared += agrees_with_nauty(1000000 + k, 90) ? 1 : 0;
  }
  CHECK(compared > 140);
}

// A part of them alone: SIGHTLINE_LAYOUTS=FROM:COUNT.
TEST_CASE("50,000 layouts of all generators, 50 to 400 tokens, have the order and the orbits nauty finds" * doctest::test_suite("slow")) {
  std::uint64_t from = 0, count = 50000;
  if (const char* part = std::getenv("SIGHTLINE_LAYOUTS")) {
    const std::string text = part;
    from = std::stoull(text);
    count = std::stoull(text.substr(text.find(':') + 1));
  }
  std::uint64_t compared = 0;
  for (std::uint64_t k = from; k < from + count; ++k) {
    CAPTURE(k);
    compared += agrees_with_nauty(k, k % 16 == 0 ? 400 : k % 4 == 0 ? 200 : 110) ? 1 : 0;
  }
  MESSAGE(compared);
  CHECK(compared * 100 > count * 95);
}
