#include <doctest/doctest.h>

#include "sightline/layout/pattern_spec.hpp"
#include "sightline/sight/views.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

layout::PatternSpec make_spec(layout::PatternKind kind) {
  layout::PatternSpec spec;
  spec.kind = kind;
  return spec;
}

Layout make_layout(Vertex tokens, const std::vector<layout::PatternSpec>& specs) {
  Layout layout;
  layout.tokens = tokens;
  layout.vertex_colour.assign(tokens, 0);
  for (const layout::PatternSpec& spec : specs) {
    for (const layout::Pattern& pattern : layout::make_patterns(spec, {tokens, 0, 1}, unlimited)) {
      layout.relations.emplace_back(pattern, layout::Relative{}, layout::Cancels::single_colour, tokens);
    }
    layout.layers.push_back({{static_cast<std::uint32_t>(layout.relations.size() - 1)}});
    layout.order.push_back(static_cast<std::uint32_t>(layout.order.size()));
  }
  return layout;
}

struct Answer {
  Connected connected;
  Needed needed;
};

Answer answer(const Layout& layout, ClassKind kind) {
  const group::Group group = symmetry::compute_layout_group(layout, unlimited);
  const ViewQuestion question{&layout, &group, &group, kind, RegisterRows::frequencies};
  return {compute_connected(layout, unlimited), compute_needed(question, unlimited)};
}

layout::PatternSpec make_bigbird(std::int64_t block) {
  auto spec = make_spec(layout::PatternKind::bigbird);
  spec.block = block;
  spec.random_blocks = 3;
  spec.globals = 2;
  spec.seed = 1;
  return spec;
}

}  // namespace

TEST_CASE("BigBird on 4,096 tokens") {
  const Answer a = answer(make_layout(4096, {make_bigbird(64)}), ClassKind::all);
  CHECK(*a.connected.layers == 2);
  CHECK(*a.needed.layers == 3);
  CHECK(a.needed.below);
}

TEST_CASE("Longformer on 1,024 tokens") {
  auto spec = make_spec(layout::PatternKind::window);
  spec.radius = 32;
  spec.global = {0, 1};
  const Answer a = answer(make_layout(1024, {spec}), ClassKind::all);
  CHECK(*a.connected.layers == 2);
  CHECK(*a.needed.layers == 3);
}

TEST_CASE("strided and fixed attention on 1,024 tokens") {
  auto spec = make_spec(layout::PatternKind::strided);
  spec.stride = 32;
  const Answer strided = answer(make_layout(1024, {spec}), ClassKind::all);
  CHECK(*strided.connected.layers == 2);
  CHECK(*strided.needed.layers == 2);
  spec = make_spec(layout::PatternKind::fixed);
  spec.stride = 32;
  spec.summary = 4;
  const Answer fixed = answer(make_layout(1024, {spec}), ClassKind::all);
  CHECK(*fixed.connected.layers == 2);
  CHECK(*fixed.needed.layers == 2);
}

TEST_CASE("axial attention on a square of 1,024 tokens") {
  auto rows = make_spec(layout::PatternKind::grid), columns = rows;
  rows.shape = columns.shape = {32, 32};
  rows.grid_rows = columns.grid_columns = true;
  const Answer a = answer(make_layout(1024, {rows, columns}), ClassKind::all);
  CHECK(*a.connected.layers == 2);
  CHECK(*a.needed.layers == 3);
}

TEST_CASE("windows on 1,024 tokens") {
  auto spec = make_spec(layout::PatternKind::window);
  spec.radius = 64;
  const Answer both = answer(make_layout(1024, {spec}), ClassKind::all);
  CHECK(*both.connected.layers == 16);
  CHECK(*both.needed.layers == 16);
  spec.radius.reset();
  spec.before = 128;
  const Answer causal = answer(make_layout(1024, {spec}), ClassKind::causal);
  CHECK_FALSE(causal.connected.layers);
  CHECK(*causal.needed.layers == 8);
}

TEST_CASE("local attention on a grid of 4,096 tokens") {
  auto spec = make_spec(layout::PatternKind::grid);
  spec.shape = {64, 64};
  spec.grid_window = {7, 7};
  CHECK(*compute_connected(make_layout(4096, {spec}), unlimited).layers == 9);
}

TEST_CASE("a causal window of 4,096 on 131,072 tokens") {
  auto spec = make_spec(layout::PatternKind::window);
  spec.before = 4096;
  const Layout layout = make_layout(131072, {spec});
  CHECK(*compute_class_reach(layout, {ClassKind::causal, false}, unlimited).layers == 32);
  CHECK(compute_unseen(layout, 31, {ClassKind::causal, false}, unlimited)[131071] == 131071 - 31 * 4096);
}

TEST_CASE("three chunked layers and a full one, again and again, on 131,072 tokens") {
  // Two chunks before the root's own may be exchanged until a full layer has seen rows of full ones: eight layers, as in models of this kind.
  auto chunks = make_spec(layout::PatternKind::blocks), full = make_spec(layout::PatternKind::full);
  chunks.size = 4096;
  chunks.causal = full.causal = true;
  const Answer a = answer(make_layout(131072, {chunks, chunks, chunks, full}), ClassKind::causal);
  CHECK(*compute_class_reach(make_layout(131072, {chunks, chunks, chunks, full}), {ClassKind::causal, false}, unlimited).layers == 4);
  REQUIRE(a.needed.layers.has_value());
  CHECK(*a.needed.layers == 8);
  REQUIRE(a.needed.below.has_value());
  CHECK(a.needed.below->a == a.needed.below->b);
}

TEST_CASE("windows and columns in turn on 65,536 tokens") {
  auto window = make_spec(layout::PatternKind::window), columns = make_spec(layout::PatternKind::grid);
  window.radius = 256;
  columns.shape = {256, 256};
  columns.grid_columns = true;
  const Answer a = answer(make_layout(65536, {window, columns}), ClassKind::all);
  CHECK(*a.connected.layers == 2);
  REQUIRE(a.needed.layers.has_value());
  CHECK(*a.needed.layers == 3);
}

TEST_CASE("ten causal dilations have no symmetry, which shows without a search") {
  std::vector<layout::PatternSpec> specs;
  for (const std::int64_t dilation : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    specs.push_back(make_spec(layout::PatternKind::window));
    specs.back().before = 1;
    specs.back().dilation = dilation;
  }
  const Layout layout = make_layout(2048, specs);
  symmetry::SearchRecord record;
  const auto named = find_named_group(layout, unlimited, record);
  REQUIRE(named.has_value());
  CHECK(named->is_trivial());
  CHECK(symmetry::compute_layout_group(layout, unlimited).is_trivial());
}

}  // namespace sightline::sight
