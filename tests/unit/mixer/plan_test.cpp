// Plans: rows and colours, the orders of exact mode, rotary positions; the other operations; what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "problem.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/pattern_spec.hpp"

namespace sightline::mixer {
namespace {

using layout::PatternKind;
using layout::PatternSpec;
using layout::Relation;
using Kind = SummationOrder::Kind;

Relation make_relation(const PatternSpec& spec, layout::Vertex tokens, layout::Vertex registers = 0,
                       layout::Relative relative = {}, layout::Cancels cancels = layout::Cancels::nothing) {
  return {layout::make_patterns(spec, {tokens, registers, 1}, Budget()).front(), relative, cancels, tokens};
}

SummationOrder find_order(const Relation& relation) { return make_plan({&relation, 1}, Budget())->order(); }

PatternSpec make_window(std::int64_t before, std::int64_t after, bool wrap) {
  PatternSpec spec;
  spec.kind = PatternKind::window;
  spec.before = before;
  spec.after = after;
  spec.wrap = wrap;
  return spec;
}

PatternSpec make_blocks(std::int64_t size) {
  PatternSpec spec;
  spec.kind = PatternKind::blocks;
  spec.size = size;
  return spec;
}

TEST_CASE("order of exact mode: what the group of the layout asks for") {
  CHECK(find_order(make_relation(make_window(2, 0, false), 9)).kind == Kind::natural);
  CHECK(find_order(make_relation(make_window(2, 0, true), 9)).kind == Kind::cyclic);
  CHECK(find_order(make_relation(make_window(1, 1, true), 9)).kind == Kind::dihedral);
  CHECK(find_order(make_relation(make_window(1, 1, false), 9)).kind == Kind::dihedral); // the reflection alone
  // A global token fixed by all, the others a ring.
  PatternSpec star;
  star.kind = PatternKind::star;
  const SummationOrder ring = find_order(make_relation(star, 7, 1));
  CHECK(ring.kind == Kind::dihedral);
  CHECK(ring.first == 0);
  CHECK(ring.extent == 7);
  // Directed torus of 3 x 4: (r, c) reads (r + 1, c) and (r, c + 1), and so no reflection survives.
  std::vector<std::vector<layout::Vertex>> rows;
  for (layout::Vertex r = 0; r < 3; ++r)
    for (layout::Vertex c = 0; c < 4; ++c)
      rows.push_back({(r + 1) % 3 * 4 + c, r * 4 + (c + 1) % 4});
  std::vector<std::vector<std::uint32_t>> colours(12, {1, 2});
  const SummationOrder torus =
      find_order({layout::make_pattern_from_rows(12, rows, colours), {}, layout::Cancels::nothing, 12});
  CHECK(torus.kind == Kind::torus);
  CHECK(torus.columns == 4);
  CHECK(torus.extent == 12);
  const SummationOrder blocks = find_order(make_relation(make_blocks(3), 9));
  CHECK(blocks.kind == Kind::value);
  CHECK(blocks.twin_class == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 2, 2, 2});
  CHECK_FALSE(blocks.classes_are_fixed);
  const SummationOrder unequal = find_order(make_relation(make_blocks(3), 5));
  CHECK(unequal.twin_class == std::vector<std::uint32_t>{0, 0, 0, 1, 1});
  CHECK(unequal.classes_are_fixed);
  PatternSpec full;
  CHECK(find_order(make_relation(full, 5)).twin_class == std::vector<std::uint32_t>(5, 0));
  CHECK(make_full_plan(4, 3)->order().kind == Kind::value);
}

TEST_CASE("positions count inside a component") {
  layout::Relative offset;
  offset.kind = layout::RelativeKind::offset;
  const Relation blocks = make_relation(make_blocks(3), 7, 1, offset, layout::Cancels::single_colour);
  CHECK(make_plan({&blocks, 1}, Budget())->positions() == std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0});
  const Relation window = make_relation(make_window(2, 0, false), 5, 0, offset);
  CHECK(make_plan({&window, 1}, Budget())->positions() == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  // Rows of one arc: the weight is 1 whatever the offset, unless something is added to the denominator.
  const std::vector<std::vector<layout::Vertex>> rows = {{1}, {2}, {0}};
  const Relation forgets(layout::make_pattern_from_rows(3, rows), offset, layout::Cancels::single_colour, 3);
  const Relation keeps(layout::make_pattern_from_rows(3, rows), offset, layout::Cancels::nothing, 3);
  CHECK(make_plan({&forgets, 1}, Budget())->positions() == std::vector<std::int64_t>{0, 0, 0});
  CHECK(make_plan({&keeps, 1}, Budget())->positions() == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("scores under rotary positions depend on differences: the angle is that of j - i") {
  layout::Relative offset;
  offset.kind = layout::RelativeKind::offset;
  PatternSpec full;
  const Relation relation = make_relation(full, 6, 1, offset);
  const auto plan = make_plan({&relation, 1}, Budget());
  const Shape shape{1, 1, 1, 7, 7, 4, 0};
  std::vector<double> in(28), out(28), back(28);
  for (std::size_t k = 0; k < in.size(); ++k)
    in[k] = std::sin(static_cast<double>(k % 4) + 1); // every token alike
  rotate<double>(*plan, shape, {in.data(), 28, 28, 4}, {out.data(), 28, 28, 4}, false, {});
  rotate<double>(*plan, shape, {out.data(), 28, 28, 4}, {back.data(), 28, 28, 4}, true, {});
  for (std::size_t k = 0; k < in.size(); ++k)
    CHECK(back[k] == doctest::Approx(in[k]));
  for (std::size_t k = 24; k < 28; ++k)
    CHECK(out[k] == in[k]); // the register keeps still
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      double score = 0, expected = 0;
      for (std::size_t c = 0; c < 4; ++c)
        score += out[4 * i + c] * out[4 * j + c];
      for (std::size_t p = 0; p < 2; ++p) {
        const double angle = (static_cast<double>(j) - static_cast<double>(i)) / (p == 0 ? 1 : 100);
        expected += (in[2 * p] * in[2 * p] + in[2 * p + 1] * in[2 * p + 1]) * std::cos(angle);
      }
      CHECK(score == doctest::Approx(expected));
    }
  }
}

TEST_CASE("convolution, linear mixing, pooling, projections") {
  const std::vector<std::int64_t> taps = {0, -1, 6};
  const auto convolution = make_convolution_plan(5, 1, taps, Budget());
  CHECK(count_colours(*convolution) == 3);
  const Shape shape{1, 1, 1, 6, 6, 0, 1};
  const std::vector<double> value = {1, 2, 3, 4, 5, 100}, weight = {1, 10, 100};
  std::vector<double> out(6);
  aggregate<double>(*convolution, Aggregation::sum, shape, {{value.data(), 6, 6, 1}, weight.data()},
                    {out.data(), 6, 6, 1}, {});
  CHECK(out == std::vector<double>{1 + 50 + 200, 2 + 10 + 300, 3 + 20 + 400, 4 + 30 + 500, 5 + 40 + 100, 0});
  CHECK(make_convolution_plan(5, 0, taps, Budget())->order().kind == Kind::cyclic);
  CHECK_THROWS_AS((void)make_convolution_plan(5, 0, std::vector<std::int64_t>{1, 6}, Budget()), ArgumentError);

  layout::Relative pair;
  pair.kind = layout::RelativeKind::pair;
  PatternSpec full;
  const Relation relation = make_relation(full, 3, 0, pair);
  const auto linear = make_plan({&relation, 1}, Budget());
  REQUIRE(count_colours(*linear) == 10);
  const std::vector<double> matrix = {99, 1, 2, 3, 4, 5, 6, 7, 8, 9}; // colour 1 + 3 i + j
  const Shape three{1, 1, 1, 3, 3, 0, 1};
  aggregate<double>(*linear, Aggregation::sum, three, {{value.data(), 3, 3, 1}, matrix.data()}, {out.data(), 3, 3, 1},
                    {});
  CHECK(out[0] == 14);
  CHECK(out[1] == 32);
  CHECK(out[2] == 50);

  const std::vector<std::vector<std::int64_t>> blocks = {{0, 2}, {4, 3, 1}, {}};
  const auto pooling = make_pooling_plan(blocks, 5);
  const Shape pooled{1, 1, 1, 3, 5, 0, 1};
  aggregate<double>(*pooling, Aggregation::mean, pooled, {{value.data(), 5, 5, 1}}, {out.data(), 3, 3, 1}, {});
  CHECK(out[0] == 2);
  CHECK(out[1] == doctest::Approx(11.0 / 3));
  CHECK(out[2] == 0);
  const std::int64_t length = 2;
  aggregate<double>(*pooling, Aggregation::mean, pooled, {{value.data(), 5, 5, 1}, nullptr, &length},
                    {out.data(), 3, 3, 1}, {});
  CHECK(out[0] == 1);
  CHECK(out[1] == 2);
  CHECK_THROWS_AS((void)make_pooling_plan(std::vector<std::vector<std::int64_t>>{{0, 0}}, 5), ArgumentError);
  CHECK_THROWS_AS((void)make_pooling_plan(std::vector<std::vector<std::int64_t>>{{5}}, 5), ArgumentError);

  // E^T v with E [3 tokens, 2 landmarks] row-major.
  const auto projection = make_full_plan(2, 3, true);
  const std::vector<double> e = {1, 2, 3, 4, 5, 6};
  const Shape projected{1, 1, 1, 2, 3, 0, 1};
  aggregate<double>(*projection, Aggregation::sum, projected, {{value.data(), 3, 3, 1}, e.data()},
                    {out.data(), 2, 2, 1}, {});
  CHECK(out[0] == 1 + 6 + 15);
  CHECK(out[1] == 2 + 8 + 18);
}

TEST_CASE("the maximum shares its gradient in exact mode only") {
  PatternSpec full;
  const Relation relation = make_relation(full, 3);
  const auto plan = make_plan({&relation, 1}, Budget());
  const Shape shape{1, 1, 1, 3, 3, 0, 1};
  const std::vector<double> value = {2, 2, 1}, grad_out = {1, 1, 1};
  std::vector<double> gradient(3);
  for (const bool exact : {false, true}) {
    aggregate_backward<double>(*plan, Aggregation::max, shape, {{value.data(), 3, 3, 1}}, {grad_out.data(), 3, 3, 1},
                               {gradient.data(), 3, 3, 1}, nullptr, {Implementation::reference, 1, exact});
    CHECK(gradient == (exact ? std::vector<double>{1.5, 1.5, 0} : std::vector<double>{3, 0, 0}));
  }
}

TEST_CASE("a row's product does not depend on the other rows") {
  Random random(41);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t rows = pick(random, 1, 70), depth = pick(random, 1, 90), columns = pick(random, 1, 70);
    std::vector<float> in(static_cast<std::size_t>(rows * depth)), weight(static_cast<std::size_t>(columns * depth)),
        bias(static_cast<std::size_t>(columns));
    for (auto* numbers : {&in, &weight, &bias})
      for (float& number : *numbers)
        number = static_cast<float>(normal(random));
    const float* const b = chance(random, 50) ? bias.data() : nullptr;
    for (const auto implementation : {Implementation::reference, Implementation::cpu}) {
      std::vector<float> all(static_cast<std::size_t>(rows * columns)), one(static_cast<std::size_t>(columns));
      multiply_rows<float>(in.data(), weight.data(), b, rows, depth, columns, all.data(),
                           {implementation, static_cast<int>(pick(random, 1, 3))});
      for (std::int64_t r = 0; r < rows; ++r) {
        multiply_rows<float>(in.data() + r * depth, weight.data(), b, 1, depth, columns, one.data(), {implementation});
        CHECK(std::memcmp(one.data(), all.data() + r * columns, one.size() * sizeof(float)) == 0);
      }
      double worst = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t k = 0; k < columns; ++k) {
          double sum = b == nullptr ? 0 : b[k];
          for (std::int64_t c = 0; c < depth; ++c)
            sum +=
                double(in[static_cast<std::size_t>(r * depth + c)]) * weight[static_cast<std::size_t>(k * depth + c)];
          worst = std::max(worst, std::abs(sum - all[static_cast<std::size_t>(r * columns + k)]));
        }
      }
      CHECK(worst < 1e-4);
    }
  }
}

