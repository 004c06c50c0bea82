// Sight in certificates: what the checker finds equals the library's answer, evidence is accepted, lies are not.
#include <doctest/doctest.h>

#include <chrono>

#include "../unit/sight/block_masks.hpp"
#include "../unit/sight/oracle.hpp"
#include "checker/reach.hpp"
#include "cases.hpp"
#include "checker/sight.hpp"
#include "sight_convert.hpp"
#include "sightline/architecture/architecture.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/sight_evidence.hpp"
#include "sightline/layout/pattern_spec.hpp"
#include "sightline/sight/views.hpp"
#include "sightline/sight/wanted.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

using nlohmann::json;
using oracle::make_banded;

/// The checker on one layout, with a certificate's evidence.
struct Case {
  Case(const Layout& layout, const group::Group& layout_group, const group::Group& target, RegisterRows rows)
      : layout_(layout), layout_group_(layout_group), target_(target), rows_(rows), copy_(convert::to_checker(layout)),
        group_(convert::to_checker(layout_group)), target_copy_(convert::to_checker(target)) { restart(); }

  void restart() { writer.emplace(layout_, layout_group_, rows_, unlimited); }

  [[nodiscard]] ViewQuestion ask(ClassKind kind, bool own) const { return {&layout_, own ? &layout_group_ : &target_, &layout_group_, kind, rows_}; }
  [[nodiscard]] checker::ViewQuestion ask_checker(ClassKind kind, bool own) const {
    return {&copy_, &group_, own ? nullptr : &target_copy_.group, static_cast<checker::ClassKind>(kind), rows_ == RegisterRows::frequencies};
  }
  /// Runs `use` on a Sight with this evidence.
  template <class Use>
  auto with(const json& evidence, const Use& use) const {
    const checker::Json parsed = checker::parse(evidence.dump());
    const checker::Sight sight(copy_, parsed);
    return use(sight);
  }

  const Layout& layout_;
  const group::Group& layout_group_;
  const group::Group& target_;
  RegisterRows rows_;
  checker::Layout copy_;
  checker::ConfirmedGroup group_, target_copy_;
  std::optional<certificate::SightEvidence> writer;
};

void same_reach(const Layout& layout) {
  const checker::Layout copy = convert::to_checker(layout);
  for (const ClassKind kind : {ClassKind::all, ClassKind::causal, ClassKind::seen}) {
    for (const bool ordinary : {false, true}) {
      checker::ReachQuestion question;
      question.kind = static_cast<checker::ClassKind>(kind);
      question.ordinary_only = ordinary;
      const Connected reach = compute_class_reach(layout, {kind, ordinary}, unlimited);
      const checker::Reach mine = checker::compute_reach(copy, question);
      REQUIRE(mine.layers == reach.layers);
      REQUIRE(mine.missed.has_value() == (reach.layers != std::uint64_t{0}));
      if (mine.missed) {
        const std::uint64_t before = reach.layers ? *reach.layers - 1 : layout.order.size() * (layout.vertices() + 1);
        REQUIRE(compute_latest(layout, before, mine.missed->first, unlimited)[mine.missed->second] < 0);
      }
      for (const std::optional<std::uint64_t> depth : {std::optional<std::uint64_t>{}, {0}, {1}, {2}, {3}, {5}}) {
        REQUIRE(checker::compute_unseen(copy, question, depth).count == compute_unseen(layout, depth, {kind, ordinary}, unlimited));
      }
    }
  }
  for (Vertex a = 0; a < layout.vertices() && a < 16; ++a) {
    for (std::uint64_t m = 0; m < 6; ++m) REQUIRE(checker::compute_latest(copy, m, a) == compute_latest(layout, m, a, unlimited));
  }
  const checker::Json nothing;
  const checker::Sight sight(copy, nothing);
  REQUIRE(static_cast<int>(sight.class_kind()) == static_cast<int>(compute_class_kind(layout, unlimited)));
}

