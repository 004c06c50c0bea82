// A lying prover: certificates that agree with themselves but claim what is false. All are rejected, the false claim named.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <gmpxx.h>
#include <map>
#include <optional>
#include <random>

#include "support.hpp"

namespace {

using nlohmann::json;
using Random = std::mt19937_64;

std::size_t pick(Random& random, std::size_t count) { return count == 0 ? 0 : random() % count; }

/// Rows of a random layout with some structure: blown-up or symmetric graphs, windows, unions, several layers, colours.
json make_random_architecture(Random& random, std::size_t most_tokens) {
  const std::size_t n = 2 + pick(random, most_tokens - 1);
  json a;
  a["tokens"] = n;
  a["dim"] = 16;
  a["depth"] = pick(random, 2) == 0 ? "unbounded" : "listed";
  const auto make_pattern = [&]() -> json {
    switch (pick(random, 9)) {
      case 0: return {{"kind", "window"}, {"radius", 1 + pick(random, 3)}, {"global", json::array({pick(random, n)})}};
      case 1: return {{"kind", "ring"}, {"radius", 1}};
      case 2: return {{"kind", "blocks"}, {"size", 1 + pick(random, n)}};
      case 3: return {{"kind", "strided"}, {"stride", 1 + pick(random, 5)}};
      case 4: return {{"kind", "circulant"}, {"offsets", json::array({1 + pick(random, n - 1)})}};
      case 5: return {{"kind", "fixed"}, {"stride", 2 + pick(random, 4)}, {"summary", 1}};
      case 6: {  // a random digraph blown up: twins
        const std::size_t parts = 1 + pick(random, std::min<std::size_t>(n, 6));
        std::vector<std::vector<bool>> arc(parts, std::vector<bool>(parts));
        for (auto& row : arc) for (std::size_t k = 0; k < parts; ++k) row[k] = pick(random, 2) == 0;
        json rows = json::array();
        for (std::size_t i = 0; i < n; ++i) {
          json row = json::array();
          for (std::size_t j = 0; j < n; ++j) if (i == j || arc[i % parts][j % parts]) row.push_back(j);
          rows.push_back(row);
        }
        return {{"kind", "rows"}, {"rows", rows}};
      }
      case 7: {  // sparse random, symmetric
        json edges = json::array();
        for (std::size_t k = 0; k < n; ++k) edges.push_back({k, (k + 1 + pick(random, n - 1)) % n});
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        return {{"kind", "graph"}, {"edges", edges}};
      }
      default: {
        if (n > 12) return {{"kind", "full"}};
        json matrix = json::array();
        for (std::size_t i = 0; i < n; ++i) {
          json row = json::array();
          for (std::size_t j = 0; j < n; ++j) row.push_back(i == j ? 1 : pick(random, 3));
          matrix.push_back(row);
        }
        return {{"kind", "matrix"}, {"matrix", matrix}};
      }
    }
  };
  a["layer"] = json::array();
  for (std::size_t k = 0, layers = 1 + pick(random, 3); k < layers; ++k) a["layer"].push_back({{"pattern", make_pattern()}, {"repeat", 1 + pick(random, 3)}});
  return a;
}

json make_random_id_architecture(Random& random) {
  const std::size_t n = 2 + pick(random, 4);
  json a = make_random_architecture(random, n);
  a["input"] = {{"embedding", "table"}, {"vocabulary", 2 + pick(random, 2)}, {"bos", pick(random, 2) == 0}};
  a["output"] = {{"head", "linear"}};
  if (pick(random, 2) == 0) a["mixer"] = {{"relative", pick(random, 2) == 0 ? "rotary" : "alibi"}};
  if (pick(random, 3) == 0) a["target"] = {{"class", "causal"}};
  return a;
}

/// One lie: nothing when the certificate offers no occasion for it.
using Lie = std::function<std::optional<json>(const json& truth, const json& other, Random& random)>;

json scaled(const json& order, unsigned numerator, unsigned denominator) {
  if (!order.is_string()) return order;
  const mpz_class value = mpz_class(order.get<std::string>()) * numerator / denominator;
  return value.get_str();
}

std::size_t tokens(const json& certificate) { return certificate["architecture"]["tokens"].get<std::size_t>(); }

/// A lie about the exact distance of a collision's target, where the answer has one.
std::optional<json> lie_about_distance(const json& truth, const std::function<void(json&)>& change) {
  json lie = truth;
  json& floor = lie["answer"]["floor"];
  if (!floor.is_object() || !floor.contains("distance")) return std::nullopt;
  change(floor);
  return lie;
}

/// The certificate with another depth for `needed` throughout.
std::optional<json> shift_needed(const json& truth, int by) {
  const json& needed = truth["answer"]["layers"]["needed"];
  if (!needed.is_number_integer() || needed.get<int>() + by < 0) return std::nullopt;
  json lie = truth;
  const int claimed = needed.get<int>() + by;
  lie["answer"]["layers"]["needed"] = claimed;
  json& evidence = lie["evidence"];
  if (evidence.contains("needed")) {
    for (auto& [key, entry] : evidence["needed"].items()) {
      if (entry.contains("layers") && entry["layers"] == needed) entry["layers"] = claimed;
    }
  }
  // What was shown one layer earlier and at the depth itself moves along.
  for (const char* part : {"views", "collisions"}) {
    if (!evidence.contains(part)) continue;
    for (auto& [key, by_depth] : evidence[part].items()) {
      json moved = json::object();
      if (!by_depth.is_object()) continue;
      for (auto& [depth, value] : by_depth.items()) {
        const bool number = !depth.empty() && std::all_of(depth.begin(), depth.end(), [](char c) { return c >= '0' && c <= '9'; });
        moved[number && std::stoi(depth) + by >= 0 ? std::to_string(std::stoi(depth) + by) : depth] = value;
      }
      by_depth = moved;
    }
  }
  return lie;
}

std::optional<json> copy_field(const json& truth, const json& other, const json::json_pointer& path) {
  if (!other["answer"].contains(path) || other["answer"][path] == truth["answer"][path]) return std::nullopt;
  json lie = truth;
  lie["answer"][path] = other["answer"][path];
  return lie;
}

const std::vector<std::pair<std::string, Lie>>& lies() {
  static const std::vector<std::pair<std::string, Lie>> all = {
      {"a proper subgroup with its own orbits and order",
       [](const json& truth, const json&, Random&) -> std::optional<json> {
         if (!truth["answer"]["layout"].is_object() || truth["answer"]["layout"]["generators"].empty()) return std::nullopt;
         json lie = truth;
         json& answer = lie["answer"]["layout"];
         answer["generators"].erase(answer["generators"].size() - 1);
         answer["order"] = scaled(answer["order"], 1, 2);
         answer["name"] = nullptr;
         json& evidence = lie["evidence"]["layout"];
         if (evidence.is_object() && evidence.contains("generators") && !evidence["generators"].empty()) {
           const json dropped = evidence["generators"].back();
           evidence["generators"].erase(evidence["generators"].size() - 1);
           // Whatever the dropped one reached is declared out of reach, without reasons.
           for (std::size_t level = 0; level < evidence["path"].size(); ++level) {
             for (const json& stretch : dropped) evidence["failed"].push_back({level, stretch[2], json::array()});
           }
         }
         return lie;
       }},
      {"too large a group",
       [](const json& truth, const json&, Random& random) -> std::optional<json> {
         const std::size_t n = tokens(truth);
         const std::size_t x = pick(random, n), y = pick(random, n);
         if (x >= y || !truth["answer"]["layout"].is_object()) return std::nullopt;
         json lie = truth;
         const std::string swap = "(" + std::to_string(x) + " " + std::to_string(y) + ")";
         json& answer = lie["answer"]["layout"];
         for (const json& generator : answer["generators"]) if (generator == swap) return std::nullopt;
         answer["generators"].push_back(swap);
         answer["order"] = scaled(answer["order"], 2, 1);
         answer["name"] = nullptr;
         if (lie["evidence"].contains("layout") && lie["evidence"]["layout"].contains("generators")) {
           lie["evidence"]["layout"]["generators"].push_back(json::array({json::array({x, 1, y, 1}), json::array({y, 1, x, 1})}));
         }
         return lie;
       }},
      {"the right order with wrong generators",
       [](const json& truth, const json&, Random& random) -> std::optional<json> {
         json lie = truth;
         if (!lie["answer"]["layout"].is_object() || lie["answer"]["layout"]["generators"].empty()) return std::nullopt;
         const std::size_t n = tokens(truth), x = pick(random, n);
         json& generators = lie["answer"]["layout"]["generators"];
         const std::string wrong = "(" + std::to_string(std::min(x, n - 1 - x)) + " " + std::to_string(std::max(x, n - 1 - x)) + ")";
         const std::size_t which = pick(random, generators.size());
         if (n < 2 || 2 * x + 1 == n || generators[which] == wrong) return std::nullopt;
         generators[which] = wrong;
         json& evidence = lie["evidence"]["layout"];
         if (evidence.is_object() && evidence.contains("generators") && !evidence["generators"].empty()) {
           evidence["generators"].back() = json::array({json::array({x, 1, n - 1 - x, 1}), json::array({n - 1 - x, 1, x, 1})});
         }
         return lie;
       }},
      {"a refinement tree with one branch missing",
       [](const json& truth, const json&, Random& random) -> std::optional<json> {
         json lie = truth;
         json& evidence = lie["evidence"]["layout"];
         if (!evidence.is_object() || !evidence.contains("failed") || evidence["failed"].empty()) return std::nullopt;
         evidence["failed"].erase(pick(random, evidence["failed"].size()));
         return lie;
       }},
      {"needed one too small", [](const json& truth, const json&, Random&) { return shift_needed(truth, -1); }},
      {"needed one too large", [](const json& truth, const json&, Random&) { return shift_needed(truth, 1); }},
      {"the class of another layout", [](const json& truth, const json& other, Random&) { return copy_field(truth, other, json::json_pointer("/class")); }},
      {"unseen of another layout", [](const json& truth, const json& other, Random&) { return copy_field(truth, other, json::json_pointer("/unseen")); }},
      {"the witness of another layout", [](const json& truth, const json& other, Random&) { return copy_field(truth, other, json::json_pointer("/witness")); }},
      {"the floor of another layout", [](const json& truth, const json& other, Random&) { return copy_field(truth, other, json::json_pointer("/floor")); }},
      {"the verdict of another layout", [](const json& truth, const json& other, Random&) { return copy_field(truth, other, json::json_pointer("/verdict")); }},
      {"two claims exchanged",
       [](const json& truth, const json&, Random&) -> std::optional<json> {
         json lie = truth;
         json& layers = lie["answer"]["layers"];
         if (layers["connected"] == layers["given"]) return std::nullopt;
         std::swap(layers["connected"], layers["given"]);
         return lie;
       }},
      {"layout and expressed exchanged",
       [](const json& truth, const json&, Random&) -> std::optional<json> {
         json lie = truth;
         if (lie["answer"]["layout"] == lie["answer"]["expressed"]) return std::nullopt;
         std::swap(lie["answer"]["layout"], lie["answer"]["expressed"]);
         return lie;
       }},
      {"one colour dropped",
       [](const json& truth, const json&, Random&) -> std::optional<json> {
         json lie = truth;
         for (json& pattern : lie["patterns"]) {
           for (json& list : pattern["lists"]) {
             for (json& run : list) {
               if (run[3] != 1) {
                 run[3] = 1;
                 return lie;
               }
             }
           }
         }
         return std::nullopt;
       }},
      {"a row changed",
       [](const json& truth, const json&, Random& random) -> std::optional<json> {
         // Rows of random blocks are taken on trust: what is derived from others may well be true of those.
         if (truth["architecture"].dump().find("\"bigbird\"") != std::string::npos || truth["architecture"].dump().find("\"random\",") != std::string::npos) return std::nullopt;
         json lie = truth;
         json& lists = lie["patterns"][pick(random, lie["patterns"].size())]["lists"];
         json& list = lists[pick(random, lists.size())];
         if (list.empty()) return std::nullopt;
         list.erase(pick(random, list.size()));
         return lie;
       }},
      {"another distance of the target",
       [](const json& truth, const json&, Random& random) {
         return lie_about_distance(truth, [&](json& floor) {
           mpq_class other = mpq_class(floor["distance"]["squared_error"].get<std::string>()) * static_cast<unsigned long>(2 + pick(random, 5)) / static_cast<unsigned long>(1 + pick(random, 7));
           other.canonicalize();
           floor["distance"]["squared_error"] = other.get_str();
         });
       }},
      {"a distance equal to the whole target",
       [](const json& truth, const json&, Random&) { return lie_about_distance(truth, [](json& floor) { floor["distance"]["squared_error"] = floor["distance"]["norm"]; }); }},
      {"a distance from fewer isomorphisms",
       [](const json& truth, const json&, Random& random) {
         return lie_about_distance(truth, [&](json& floor) { floor["distance"]["isomorphisms"] = pick(random, floor["distance"]["isomorphisms"].get<std::size_t>()); });
       }},
      {"an exact distance called a bound, or the other way round",
       [](const json& truth, const json&, Random&) { return lie_about_distance(truth, [](json& floor) { floor["distance"]["exact"] = !floor["distance"]["exact"].get<bool>(); }); }},
      {"the rules of another layout", [](const json& truth, const json& other, Random&) { return copy_field(truth, other, json::json_pointer("/rules")); }},
      {"a rule left out",
       [](const json& truth, const json&, Random& random) -> std::optional<json> {
         json lie = truth;
         lie["answer"]["rules"].erase(pick(random, lie["answer"]["rules"].size()));
         return lie;
       }},
      {"a premise with another number",
       [](const json& truth, const json&, Random& random) -> std::optional<json> {
         json lie = truth;
         json& rule = lie["answer"]["rules"][pick(random, lie["answer"]["rules"].size())];
         std::string text = rule.get<std::string>();
         const std::size_t digit = text.find_last_of("0123456789");
         if (digit == std::string::npos) return std::nullopt;
         text[digit] = text[digit] == '9' ? '3' : static_cast<char>(text[digit] + 1);
         rule = text;
         return lie;
       }},
      {"no feedforward, or another one",
       [](const json& truth, const json&, Random&) -> std::optional<json> {
         json lie = truth;
         for (json& layer : lie["architecture"]["layer"]) layer["feedforward"]["kind"] = "none";
         lie["architecture"]["feedforward"]["kind"] = "none";
         certificates::renew_digest(lie);
         return lie;
       }},
      {"a norm in front",
       [](const json& truth, const json&, Random&) -> std::optional<json> {
         json lie = truth;
         if (!lie["architecture"]["layer"][0]["norm"].is_object()) return std::nullopt;
         for (json& layer : lie["architecture"]["layer"]) layer["norm"] = {{"affine", true}, {"eps", 1e-5}, {"kind", "layernorm"}, {"place", "post"}};
         lie["architecture"]["norm"] = lie["architecture"]["layer"][0]["norm"];
         certificates::renew_digest(lie);
         return lie;
       }},
      {"one layer more in the list",
       [](const json& truth, const json&, Random&) -> std::optional<json> {
         json lie = truth;
         if (lie["architecture"]["depth"] != "listed") return std::nullopt;
         json& repeat = lie["architecture"]["layer"][0]["repeat"];
         repeat = repeat.get<int>() + 1;
         certificates::renew_digest(lie);
         return lie;
       }},
  };
  return all;
}

struct Tally {
  std::size_t told = 0, unnamed = 0;
  std::vector<std::string> believed;
};

void tell_all(const json& truth, const json& other, Random& random, std::map<std::string, Tally>& tallies) {
  for (const auto& [name, lie] : lies()) {
    const std::optional<json> told = lie(truth, other, random);
    if (!told || *told == truth) continue;
    Tally& tally = tallies[name];
    ++tally.told;
    const std::string claim = certificates::find_rejected_claim(*told);
    if (claim.empty()) tally.believed.push_back(told->dump().substr(0, 2000));
    if (claim == "unnamed") ++tally.unnamed;
  }
}

void report(const std::map<std::string, Tally>& tallies) {
  std::size_t total = 0;
  for (const auto& [name, tally] : tallies) {
    total += tally.told;
    INFO(name << ": " << tally.told << " told");
    CHECK(tally.unnamed == 0);
    for (std::size_t k = 0; k < std::min<std::size_t>(tally.believed.size(), 2); ++k) FAIL_CHECK(name << " is believed: " << tally.believed[k]);
  }
  MESSAGE(total << " lies of " << tallies.size() << " kinds");
}

void lie_about_random_layouts(std::size_t count, std::size_t ids, std::uint64_t seed) {
  std::map<std::string, Tally> tallies;
  Random random(seed);
  json previous;
  for (std::size_t k = 0; k < count + ids; ++k) {
    const json architecture = k < count ? make_random_architecture(random, k % 3 == 0 ? 64 : 16) : make_random_id_architecture(random);
    CAPTURE(architecture.dump());
    const json truth = certificates::make_from_text(architecture.dump(), "random.json");
    const std::string claim = certificates::find_rejected_claim(truth);
    CHECK_MESSAGE(claim == "", "a true certificate is rejected at " << claim);
    if (!previous.is_null()) tell_all(truth, previous, random, tallies);
    previous = truth;
  }
  report(tallies);
}

}  // namespace

