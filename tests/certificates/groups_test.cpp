// Evidence for groups: what the engine finds is confirmed, lies are not.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <nlohmann/json.hpp>

#include "../unit/sight/block_masks.hpp"
#include "../unit/symmetry/modules.hpp"
#include "../unit/symmetry/sample.hpp"
#include "cases.hpp"
#include "checker/stretches.hpp"
#include "convert.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/group/expression.hpp"

using namespace sample;
using nlohmann::json;
using sightline::group::Group;

namespace {

checker::Json to_json(const json& value) { return checker::parse(value.dump()); }

/// The engine's group, its evidence, and the checker's answer: order and generators must be the same, byte for byte.
/// `each`: every generator is also tried on its own.
json confirm(const Structure& structure, Vertex tokens, const char* what = "", bool each = true) {
  CAPTURE(what);
  const Group group = sightline::symmetry::compute_token_automorphisms(structure, tokens, budget);
  const json evidence = sightline::certificate::to_plain(sightline::certificate::make_group_evidence(structure, tokens, budget));
  const convert::Owned own(structure);
  try {
    const checker::ConfirmedGroup confirmed = checker::confirm_automorphisms(own.structure, tokens, to_json(evidence), "group");
    CHECK(confirmed.order->factored() == group.order.factored());
    const auto wanted = sightline::group::list_generators(group, 5000);
    const auto found = checker::list_generators(confirmed.group, 5000);
    REQUIRE(found.size() == wanted.size());
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(found[k].cycles() == sightline::group::to_cycles(wanted[k]));
    CHECK(checker::orbits(confirmed.group) == group.orbit);
    if (structure.vertices == tokens && each) {
      for (const checker::Permutation& generator : found) CHECK(checker::is_isomorphism(own.structure, own.structure, generator));
    }
  } catch (const std::exception& error) {
    FAIL_CHECK(error.what(), "\n", evidence.dump().substr(0, 2000));
  }
  return evidence;
}

bool accepts(const Structure& structure, Vertex tokens, const json& evidence) {
  const convert::Owned own(structure);
  try {
    (void)checker::confirm_automorphisms(own.structure, tokens, to_json(evidence), "group");
    return true;
  } catch (const checker::Rejected& rejected) {
    CHECK(rejected.claim == "group");
  } catch (const checker::Malformed&) {
  }
  return false;
}

Sample from_edges(Vertex n, const std::vector<std::pair<Vertex, Vertex>>& edges) {
  Rows rows(n);
  for (const auto& [a, b] : edges) {
    rows[a].push_back(b);
    rows[b].push_back(a);
  }
  Sample sample(n);
  sample.add(rows);
  return sample;
}

}  // namespace

namespace {
void confirm_large_block_masks(unsigned seed, int count) {
  std::mt19937 random(seed);
  for (int k = 0; k < count; ++k) {
    const auto layout = sightline::sight::oracle::make_blocks(random, (k % 2 == 0 ? 8192 : 2048) + random() % 1000, 6 + random() % 30);
    Structure structure = sightline::symmetry::make_structure(layout);
    if (k % 3 == 1) {
      for (Vertex v = 0; v < layout.tokens / 3; ++v) structure.vertex_colour[v] = 2;
    }
    if (k % 3 == 2) {
      structure.relations.front().visible.assign(layout.vertices(), true);
      for (Vertex v = layout.tokens / 2; v < layout.tokens; ++v) {
        structure.relations.front().visible[v] = false;
        structure.vertex_colour[v] = 2;
      }
    }
    confirm(structure, layout.tokens, "block mask");
  }
}
}  // namespace

TEST_CASE("groups of large block masks, confirmed by way of their stretches") { confirm_large_block_masks(29, 3); }
TEST_CASE("groups of many large block masks, confirmed by way of their stretches" * doctest::test_suite("slow")) { confirm_large_block_masks(30, 24); }

