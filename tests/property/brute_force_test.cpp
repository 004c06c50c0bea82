// certify() as a whole against enumeration. A failure prints "seed S": SIGHTLINE_PROPERTY_SEED=S with the same test case
// (doctest's --test-case) replays it alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "id_enumeration.hpp"
#include "sightline/verdict/certify.hpp"

using namespace property;
using sightline::architecture::TargetClass;
namespace sight = sightline::sight;
namespace verdict = sightline::verdict;

namespace {

/// A number of layers to compare and print; -1: never.
template <class Number>
std::int64_t plain(const std::optional<Number>& value) {
  return value ? static_cast<std::int64_t>(*value) : -1;
}

void check_order(const sightline::group::Order& order, std::size_t expected) {
  CHECK(order == sightline::group::Order(mpz_class(static_cast<unsigned long>(expected))));
}

sight::ClassKind to_kind(TargetClass kind) {
  return kind == TargetClass::all ? sight::ClassKind::all : kind == TargetClass::causal ? sight::ClassKind::causal : sight::ClassKind::seen;
}

void check_sight(const SmallModel& model, const verdict::Answer& answer, const Sees& sees) {
  const auto n = static_cast<std::size_t>(model.tokens);
  const std::size_t depth = model.listed ? std::min(model.unroll().size(), sees.size() - 1) : sees.size() - 1;
  std::vector<std::uint64_t> expected(n), found;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t j = 0; j < n; ++j) expected[a] += !sees[depth][a][j];
  }
  for (const auto& [value, repeat] : answer.unseen) found.insert(found.end(), repeat, value);
  CHECK(found == expected);
}

/// A pair that the shown collision says is confused at `depth` must be, and the target must tell it apart.
void check_collision(const SmallModel& model, const Enumeration& e, const sight::Collision& collision, std::size_t depth) {
  const auto n = static_cast<std::size_t>(model.tokens);
  const LabelRule rule(model);
  Images x(n), y(n, -1);
  std::iota(x.begin(), x.end(), 0);
  Images tau(n, -1);
  for (const auto& [j, image] : collision.tau) {
    REQUIRE(j < n);
    REQUIRE(image < n);
    y[image] = x[j];
    tau[j] = static_cast<int>(image);
  }
  int fresh = 1000;  // what b does not see may hold anything
  for (int& value : y) value = value < 0 ? fresh++ : value;
  std::vector<Mark> of_x, of_y;
  for (int v = 0; v < model.vertices(); ++v) {
    const bool token = v < model.tokens;
    of_x.push_back(rule.start(v, token ? x[static_cast<std::size_t>(v)] : 0));
    of_y.push_back(rule.start(v, token ? y[static_cast<std::size_t>(v)] : 0));
  }
  for (std::size_t q = 1; q <= depth; ++q) {
    of_x = rule.advance(of_x, q);
    of_y = rule.advance(of_y, q);
  }
  CHECK(of_x[collision.a] == of_y[collision.b]);
  const auto base = enumerate_base(model, model.target_class, e.sees);
  const bool explained = std::any_of(e.target_group.begin(), e.target_group.end(), [&](const Images& g) {
    bool agrees = g[collision.a] == static_cast<int>(collision.b);
    for (std::size_t j = 0; j < n; ++j) {
      const bool wanted = std::all_of(e.target_group.begin(), e.target_group.end(), [&](const Images& h) { return base[static_cast<std::size_t>(h[collision.a])][static_cast<std::size_t>(h[j])]; });
      agrees = agrees && (!wanted || g[j] == tau[j]);
    }
    return agrees;
  });
  CHECK_FALSE(explained);
}

/// Registers that start equal, read by layers with and without a full denominator: what suffices there is not known (docs/theory.md 16.18 b).
bool mixes_counts_and_shares(const SmallModel& model) {
  const std::set<int> colours(model.registers.begin(), model.registers.end());
  const auto divides = [](const SmallLayer& layer) { return layer.denominator == Denominator::plain; };
  return colours.size() < model.registers.size() && std::any_of(model.layers.begin(), model.layers.end(), divides) &&
         !std::all_of(model.layers.begin(), model.layers.end(), divides);
}

void compare(const SmallModel& model) {
  INFO(model.describe());
  const verdict::Answer answer = verdict::certify(to_architecture(model), sightline::Budget{});
  const Enumeration e = enumerate(model);
  check_sight(model, answer, e.sees);
  REQUIRE(answer.layout);
  check_order(answer.layout->order, e.layout_group.size());

  const auto connected = compute_connected(e, model);
  const auto needed = compute_needed(e, model, model.target_class);
  CHECK(plain(answer.connected) == plain(connected));
  CHECK(answer.class_kind == to_kind(e.kind));
  if (mixes_counts_and_shares(model)) {
    const bool enough = needed && (!model.listed || *needed <= model.unroll().size());
    CHECK((answer.verdict != verdict::Verdict::certified || needed == 0u));  // of what nothing is asked, 16.23 h
    CHECK_FALSE((enough && answer.verdict == verdict::Verdict::impossible));
    return;
  }
  CHECK(plain(answer.needed) == plain(needed));
  CHECK_FALSE(answer.needed_between.has_value());
  CHECK(answer.at_connected.has_value() == connected.has_value());
  if (connected && answer.at_connected) check_order(*answer.at_connected, compute_smallest_order(e, model, *connected));
  CHECK(plain(answer.class_layers) == plain(compute_needed(e, model, e.kind)));

  const std::size_t given = model.unroll().size();
  const std::size_t deep = std::max(e.matches.size(), e.sees.size());
  const std::size_t depth = model.listed ? given : deep;
  const bool connected_there = connected && *connected <= depth;
  CHECK(answer.expressed.has_value() == connected_there);
  if (connected_there && answer.expressed) check_order(answer.expressed->order, compute_smallest_order(e, model, depth));

  const bool certified = needed && *needed <= depth;
  CHECK(answer.verdict == (certified ? verdict::Verdict::certified : verdict::Verdict::impossible));
  CHECK((answer.collision.has_value() || answer.unreachable.has_value()) == !certified);
  if (answer.collision) check_collision(model, e, *answer.collision, depth);
  if (answer.unreachable) {
    CHECK_FALSE(e.sees_at(depth)[answer.unreachable->reader][answer.unreachable->unseen]);
    CHECK(enumerate_base(model, model.target_class, e.sees)[answer.unreachable->reader][answer.unreachable->unseen]);
  }
}

