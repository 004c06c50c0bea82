// Names of groups: every name the library gives comes with a proof that the checker confirms; false names are rejected whatever proof they bring.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "cases.hpp"
#include "checker/group.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/certificate/name_evidence.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/verdict/certify.hpp"
#include "sightline/verdict/context.hpp"
#include "support.hpp"

namespace {

using namespace sightline;
using nlohmann::json;
using group::Group;
using group::Permutation;
using group::Point;
using Random = std::mt19937_64;

const Budget budget;
const std::string claim = "/answer/layout/name";

checker::Group to_checker(const Group& group) {
  checker::Group out{group.degree, {}, {}};
  for (const auto& members : group.symmetric_classes) out.classes.emplace_back(members.begin(), members.end());
  for (const Permutation& g : group.generators) {
    std::vector<std::pair<checker::Vertex, checker::Vertex>> moves;
    for (std::size_t k = 0; k < g.moved().size(); ++k) moves.emplace_back(g.moved()[k], g.image()[k]);
    out.generators.emplace_back(std::move(moves));
  }
  return out;
}

checker::Order to_checker(const group::Order& order) {
  checker::Order out;
  for (const auto& [k, exponent] : order.factorials()) out.multiply_factorial(k, exponent);
  out.multiply(checker::Natural::from_decimal(order.rest().get_str()));
  return out;
}

json show(const Group& group) { return certificate::to_plain(certificate::make_name_evidence(verdict::to_group_answer(group, budget))); }

/// "" when the checker takes the name with this evidence, else why not; a rejection must name the claim.
std::string judge(const Group& group, const json& name, const json& evidence) {
  try {
    checker::check_name(checker::parse(name.dump()), to_checker(group), to_checker(group.order), checker::parse(evidence.dump()), claim);
    return "";
  } catch (const checker::Rejected& rejected) {
    CHECK(rejected.claim == claim);
    return rejected.what();
  } catch (const checker::Malformed& error) {
    return std::string("malformed: ") + error.what();
  }
}

Group make(Point degree, const std::vector<std::string>& cycles) {
  std::vector<Permutation> generators;
  for (const auto& text : cycles) generators.push_back(group::parse_cycles(text, degree));
  return group::make_group(degree, std::move(generators), budget);
}

/// The same group with other generators and other numbers for its points, some of them fixed.
Group disguise(const Group& group, Random& random) {
  const Point degree = group.degree + static_cast<Point>(random() % 3);
  std::vector<Point> rename(degree);
  for (Point x = 0; x < degree; ++x) rename[x] = x;
  std::shuffle(rename.begin(), rename.end(), random);
  std::vector<Permutation> generators;
  for (const Permutation& g : group::list_generators(group, 1000)) {
    std::vector<Point> images(degree);
    for (Point x = 0; x < degree; ++x) images[rename[x]] = rename[g(x)];
    generators.push_back(Permutation::from_images(images));
  }
  for (std::size_t k = 1; k < generators.size(); ++k) {
    if (random() % 2 == 0) generators[k] = generators[k].after(generators[random() % k]);
  }
  return group::make_group(degree, std::move(generators), budget);
}

std::string random_expression(Random& random, int depth) {
  const auto number = [&](unsigned from, unsigned count) { return std::to_string(from + random() % count); };
  switch (random() % (depth > 0 ? 13u : 7u)) {
    case 0: return "C_" + number(2, 6);
    case 1: return "D_" + number(3, 5);
    case 2: return "S_" + number(2, 4);
    case 3: return "regular(D_" + number(3, 3) + ")";
    case 4: return "grid(" + number(2, 3) + "," + number(2, 3) + ")";
    case 5: return "torus(" + number(3, 3) + "," + number(3, 3) + ")";
    case 6: return "cube(" + number(2, 3) + ")";
    case 7: case 8: return "(" + random_expression(random, depth - 1) + ") x (" + random_expression(random, depth - 1) + ")";
    case 9: return "(" + random_expression(random, depth - 1) + ") * (" + random_expression(random, depth - 1) + ")";
    case 10: return "regular(C_" + number(2, 5) + " x C_" + number(2, 5) + ")";
    default: return "(" + random_expression(random, depth - 1) + ") wr S_" + number(2, 3);
  }
}

/// Any degree: the language asks for the number of points, so it is found by trying.
std::optional<Group> parse(const std::string& text, Point most) {
  for (Point degree = 1; degree <= most; ++degree) {
    try {
      return group::parse_group(text, degree, budget);
    } catch (const InputError&) {
    }
  }
  return std::nullopt;
}

void count_kinds(const json& proof, std::map<std::string, int>& kinds) {
  ++kinds[proof["kind"].get<std::string>()];
  if (proof.contains("proofs")) for (const json& inner : proof["proofs"]) count_kinds(inner, kinds);
}

}  // namespace