TEST_CASE("lies about random layouts are rejected") { lie_about_random_layouts(60, 30, 1); }

// The facts of one kernel or activation, and all that follows from them, claimed for another.
TEST_CASE("facts of other expressions are rejected") {
  struct Swap {
    const char *from, *to;
  };
  // Each pair differs in something that the certificate claims: softmax, (13), positivity, k(0,0), analyticity, homogeneity, keys.
  const Swap kernels[] = {{"exp(dot(x,y))", "cosh(dot(x,y))"}, {"exp(dot(x,y))", "1+exp(dot(x,y))"}, {"exp(dot(x,y))", "exp(dot(x,y))+exp(-2*dot(x,y))"},
                          {"exp(dot(x,y))", "1/(1+norm2(x-y))"}, {"exp(dot(x,y))", "exp(-norm2(y))"}, {"exp(dot(x,y))", "(1+dot(x,y))^2"},
                          {"exp(dot(x,y))", "sigmoid(dot(x,y))"}, {"exp(dot(x,y))", "softplus(dot(x,y))"}, {"exp(dot(x,y))", "dot(x,y)"}, {"exp(dot(x,y))", "1"},
                          {"exp(dot(x,y))", "1+norm2(x)"}, {"exp(-norm2(x-y))", "1/(1+norm2(x-y))"}, {"exp(-norm2(x-y))", "exp(dot(x,y))"},
                          {"exp(-norm2(x-y))", "exp(-norm2(x)-norm2(y))"}, {"(1+norm2(x-y))*exp(dot(x,y))", "(1+norm2(x-y))^-2"}, {"1", "2*dot(x,y)"},
                          {"1", "1+norm2(y)"}, {"cosh(dot(x,y))", "dot(x,y)^2"}, {"cosh(dot(x,y))", "sinh(dot(x,y))"}, {"1/(1+norm2(x-y))", "dot(x,y)"}};
  const Swap activations[] = {{"tanh(t)", "t"}, {"tanh(t)", "2*t+1"}, {"tanh(t)", "t^3"}, {"tanh(t)", "1"}, {"tanh(t)", "exp(t)"},
                              {"t^3-t", "t"}, {"t^2", "t"}, {"sigmoid(t)", "t^2"}, {"log(1+exp(t))", "t^2+1"}, {"relu(t)-1", "t-1"}};
  std::size_t told = 0;
  const auto tell = [&](const json& architecture, const Swap& one) {
    json lie = certificates::make_from_text(architecture.dump(), "expression.json");
    CHECK(certificates::find_rejected_claim(lie) == "");
    std::string text = lie.dump();
    const std::string old = json(one.from).dump(), fresh = json(one.to).dump();
    std::size_t at = 0, replaced = 0;
    while ((at = text.find(old, at)) != std::string::npos) text.replace(at, old.size(), fresh), at += fresh.size(), ++replaced;
    REQUIRE(replaced >= 2);
    lie = json::parse(text);
    certificates::renew_digest(lie);
    INFO(one.from << " claimed of " << one.to);
    CHECK(certificates::find_rejected_claim(lie) != "");
    ++told;
  };
  for (const Swap& one : kernels) tell({{"tokens", 4}, {"dim", 3}, {"depth", "unbounded"}, {"mixer", {{"kernel", one.from}}}}, one);
  for (const Swap& one : activations) tell({{"tokens", 4}, {"dim", 3}, {"depth", "unbounded"}, {"feedforward", {{"activation", one.from}}}}, one);
  MESSAGE(told << " lies about expressions");
}