TEST_CASE("block masks whose stretches are told apart by their rows, but for twins") {
  constexpr Vertex block = 800, chain = 10;
  // Blocks of a chain read those below; two more read themselves, each other or neither, and the first of the chain, each or one of them.
  const auto make = [](bool own, bool each_other, bool both_chain) {
    sightline::layout::PatternBuilder builder((chain + 2) * block, budget);
    for (Vertex b = 0; b < chain + 2; ++b) {
      std::vector<sightline::layout::AffineRun> runs;
      if (b < chain && b > 0) runs.push_back(sightline::layout::make_constant_run(0, b * block - 1));
      if (b >= chain && (both_chain || b == chain)) runs.push_back(sightline::layout::make_constant_run(0, block - 1));
      for (Vertex c = chain; b >= chain && c < chain + 2; ++c) {
        if (c == b ? own : each_other) runs.push_back(sightline::layout::make_constant_run(c * block, (c + 1) * block - 1));
      }
      builder.add_segment(b * block, builder.add_list(runs));
    }
    Sample sample((chain + 2) * block);
    sample.add(builder.build());
    return sample;
  };
  const json list = json::array();
  json nothing{{"failed", list}, {"generators", list}, {"path", list}};
  json unlisted = nothing;
  nothing["twins"] = json::array({json::array({json::array({1})})});
  unlisted["twins"] = json::array({json::array({list})});
  const auto is_apart = [](const Structure& structure, const json& evidence) {
    const convert::Owned own(structure);
    const checker::Json read = to_json(evidence);
    return checker::find_stretches_apart(own.structure, read).has_value();
  };
  for (const bool own : {true, false}) {
    for (const bool each_other : {true, false}) {
      for (const bool both_chain : {true, false}) {
        CAPTURE(own);
        CAPTURE(each_other);
        CAPTURE(both_chain);
        const Sample sample = make(own, each_other, both_chain);
        // With one row, of both or of neither, the two blocks are one class; with two rows that look the same they change places as wholes.
        const bool whole = both_chain && own != each_other;
        CHECK(is_apart(sample.structure, nothing) == !whole);
        CHECK(accepts(sample.structure, (chain + 2) * block, nothing) == !whole);
        CHECK(accepts(sample.structure, (chain + 2) * block, unlisted) == (!own && !whole));
        const json evidence = confirm(sample.structure, (chain + 2) * block, "chain of blocks", false);
        CHECK(evidence.at("twins").size() == (whole ? 2 : 1));
      }
    }
  }
}

TEST_CASE("groups of large structures whose rows many readers share") {
  std::mt19937_64 random(31);
  for (int trial = 0; trial < 6; ++trial) {
    CAPTURE(trial);
    // A grid whose tokens are renamed: nothing but the rows says what belongs together.
    const Vertex width = 64 + static_cast<Vertex>(random() % 8), n = width * (66 + static_cast<Vertex>(random() % 4));
    std::vector<Vertex> place(n);
    std::iota(place.begin(), place.end(), Vertex{0});
    if (trial % 2 == 1) std::shuffle(place.begin(), place.end(), random);
    Rows lines(n), across(n);
    std::vector<std::vector<Vertex>> line(n / width), column(width);
    for (Vertex i = 0; i < n; ++i) {
      line[i / width].push_back(place[i]);
      column[i % width].push_back(place[i]);
    }
    for (Vertex i = 0; i < n; ++i) {
      lines[place[i]] = line[trial < 4 ? i / width : (i / width + 1) % line.size()];
      across[place[i]] = column[i % width];
    }
    Sample sample(n);
    sample.add(lines);
    sample.add(across);
    if (trial == 2 || trial == 3) {
      for (Vertex i = 0; i < 3 * width; ++i) sample.structure.vertex_colour[place[i]] = 4;
      sample.structure.relations.back().visible.assign(n, true);
      for (Vertex i = 0; i < n; i += width) sample.structure.relations.back().visible[place[i]] = false;
    }
    const json evidence = confirm(sample.structure, n, "grid", false);
    REQUIRE(evidence["generators"].size() > 20);
    // One more generator, which exchanges two tokens: what their rows must do is clear, and the columns disagree.
    const Vertex first = 4 * width + 1;
    for (const Vertex second : {first + 1, first + width, first + width + 1}) {
      json lie = evidence;
      lie["generators"].push_back(json::array({{place[first], 1, place[second], 1}, {place[second], 1, place[first], 1}}));
      CHECK_FALSE(accepts(sample.structure, n, lie));
    }
    json lie = evidence;
    lie["generators"].erase(0);
    CHECK_FALSE(accepts(sample.structure, n, lie));
  }
}