TEST_CASE("names of small groups are proved") {
  const std::vector<std::pair<Point, std::vector<std::string>>> groups = {
      {3, {}}, {2, {"(0 1)"}}, {3, {"(0 1)"}}, {4, {"(0 3)(1 2)"}}, {3, {"(0 1 2)"}}, {6, {"(0 1 2)(3 4 5)"}}, {5, {"(1 2 3 4)", "(1 2)"}}, {7, {"(0 1 2)(3 4 5 6)"}},
      {5, {"(0 1 2 3 4)", "(1 4)(2 3)"}}, {4, {"(0 1 2 3)", "(1 3)"}}, {10, {"(0 1 2 3 4)(5 6 7 8 9)", "(1 4)(2 3)(6 9)(7 8)"}}, {6, {"(0 1 2)(3 4 5)", "(0 3)(1 5)(2 4)"}},
      {4, {"(0 1)(2 3)", "(0 2)(1 3)"}}, {8, {"(0 1)(2 3)(4 5)(6 7)", "(0 2)(1 3)(4 6)(5 7)", "(0 4)(1 5)(2 6)(3 7)"}}, {8, {"(0 1 2 3)(4 5 6 7)", "(0 4)(1 5)(2 6)(3 7)"}},
      {6, {"(0 1)(2 3)", "(2 3)(4 5)"}}, {12, {"(0 1)(4 5)(8 9)", "(0 1 2 3)(4 5 6 7)(8 9 10 11)", "(0 4)(1 5)(2 6)(3 7)", "(0 4 8)(1 5 9)(2 6 10)(3 7 11)"}},
      {8, {"(0 1)(2 3)", "(0 2)(1 3)", "(0 4)(1 5)(2 6)(3 7)"}}, {8, {"(0 1)(2 3)(4 5)(6 7)", "(1 2)(5 6)", "(1 2 4)(3 6 5)"}}, {8, {"(1 2)", "(2 3)", "(0 4)(1 5)(2 6)(3 7)"}},
      {9, {"(0 2)", "(0 3)(1 4)(2 5)", "(3 6)(4 7)(5 8)"}}, {9, {"(0 1 2)(3 4)", "(5 6)(7 8)", "(5 7)(6 8)"}},
      // S_3 on three points and on its six elements; S_4 on four points and by sign on two.
      {9, {"(0 1)(3 4)(5 8)(6 7)", "(1 2)(3 5)(4 6)(7 8)"}}, {6, {"(0 1)(4 5)", "(0 1 2 3)(4 5)"}}};
  for (const auto& [degree, cycles] : groups) {
    const Group group = make(degree, cycles);
    const json evidence = show(group);
    CAPTURE(evidence.dump());
    REQUIRE(!evidence["name"].is_null());
    CHECK(judge(group, evidence["name"], evidence) == "");
    // The name in one place and not in the other.
    CHECK(judge(group, nullptr, evidence) != "");
    CHECK(judge(group, evidence["name"], {{"name", nullptr}}) != "");
    CHECK(judge(group, evidence["name"], nullptr) != "");
  }
  const Group nameless = make(4, {"(0 1 2)", "(0 1)(2 3)"});
  CHECK(judge(nameless, nullptr, show(nameless)) == "");
  CHECK(judge(nameless, "A_4", show(nameless)) != "");
}