// Arcs join tokens of one parity only, so that both residues are looked at by themselves; tokens that both heads show count once. Counted twice, one layer showed all that there is.
TEST_CASE("heads that overlap show no token twice: one layer too few is refused, residue by residue") {
  const json one = {{"tokens", 8}, {"dim", 8}, {"depth", "listed"}, {"target", {{"class", "seen"}}},
                    {"mixer", {{"relative", "learned"}, {"pattern", {{"kind", "per_head"}, {"heads", {{{"kind", "butterfly"}, {"distance", 2}}, {{"kind", "butterfly"}, {"distance", 4}}}}}}}}};
  const json truth = certificates::make_from_text(one.dump(), "heads.json");
  CHECK(certificates::is_confirmed(truth));
  REQUIRE(truth["answer"]["layers"]["needed"] == 2);
  REQUIRE(truth["answer"]["verdict"] == "impossible");
  // All that two layers make of it, said of the one that there is.
  json two = one;
  two["layer"] = json::array({{{"repeat", 2}}});
  const json enough = certificates::make_from_text(two.dump(), "heads.json");
  REQUIRE(enough["answer"]["verdict"] == "certified");
  json lie = truth;
  lie["answer"] = enough["answer"];
  json& layers = lie["answer"]["layers"];
  layers["given"] = layers["needed"] = lie["answer"]["class"]["layers"] = 1;
  lie["answer"]["unseen"] = truth["answer"]["unseen"];
  std::string& seen = lie["answer"]["rules"][0].get_ref<std::string&>();
  REQUIRE(seen.find("after 2 layers") != std::string::npos);
  seen.replace(seen.find("after 2 layers"), 14, "after 1 layer");
  json& needed = lie["evidence"]["views"]["layout"]["needed"]["seen/layout"];
  REQUIRE(needed["layers"] == 2);
  needed = {{"layers", 1}};
  CHECK(certificates::find_rejected_claim(lie) == "needed");
}