TEST_CASE("random structures: the engine's group is confirmed") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    CAPTURE(trial);
    const auto n = static_cast<Vertex>(1 + random() % 64);
    Sample sample(n);
    const auto relations = 1 + random() % 2;
    for (std::uint64_t r = 0; r < relations; ++r) sample.add(random() % 4 == 0 ? random_rows(n, 0.1, random) : structured_rows(n, random));
    Vertex tokens = n;
    if (random() % 3 == 0 && n > 4) {
      tokens = n - 1 - static_cast<Vertex>(random() % 3);
      for (Vertex v = tokens; v < n; ++v) sample.structure.vertex_colour[v] = 1;
    }
    confirm(sample.structure, tokens);
  }
}

namespace {

/// Petersen, cubes, Paley, Shrikhande and the 4 x 4 rook's graph, a pair that needs two individualised vertices.
std::vector<std::pair<std::string, Sample>> hard_graphs() {
  std::vector<std::pair<std::string, Sample>> list;
  const auto add = [&](const std::string& name, Vertex n, auto&& joined) {
    std::vector<std::pair<Vertex, Vertex>> edges;
    for (Vertex a = 0; a < n; ++a) {
      for (Vertex b = 0; b < a; ++b) {
        if (joined(a, b)) edges.emplace_back(a, b);
      }
    }
    list.emplace_back(name, from_edges(n, edges));
  };
  add("Petersen", 10, [](Vertex a, Vertex b) {
    const auto pair_of = [](Vertex v) {
      unsigned bits = 0, k = 0;
      for (unsigned x = 0; x < 5; ++x) {
        for (unsigned y = x + 1; y < 5; ++y) {
          if (k++ == v) bits = 1u << x | 1u << y;
        }
      }
      return bits;
    };
    return (pair_of(a) & pair_of(b)) == 0;
  });
  for (const Vertex n : {8u, 16u, 64u}) {
    add("cube " + std::to_string(n), n, [](Vertex a, Vertex b) { return ((a ^ b) & ((a ^ b) - 1)) == 0; });
  }
  for (const Vertex p : {13u, 29u, 37u}) {
    add("Paley " + std::to_string(p), p, [p](Vertex a, Vertex b) {
      for (Vertex x = 1; x < p; ++x) {
        if (x * x % p == (a + p - b) % p) return true;
      }
      return false;
    });
  }
  const auto rook = [](Vertex a, Vertex b) { return a / 4 == b / 4 || a % 4 == b % 4; };
  const auto shrikhande = [](Vertex a, Vertex b) {
    const unsigned dr = (a / 4 + 4 - b / 4) % 4, dc = (a % 4 + 4 - b % 4) % 4;
    return (dr == 0 && (dc == 1 || dc == 3)) || (dc == 0 && (dr == 1 || dr == 3)) || (dr == 1 && dc == 1) || (dr == 3 && dc == 3);
  };
  add("rook", 16, rook);
  add("Shrikhande", 16, shrikhande);
  add("rook and Shrikhande", 32, [&](Vertex a, Vertex b) { return a / 16 == b / 16 && (a < 16 ? rook(a, b) : shrikhande(a - 16, b - 16)); });
  add("rings of 6 and 3 + 3", 12, [](Vertex a, Vertex b) {
    if (a / 6 != b / 6) return false;
    return a < 6 ? (a - b) % 6 == 1 || (a - b) % 6 == 5 : a / 3 == b / 3;
  });
  return list;
}

}  // namespace

TEST_CASE("hard graphs: trees refute what refinement does not see") {
  std::size_t failed = 0, deeper = 0;
  for (auto& [name, sample] : hard_graphs()) {
    const json evidence = confirm(sample.structure, sample.structure.vertices, name.c_str());
    failed += evidence["failed"].size();
    for (const json& entry : evidence["failed"]) deeper += entry[2].size();
  }
  CHECK(failed > 0);
  CHECK(deeper > 0);
}

TEST_CASE("modules with summaries: confirmed without the arcs that say nothing, and lies are rejected") {
  std::mt19937_64 random(13);
  int paths = 0;
  for (int trial = 0; trial < 40; ++trial) {
    CAPTURE(trial);
    const Sample sample = make_modules(random);
    const Vertex n = sample.structure.vertices;
    const json truth = confirm(sample.structure, n, "modules", false);
    if (truth["path"].size() <= 8) continue;
    ++paths;
    json fewer = truth;
    fewer["generators"].erase(fewer["generators"].size() / 2);
    CHECK_FALSE(accepts(sample.structure, n, fewer));
    json shorter = truth;
    shorter["path"].erase(shorter["path"].size() - 1);
    CHECK_FALSE(accepts(sample.structure, n, shorter));
  }
  CHECK(paths >= 8);
}

