// Numbers that theory.md 15.5 and 15.8 state.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "model.hpp"
#include "sightline/base/error.hpp"

using namespace sight_labels;
using sightline::sight::reduced_vocabulary;

namespace {

std::optional<std::uint64_t> needed(const Model& model) { return answer(model, std::nullopt).needed; }

Model make_model(Vertex tokens, bool bos, ClassKind target_class, std::vector<Head> heads) {
  Model model;
  model.tokens = tokens;
  model.bos = bos;
  model.target_class = target_class;
  model.heads = std::move(heads);
  for (std::uint32_t h = 0; h < model.heads.size(); ++h) model.layers.push_back({h});
  return model;
}

void act_by_symmetric_group(Model& model, Vertex from) {
  for (Vertex a = from; a + 1 < model.tokens; ++a) {
    std::vector<std::uint32_t> images(model.tokens);
    std::iota(images.begin(), images.end(), 0);
    std::swap(images[a], images[a + 1]);
    model.generators.push_back(images);
  }
}

Head full(Vertex n, RowRule rule, RelativeKind kind = RelativeKind::none) {
  return make_head(rule, kind, n, [](Vertex, Vertex) { return true; });
}

Head causal(Vertex n, RowRule rule, RelativeKind kind = RelativeKind::none) {
  return make_head(rule, kind, n, [](Vertex i, Vertex j) { return j <= i; });
}

}  // namespace

TEST_CASE("full attention without positions: all symmetric functions in one layer (D2)") {
  for (Vertex n = 1; n <= 5; ++n) {
    Model model = make_model(n, false, ClassKind::all, {full(n, RowRule::frequency)});
    act_by_symmetric_group(model, 0);
    CHECK(needed(model) == (n == 1 ? 0u : 1u));
  }
}

TEST_CASE("max pooling sees sets only: impossible from three tokens on, with BOS from four (D2, 15.8 j)") {
  for (Vertex n = 2; n <= 5; ++n) {
    for (const bool bos : {false, true}) {
      Model model = make_model(n, bos, ClassKind::all, {full(n, RowRule::set)});
      act_by_symmetric_group(model, bos ? 1 : 0);
      CHECK(needed(model).has_value() == (n < (bos ? 4u : 3u)));
    }
  }
}

TEST_CASE("causal attention without positions: BOS or a sink order the tokens in two layers, nothing else does (D3)") {
  for (Vertex n = 1; n <= 7; ++n) {
    CHECK(needed(make_model(n, true, ClassKind::causal, {causal(n, RowRule::frequency)})) == (n <= 2 ? 0u : n == 3 ? 1u : 2u));
    CHECK(needed(make_model(n, false, ClassKind::causal, {causal(n, RowRule::multiset)})) == (n == 1 ? 0u : n == 2 ? 1u : 2u));
    if (n == 1) continue;
    for (const auto& [rule, kind] : {std::pair(RowRule::frequency, RelativeKind::none), std::pair(RowRule::rotary, RelativeKind::offset),
                                     std::pair(RowRule::learned, RelativeKind::offset), std::pair(RowRule::alibi, RelativeKind::distance)}) {
      const auto found = answer(make_model(n, false, ClassKind::causal, {causal(n, rule, kind)}), std::nullopt);
      CHECK(!found.needed);
      // Constant prefixes: the tokens 0 and 1 of (a, a, ...) are one to every network.
      CHECK(found.below_needed->x == std::vector<std::uint32_t>(n, 0));
      CHECK(found.below_needed->a == 0);
      CHECK(found.below_needed->b == 1);
    }
  }
}

TEST_CASE("causal windows with BOS need max(1, ceil((n-2)/w)) layers (D4, 15.8 j)") {
  for (const auto& [rule, kind] : {std::pair(RowRule::rotary, RelativeKind::offset), std::pair(RowRule::learned, RelativeKind::offset),
                                   std::pair(RowRule::alibi, RelativeKind::distance)}) {
    for (Vertex n = 3; n <= 8; ++n) {
      for (Vertex w = 1; w < n; ++w) {
        const Head window = make_head(rule, kind, n, [w](Vertex i, Vertex j) { return j <= i && i <= j + w; });
        CHECK(needed(make_model(n, true, ClassKind::causal, {window})) == std::max<std::uint64_t>(1, (n - 2 + w - 1) / w));
      }
    }
  }
}