// Means have no scores that positions could turn: with rotary positions, which the reader of files refuses, one layer would be said to do what takes two (docs/theory.md 16.61 c).
TEST_CASE("keys of an embedded architecture that have no meaning where they stand are refused") {
  const auto write = [](json mixer) {
    mixer["pattern"] = {{"kind", "full"}, {"causal", true}};
    return json{{"tokens", 24}, {"dim", 8}, {"depth", "unbounded"}, {"input", {{"embedding", "table"}, {"vocabulary", 2}, {"bos", true}}}, {"output", {{"head", "linear"}}}, {"target", {{"class", "causal"}}},
                {"mixer", mixer}}.dump();
  };
  const json means = certificates::make_from_text(write({{"kind", "mean"}}), "means.json");
  CHECK(certificates::is_confirmed(means));
  CHECK(means["answer"]["layers"]["needed"] == 2);
  json lie = certificates::make_from_text(write({{"relative", "rotary"}}), "means.json");
  CHECK(lie["answer"]["layers"]["needed"] == 1);
  lie["architecture"]["layer"][0]["mixer"]["kind"] = lie["architecture"]["mixer"]["kind"] = "mean";
  lie["answer"]["condition13"] = means["answer"]["condition13"];
  lie["answer"]["rules"][0] = "mixed-rotary (theory 15.5 D5): a full rotary layer names every token; a full layer without positions needs a second one to order the rest; the first layer is rotary and shows everything";
  certificates::renew_digest(lie);
  CHECK(certificates::find_rejected_claim(lie) == "malformed");
  json odd = means;
  odd["architecture"]["layer"][0]["norm"]["kind"] = "batchnorm";
  certificates::renew_digest(odd);
  CHECK(certificates::find_rejected_claim(odd) == "malformed");
}