TEST_CASE("lies about groups are rejected") {
  std::mt19937_64 random(7);
  std::size_t lies = 0;
  std::vector<Sample> samples;
  for (auto& [name, sample] : hard_graphs()) samples.push_back(std::move(sample));
  for (int trial = 0; trial < 60; ++trial) {
    const auto n = static_cast<Vertex>(4 + random() % 40);
    samples.emplace_back(n);
    samples.back().add(structured_rows(n, random));
  }
  for (const Sample& sample : samples) {
    const Vertex n = sample.structure.vertices;
    const json truth = sightline::certificate::to_plain(sightline::certificate::make_group_evidence(sample.structure, n, budget));
    CAPTURE(truth.dump());
    REQUIRE(accepts(sample.structure, n, truth));
    const convert::Owned own(sample.structure);
    const std::string order = checker::confirm_automorphisms(own.structure, n, to_json(truth), "group").order->factored();
    // Whatever is changed: rejected, or the order confirmed is the same (then the lie told nothing false).
    const auto lie = [&](const json& evidence, bool must_fail) {
      ++lies;
      CAPTURE(evidence.dump());
      try {
        const auto confirmed = checker::confirm_automorphisms(own.structure, n, to_json(evidence), "group");
        CHECK(!must_fail);
        CHECK(confirmed.order->factored() == order);
      } catch (const checker::Rejected&) {
      } catch (const checker::Malformed&) {
      }
    };
    for (std::size_t g = 0; g < truth["generators"].size(); ++g) {
      json fewer = truth;  // a proper subgroup with its own order, when the generator was needed
      fewer["generators"].erase(g);
      lie(fewer, false);
      json wrong = truth;
      wrong["generators"][g] = json::array({json::array({0, 1, 1, 1}), json::array({1, 1, 0, 1})});
      lie(wrong, false);
    }
    if (truth["twins"].empty()) {  // too large a group: a swap that is no automorphism
      json larger = truth;
      larger["generators"].push_back({{0, 1, 1, 1}, {1, 1, 0, 1}});
      lie(larger, !sightline::symmetry::is_automorphism(sample.structure, sightline::group::Permutation::transposition(0, 1), budget));
    }
    json none = truth;
    none["generators"] = json::array();
    lie(none, !truth["generators"].empty());
    for (std::size_t k = 0; k < truth["failed"].size(); ++k) {
      json dropped = truth;
      dropped["failed"].erase(k);
      lie(dropped, true);
      const json& tree = truth["failed"][k][2];
      for (std::size_t c = 0; c < tree.size(); c += 2) {
        json branch = truth;
        branch["failed"][k][2].erase(branch["failed"][k][2].begin() + static_cast<std::ptrdiff_t>(c), branch["failed"][k][2].begin() + static_cast<std::ptrdiff_t>(c) + 2);
        lie(branch, true);
      }
    }
    for (std::size_t k = 0; k < truth["path"].size(); ++k) {
      json shorter = truth;
      shorter["path"].erase(k);
      lie(shorter, false);
    }
    json failed = truth;  // the orbit itself is said to fail
    if (!truth["path"].empty() && !truth["generators"].empty()) {
      const checker::Permutation g = checker::Permutation::read(to_json(truth["generators"].back()), n);
      failed["generators"].erase(failed["generators"].size() - 1);
      failed["failed"].push_back({0, g(truth["path"][0].get<Vertex>()), json::array()});
      if (g(truth["path"][0].get<Vertex>()) != truth["path"][0].get<Vertex>()) lie(failed, true);
    }
    json stages = truth;
    stages["twins"] = json::array();
    lie(stages, false);
  }
  CHECK(lies > 400);
}

TEST_CASE("no isomorphism is confirmed, isomorphisms are found out") {
  auto graphs = hard_graphs();
  for (auto& [a_name, a] : graphs) {
    for (auto& [b_name, b] : graphs) {
      if (a.structure.vertices != b.structure.vertices || a_name == b_name) continue;
      const json evidence = sightline::certificate::to_plain(sightline::certificate::make_no_isomorphism_evidence(a.structure, b.structure, {{0, 0}}, budget));
      const convert::Owned left(a.structure), right(b.structure);
      CHECK_NOTHROW(checker::confirm_no_isomorphism(left.structure, right.structure, {{0, 0}}, to_json(evidence), "views"));
      CHECK_THROWS_AS(checker::confirm_no_isomorphism(left.structure, left.structure, {{0, 0}}, to_json(evidence), "views"), checker::Rejected);
    }
  }
}

