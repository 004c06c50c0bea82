// Layouts of models: closed-form patterns with known groups, at the sizes they are used at.
#include <doctest/doctest.h>

#include "sample.hpp"
#include "sightline/layout/pattern_builder.hpp"

using namespace sample;
using sightline::group::Group;
using sightline::layout::AffineRun;
using sightline::layout::make_constant_run;
using sightline::layout::make_moving_run;
namespace symmetry = sightline::symmetry;

namespace {

/// Patterns given as segments: from reader `begin` on, the runs of that segment.
struct Part {
  Vertex begin;
  std::vector<AffineRun> runs;
};

Pattern make_pattern(Vertex n, const std::vector<Part>& parts) {
  sightline::layout::PatternBuilder builder(n, budget);
  for (const Part& part : parts) builder.add_segment(part.begin, builder.add_list(part.runs));
  return builder.build();
}

Pattern make_window(Vertex n, std::int64_t before, std::int64_t after) { return make_pattern(n, {{0, {make_moving_run(-before, after, n)}}}); }
Pattern make_full(Vertex n) { return make_pattern(n, {{0, {make_constant_run(0, std::int64_t{n} - 1)}}}); }

std::string order_of(const Sample& sample) { return symmetry::compute_automorphisms(sample.structure, budget).order.factored(); }

}  // namespace

TEST_CASE("full, causal and window masks") {
  for (const Vertex n : {1u, 2u, 3u, 100u, 16384u}) {
    CAPTURE(n);
    Sample full(n), causal(n), window(n);
    full.add(make_full(n));
    causal.add(make_window(n, n, 0));
    window.add(make_window(n, 3, 3));
    const std::string symmetric = n == 1 ? "1" : std::to_string(n) + "!";
    CHECK(order_of(full) == (n == 2 ? order_of(full) : symmetric));
    CHECK(order_of(causal) == "1");
    CHECK(order_of(window) == (n <= 3 ? order_of(full) : "2"));
  }
}

TEST_CASE("relative colours: offsets leave nothing, distances the reflection") {
  for (const Vertex n : {4u, 64u, 4096u}) {
    CAPTURE(n);
    Sample offset(n), distance(n), causal_distance(n), window_offset(n), bucket(n);
    offset.add(make_full(n), {RelativeKind::offset});
    distance.add(make_full(n), {RelativeKind::distance});
    causal_distance.add(make_window(n, n, 0), {RelativeKind::distance});
    window_offset.add(make_window(n, 5, 5), {RelativeKind::offset});
    bucket.add(make_full(n), {RelativeKind::bucket});
    CHECK(order_of(offset) == "1");
    CHECK(order_of(distance) == "2");
    CHECK(order_of(causal_distance) == "1");
    CHECK(order_of(window_offset) == "1");
    CHECK(order_of(bucket) == "1");
  }
}

TEST_CASE("one colour per column or per pair leaves nothing") {
  const Vertex n = 2048;
  Sample column(n), pair(n);
  column.add(make_full(n), {RelativeKind::column});
  pair.add(make_full(n), {RelativeKind::pair});
  CHECK(order_of(column) == "1");
  CHECK(order_of(pair) == "1");
}

TEST_CASE("blocks and shifted blocks") {
  const Vertex size = 64, blocks = 128, n = size * blocks, half = size / 2;
  std::vector<Part> plain, shifted;
  const std::vector<AffineRun> ends{make_constant_run(0, half - 1), make_constant_run(n - half, n - 1)};
  shifted.push_back({0, ends});
  for (Vertex b = 0; b < blocks; ++b) {
    plain.push_back({b * size, {make_constant_run(b * size, b * size + size - 1)}});
    if (b + 1 < blocks) shifted.push_back({b * size + half, {make_constant_run(b * size + half, b * size + half + size - 1)}});
  }
  shifted.push_back({n - half, ends});
  Sample sample(n);
  sample.add(make_pattern(n, plain));
  CHECK(order_of(sample) == "128! * 64!^128");
  const Group group = symmetry::compute_automorphisms(sample.structure, budget);
  CHECK(group.symmetric_classes.size() == blocks);
  CHECK(group.generators.size() == blocks - 1);
  for (const auto& orbit : group.orbit) REQUIRE(orbit == 0);
  // Half blocks in a cycle of 256, joined alternately by the one and by the other layer: dihedral of order 256.
  sample.add(make_pattern(n, shifted));
  CHECK(order_of(sample) == "32!^256 * 256");
}

TEST_CASE("pairs at a distance are twins, also where equal rows are not one list") {
  constexpr Vertex n = 8192;
  std::vector<Part> parts;
  for (Vertex k = 0; k < n; k += 4) parts.push_back({k, {k % 8 == 0 ? make_moving_run(0, 4, n, 4) : make_moving_run(-4, 0, n, 4)}});
  Sample pairs(n);
  pairs.add(make_pattern(n, parts));
  const Group group = symmetry::compute_automorphisms(pairs.structure, budget);
  CHECK(group.symmetric_classes.size() == n / 2);
  CHECK(group.order.factored() == "4096! * 2!^4096");
}

