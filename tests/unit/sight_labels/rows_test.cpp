#include <doctest/doctest.h>

#include <random>

#include "oracle.hpp"
#include "sightline/base/error.hpp"
#include "sightline/sight/labels_polynomial.hpp"
#include "sightline/sight/labels_rows.hpp"

using namespace sight_labels;
using sightline::sight::divide_by_common_factor;
using sightline::sight::Polynomial;
using sightline::sight::RowLabeller;

namespace {

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  if (a.empty() || b.empty()) return {};
  Polynomial product(a.size() + b.size() - 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) product[i + j] += a[i] * b[j];
  }
  return product;
}

bool proportional(const std::vector<Polynomial>& a, const std::vector<Polynomial>& b) {
  for (std::size_t s = 0; s < a.size(); ++s) {
    for (std::size_t t = 0; t < s; ++t) {
      if (multiply(a[s], b[t]) != multiply(a[t], b[s])) return false;
    }
  }
  return true;
}

Polynomial draw_polynomial(std::mt19937_64& random, std::size_t length, std::int64_t largest) {
  Polynomial a(length);
  for (auto& x : a) x = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest + 1));
  while (!a.empty() && a.back() == 0) a.pop_back();
  return a;
}

}  // namespace

TEST_CASE("common factors of polynomials go, and nothing else") {
  std::vector<Polynomial> family{{1, 1, 0, 0, 1, 1}, {0, 0, 1, 1, 0, 0, 1, 1}};  // (1 + z)(1 + z^4) times 1, z^2
  divide_by_common_factor(family);
  CHECK(family == std::vector<Polynomial>{{1}, {0, 0, 1}});
  family = {{0, 2, 4}, {}, {0, 0, 6}};
  divide_by_common_factor(family);
  CHECK(family == std::vector<Polynomial>{{1, 2}, {}, {0, 3}});
  family = {{}, {}};
  divide_by_common_factor(family);
  CHECK(family == std::vector<Polynomial>{{}, {}});
  family = {{-2, 0, 2}, {4, 4}};
  divide_by_common_factor(family);
  CHECK(family == std::vector<Polynomial>{{-1, 1}, {2}});
  family = {Polynomial(33, 1)};
  CHECK_THROWS_AS(divide_by_common_factor(family), sightline::ArgumentError);
  family = {{1 << 20}};
  CHECK_THROWS_AS(divide_by_common_factor(family), sightline::ArgumentError);
}

TEST_CASE("families multiplied by a polynomial reduce to the same, and equal results are proportional families") {
  std::mt19937_64 random(5);
  for (int k = 0; k < 4000; ++k) {
    std::vector<Polynomial> family, other, multiplied;
    const std::size_t members = 1 + random() % 4;
    Polynomial factor = draw_polynomial(random, 1 + random() % 12, 2);
    if (factor.empty()) factor = {1, 2};
    for (std::size_t s = 0; s < members; ++s) {
      family.push_back(draw_polynomial(random, random() % 12, 2));
      other.push_back(draw_polynomial(random, random() % 4, 1));
      multiplied.push_back(multiply(family.back(), factor));
    }
    const std::vector<Polynomial> original = family, original_other = other;
    divide_by_common_factor(family);
    CHECK(proportional(family, original));
    divide_by_common_factor(multiplied);
    CHECK(multiplied == family);
    const std::vector<Polynomial> reduced = family;
    divide_by_common_factor(family);
    CHECK(family == reduced);
    divide_by_common_factor(other);
    // The first member decides which members are zero; proportional families with one support must come out equal.
    bool one_support = true;
    for (std::size_t s = 0; s < members; ++s) one_support = one_support && original[s].empty() == original_other[s].empty();
    if (one_support) CHECK((other == family) == proportional(original, original_other));
  }
}

TEST_CASE("ALiBi confuses aabb with aabbaabb, learned and rotary positions do not (15.5 D5)") {
  const auto label = [](RowRule rule, RelativeKind kind, Vertex reader) {
    Model model;
    model.tokens = 14;
    model.heads = {make_head(rule, kind, 14, [](Vertex i, Vertex j) { return i == 0 ? j >= 1 && j <= 4 : i == 5 && j >= 6; })};
    model.layers = {{0}};
    const auto built = to_layout(model);
    RowLabeller labeller(built.relations[0], rule);
    const std::vector<std::uint32_t> state{0, 1, 1, 2, 2, 0, 1, 1, 2, 2, 1, 1, 2, 2};
    std::vector<std::uint32_t> words;
    labeller.append(reader, state.data(), words);
    return words;
  };
  CHECK(label(RowRule::alibi, RelativeKind::distance, 0) == label(RowRule::alibi, RelativeKind::distance, 5));
  CHECK(label(RowRule::frequency, RelativeKind::none, 0) == label(RowRule::frequency, RelativeKind::none, 5));
  CHECK(label(RowRule::learned, RelativeKind::distance, 0) != label(RowRule::learned, RelativeKind::distance, 5));
  CHECK(label(RowRule::rotary, RelativeKind::offset, 0) != label(RowRule::rotary, RelativeKind::offset, 5));
  CHECK(label(RowRule::multiset, RelativeKind::none, 0) != label(RowRule::multiset, RelativeKind::none, 5));
}

TEST_CASE("row labels are equal exactly when no weights tell the rows apart") {
  std::mt19937_64 random(11);
  std::size_t equal = 0, different = 0;
  for (int k = 0; k < 3000; ++k) {
    Model model = draw_model(random, 1e9);
    const auto built = to_layout(model);
    const std::size_t h = random() % model.heads.size();
    const Head& head = model.heads[h];
    INFO(model.describe());
    RowLabeller labeller(built.relations[h], head.rule);
    const auto draw_states = [&] {
      std::vector<std::uint32_t> state(model.vertices());
      const std::uint32_t kinds = 1 + static_cast<std::uint32_t>(random() % 3);
      for (Vertex v = 0; v < model.vertices(); ++v) {
        // Labels never mix tokens and registers.
        state[v] = static_cast<std::uint32_t>(random() % kinds) + (v >= model.tokens ? 100 : 0);
      }
      return state;
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
      const auto x = draw_states(), y = random() % 3 == 0 ? x : draw_states();
      const Vertex i = static_cast<Vertex>(random() % model.vertices());
      Vertex j = static_cast<Vertex>(random() % model.vertices());
      if ((i < model.tokens) != (j < model.tokens)) j = i;  // a token and a register never have one label
      std::vector<std::uint32_t> a, b;
      labeller.append(i, x.data(), a);
      labeller.append(j, y.data(), b);
      const bool same = same_row(model, head, i, x, j, y);
      CHECK((a == b) == same);
      ++(same ? equal : different);
    }
  }
  CHECK(equal > 5000);
  CHECK(different > 5000);
}