void same_pairs(const Case& c, ClassKind kind, bool own) {
  c.with(certificate::to_plain(c.writer->result()), [&](const checker::Sight& sight) {
    for (const bool ordinary : {false, true}) {
      REQUIRE(sight.wanted_reach(c.ask_checker(kind, own), ordinary).layers == compute_wanted_reach(c.ask(kind, own), ordinary, unlimited).layers);
      for (const std::optional<std::uint64_t> depth : {std::optional<std::uint64_t>{}, {0}, {1}, {2}, {4}}) {
        const UnseenPairs theirs = find_unseen_pairs(c.ask(kind, own), depth, ordinary, unlimited);
        const auto mine = sight.unseen_pairs(c.ask_checker(kind, own), depth, ordinary);
        REQUIRE(mine.first == theirs.count);
        REQUIRE(mine.second.has_value() == theirs.first.has_value());
        if (theirs.first) REQUIRE(*mine.second == std::pair{theirs.first->reader, theirs.first->unseen});
      }
    }
    return 0;
  });
}

void require_same(const std::optional<checker::Collision>& mine, const std::optional<Collision>& theirs) {
  REQUIRE(mine.has_value() == theirs.has_value());
  if (!mine) return;
  CHECK(mine->a == theirs->a);
  CHECK(mine->b == theirs->b);
  CHECK(mine->tau == theirs->tau);
}

void same_needed(Case& c, ClassKind kind, bool own) {
  const ViewQuestion question = c.ask(kind, own);
  const Needed theirs = compute_needed(question, unlimited);
  c.writer->add_needed(question);
  const json evidence = certificate::to_plain(c.writer->result());
  const checker::ViewQuestion asked = c.ask_checker(kind, own);
  const checker::Needed mine = c.with(evidence, [&](const checker::Sight& sight) { return sight.needed(asked); });
  CHECK(mine.layers == theirs.layers);
  CHECK(mine.never == theirs.never);
  require_same(mine.below, theirs.below);
  REQUIRE(mine.missed.has_value() == theirs.missing.has_value());
  if (theirs.missing) CHECK(*mine.missed == std::pair{theirs.missing->reader, theirs.missing->unseen});

  // Other numbers of layers than the true one are refused, with the true evidence moved along or not.
  const std::string key = evidence["needed"].begin().key();
  const auto refused = [&](const json& lie) {
    CHECK_THROWS_AS(c.with(lie, [&](const checker::Sight& sight) { return sight.needed(asked).start; }), std::runtime_error);
  };
  if (theirs.layers) {
    for (const std::int64_t by : {-1, 1}) {
      const std::int64_t false_layers = static_cast<std::int64_t>(*theirs.layers) + by;
      if (false_layers < 0) continue;
      json lie = evidence;
      lie["needed"][key]["layers"] = false_layers;
      refused(lie);
      const std::string at = std::to_string(*theirs.layers);
      if (evidence.contains("views") && evidence["views"].contains(key) && evidence["views"][key].contains(at)) {
        lie["views"][key][std::to_string(false_layers)] = evidence["views"][key][at];
      }
      if (theirs.below) lie["collisions"][key][std::to_string(false_layers - 1)] = evidence["collisions"][key][std::to_string(*theirs.layers - 1)];
      refused(lie);
    }
    json lie = evidence;
    lie["needed"][key] = {{"never", true}};
    refused(lie);
  } else if (theirs.never) {
    json lie = evidence;
    lie["needed"][key] = {{"layers", 3}};
    refused(lie);
    lie["needed"][key] = {{"layers", c.layout_.order.size() * (c.layout_.vertices() + 2)}};
    refused(lie);
  }
}

std::uint64_t collisions_met = 0, groups_met = 0, evidence_met = 0;

