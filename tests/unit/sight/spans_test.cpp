// Views as a few intervals each (docs/theory.md 16.48) against columns of bits.
#include <doctest/doctest.h>

#include <random>

#include "oracle.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

// Sinks, globals, dilations with and without a common divisor, circles, segments, what a causal mask leaves of these, and a few arcs to anywhere.
oracle::Rows make_rows(std::mt19937_64& random, Vertex vertices, Vertex tokens) {
  const auto draw = [&](Vertex most) { return static_cast<Vertex>(random() % most); };
  const Vertex before = draw(4), after = draw(3), step = 1 + draw(5), sinks = draw(4), size = 2 + draw(9), shift = draw(size);
  const bool wraps = draw(4) == 0, causal = draw(3) == 0, in_segments = draw(4) == 0, has_hub = draw(5) == 0, is_holed = draw(4) == 0;
  const Vertex strays = draw(3) == 0 ? draw(6) : 0, hub = draw(vertices);
  oracle::Rows rows(vertices);
  for (Vertex i = 0; i < vertices; ++i) {
    std::vector<bool> read(vertices, false);
    for (Vertex k = 0; k <= before + after && i < tokens; ++k) {
      const std::int64_t j = std::int64_t{i} + (std::int64_t{k} - before) * step;
      if (is_holed && k == before + 1) continue;
      if (j >= 0 && j < tokens) read[static_cast<std::size_t>(j)] = true;
      if (wraps) read[static_cast<std::size_t>((j + 20 * std::int64_t{tokens}) % tokens)] = true;
    }
    for (Vertex j = 0; j < tokens && i < tokens; ++j) {
      if (in_segments && (i + shift) / size == (j + shift) / size) read[j] = true;
      if (j < sinks || (has_hub && (j == hub || i == hub))) read[j] = true;
      if (causal && j > i) read[j] = false;
    }
    if (i >= tokens || (has_hub && hub >= tokens)) read[i >= tokens ? draw(vertices) : hub] = true;
    for (Vertex j = 0; j < vertices; ++j) {
      if (read[j]) rows[i].push_back(j);
    }
  }
  for (Vertex k = 0; k < strays; ++k) {
    auto& row = rows[draw(vertices)];
    const Vertex j = draw(vertices);
    if (std::find(row.begin(), row.end(), j) == row.end()) row.insert(std::upper_bound(row.begin(), row.end(), j), j);
  }
  return rows;
}

}  // namespace

TEST_CASE("views as a few intervals are those found column by column") {
  std::mt19937_64 random(1648);
  int answered = 0, never = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const auto tokens = static_cast<Vertex>(20 + random() % 90), registers = static_cast<Vertex>(random() % 4 == 0 ? 1 + random() % 2 : 0);
    std::vector<std::vector<oracle::Head>> layers(1 + random() % 4);
    for (auto& layer : layers) layer.push_back({make_rows(random, tokens + registers, tokens), {}, {}, layout::Cancels::nothing});
    Layout layout = oracle::make_layout(tokens, registers, layers);
    if (random() % 3 == 0) layout.order.insert(layout.order.begin(), 1 + random() % 5, layout.order.front());
    ReachQuestion question;
    question.layout = &layout;
    question.skip = random() % 3;
    question.registers_too = random() % 3 == 0;
    question.wanted = {std::array{ClassKind::all, ClassKind::causal, ClassKind::seen}[random() % 3], random() % 4 == 0};
    if (question.wanted.kind == ClassKind::causal) question.registers_too = false;
    question.find_layers = true;
    const Connected expected = answer_by_bits(question, unlimited).reach;
    const auto found = answer_by_spans(question, unlimited);
    REQUIRE(found.has_value() == expected.layers.has_value());
    found ? ++answered : ++never;
    if (found) {
      REQUIRE(found->reach.layers == expected.layers);
      REQUIRE(found->reach.witness.has_value() == (expected.layers != std::uint64_t{0}));
    }
    question.find_layers = false;
    question.count_unseen = true;
    for (const std::optional<std::uint64_t> depth : {std::optional<std::uint64_t>{}, std::optional(random() % 4), std::optional(random() % 20), std::optional(random() % 100)}) {
      question.depth = depth;
      const auto counted = answer_by_spans(question, unlimited);
      REQUIRE(counted);
      REQUIRE(counted->unseen == answer_by_bits(question, unlimited).unseen);
    }
    if (!found || !found->reach.witness) continue;
    // What the witness says is unseen is unseen one layer before.
    const auto [reader, unseen] = *found->reach.witness;
    REQUIRE(is_wanted(question, reader, unseen));
    REQUIRE(compute_latest_after(layout, question.skip, *expected.layers - 1, reader, unlimited)[unseen] < 0);
  }
  CHECK(answered > 250);
  CHECK(never > 30);
}

}  // namespace sightline::sight