TEST_CASE("lies about structured layouts are rejected") {
  std::map<std::string, Tally> tallies;
  Random random(2);
  json previous;
  for (const char* pattern : {R"({"kind":"window","radius":4})", R"({"kind":"bigbird","block":16,"random":2,"globals":2,"seed":1})",
                              R"({"kind":"ring","radius":2})", R"({"kind":"blocks","size":16})", R"({"kind":"strided","stride":16})"}) {
    const json truth = certificates::make_from_text(std::string(R"({"tokens":256,"dim":16,"depth":"unbounded","mixer":{"pattern":)") + pattern + "}}", "structured.json");
    CAPTURE(pattern);
    CHECK(certificates::find_rejected_claim(truth) == "");
    if (!previous.is_null()) tell_all(truth, previous, random, tallies);
    previous = truth;
  }
  report(tallies);
}

TEST_SUITE("slow") {
  TEST_CASE("lies about 1,000 random layouts and 200 id architectures are rejected") { lie_about_random_layouts(1000, 200, 3); }

  TEST_CASE("lies about the structured layouts of 4,096 tokens are rejected") {
    std::map<std::string, Tally> tallies;
    Random random(4);
    json previous;
    for (const char* pattern :
         {R"({"kind":"window","radius":256})", R"({"kind":"window","radius":256,"global":[0]})", R"({"kind":"ring","radius":8})", R"({"kind":"full"})",
          R"({"kind":"full","causal":true})", R"({"kind":"bigbird","block":64,"random":3,"globals":2,"seed":1})", R"({"kind":"blocks","size":64})",
          R"({"kind":"strided","stride":64})", R"({"kind":"strided","stride":64,"causal":true})", R"({"kind":"fixed","stride":64,"summary":8})",
          R"({"kind":"grid","shape":[64,64],"rows":true})", R"({"kind":"grid","shape":[64,64],"blocks":[8,8],"shift":[4,4],"wrap":false})",
          R"({"kind":"window","radius":8,"dilation":4,"global":[0]})", R"({"kind":"butterfly","distance":4})", R"({"kind":"random","degree":8,"seed":1})"}) {
      const json truth = certificates::make_from_text(std::string(R"({"tokens":4096,"dim":64,"depth":"unbounded","mixer":{"pattern":)") + pattern + "}}", "structured.json");
      CAPTURE(pattern);
      CHECK(certificates::find_rejected_claim(truth) == "");
      if (!previous.is_null()) tell_all(truth, previous, random, tallies);
      previous = truth;
    }
    report(tallies);
  }
}