void same_collision(Case& c, ClassKind kind, bool own, std::uint64_t depth) {
  const auto theirs = find_collision(c.ask(kind, own), depth, unlimited);
  c.writer->add_collision(c.ask(kind, own), depth);
  const json evidence = certificate::to_plain(c.writer->result());
  const auto look = [&](const json& given) {
    return c.with(given, [&](const checker::Sight& sight) { return sight.collision(c.ask_checker(kind, own), depth); });
  };
  require_same(look(evidence), theirs);
  const std::string key = std::string(kind == ClassKind::all ? "all/" : kind == ClassKind::causal ? "causal/" : "seen/") + (own ? "layout" : "target");
  const std::string at = std::to_string(depth);
  if (theirs) {
    ++collisions_met;
    json lie = evidence;
    lie["collisions"][key].erase(at);
    CHECK_THROWS_AS(look(lie), std::runtime_error);
    lie = evidence;
    lie["collisions"][key][at]["map"] = json::array();
    CHECK_THROWS_AS(look(lie), std::runtime_error);
    // For a target of its own the evidence is written for the case that the checker knows no symmetric classes of it.
  } else if (own && evidence.contains("views") && evidence["views"].contains(key) && evidence["views"][key].contains(at)) {
    ++evidence_met;
    for (const char* const part : {"roots", "pairs"}) {
      if (!evidence["views"][key][at].contains(part)) continue;
      for (const auto& [name, value] : evidence["views"][key][at][part].items()) {
        json lie = evidence;
        lie["views"][key][at][part].erase(name);
        CHECK_THROWS_AS(look(lie), std::runtime_error);
      }
    }
  }
}

void same_expressed(Case& c, std::optional<std::uint64_t> depth) {
  const ViewQuestion question = c.ask(ClassKind::all, true);
  const auto theirs = depth ? compute_expressed_group(question, *depth, unlimited) : compute_limit_group(question, unlimited);
  c.writer->add_expressed(depth);
  const json evidence = certificate::to_plain(c.writer->result());
  const auto look = [&](const json& given) {
    return c.with(given, [&](const checker::Sight& sight) { return sight.expressed(c.ask_checker(ClassKind::all, true), depth); });
  };
  const auto mine = look(evidence);
  REQUIRE(mine.has_value() == theirs.has_value());
  if (!mine) return;
  CHECK(mine->order->decimal() == (theirs->order.value() ? theirs->order.value()->get_str() : ""));
  CHECK(mine->order->is_written_as(theirs->order.factored()));
  const auto expected = group::list_generators(*theirs, 100);
  const auto got = checker::list_generators(mine->group, 100);
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k].cycles() == group::to_cycles(expected[k]));
  const std::string at = depth ? std::to_string(*depth) : "ever";
  if (!evidence.contains("groups") || !evidence["groups"].contains(at)) return;
  ++groups_met;
  if (!evidence["groups"][at].contains("classes")) return;
  json lie = evidence;
  lie["groups"].erase(at);
  CHECK_THROWS_AS(look(lie), std::runtime_error);  // the layout's group is too small
  lie = evidence;
  std::vector<Vertex> all(c.layout_.tokens);
  std::iota(all.begin(), all.end(), Vertex{0});
  if (!(theirs->order == group::make_symmetric_group(c.layout_.tokens).order)) {
    lie["groups"][at]["classes"] = {all};
    lie["groups"][at]["generators"] = json::array();
    CHECK_THROWS_AS(look(lie), std::runtime_error);  // S_n is too large
  }
  for (const char* const part : {"roots", "pairs"}) {
    if (!evidence["groups"][at].contains(part)) continue;
    for (const auto& [name, value] : evidence["groups"][at][part].items()) {
      lie = evidence;
      lie["groups"][at][part].erase(name);
      std::string order = mine->order->decimal();
      try {  // what is left may still be enough, but never for another group
        order = look(lie)->order->decimal();
      } catch (const std::runtime_error&) {
      }
      CHECK(order == mine->order->decimal());
    }
  }
}