TEST_CASE("random groups: whatever the library names is proved") {
  Random random(3);
  std::map<std::string, int> kinds;
  std::set<std::string> names;
  int named = 0;
  for (int trial = 0; trial < 900; ++trial) {
    const std::string text = random_expression(random, 2);
    CAPTURE(text);
    const auto found = parse(text, 60);
    if (!found) continue;
    const Group group = disguise(*found, random);
    const json evidence = show(group);
    if (evidence["name"].is_null()) continue;
    ++named;
    names.insert(evidence["name"].get<std::string>());
    CAPTURE(evidence.dump().substr(0, 2000));
    CHECK(judge(group, evidence["name"], evidence) == "");
    if (evidence.contains("proof")) count_kinds(evidence["proof"], kinds);
  }
  MESSAGE(named << " named, " << names.size() << " names");
  CHECK(named >= 500);
  CHECK(names.size() >= 150);
  for (const char* kind : {"symmetric", "abelian", "dihedral", "actions", "blocks"}) CHECK(kinds[kind] >= 20);
}

TEST_CASE("false names of the right order are rejected whatever proof they bring") {
  Random random(5);
  struct Truth { Point degree; std::vector<std::string> cycles; json name; };
  const std::vector<std::vector<Truth>> by_order = {
      {{4, {"(0 1 2 3)"}, "C_4"}, {4, {"(0 1)(2 3)", "(0 2)(1 3)"}, "C_2 x C_2"}, {4, {"(0 1)", "(2 3)"}, "S_2 x S_2"}},
      {{6, {"(0 1 2 3 4 5)"}, "C_6"}, {6, {"(0 1 2)(3 4 5)", "(0 3)(1 5)(2 4)"}, "S_3"}, {6, {"(0 1 2)", "(3 4)"}, "C_3 x S_2"}},
      {{8, {"(0 1 2 3 4 5 6 7)"}, "C_8"},
       {8, {"(0 1 2 3)(4 5 6 7)", "(0 4)(1 5)(2 6)(3 7)"}, "C_4 x C_2"},
       {8, {"(0 1)(2 3)(4 5)(6 7)", "(0 2)(1 3)(4 6)(5 7)", "(0 4)(1 5)(2 6)(3 7)"}, "C_2 x C_2 x C_2"},
       {8, {"(0 1 2 3)(4 5 6 7)", "(0 4)(1 7)(2 6)(3 5)"}, "D_4"},
       {8, {"(0 1)(4 5)", "(0 2)(1 3)(4 6)(5 7)"}, "D_4"},
       {8, {"(0 1 2 3)(4 5 6 7)", "(0 4 2 6)(1 7 3 5)"}, nullptr}},  // Q_8
      {{12, {"(0 1 2 3 4 5)(6 7 8 9 10 11)", "(0 6)(1 11)(2 10)(3 9)(4 8)(5 7)"}, "D_6"}, {12, {"(0 1 2 3 4 5 6 7 8 9 10 11)"}, "C_12"},
       {12, {"(0 1 2)(4 5 6)(8 9 10)", "(0 1)(2 3)(4 5)(6 7)(8 9)(10 11)"}, nullptr}},  // A_4
      {{8, {"(0 1 2 3)", "(0 1)"}, "S_4"}, {8, {"(0 1 2 3 4 5)", "(0 5)(1 4)(2 3)", "(6 7)"}, "D_6 x S_2"}, {8, {"(0 1 2)", "(3 4 5 6)", "(4 6)"}, "D_4 x C_3"}},
      {{8, {"(0 1)", "(0 2)(1 3)", "(2 4)(3 5)"}, "B_3"}, {8, {"(0 1)(2 3)(4 5)(6 7)", "(1 2)(5 6)", "(1 2 4)(3 6 5)"}, "B_3"}, {8, {"(0 1 2 3)", "(0 1)", "(4 5)"}, "S_4 x S_2"}},
      {{6, {"(0 1 2)", "(0 3)(1 4)(2 5)"}, "C_3 wr S_2"}, {6, {"(0 1 2)", "(3 4)", "(4 5)"}, "C_3 x S_3"}, {9, {"(0 1 2 3 4 5)", "(6 7 8)"}, "C_6 x C_3"}},
  };
  int lies = 0, truths = 0;
  for (const auto& family : by_order) {
    std::vector<std::pair<Group, json>> groups;
    for (const Truth& truth : family) {
      groups.emplace_back(make(truth.degree, truth.cycles), json());
      groups.back().second = show(groups.back().first);
    }
    for (const auto& [group, own] : groups) {
      const auto elements = group::list_generators(group, 100);
      const std::string key = own["name"].is_null() ? "" : own["name"].get<std::string>();
      for (const auto& [other, shown] : groups) {
        if (shown["name"].is_null()) continue;
        const std::string name = shown["name"].get<std::string>();
        // S_2 is C_2, and C_6 is C_3 x C_2: these names say the same.
        const auto plain = [](std::string text) {
          for (std::size_t at; (at = text.find("S_2 ")) != std::string::npos;) text[at] = 'C';
          if (text.ends_with("S_2")) text[text.size() - 3] = 'C';
          return text == "C_6" ? "C_3 x C_2" : text;
        };
        for (int trial = 0; trial < 60; ++trial) {
          json evidence = shown;
          if (trial == 1 && own.contains("proof")) evidence["proof"] = own["proof"];
          if (trial > 1) evidence = show(disguise(other, random));  // the same proof with other points
          if (trial > 30 && evidence["proof"].contains("elements")) {
            // Elements that are in the group for certain, only not what they are said to be.
            for (json& element : evidence["proof"]["elements"]) {
              Permutation g;
              for (int step = 0; step < 6; ++step) g = elements[random() % elements.size()].after(g);
              element = certificate::to_plain(certificate::to_evidence(g));
            }
          }
          evidence["name"] = name;
          const bool accepted = judge(group, name, evidence).empty();
          if (plain(name) == plain(key)) {
            truths += accepted ? 1 : 0;
          } else {
            ++lies;
            if (accepted) FAIL_CHECK("a group called " << key << " passes for " << name << ": " << evidence.dump());
          }
        }
      }
    }
  }
  MESSAGE(lies << " lies, " << truths << " truths");
  CHECK(lies > 2000);
  CHECK(truths > 20);
}

