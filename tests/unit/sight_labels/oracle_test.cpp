#include <doctest/doctest.h>

#include <optional>

#include "oracle.hpp"

using namespace sight_labels;
using sightline::sight::IdAnswer;
using sightline::sight::IdCollision;

namespace {

void check_collision(const Model& model, const Oracle& oracle, const IdCollision& c) {
  const std::size_t x = oracle.find(c.x), y = oracle.find(c.y);
  REQUIRE(x < oracle.inputs());
  REQUIRE(y < oracle.inputs());
  CHECK(c.a < model.tokens);
  CHECK(oracle.labels(x)[c.a] == oracle.labels(y)[c.b]);
  CHECK(oracle.target(x, c.a) != oracle.target(y, c.b));
}

void compare(const Model& model, std::optional<std::uint64_t> depth) {
  INFO(model.describe());
  const IdAnswer found = answer(model, depth);
  Oracle oracle(model);
  CHECK(found.distinct_targets == oracle.distinct_targets());
  std::optional<std::uint64_t> needed;
  std::uint64_t stable_at = 0;
  std::size_t unchanged = 0;
  const auto visit = [&] {
    const bool collides = oracle.collides();
    if (!collides && !needed) needed = oracle.depth();
    if (depth == oracle.depth()) {
      CHECK(found.at_given.has_value() == collides);
      if (found.at_given) check_collision(model, oracle, *found.at_given);
    }
    if (found.needed && oracle.depth() + 1 == *found.needed) {
      REQUIRE(found.below_needed);
      check_collision(model, oracle, *found.below_needed);
    }
  };
  visit();
  while (unchanged < model.layers.size()) {
    const bool finer = oracle.advance();
    unchanged = finer ? 0 : unchanged + 1;
    if (finer) stable_at = oracle.depth();
    visit();
  }
  CHECK(found.needed == needed);
  CHECK(found.stable_at == stable_at);
  if (!needed) {
    REQUIRE(found.below_needed);
    check_collision(model, oracle, *found.below_needed);
  }
  if (needed == 0) CHECK(!found.below_needed);
  if (!depth || *depth > oracle.depth()) {
    CHECK(found.at_given.has_value() == oracle.collides());
    if (found.at_given) check_collision(model, oracle, *found.at_given);
  }
}

void sweep(std::uint64_t seed, int count, double labelled_inputs) {
  for (int k = 0; k < count; ++k) {
    const std::uint64_t own = seed * 1000003 + static_cast<std::uint64_t>(k);
    INFO("seed ", own);
    std::mt19937_64 random(own);
    const Model model = draw_model(random, labelled_inputs);
    compare(model, random() % 2 == 0 ? std::nullopt : std::optional<std::uint64_t>(random() % 5));
  }
}

}  // namespace

TEST_CASE("labels agree with pairwise comparison of rows on random architectures") { sweep(1, 250, 100); }

TEST_SUITE("slow") {
  TEST_CASE("labels agree with pairwise comparison of rows on 2,000 random architectures") { sweep(2, 2000, 400); }
  TEST_CASE("labels agree with pairwise comparison of rows on all sizes up to five tokens and three ids") { sweep(3, 150, 1300); }
}
