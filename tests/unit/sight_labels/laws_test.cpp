// Statements of theory.md 15 about all architectures of a kind, on random ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model.hpp"

using namespace sight_labels;

namespace {

// As many ids as there are ordinary tokens decide (15.5 D6, 15.8 d): more never change the number of layers.
void check_reduced_vocabulary(std::uint64_t seed, int count) {
  for (int k = 0; k < count; ++k) {
    const std::uint64_t own = seed * 1000003 + static_cast<std::uint64_t>(k);
    std::mt19937_64 random(own);
    Model model = draw_model(random, 1e9);
    model.vocabulary = sightline::sight::reduced_vocabulary(model.tokens, std::nullopt, model.bos);
    if (model.tokens > 4 || std::pow(model.vocabulary + 1, model.tokens - (model.bos ? 1.0 : 0.0)) > 700) continue;
    INFO("seed ", own, "\n", model.describe());
    const auto reduced = answer(model, std::nullopt).needed;
    ++model.vocabulary;
    CHECK(answer(model, std::nullopt).needed == reduced);
  }
}

// Theorem BOS (D4): with loops, normalised rows, injective colours and a BOS, `needed` is the first depth at which every
// wanted ordinary token is in view, if by then at most one token's view misses the BOS.
void check_theorem_bos(std::uint64_t seed, int count) {
  for (int k = 0; k < count; ++k) {
    const std::uint64_t own = seed * 1000003 + static_cast<std::uint64_t>(k);
    std::mt19937_64 random(own);
    Model model;
    model.tokens = 2 + static_cast<Vertex>(random() % 5);
    model.bos = true;
    const bool causal = random() % 2 == 0;
    model.target_class = causal ? ClassKind::causal : ClassKind::all;
    const std::uint32_t period = 1 + static_cast<std::uint32_t>(random() % 3);
    for (std::uint32_t q = 0; q < period; ++q) {
      constexpr RowRule rules[] = {RowRule::rotary, RowRule::learned, RowRule::alibi};
      const RowRule rule = rules[random() % (causal ? 3 : 2)];
      const std::uint64_t density = 3 + random() % 6;
      model.heads.push_back(make_head(rule, rule == RowRule::alibi ? RelativeKind::distance : RelativeKind::offset, model.tokens,
                                      [&](Vertex i, Vertex j) { return i == j || ((!causal || j < i) && random() % 10 < density); }));
      model.layers.push_back({q});
    }
    std::vector<std::vector<bool>> view(model.tokens, std::vector<bool>(model.tokens, false));
    for (Vertex i = 0; i < model.tokens; ++i) view[i][i] = true;
    std::optional<std::uint64_t> in_view, certain;
    for (std::uint64_t depth = 0; depth <= model.tokens * period; ++depth) {
      bool all = true;
      int without_bos = 0;
      for (Vertex i = 0; i < model.tokens; ++i) {
        for (Vertex j = 1; j < (causal ? i + 1 : model.tokens); ++j) all = all && view[i][j];
        without_bos += view[i][0] ? 0 : 1;
      }
      if (all && !in_view) in_view = depth;
      if (all && without_bos <= 1 && !certain) certain = depth;
      auto next = view;
      for (Vertex i = 0; i < model.tokens; ++i) {
        for (const Arc& arc : model.heads[depth % period].rows[i]) {
          for (Vertex j = 0; j < model.tokens; ++j) next[i][j] = next[i][j] || view[arc.read][j];
        }
      }
      view = std::move(next);
    }
    INFO("seed ", own, "\n", model.describe());
    const auto needed = answer(model, std::nullopt).needed;
    if (!in_view) CHECK(!needed);
    if (certain) {
      REQUIRE(needed);
      CHECK(*needed >= *in_view);
      CHECK(*needed <= *certain);
    }
  }
}

}  // namespace

TEST_CASE("as many ids as ordinary tokens decide") { check_reduced_vocabulary(31, 400); }
TEST_CASE("theorem BOS on random patterns") { check_theorem_bos(32, 400); }

TEST_SUITE("slow") {
  TEST_CASE("as many ids as ordinary tokens decide, 8,000 architectures") { check_reduced_vocabulary(33, 8000); }
  TEST_CASE("theorem BOS on 8,000 random patterns") { check_theorem_bos(34, 8000); }
}