TEST_CASE("long runs with steps, among twins and through them, say the same as vertices in any order") {
  std::mt19937_64 random(21);
  const auto draw = [&](std::uint64_t bound) { return static_cast<Vertex>(random() % bound); };
  int with_twins = 0;
  for (int k = 0; k < 60; ++k) {
    const Vertex n = 420 + draw(8) * 60, block = 1 + draw(12), kinds = 1 + draw(3);
    // Blocks of one kind read the same progressions, perhaps their own block and themselves.
    std::vector<std::vector<bool>> reads(kinds, std::vector<bool>(n, false));
    std::vector<bool> own(kinds), loops(kinds);
    for (Vertex kind = 0; kind < kinds; ++kind) {
      own[kind] = draw(2) == 0;
      loops[kind] = draw(2) == 0;
      for (Vertex runs = draw(3); runs > 0; --runs) {
        const Vertex step = 2 + draw(5), first = draw(step), last = n - 1 - draw(n / 6);
        for (Vertex j = first; j <= last; j += step) reads[kind][j] = true;
      }
    }
    Rows rows(n);
    for (Vertex i = 0; i < n; ++i) {
      const Vertex kind = i / block % kinds;
      for (Vertex j = 0; j < n; ++j) {
        if (reads[kind][j] || (own[kind] && i / block == j / block) || (loops[kind] && i == j)) rows[i].push_back(j);
      }
    }
    Sample ordered(n), shuffled(n);
    ordered.add(rows);
    shuffled.add(relabel(rows, random));
    const Group group = symmetry::compute_automorphisms(ordered.structure, budget), other = symmetry::compute_automorphisms(shuffled.structure, budget);
    REQUIRE(group.order == other.order);
    REQUIRE(group.symmetric_classes.size() == other.symmetric_classes.size());
    with_twins += group.symmetric_classes.empty() ? 0 : 1;
  }
  CHECK(with_twins >= 30);
  // Fixed attention both ways: blocks of 8, the last of each is read by all.
  constexpr Vertex n = 1024;
  Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (i / 8 == j / 8 || j % 8 == 7) rows[i].push_back(j);
    }
  }
  Sample fixed(n);
  fixed.add(rows);
  sightline::group::Order blocks;
  blocks.multiply_factorial(128);
  CHECK(order_of(fixed) == "7!^128 * " + blocks.value()->get_str());
}

TEST_CASE("axial attention: rows and columns of a grid") {
  const Vertex side = 64, n = side * side;
  std::vector<Part> rows, columns;
  for (Vertex r = 0; r < side; ++r) rows.push_back({r * side, {make_constant_run(r * side, r * side + side - 1)}});
  for (Vertex i = 0; i < n; ++i) {
    AffineRun column = make_constant_run(i % side, i % side + std::int64_t{side - 1} * side);
    column.step = side;
    columns.push_back({i, {column}});
  }
  Sample two(n);
  two.add(make_pattern(n, rows));
  two.add(make_pattern(n, columns));
  mpz_class factorial;
  mpz_fac_ui(factorial.get_mpz_t(), side);
  const Group group = symmetry::compute_automorphisms(two.structure, budget);
  CHECK(group.order == sightline::group::Order(factorial * factorial));
}

TEST_CASE("registers: a token may be moved only together with what reads it") {
  // Fano plane: 7 tokens, 7 equal registers, each reading and read by the three tokens of its line.
  Rows rows(14);
  for (Vertex line = 0; line < 7; ++line) {
    for (const Vertex point : {line, (line + 1) % 7, (line + 3) % 7}) {
      rows[7 + line].push_back(point);
      rows[point].push_back(7 + line);
    }
  }
  sightline::layout::Layout layout;
  layout.tokens = layout.registers = 7;
  layout.vertex_colour.assign(14, 0);
  for (Vertex x = 7; x < 14; ++x) layout.vertex_colour[x] = 1;
  layout.relations.emplace_back(sightline::layout::make_pattern_from_rows(14, rows), Relative{}, Cancels::nothing, 7);
  const Group group = symmetry::compute_layout_group(layout, budget);
  CHECK(group.degree == 7);
  CHECK(group.order == sightline::group::Order(168));
}

TEST_CASE("a limit of time is kept") {
  const Vertex n = 2000;
  Sample sample(n);
  std::mt19937_64 random(1);
  sample.add(random_rows(n, 0.01, random));
  const sightline::Budget none(1e-9, std::nullopt);
  CHECK_THROWS((void)symmetry::compute_automorphisms(sample.structure, none));
  const sightline::Budget small(std::nullopt, 1000);
  CHECK_THROWS((void)symmetry::compute_automorphisms(sample.structure, small));
}

TEST_CASE("memory that was booked is given back") {
  const Vertex n = 200;
  Sample sample(n);
  sample.add(make_window(n, 3, 3));
  const sightline::Budget budget_of_one_call(std::nullopt, 200'000);
  for (int k = 0; k < 100; ++k) {
    CHECK(symmetry::compute_automorphisms(sample.structure, budget_of_one_call).order.factored() == "2");
    CHECK(symmetry::find_isomorphism(sample.structure, sample.structure, budget_of_one_call).has_value());
  }
}