TEST_CASE("proofs that lack one condition only") {
  struct Forgery { const char* why; Point degree; std::vector<std::string> cycles; const char* name; json proof; };
  const auto element = [](const char* cycles) { return certificate::to_plain(certificate::to_evidence(group::parse_cycles(cycles, 100))); };
  const auto abelian = [&](const std::vector<const char*>& list) {
    json elements = json::array();
    for (const char* cycles : list) elements.push_back(element(cycles));
    return json{{"elements", elements}, {"kind", "abelian"}};
  };
  const auto dihedral = [&](const char* r, const char* s) { return json{{"elements", {element(r), element(s)}}, {"kind", "dihedral"}}; };
  const auto blocks = [](const char* list, const json& proof) { return json{{"blocks", json::parse(list)}, {"kind", "blocks"}, {"proofs", {proof}}}; };
  const auto actions = [](const char* list, std::size_t count) {
    return json{{"actions", json::parse(list)}, {"kind", "actions"}, {"proofs", json(std::vector<json>(count, json{{"kind", "symmetric"}}))}};
  };
  const json symmetric = {{"kind", "symmetric"}};
  const std::vector<Forgery> all = {
      {"another order", 4, {"(0 1 2)", "(0 1)(2 3)"}, "S_4", symmetric},
      {"something outside the cycles of c", 6, {"(0 2)(1 3)", "(4 5)"}, "C_4", abelian({"(0 1 2 3)"})},
      {"shifts that no exponent gives", 8, {"(0 2)(1 3)", "(4 6)(5 7)"}, "C_4", abelian({"(0 1 2 3)(4 5 6 7)"})},
      {"elements that do not commute", 3, {"(0 1 2)", "(0 1)"}, "C_3 x C_2", abelian({"(0 1 2)", "(0 1)"})},
      {"a generator outside", 6, {"(0 1)", "(2 3)"}, "C_2 x C_2", abelian({"(0 1)", "(4 5)"})},
      {"s^2 is not 1", 6, {"(0 1 2 3)", "(4 5)"}, "D_4", dihedral("(0 1 2 3)", "(0 3 2 1)(4 5)")},
      {"(s r)^2 is not 1", 6, {"(0 1 2 3)", "(4 5)"}, "D_4", dihedral("(0 1 2 3)", "(4 5)")},
      {"an action that loses elements", 6, {"(0 1 2)", "(3 4)"}, "S_3", actions(R"([{"points":[[0,3,1]]}])", 1)},
      {"a generator that leaves the points", 4, {"(0 1 2 3)"}, "S_2 x S_2", actions(R"([{"points":[[0,2,1]]},{"points":[[2,2,1]]}])", 2)},
      {"a generator that leaves the sets", 4, {"(0 1 2 3)"}, "S_2 x S_2",
       actions(R"([{"sets":[[[0,2,1]],[[2,2,1]]]},{"sets":[[[0,2,2]],[[1,2,2]]]}])", 2)},
      {"sets that do not tell points apart", 4, {"(0 1 2 3)"}, "S_2 x S_2",
       actions(R"([{"sets":[[[0,2,2]],[[1,2,2]]]},{"sets":[[[0,2,2]],[[1,2,2]]]}])", 2)},
      {"classes across blocks", 6, {"(0 3)", "(1 4)", "(2 5)"}, "D_4", blocks("[[[0,3,1]],[[3,3,1]]]", abelian({"(0 1)"}))},
      {"torn blocks", 12, {"(0 3)(6 9)", "(1 4)(7 10)", "(2 5)(8 11)"}, "D_4", blocks("[[[0,3,1],[6,3,1]],[[3,3,1],[9,3,1]]]", abelian({"(0 1)"}))},
      {"what happens inside the blocks", 8, {"(0 1)(2 3)", "(0 2)(1 3)", "(0 4)(1 5)(2 6)(3 7)"}, "C_4 wr S_2", blocks("[[[0,4,1]],[[4,4,1]]]", abelian({"(0 1 2 3)"}))},
      {"blocks that meet", 4, {"(0 1)", "(2 3)", "(0 2)(1 3)"}, "D_4", blocks("[[[0,2,1]],[[1,2,1]]]", symmetric)},
      {"points left out of the blocks", 5, {"(0 1)", "(2 3)", "(0 2)(1 3)"}, "D_4", blocks("[[[0,2,1]],[[2,2,1]]]", symmetric)},
      {"the proof is one of another name", 4, {"(0 1 2 3)"}, "C_2 x C_2", abelian({"(0 1 2 3)"})},
  };
  for (const Forgery& forgery : all) {
    CAPTURE(forgery.why);
    const std::string verdict = judge(make(forgery.degree, forgery.cycles), forgery.name, {{"name", forgery.name}, {"proof", forgery.proof}});
    CAPTURE(verdict);
    CHECK(verdict.starts_with(claim));
  }
}