TEST_CASE("small n: windows of the own token alone, and two tokens with BOS (15.8 j)") {
  for (Vertex n = 2; n <= 4; ++n) {
    const Head own = make_head(RowRule::rotary, RelativeKind::offset, n, [](Vertex i, Vertex j) { return i == j; });
    const auto found = needed(make_model(n, true, ClassKind::causal, {own}));
    if (n == 2) CHECK(found == 0u);
    else CHECK(!found);
  }
  CHECK(needed(make_model(1, true, ClassKind::all, {full(1, RowRule::frequency)})) == 0u);
  CHECK(needed(make_model(2, true, ClassKind::causal, {causal(2, RowRule::frequency)})) == 0u);
  CHECK(needed(make_model(2, true, ClassKind::all, {full(2, RowRule::frequency)})) == 1u);
  CHECK(needed(make_model(2, true, ClassKind::all, {full(2, RowRule::rotary, RelativeKind::offset)})) == 1u);
}

TEST_CASE("bidirectional ALiBi with BOS: one layer up to three tokens, two from four on (D5)") {
  for (Vertex n = 2; n <= 8; ++n) {
    CHECK(needed(make_model(n, true, ClassKind::all, {full(n, RowRule::alibi, RelativeKind::distance)})) == (n <= 3 ? 1u : 2u));
  }
}

TEST_CASE("T5 buckets, full, with BOS: one layer up to nine tokens, two from ten on (D5)") {
  for (Vertex n = 8; n <= 11; ++n) CHECK(needed(make_model(n, true, ClassKind::all, {full(n, RowRule::learned, RelativeKind::bucket)})) == (n <= 9 ? 1u : 2u));
}

TEST_CASE("chunked rotary and full layers without positions, with BOS, in turn (D5)") {
  const auto chunked = [](Vertex n) {
    return make_head(RowRule::rotary, RelativeKind::offset, n, [](Vertex i, Vertex j) { return j <= i && i / 2 == j / 2; });
  };
  CHECK(needed(make_model(6, true, ClassKind::causal, {chunked(6), causal(6, RowRule::frequency)})) == 2u);
  CHECK(needed(make_model(7, true, ClassKind::causal, {chunked(7), causal(7, RowRule::frequency)})) == 4u);
  Model three_to_one = make_model(7, true, ClassKind::causal, {chunked(7), causal(7, RowRule::frequency)});
  three_to_one.layers = {{0}, {0}, {0}, {1}};
  CHECK(needed(three_to_one) == 8u);
  three_to_one.tokens = 6;
  three_to_one.heads = {chunked(6), causal(6, RowRule::frequency)};
  CHECK(needed(three_to_one) == 4u);
}

TEST_CASE("full causal layers with and without rotary positions, with BOS (D5)") {
  for (Vertex n = 4; n <= 7; ++n) {
    const Head rotary = causal(n, RowRule::rotary, RelativeKind::offset), plain = causal(n, RowRule::frequency);
    CHECK(needed(make_model(n, true, ClassKind::causal, {rotary, plain})) == 1u);
    CHECK(needed(make_model(n, true, ClassKind::causal, {plain, rotary})) == 2u);
  }
}

TEST_CASE("a path of three with loops is impossible on ids; one register read by all repairs it in two layers (D6, 15.8 c)") {
  const auto path = [](Vertex vertices) {
    return make_head(RowRule::frequency, RelativeKind::none, vertices, [](Vertex i, Vertex j) {
      return i == 3 || j == 3 ? j == 3 : i <= j + 1 && j <= i + 1;
    });
  };
  Model model = make_model(3, false, ClassKind::all, {path(3)});
  model.generators = {{2, 1, 0}};
  const auto found = answer(model, 2);
  CHECK(!found.needed);
  CHECK(found.at_given->x == std::vector<std::uint32_t>{0, 0, 0});
  CHECK(found.at_given->a == 0);
  CHECK(found.at_given->b == 1);
  model.heads = {path(4)};
  model.registers = {7};
  CHECK(needed(model) == 2u);
}

TEST_CASE("empty rows break the constant inputs: two tokens that read 0 from 1, then 1 from 0 (15.8 c)") {
  Model model;
  model.tokens = 2;
  Head first, second;
  first.rows = {{}, {{0, 1}}};
  second.rows = {{{1, 1}}, {}};
  model.heads = {first, second};
  model.layers = {{0}, {1}};
  CHECK(needed(model) == 2u);
}

