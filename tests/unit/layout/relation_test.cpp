#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "dense_oracle.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

Pattern make_random_pattern(std::mt19937_64& engine, Vertex vertices, std::uint64_t colours) {
  std::vector<std::vector<Vertex>> rows(vertices);
  std::vector<std::vector<std::uint32_t>> row_colours(vertices);
  for (Vertex i = 0; i < vertices; ++i) {
    const std::uint64_t gap = 1 + draw_below(engine, 4);
    for (Vertex j = 0; j < vertices; ++j) {
      if (draw_below(engine, gap) != 0) continue;
      rows[i].push_back(j);
      row_colours[i].push_back(static_cast<std::uint32_t>(1 + draw_below(engine, colours)));
    }
  }
  return make_pattern_from_rows(vertices, rows, row_colours);
}

// Runs written out, with the same checks as for patterns.
std::map<Vertex, std::int64_t> write_out(const std::vector<ColouredRun>& runs) {
  std::map<Vertex, std::int64_t> out;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    if (k > 0) REQUIRE(runs[k - 1].first < runs[k].first);
    if (runs[k].first == runs[k].last) {
      REQUIRE(runs[k].step == 1);
      REQUIRE(runs[k].colour_step == 0);
    }
    std::int64_t colour = runs[k].colour;
    for (std::uint64_t j = runs[k].first; j <= runs[k].last; j += runs[k].step, colour += runs[k].colour_step) {
      REQUIRE(out.emplace(static_cast<Vertex>(j), colour).second);
      REQUIRE(colour >= 0);
    }
  }
  return out;
}

std::int64_t relative_of(const Relative& relative, std::int64_t i, std::int64_t j, std::int64_t tokens, std::int64_t vertices) {
  if (relative.kind == RelativeKind::column) return 1 + j;
  if (relative.kind == RelativeKind::pair) return 1 + i * vertices + j;
  if (i >= tokens || j >= tokens) return 0;
  const std::int64_t w = relative.grid_width;
  switch (relative.kind) {
  case RelativeKind::offset: return j - i + tokens;
  case RelativeKind::distance: return 1 + std::abs(i - j);
  case RelativeKind::bucket: return 1 + compute_t5_bucket(j - i, relative);
  case RelativeKind::grid_offset: return 1 + (j / w - i / w + (tokens + w - 1) / w) * (2 * w + 1) + j % w - i % w + w;
  default: return 0;
  }
}

}  // namespace

TEST_CASE("raw colours pair the matrix colour with the relative one") {
  std::mt19937_64 engine(21);
  for (const RelativeKind kind : {RelativeKind::none, RelativeKind::offset, RelativeKind::distance, RelativeKind::bucket,
                                  RelativeKind::grid_offset, RelativeKind::column, RelativeKind::pair}) {
    for (int round = 0; round < 200; ++round) {
      const auto tokens = static_cast<Vertex>(1 + draw_below(engine, 24)), registers = static_cast<Vertex>(draw_below(engine, 3));
      Relative relative;
      relative.kind = kind;
      relative.buckets = static_cast<std::uint32_t>(2 + draw_below(engine, 10));
      relative.max_distance = static_cast<std::uint32_t>(2 + draw_below(engine, 20));
      relative.bidirectional = draw_below(engine, 2) == 0;
      relative.grid_width = static_cast<std::uint32_t>(1 + draw_below(engine, 6));
      const Vertex vertices = tokens + registers;
      const Pattern pattern = make_random_pattern(engine, vertices, 1 + draw_below(engine, 3));
      const Relation relation(pattern, relative, Cancels::nothing, tokens);
      std::vector<ColouredRun> runs;
      for (Vertex i = 0; i < vertices; ++i) {
        std::map<Vertex, std::int64_t> expected;
        for (Vertex j = 0; j < vertices; ++j) {
          const std::uint32_t c = pattern.colour(i, j);
          if (c == 0) continue;
          const std::int64_t r = relative_of(relative, i, j, tokens, vertices);
          REQUIRE(r < relation.relative_count());
          expected[j] = 1 + (std::int64_t{c} - 1) * relation.relative_count() + r;
        }
        relation.raw_row(i, runs);
        CHECK(write_out(runs) == expected);
        relation.row(i, runs);
        CHECK(write_out(runs) == expected);
      }
    }
  }
}