TEST_CASE("names are no names when they are written in another way") {
  const Group square = make(4, {"(0 1 2 3)", "(1 3)"});
  const json evidence = show(square);
  for (const char* name : {"C_2 wr S_2", "D_04", "D_4 ", " D_4", "(D_4)", "D_4 x C_1", "d_4", "D_", "", "x", "D_4 x ", "D_4 wr S_1", "((D_4)", "S_1 wr S_4", "D_99999999999999999999"}) {
    json changed = evidence;
    changed["name"] = name;
    CHECK(judge(square, name, changed) != "");
  }
}

TEST_CASE("a false name in a whole certificate is the claim that is rejected") {
  const json certificate = certificates::make_from_text("tokens = 4\ndim = 8\nlayer = [{ pattern = { kind = \"ring\", radius = 1 } }]\ndepth = \"unbounded\"\n", "ring.toml");
  REQUIRE(certificate["answer"]["layout"]["name"] == "D_4");
  CHECK(certificates::is_confirmed(certificate));
  for (const json& name : {json("C_8"), json("C_4 x C_2"), json("C_2 x C_2 x C_2"), json("S_4"), json("trivial"), json()}) {
    json lie = certificate;
    lie["answer"]["layout"]["name"] = name;
    CHECK(certificates::find_rejected_claim(lie) == claim);
    lie["evidence"]["names"]["layout"]["name"] = name;
    CHECK(certificates::find_rejected_claim(lie) == claim);
  }
  json silent = certificate;
  silent["evidence"].erase("names");
  CHECK(certificates::find_rejected_claim(silent) == claim);
}