void check_layout(std::mt19937_64& random, const Layout& layout, RegisterRows rows, std::uint64_t depths = 4) {
  const group::Group layout_group = symmetry::compute_layout_group(layout, unlimited);
  group::Group target = layout_group;
  switch (random() % 4) {
    case 0: target = group::make_trivial_group(layout.tokens); break;
    case 1: target = group::make_symmetric_group(layout.tokens); break;
    case 2: {
      std::vector<Vertex> images(layout.tokens);
      std::iota(images.begin(), images.end(), Vertex{0});
      std::shuffle(images.begin(), images.end(), random);
      target = group::make_group(layout.tokens, {group::Permutation::from_images(images)}, unlimited);
      break;
    }
    default: break;
  }
  Case c(layout, layout_group, target, rows);
  for (const ClassKind kind : {ClassKind::all, ClassKind::causal, ClassKind::seen}) {
    for (const bool own : {true, false}) {
      same_pairs(c, kind, own);
      c.restart();
      same_needed(c, kind, own);
      c.restart();
      for (std::uint64_t m = 1; m <= depths; ++m) same_collision(c, kind, own, m);
    }
  }
  same_expressed(c, std::nullopt);
  for (std::uint64_t m = 1; m <= depths; ++m) same_expressed(c, m);
}

}  // namespace

TEST_CASE("the checker follows large block masks on two vertices per stretch to the same figures") {
  std::mt19937 random(17);
  same_reach(oracle::make_blocks(random, 2048 + random() % 1000, 10 + random() % 50));
}

TEST_CASE("the checker follows many large block masks on two vertices per stretch" * doctest::test_suite("slow")) {
  std::mt19937 random(18);
  for (int k = 0; k < 24; ++k) same_reach(oracle::make_blocks(random, (k % 2 == 0 ? 8192 : 2048) + random() % 1000, 10 + random() % 50));
}

TEST_CASE("reach is found again by columns and by end points") {
  std::mt19937_64 random(5);
  for (int k = 0; k < 500; ++k) {
    CAPTURE(k);
    same_reach(oracle::make_random_layout(random, 1 + static_cast<Vertex>(random() % 8), static_cast<Vertex>(random() % 3), false, false));
  }
  for (Vertex n = 1; n <= 9; ++n) {
    for (int before = 0; before < 5; ++before) {
      for (int after = 0; after < 4; ++after) {
        same_reach(make_banded(n, before, after, false));
        same_reach(make_banded(n, before, after, true));
      }
    }
  }
  for (int k = 0; k < 2; ++k) {
    const Vertex n = 600;
    std::vector<oracle::Rows> rows(2, oracle::Rows(n));
    for (Vertex i = 0; i < n; ++i) {
      std::set<Vertex> row;
      for (int e = 0; e < 2; ++e) row.insert(static_cast<Vertex>((i * 31 + 17 + e * (random() % 350)) % n));
      rows[0][i].assign(row.begin(), row.end());
      for (Vertex j = i % 25; k > 0 && j < n; j += 25) rows[1][i].push_back(j);
    }
    same_reach(oracle::make_layout(n, 0, {{{rows[0], {}, {}, layout::Cancels::nothing}}, {{rows[1], {}, {}, layout::Cancels::nothing}}}));
  }
  // Short rows on more than 1,024 tokens: only readers of what changed are gone through.
  for (int k = 0; k < 4; ++k) same_reach(oracle::make_layout(1100, 0, oracle::make_short_rows(random, 1100, k)));
  for (int k = 1; k < 3; ++k) same_reach(oracle::make_layout(1100, 0, oracle::make_random_links(random, 1100, 4, k)));
}

TEST_CASE("a hub and a few columns give the reach of a layout too large for all columns") {
  const Vertex n = 3000;
  oracle::Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (i == 7 || (j == 7 && i != 1500) || j + 2 == i || j == i) rows[i].push_back(j);  // 1500 sees 7 by way of 1498 alone
    }
  }
  const Layout layout = oracle::make_layout(n, rows);
  const group::Group trivial = group::make_trivial_group(n);
  Case c(layout, trivial, trivial, RegisterRows::frequencies);
  const json evidence = certificate::to_plain(c.writer->result());
  REQUIRE(evidence.contains("reach"));
  CHECK(evidence["reach"]["hub"] == 7);
  CHECK(c.with(evidence, [](const checker::Sight& sight) { return sight.connected(); }) == std::uint64_t{3});
  json lie = evidence;  // wrong hints cost time, never the truth
  lie["reach"]["hub"] = 8;
  lie["reach"]["columns"] = {1, 2};
  CHECK(c.with(lie, [](const checker::Sight& sight) { return sight.connected(); }) == std::uint64_t{3});
}