TEST_CASE("un-normalised mixing on directed rows can still be coarser than the orbits (D6)") {
  Model model;
  model.tokens = 3;
  Head head;
  head.rule = RowRule::multiset;
  head.rows = {{{0, 1}, {1, 1}}, {{0, 1}, {2, 1}}, {{0, 1}, {1, 1}}};
  model.heads = {head};
  model.layers = {{0}};
  const auto found = answer(model, std::nullopt);
  CHECK(!found.needed);
  CHECK(found.below_needed->x == std::vector<std::uint32_t>{0, 0, 0});
}

TEST_CASE("Linformer: equal ids of one input stay equal for ever; learned positions tell all in one layer (15.4)") {
  Model model = make_model(3, false, ClassKind::all, {full(3, RowRule::whole)});
  const auto found = answer(model, std::nullopt);
  CHECK(!found.needed);
  CHECK(found.below_needed->x == std::vector<std::uint32_t>{0, 0, 0});
  model.absolute = true;
  CHECK(needed(model) == 1u);
  model.absolute = false;
  act_by_symmetric_group(model, 0);
  CHECK(needed(model) == 1u);
}

TEST_CASE("learned positions: reach decides (D1)") {
  for (Vertex n = 3; n <= 6; ++n) {
    Model model = make_model(n, false, ClassKind::all, {make_head(RowRule::frequency, RelativeKind::none, n, [](Vertex i, Vertex j) {
                               return i <= j + 1 && j <= i + 1;
                             })});
    model.absolute = true;
    CHECK(needed(model) == n - 1);
  }
}

TEST_CASE("equal registers are compared by rank, not by single colours (15.8 g)") {
  Model model;
  model.tokens = 2;
  model.registers = {0, 0};
  Head reads_registers;
  reads_registers.rule = RowRule::learned;
  reads_registers.rows = {{{2, 1}, {3, 2}}, {{2, 1}}, {}, {}};
  Head mixes;
  mixes.rows = {{{0, 1}, {1, 1}}, {{0, 1}, {1, 1}}, {}, {}};
  model.heads = {reads_registers, mixes};
  model.layers = {{0}, {1}};
  CHECK(!needed(model));
  model.generators = {{1, 0}};
  CHECK(needed(model) == 2u);
}

TEST_CASE("two tokens and two ids have three target labels under S_2, BOS moves are ruled out") {
  Model model = make_model(2, false, ClassKind::all, {full(2, RowRule::frequency)});
  model.generators = {{1, 0}};
  CHECK(answer(model, 1).distinct_targets == 4);
  model.bos = true;
  CHECK(answer(model, 1).distinct_targets == 4);
  CHECK(needed(model) == 1u);
}

TEST_CASE("the number of ids that decides (15.8 d)") {
  CHECK(reduced_vocabulary(5, 32000, false) == 5);
  CHECK(reduced_vocabulary(5, 32000, true) == 4);
  CHECK(reduced_vocabulary(5, 3, true) == 3);
  CHECK(reduced_vocabulary(5, std::nullopt, false) == 5);
  CHECK(reduced_vocabulary(5, std::nullopt, true) == 4);
  CHECK(reduced_vocabulary(1, 10, false) == 2);
  CHECK(reduced_vocabulary(1, std::nullopt, true) == 2);
}

TEST_CASE("malformed questions are refused") {
  Model model = make_model(3, false, ClassKind::all, {full(3, RowRule::alibi)});
  CHECK_THROWS_AS(needed(model), sightline::ArgumentError);
  model.heads[0].rule = RowRule::frequency;
  model.vocabulary = 1;
  CHECK_THROWS_AS(needed(model), sightline::ArgumentError);
  model.vocabulary = 2;
  CHECK(needed(model) == std::nullopt);
}

TEST_SUITE("slow") {
  TEST_CASE("one-directional T5 buckets with BOS, causal: 16 and 17 are the first to share one (D5)") {
    const auto one_layer = [](Vertex n) {
      Head head = causal(n, RowRule::learned, RelativeKind::bucket);
      head.relative.bidirectional = false;
      return needed(make_model(n, true, ClassKind::causal, {head}));
    };
    CHECK(one_layer(14) == 1u);
    CHECK(one_layer(17) == 1u);
    CHECK(one_layer(18) == 1u);
    CHECK(one_layer(19) == 2u);
  }
}
