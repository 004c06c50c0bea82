// Answers that are kept are the answers that are found: for every question, in any order, and not for a layout that was changed meanwhile.
#include <doctest/doctest.h>

#include <random>

#include "sightline/layout/pattern_spec.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

layout::PatternSpec random_pattern(std::mt19937& random) {
  layout::PatternSpec spec;
  const layout::PatternKind kinds[] = {layout::PatternKind::window, layout::PatternKind::ring, layout::PatternKind::full, layout::PatternKind::blocks,
                                       layout::PatternKind::shifted_blocks, layout::PatternKind::strided};
  spec.kind = kinds[random() % std::size(kinds)];
  spec.causal = random() % 3 == 0 && spec.kind != layout::PatternKind::ring;
  if (spec.kind == layout::PatternKind::window || spec.kind == layout::PatternKind::ring) spec.radius = 1 + random() % 300;
  if (spec.kind == layout::PatternKind::window && random() % 2 == 0) spec.global = {0, 700};
  if (spec.kind == layout::PatternKind::blocks || spec.kind == layout::PatternKind::shifted_blocks) spec.size = 40 + random() % 400;
  if (spec.kind == layout::PatternKind::shifted_blocks) spec.shift = 20;
  if (spec.kind == layout::PatternKind::strided) spec.stride = 20 + random() % 30;
  return spec;
}

Layout random_layout(std::mt19937& random) {
  Layout layout;
  layout.tokens = 1200 + random() % 200;
  layout.registers = random() % 2;
  layout.vertex_colour.assign(layout.vertices(), 0);
  if (layout.registers > 0) layout.vertex_colour.back() = 1;
  const std::size_t layers = 1 + random() % 3;
  for (std::size_t k = 0; k < layers; ++k) {
    layout.relations.emplace_back(layout::make_patterns(random_pattern(random), {layout.tokens, layout.registers, 1}, unlimited).front(), layout::Relative{},
                                  layout::Cancels::nothing, layout.tokens);
    layout.layers.push_back({{static_cast<std::uint32_t>(k)}});
  }
  for (std::size_t k = 0; k < 4; ++k) layout.order.push_back(static_cast<std::uint32_t>(random() % layers));
  return layout;
}

ReachQuestion random_question(std::mt19937& random, const Layout& layout) {
  ReachQuestion question;
  question.layout = &layout;
  question.skip = random() % 5;
  question.wanted = {static_cast<ClassKind>(random() % 3), random() % 4 == 0};
  question.registers_too = random() % 2 == 0 && question.wanted.kind != ClassKind::causal && !question.wanted.ordinary_only;
  question.count_unseen = random() % 2 == 0;
  question.find_layers = !question.count_unseen;
  if (question.count_unseen && random() % 3 > 0) question.depth = random() % 6;
  return question;
}

// Of what was asked about: after how many layers all is seen may be found on the way, and is then kept.
void require_same(const ReachQuestion& question, const ReachAnswer& a, const ReachAnswer& b) {
  if (question.count_unseen) REQUIRE(a.unseen == b.unseen);
  if (!question.find_layers) return;
  REQUIRE(a.reach.layers == b.reach.layers);
  REQUIRE(a.reach.witness.has_value() == b.reach.witness.has_value());
  if (a.reach.witness) REQUIRE((a.reach.witness->reader == b.reach.witness->reader && a.reach.witness->unseen == b.reach.witness->unseen));
}

void check_memory(int layouts, unsigned seed) {
  std::mt19937 random(seed);
  for (int k = 0; k < layouts; ++k) {
    Layout layout = random_layout(random);
    std::vector<ReachQuestion> questions;
    for (int q = 0; q < 10; ++q) questions.push_back(random_question(random, layout));
    const ReachMemory memory;
    REQUIRE(ReachMemory::find(layout) != nullptr);
    for (int round = 0; round < 2; ++round) {
      for (const ReachQuestion& question : questions) {
        const ReachAnswer remembered = answer_reach(question, unlimited);
        ReachAnswer found;
        {
          const ReachMemory fresh;  // knows nothing
          found = answer_reach(question, unlimited);
        }
        require_same(question, remembered, found);
        REQUIRE(ReachMemory::find(layout)->answers.contains(ReachMemory::make_key(*ReachMemory::find(layout), question, ReachMemory::Way::cheap)));
      }
    }
    // The same object with other layers is another layout.
    const ReachMemory::Entry* before = ReachMemory::find(layout);
    layout.order = {layout.order.front()};
    if (k % 2 == 0) layout.relations.front() = layout::Relation(layout::make_patterns(random_pattern(random), {layout.tokens, layout.registers, 1}, unlimited).front(),
                                                               layout::Relative{}, layout::Cancels::nothing, layout.tokens);
    REQUIRE(ReachMemory::find(layout) != before);
    for (const ReachQuestion& question : questions) {
      const ReachAnswer remembered = answer_reach(question, unlimited);
      const ReachMemory fresh;
      require_same(question, remembered, answer_reach(question, unlimited));
    }
  }
  Layout layout = random_layout(random);
  CHECK(ReachMemory::find(layout) == nullptr);  // the memory went with its scope
}

}  // namespace

TEST_CASE("what is remembered about who sees whom is what is found") { check_memory(20, 11); }

TEST_CASE("what is remembered about who sees whom is what is found, many layouts" * doctest::test_suite("slow")) { check_memory(200, 12); }

}  // namespace sightline::sight