TEST_CASE("effective colours forget what the normalisation cancels") {
  std::mt19937_64 engine(22);
  for (int round = 0; round < 800; ++round) {
    const auto tokens = static_cast<Vertex>(1 + draw_below(engine, 12)), registers = static_cast<Vertex>(draw_below(engine, 2));
    const Vertex vertices = tokens + registers;
    const Pattern pattern = make_random_pattern(engine, vertices, 1 + draw_below(engine, 2));
    Relative relative;
    relative.kind = std::array{RelativeKind::none, RelativeKind::offset, RelativeKind::distance}[draw_below(engine, 3)];
    const Relation single(pattern, relative, Cancels::single_colour, tokens);
    const Relation shift(pattern, relative, Cancels::common_shift, tokens);
    std::vector<ColouredRun> runs;
    std::map<std::int64_t, int> all_single, all_shift;
    for (Vertex i = 0; i < vertices; ++i) {
      single.raw_row(i, runs);
      const auto raw = write_out(runs);
      std::map<std::int64_t, int> kinds, matrix, parts;  // parts: of the relative position
      std::int64_t least = INT64_MAX;
      bool scales = relative.kind == RelativeKind::distance && i < tokens;
      for (const auto& [j, colour] : raw) {
        kinds[colour] = 1;
        parts[(colour - 1) % single.relative_count()] = 1;
        matrix[pattern.colour(i, j)] = 1;
        scales = scales && j < tokens;
        least = std::min(least, (colour - 1) % single.relative_count());
      }
      single.row(i, runs);
      const auto row = write_out(runs);
      shift.row(i, runs);
      const auto shifted = write_out(runs);
      REQUIRE(row.size() == raw.size());
      REQUIRE(shifted.size() == raw.size());
      for (const auto& [j, colour] : raw) {
        // Weights are products: a matrix part or a relative part that is single cancels by itself.
        const std::int64_t matrix_part = (colour - 1) / single.relative_count() * single.relative_count();
        const std::int64_t kept = colour - (matrix.size() == 1 ? matrix_part : 0) - (parts.size() == 1 ? (colour - 1) % single.relative_count() : 0);
        CHECK(row.at(j) == (kinds.size() == 1 ? 0 : kept));
        CHECK(single.colour(i, j) == row.at(j));
        all_single[row.at(j)] = 1;
        const std::int64_t r = (colour - 1) % single.relative_count() - (scales ? least : 0);
        const std::int64_t c = matrix.size() == 1 ? 0 : pattern.colour(i, j) - 1;
        CHECK(shifted.at(j) == c * single.relative_count() + r);
        all_shift[shifted.at(j)] = 1;
      }
    }
    CHECK(single.is_plain() == (all_single.size() <= 1));
    CHECK(shift.is_plain() == (all_shift.size() <= 1));
  }
}

TEST_CASE("rows of one matrix colour are recoloured alike: [[1,1],[2,2]] is plain when normalised") {
  const Pattern pattern = make_pattern_from_rows(2, {{0, 1}, {0, 1}}, {{1, 1}, {2, 2}});
  CHECK(Relation(pattern, {}, Cancels::single_colour, 2).is_plain());
  CHECK(!Relation(pattern, {}, Cancels::nothing, 2).is_plain());
}