TEST_CASE("cases of verdicts: every name of a layout is proved") {
  std::ifstream file(SIGHTLINE_SOURCE_DIR "/tests/verdict_cases/cases.json");
  const json cases = json::parse(file);
  std::map<std::string, int> names;
  const auto prove = [&](const std::string& name, const architecture::Architecture& a) {
    CAPTURE(name);
    const verdict::Context context = verdict::analyse(a, budget);
    const json evidence = certificate::to_plain(certificate::make_name_evidence(*context.answer.layout));
    CHECK(judge(context.layout_group, evidence["name"], evidence) == "");
    ++names[evidence["name"].dump()];
  };
  for (const auto& [name, entry] : cases.items()) prove(name, architecture::parse_architecture(entry["architecture"].get<std::string>(), name + ".toml"));
  for (const auto& found : sightline::testing::read_cases(128)) prove(found.name, found.architecture);
  MESSAGE(names.size() << " names, without one " << names["null"]);
  CHECK(names.size() > 20);
}

TEST_CASE("large structured groups are proved at once") {
  const Point n = 1 << 20;
  Group blocks = group::make_trivial_group(n);
  for (Point start = 0; start < n; start += 64) {
    blocks.symmetric_classes.emplace_back();
    for (Point x = start; x < start + 64; ++x) blocks.symmetric_classes.back().push_back(x);
  }
  blocks.order.multiply_factorial(64, n / 64);
  blocks.order.multiply_factorial(n / 64);
  std::vector<Point> turn(n), swap = Permutation().images(n), mirror(n);
  for (Point x = 0; x < n; ++x) turn[x] = (x + 64) % n;
  for (Point x = 0; x < 64; ++x) std::swap(swap[x], swap[x + 64]);
  blocks.generators = {Permutation::from_images(turn), Permutation::from_images(swap)};
  blocks.orbit.assign(n, 0);
  for (Point x = 0; x < n; ++x) {
    turn[x] = (x + 1) % n;
    mirror[x] = (n - x) % n;
  }
  Group ring = group::make_trivial_group(n);
  ring.generators = {Permutation::from_images(turn), Permutation::from_images(mirror)};
  ring.order = group::Order(mpz_class(2 * n));
  ring.orbit.assign(n, 0);
  Group circle = ring;
  circle.generators.pop_back();
  circle.order = group::Order(mpz_class(n));
  Group two = group::make_trivial_group(n);
  two.symmetric_classes.resize(2);
  for (Point x = 0; x < n; ++x) two.symmetric_classes[x < 16 ? 0 : 1].push_back(x);
  for (Point x = 0; x < n; ++x) two.orbit[x] = x < 16 ? 0 : 16;
  two.order.multiply_factorial(16);
  two.order.multiply_factorial(n - 16);
  for (const auto& [group, name] : {std::pair<Group, const char*>{blocks, "S_64 wr S_16384"}, {ring, "D_1048576"}, {circle, "C_1048576"}, {two, "S_1048560 x S_16"},
                                    {group::make_symmetric_group(n), "S_1048576"}, {group::make_trivial_group(n), "trivial"}}) {
    const json evidence = show(group);
    CHECK(evidence["name"] == name);
    CHECK(judge(group, name, evidence) == "");
  }
}