// A grid of blocks and tokens, whose columns are all alike: the checker asks two tokens per block, and follows every column without hints.
TEST_CASE("block masks have hints although they are grids of products") {
  const Vertex n = 16384;
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::bigbird;
  spec.block = 64, spec.random_blocks = 3, spec.seed = 1;
  Layout layout;
  layout.tokens = n;
  layout.vertex_colour.assign(n, 0);
  for (const int globals : {0, 2}) {  // with global blocks in both layers two of them would say it all
    spec.globals = globals;
    layout.relations.emplace_back(layout::make_patterns(spec, {n, 0, 1}, unlimited).front(), layout::Relative{}, layout::Cancels::single_colour, n);
  }
  layout.layers = {{{0}}, {{1}}};
  layout.order = {0, 1};
  const group::Group trivial = group::make_trivial_group(n);
  Case c(layout, trivial, trivial, RegisterRows::frequencies);
  const json evidence = certificate::to_plain(c.writer->result());
  CHECK(evidence.contains("reach"));
  CHECK(c.with(evidence, [](const checker::Sight& sight) { return sight.connected(); }) == compute_connected(layout, unlimited).layers);
}

TEST_CASE("needed layers, collisions and expressed groups of random layouts are confirmed, lies are refused") {
  std::mt19937_64 random(20250101);
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const bool coloured = random() % 3 == 0;
    check_layout(random, oracle::make_random_layout(random, 1 + static_cast<Vertex>(random() % 7), static_cast<Vertex>(random() % 3), false, coloured),
                 RegisterRows::frequencies, 3);
  }
  for (int k = 0; k < 100; ++k) {
    CAPTURE(k);
    check_layout(random, oracle::make_single_reads(random, 2 + static_cast<Vertex>(random() % 7)), RegisterRows::frequencies, 2);
  }
  for (int k = 0; k < 60; ++k) {
    CAPTURE(k);
    check_layout(random, oracle::make_parts(random, 2 + static_cast<Vertex>(random() % 2), 2 + static_cast<Vertex>(random() % 2)), RegisterRows::frequencies, 3);
  }
  CHECK(collisions_met > 500);
  CHECK(groups_met > 50);
  CHECK(evidence_met > 50);
}

TEST_CASE("registers that start equal are confirmed") {
  std::mt19937_64 random(77);
  for (int k = 0; k < 150; ++k) {
    CAPTURE(k);
    const Layout layout = oracle::make_random_layout(random, 2 + static_cast<Vertex>(random() % 4), 2 + static_cast<Vertex>(random() % 2), true, random() % 3 == 0);
    check_layout(random, layout, random() % 2 == 0 ? RegisterRows::frequencies : RegisterRows::multisets, 3);
  }
}

TEST_CASE("windows and rings are confirmed") {
  std::mt19937_64 random(3);
  for (Vertex n = 2; n <= 12; ++n) {
    CAPTURE(n);
    check_layout(random, make_banded(n, 1, 1, true), RegisterRows::frequencies);
    check_layout(random, make_banded(n, 2, 0, false), RegisterRows::frequencies);
    check_layout(random, make_banded(n, 1, 1, false), RegisterRows::frequencies);
  }
}

// Large enough for views to be shown all at once. `open`: the last two tokens are read alike, so that a root at the other end, which does not see
// their rows, cannot tell them apart.
void check_large_window(bool open) {
  const Vertex n = 4096, radius = 128;
  oracle::Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    const Vertex first = i < radius ? 0 : i - radius, last = std::min(n - 1, i + radius);
    for (Vertex j = first; j <= last; ++j) {
      if (!open || j + 1 < n || i + 2 >= n) rows[i].push_back(j);
    }
    if (open && i + 2 < n && last >= n - 2) rows[i].push_back(n - 1);
  }
  const Layout layout = oracle::make_layout(n, rows);
  const group::Group own = symmetry::compute_layout_group(layout, unlimited);
  CHECK(own.order.value()->get_str() == (open ? "1" : "2"));
  Case c(layout, own, own, RegisterRows::frequencies);
  same_needed(c, ClassKind::all, true);
  const json evidence = certificate::to_plain(c.writer->result());
  CHECK(evidence["needed"]["all/layout"]["layers"] == (open ? 33 : 32));
  CHECK(evidence.contains("collisions") == open);
  CHECK_FALSE(evidence.contains("views"));
  same_expressed(c, std::uint64_t{32});
}