void sweep(std::uint64_t first, int count, const Taste& taste) {
  for_each_seed(first, count, [&](std::uint64_t seed) {
    INFO("seed ", seed);
    std::mt19937_64 random(seed);
    compare(draw_model(random, taste));
  });
}

void sweep_digraphs(int tokens, std::uint64_t stride) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << (tokens * tokens)); bits += stride) {
    INFO("digraph ", bits);
    compare(make_digraph(tokens, bits));
  }
}

/// Labels say which targets layers tell apart. Targets that no layer has to be asked for are read off the table, with learned positions as a sum of id and
/// place: where they depend on both, a feedforward has to read them out (docs/theory.md 16.86).
std::optional<std::size_t> count_layers(const SmallModel& model, const IdEnumeration& e) {
  const auto needed = e.needed();
  if (needed != 0u || !model.learned_positions) return needed;
  const auto n = static_cast<std::size_t>(model.tokens), first = static_cast<std::size_t>(model.bos ? 1 : 0);
  std::map<int, std::size_t> by_id;
  bool by_id_alone = true;
  for (std::size_t x = 0; x < e.inputs().size(); ++x) {
    for (std::size_t a = first; a < n; ++a) by_id_alone = by_id_alone && by_id.try_emplace(e.inputs()[x][a], e.targets()[x * n + a]).first->second == e.targets()[x * n + a];
  }
  return by_id_alone || model.vocabulary == 1 ? 0 : 1;
}

void compare_ids(const SmallModel& model) {
  INFO(model.describe());
  const verdict::Answer answer = verdict::certify(to_architecture(model), sightline::Budget{});
  check_sight(model, answer, enumerate_views(model));
  REQUIRE(answer.layout);
  check_order(answer.layout->order, enumerate_layout_group(model).size());
  const IdEnumeration e(model);
  const auto needed = count_layers(model, e);
  CHECK(plain(answer.needed) == plain(needed));
  CHECK_FALSE(answer.needed_between.has_value());
  const std::size_t depth = model.listed ? model.unroll().size() : e.depths();
  const bool certified = needed && *needed <= depth;
  CHECK(answer.verdict == (certified ? verdict::Verdict::certified : verdict::Verdict::impossible));
  if (answer.id_collision) {
    const sight::IdCollision& c = *answer.id_collision;
    // Shown ids are those of an enumeration that may use fewer ids: there the BOS has a smaller number.
    auto ids_x = c.x, ids_y = c.y;
    if (model.bos) ids_x[0] = ids_y[0] = static_cast<std::uint32_t>(model.vocabulary);
    const auto x = e.find(ids_x), y = e.find(ids_y);
    REQUIRE(x);
    REQUIRE(y);
    CHECK(e.labels(depth)[*x][c.a] == e.labels(depth)[*y][c.b]);
    const auto n = static_cast<std::size_t>(model.tokens);
    CHECK(e.targets()[*x * n + c.a] != e.targets()[*y * n + c.b]);
  }
  SmallModel other = model;
  other.target_class = enumerate(model).kind;
  CHECK(answer.class_kind == to_kind(other.target_class));
  CHECK(plain(answer.class_layers) == plain(count_layers(other, IdEnumeration(other))));
}

void sweep_ids(std::uint64_t first, int count, const Taste& taste) {
  for_each_seed(first, count, [&](std::uint64_t seed) {
    INFO("seed ", seed);
    std::mt19937_64 random(seed);
    compare_ids(draw_model(random, taste));
  });
}

Taste ids() {
  Taste taste;
  taste.max_tokens = 5;
  taste.table = true;
  return taste;
}

}  // namespace

TEST_CASE("every digraph on up to three tokens: group, layers and verdict by enumeration") {
  for (int n = 1; n <= 3; ++n) sweep_digraphs(n, 1);
}
TEST_CASE("random layouts: group, layers and verdict by enumeration") { sweep(1000000, 300, Taste{}); }
TEST_CASE("random layouts on ids: layers and verdict by all labels") { sweep_ids(2000000, 100, ids()); }

TEST_SUITE("slow") {
  TEST_CASE("every digraph on four tokens") { sweep_digraphs(4, 1); }
  TEST_CASE("100,000 random layouts: group, layers and verdict by enumeration") { sweep(10000000, 100000, Taste{}); }
  TEST_CASE("2,000 random layouts on ids: layers and verdict by all labels") { sweep_ids(20000000, 2000, ids()); }
}