namespace {

/// The number of points that a group expression acts on, below 200.
Vertex degree_of(const std::string& text) {
  for (Vertex degree = 1; degree < 200; ++degree) {
    try {
      (void)sightline::group::parse_group(text, degree, budget);
      return degree;
    } catch (const sightline::InputError&) {
    }
  }
  return 200;
}

}  // namespace

TEST_CASE("groups of expressions: order and membership as the library has them") {
  std::mt19937_64 random(5);
  for (const std::string text : {"C_1", "C_2", "C_7", "D_3", "D_9", "S_6", "A_5", "A_6", "B_3", "S_3 x S_2", "C_4*C_3", "S_3 wr S_2", "C_3 wr C_4", "D_4 wr S_3", "torus(4,4)",
                                 "torus(3,5)", "grid(3,3)", "grid(2,3,4)", "torus(4,2)", "hypercube(4)", "regular(S_3)", "regular(D_4)", "gens[(0 1 2),(3 4)]", "C_2 x trivial(3)",
                                 "(S_2 wr S_3)*C_5", "gens[(0 1 2 3 4 5 6 7 8 9 10),(2 6 10 7)(3 9 4 5)]", "C_64", "D_32 x S_20"}) {
    CAPTURE(text);
    const Vertex degree = degree_of(text);
    const auto wanted = sightline::group::parse_group(text, degree, budget);
    checker::Order order;
    const checker::Group group = checker::parse_group(text, degree, &order);
    const checker::Chain chain({group.degree, group.classes, group.generators}), trusting(group);  // what is not told the order proves it
    REQUIRE((group.order && group.order->decimal() == order.decimal()));
    for (const checker::Order* value : std::vector<const checker::Order*>{&order, &chain.order(), &trusting.order()}) CHECK(value->decimal() == wanted.order.value()->get_str());
    CHECK(checker::orbits(group) == wanted.orbit);
    const sightline::group::Membership membership(wanted, budget);
    const auto generators = sightline::group::list_generators(wanted, 1000);
    for (int trial = 0; trial < 60; ++trial) {
      sightline::group::Permutation element;
      for (int k = 0; k < 12 && !generators.empty(); ++k) element = generators[random() % generators.size()].after(element);
      if (trial % 2 == 1 && degree > 1) {
        const auto a = static_cast<Vertex>(random() % degree), b = static_cast<Vertex>(random() % degree);
        element = element.after(sightline::group::Permutation::transposition(a, b));
      }
      const checker::Permutation same = checker::Permutation::from_cycles(sightline::group::to_cycles(element), degree);
      CHECK(same.has_cycles(same.cycles()));
      CHECK_FALSE(same.has_cycles(same.cycles() + "("));
      CHECK_FALSE(same.has_cycles(same.cycles().substr(1)));
      CHECK(chain.contains(same) == membership.contains(element));
      CHECK(trusting.contains(same) == membership.contains(element));
      std::vector<Vertex> from, to;
      for (int k = 0; k < 3; ++k) {
        from.push_back(static_cast<Vertex>(random() % degree));
        to.push_back(element(from.back()));
      }
      CHECK(chain.extends(from, to) == membership.extends(from, to));
    }
  }
  CHECK_THROWS_AS((void)checker::parse_group("C_4 y", 4), checker::Malformed);
  CHECK_THROWS_AS((void)checker::parse_group("hypercube(99)", 4), checker::Malformed);
}