TEST_CASE("T5 buckets: the last exact one, the shared ones, the last one") {
  Relative both{RelativeKind::bucket, 32, 128, true, 0}, left{RelativeKind::bucket, 32, 128, false, 0};
  // Bidirectional: 16 buckets a side, 8 exact.
  for (std::int64_t d = 0; d < 8; ++d) CHECK(compute_t5_bucket(-d, both) == d);
  CHECK(compute_t5_bucket(-8, both) == 8);
  CHECK(compute_t5_bucket(-9, both) == 8);
  CHECK(compute_t5_bucket(-11, both) == 8);
  CHECK(compute_t5_bucket(-12, both) == 9);
  CHECK(compute_t5_bucket(-15, both) == 9);
  CHECK(compute_t5_bucket(-16, both) == 10);
  CHECK(compute_t5_bucket(-23, both) == 11);
  CHECK(compute_t5_bucket(-32, both) == 12);
  CHECK(compute_t5_bucket(-64, both) == 14);
  CHECK(compute_t5_bucket(-90, both) == 14);
  CHECK(compute_t5_bucket(-91, both) == 15);
  CHECK(compute_t5_bucket(-128, both) == 15);
  CHECK(compute_t5_bucket(-100000, both) == 15);
  CHECK(compute_t5_bucket(1, both) == 17);
  CHECK(compute_t5_bucket(9, both) == 24);
  CHECK(compute_t5_bucket(100000, both) == 31);
  // Unidirectional: 16 exact, every later token counts as distance 0.
  CHECK(compute_t5_bucket(5, left) == 0);
  CHECK(compute_t5_bucket(-15, left) == 15);
  CHECK(compute_t5_bucket(-16, left) == 16);
  CHECK(compute_t5_bucket(-17, left) == 16);
  CHECK(compute_t5_bucket(-18, left) == 16);
  CHECK(compute_t5_bucket(-19, left) == 17);
  CHECK(compute_t5_bucket(-127, left) == 31);
  CHECK(compute_t5_bucket(-128, left) == 31);
}

TEST_CASE("T5 buckets grow with the distance, as bucket boundaries by bisection need") {
  for (const std::uint32_t buckets : {2u, 3u, 4u, 7u, 8u, 32u, 64u, 320u}) {
    for (const std::uint32_t max_distance : {1u, 2u, 5u, 20u, 128u, 800u, 4096u}) {
      for (const bool bidirectional : {false, true}) {
        const Relative relative{RelativeKind::bucket, buckets, max_distance, bidirectional, 0};
        for (const std::int64_t sign : {-1, 1}) {
          std::uint32_t last = compute_t5_bucket(sign, relative);
          for (std::int64_t d = 2; d < 5000; ++d) {
            const std::uint32_t bucket = compute_t5_bucket(sign * d, relative);
            REQUIRE(bucket >= last);
            REQUIRE(bucket < buckets);
            last = bucket;
          }
        }
      }
    }
  }
}

TEST_CASE("relations are equal when pattern, relative colours and cancelling are") {
  const Pattern a = make_pattern_from_rows(3, {{0, 1}, {1, 2}, {2}});
  const Relative offset{RelativeKind::offset};
  CHECK(Relation(a, offset, Cancels::nothing, 3) == Relation(a, offset, Cancels::nothing, 3));
  CHECK(!(Relation(a, offset, Cancels::nothing, 3) == Relation(a, {}, Cancels::nothing, 3)));
  CHECK(!(Relation(a, offset, Cancels::nothing, 3) == Relation(a, offset, Cancels::single_colour, 3)));
  Relative unused;
  unused.buckets = 7;
  CHECK(Relation(a, unused, Cancels::nothing, 3) == Relation(a, {}, Cancels::nothing, 3));
  CHECK_THROWS_AS(Relation(a, {}, Cancels::nothing, 4), ArgumentError);
}

TEST_CASE("equal registers are two registers of one colour") {
  Layout layout;
  layout.tokens = 2;
  layout.registers = 2;
  layout.vertex_colour = {5, 5, 7, 8};
  CHECK(!layout.has_equal_registers());
  layout.vertex_colour = {5, 5, 7, 7};
  CHECK(layout.has_equal_registers());
  layout.registers = 0;
  layout.vertex_colour = {5, 5};
  CHECK(!layout.has_equal_registers());
}