TEST_CASE("what is refused") {
  CHECK_THROWS_AS((void)make_plan({}, Budget()), ArgumentError);
  PatternSpec full;
  const std::vector<Relation> heads = {make_relation(full, 3), make_relation(full, 4)};
  CHECK_THROWS_AS((void)make_plan(heads, Budget()), ArgumentError);
  Random random(1);
  Problem problem = draw_attention(random, {"", {make_relation(full, 3)}}, "softmax", true);
  Numbers<double> numbers = draw_numbers<double>(problem, random);
  const auto refused = [&](auto change) {
    Problem wrong = problem;
    change(wrong);
    CHECK_THROWS((void)run_forward(wrong, numbers, {}));
  };
  refused([](Problem& p) { p.shape.readers = 2; });
  refused([](Problem& p) {
    p.shape.heads = 3;
    p.shape.key_heads = 2;
  });
  refused([](Problem& p) { p.rule.top_k = 0; });
  refused([](Problem& p) { p.rule.eps = -1; });
  refused([](Problem& p) { p.rule.slopes.assign(7, 1.0); });
  refused([](Problem& p) {
    p.rule.kernel.name = "performer";
    p.rule.kernel.features = {{1, 2, 3, 4, 5}};
  });
  refused([](Problem& p) {
    p.rule.kernel.name = "";
    p.rule.kernel.text = "dot([1,2,3,4,5],y)";
  });
  refused([](Problem& p) {
    p.is_attention = false;
    p.aggregation = Aggregation::max;
    p.has_bias = true;
  });
}

} // namespace
} // namespace sightline::mixer