TEST_CASE("groups that move several orbits alike: order, membership and wishes as the library has them") {
  std::mt19937_64 random(11);
  for (const std::string text : {"S_6", "D_9", "C_8", "A_5", "torus(3,3)", "S_3 wr S_2", "C_5 x S_4", "regular(D_4)", "trivial(3)"}) {
    for (const Vertex copies : {2u, 3u, 5u}) {
      CAPTURE(text);
      CAPTURE(copies);
      const Vertex degree = degree_of(text);
      // Copies at random places, each with its own order of the points; every second time one more orbit that a rotation turns by itself.
      const Vertex turning = random() % 2 == 0 ? 4 : 0, all = degree * copies + turning;
      std::vector<Vertex> place(all);
      std::iota(place.begin(), place.end(), Vertex{0});
      std::shuffle(place.begin(), place.end(), random);
      std::string gens;
      const auto add = [&](const std::vector<std::pair<Vertex, Vertex>>& moves) {
        if (const std::string cycles = checker::Permutation(moves).cycles(); cycles != "()") gens += (gens.empty() ? "" : ",") + cycles;
      };
      for (const auto& g : sightline::group::list_generators(sightline::group::parse_group(text, degree, budget), 1000)) {
        std::vector<std::pair<Vertex, Vertex>> moves;
        for (Vertex x = 0; x < degree * copies; ++x) moves.emplace_back(place[x], place[g(x % degree) + x / degree * degree]);
        add(moves);
      }
      if (turning > 0) add({{place[all - 4], place[all - 3]}, {place[all - 3], place[all - 2]}, {place[all - 2], place[all - 1]}, {place[all - 1], place[all - 4]}});
      if (gens.empty()) continue;
      const auto wanted = sightline::group::parse_group("gens[" + gens + "]", all, budget);
      const checker::Group group = checker::parse_group("gens[" + gens + "]", all);
      const checker::Chain chain(group);
      CHECK(chain.order().decimal() == wanted.order.value()->get_str());
      const sightline::group::Membership membership(wanted, budget);
      const auto generators = sightline::group::list_generators(wanted, 1000);
      for (int trial = 0; trial < 80; ++trial) {
        sightline::group::Permutation element;
        for (int k = 0; k < 12; ++k) element = generators[random() % generators.size()].after(element);
        if (trial % 4 == 1) element = element.after(sightline::group::Permutation::transposition(static_cast<Vertex>(random() % all), static_cast<Vertex>(random() % all)));
        if (trial % 4 == 2) {  // what moves one copy alone
          const auto& g = generators[random() % generators.size()];
          std::vector<std::pair<Vertex, Vertex>> moves;
          for (Vertex x = 0; x < degree; ++x) moves.emplace_back(place[x], g(place[x]));
          const std::string cycles = checker::Permutation(moves).cycles();
          const checker::Permutation alone = checker::Permutation::from_cycles(cycles, all);
          CHECK(chain.contains(alone) == membership.contains(sightline::group::parse_cycles(cycles, all)));
        }
        CHECK(chain.contains(checker::Permutation::from_cycles(sightline::group::to_cycles(element), all)) == membership.contains(element));
        std::vector<Vertex> from, to;
        for (int k = 0; k < 3; ++k) {
          from.push_back(static_cast<Vertex>(random() % all));
          to.push_back(trial % 3 == 0 ? static_cast<Vertex>(random() % all) : element(from.back()));
        }
        CHECK(chain.extends(from, to) == membership.extends(from, to));
      }
    }
  }
}

TEST_CASE("a symmetric group on several orbits takes no stabiliser chain of all its points") {
  // 60 orbits of 100 points, each moved by S_100 as the others are: 6,000 points, a base of 99. Sifting took more than 2 10^10 steps.
  constexpr Vertex members = 100, columns = 60;
  const auto everywhere = [&](const auto& image) {
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (Vertex x = 0; x < members * columns; ++x) moves.emplace_back(x, image(x / columns) * columns + x % columns);
    return checker::Permutation(std::move(moves));
  };
  checker::Group group;
  group.degree = members * columns;
  group.generators.push_back(everywhere([](Vertex k) { return (k + 1) % members; }));
  group.generators.push_back(everywhere([](Vertex k) { return k < 2 ? 1 - k : k; }));
  const checker::Chain chain(group);
  CHECK(chain.order().factored() == "100!");
  CHECK(chain.contains(everywhere([](Vertex k) { return members - 1 - k; })));
  CHECK_FALSE(chain.contains(checker::Permutation::from_cycles("(0 60)", group.degree)));
}

TEST_CASE("groups of golden cases, examples and real models are confirmed") {
  for (const auto& [name, architecture] : sightline::testing::read_cases(4096)) {
    const auto layout = sightline::architecture::make_layout(architecture, budget);
    confirm(sightline::symmetry::make_structure(layout), layout.tokens, name.c_str());
  }
}