TEST_CASE("windows of 4,096 tokens are confirmed from the surroundings of their ends") {
  check_large_window(false);
  check_large_window(true);
}

void check_cases(std::int64_t from, std::int64_t to) {
  for (const auto& [name, architecture] : sightline::testing::read_cases(to)) {
    if (architecture.tokens < from) continue;
    CAPTURE(name);
    const Layout layout = architecture::make_layout(architecture, unlimited);
    const group::Group own = symmetry::compute_layout_group(layout, unlimited);
    Case c(layout, own, own, RegisterRows::frequencies);
    std::vector<std::pair<ClassKind, std::optional<Needed>>> answers;
    for (const ClassKind kind : {ClassKind::all, ClassKind::seen}) {
      try {
        answers.emplace_back(kind, compute_needed(c.ask(kind, true), unlimited));
        c.writer->add_needed(c.ask(kind, true));
      } catch (const OutOfReach&) {
        answers.back().second.reset();
      }
    }
    std::optional<group::Group> group;
    bool reachable = true;
    try {
      group = compute_limit_group(c.ask(ClassKind::all, true), unlimited);
      c.writer->add_expressed(std::nullopt);
    } catch (const OutOfReach&) {
      reachable = false;
    }
    const auto unseen = compute_unseen(layout, architecture.layer_count(), {}, unlimited);
    const auto start = std::chrono::steady_clock::now();
    c.with(certificate::to_plain(c.writer->result()), [&](const checker::Sight& sight) {
      CHECK(sight.connected() == compute_connected(layout, unlimited).layers);
      CHECK(static_cast<int>(sight.class_kind()) == static_cast<int>(compute_class_kind(layout, unlimited)));
      std::vector<Vertex> counts;
      for (const auto& [value, repeat] : sight.unseen(architecture.layer_count())) counts.insert(counts.end(), repeat, static_cast<Vertex>(value));
      CHECK(counts == unseen);
      for (const auto& [kind, theirs] : answers) {
        if (!theirs) continue;
        const checker::Needed mine = sight.needed(c.ask_checker(kind, true));
        CHECK(mine.layers == theirs->layers);
        CHECK(mine.never == theirs->never);
        CHECK(mine.high == theirs->high);
        require_same(mine.below, theirs->below);
      }
      if (reachable) {
        const auto mine = sight.expressed(c.ask_checker(ClassKind::all, true), std::nullopt);
        REQUIRE(mine.has_value() == group.has_value());
        if (mine) CHECK(mine->order->factored() == group->order.factored());
      }
      return 0;
    });
    if (to > 1000) MESSAGE(name << ": " << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << " s");
  }
}

TEST_CASE("golden cases and examples of at most 600 tokens are confirmed") { check_cases(1, 600); }

TEST_SUITE("slow") {
TEST_CASE("golden cases, examples and real models of up to 4,096 tokens are confirmed") { check_cases(601, 4096); }


TEST_CASE("2,000 random layouts are confirmed") {
  std::mt19937_64 random(4711);
  for (int k = 0; k < 2000; ++k) {
    CAPTURE(k);
    check_layout(random, oracle::make_random_layout(random, 1 + static_cast<Vertex>(random() % 8), static_cast<Vertex>(random() % 3), random() % 4 == 0, random() % 3 == 0),
                 random() % 2 == 0 ? RegisterRows::frequencies : RegisterRows::multisets, 3);
  }
}
}

}  // namespace sightline::sight
