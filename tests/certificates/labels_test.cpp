// What the checker derives about token ids is what the library found; collisions that are none, changed or exchanged are rejected.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "../property/id_enumeration.hpp"
#include "cases.hpp"
#include "checker/labels.hpp"
#include "sight_convert.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/label_evidence.hpp"
#include "sightline/certificate/pattern_evidence.hpp"
#include "sightline/certificate/sight_evidence.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/verdict/id_layers.hpp"

using namespace sightline;
using architecture::Architecture;
using nlohmann::json;

namespace {

/// What certify() prepares before it asks about ids.
verdict::Context make_context(const Architecture& a, const Budget& budget) {
  verdict::Context context(a, budget);
  context.target_class = static_cast<sight::ClassKind>(a.target.target_class);
  context.target_is_layout = a.target.symmetry_is_layout;
  if (a.depth == architecture::Depth::listed) context.given = a.layer_count();
  context.layout = architecture::make_layout(a, budget);
  context.layout_group = context.target = symmetry::compute_layout_group(context.layout, budget);
  const auto degree = static_cast<group::Point>(a.tokens);
  if (!a.target.symmetry_expression.empty()) {
    context.target = group::parse_group(a.target.symmetry_expression, degree, budget);
  } else if (!a.target.symmetry_is_layout) {
    std::vector<group::Permutation> generators;
    for (const std::string& cycles : a.target.symmetry_generators) generators.push_back(group::parse_cycles(cycles, degree));
    context.target = group::make_group(degree, std::move(generators), budget);
  }
  if (context.target_class == sight::ClassKind::causal) context.mean_all_causal();
  if (a.input.bos) context.target = group::make_stabiliser(context.target, 0, budget);
  context.facts = verdict::compute_facts(a, budget);
  return context;
}

/// The checker's question, with everything that it points to.
struct Asked {
  checker::Json architecture, evidence, views;
  checker::Layout layout, seen;
  checker::ConfirmedGroup layout_group, target;
  std::unique_ptr<checker::Sight> sight;
  checker::IdQuestion question;

  Asked(const verdict::Context& context, sight::ClassKind kind, const json& shown, const json& sight_shown = json::object())
      : architecture(checker::parse(architecture::to_canonical_json(context.architecture))), evidence(checker::parse(shown.dump())), views(checker::parse(sight_shown.dump())),
        layout_group(convert::to_checker(context.layout_group)),
        target(convert::to_checker(context.target)) {
    std::vector<std::string> trusted;
    layout = checker::make_layout(architecture, checker::parse(certificate::print_canonical(certificate::make_pattern_evidence(context.architecture, Budget{}))), trusted);
    seen = layout;
    std::size_t position = 0;
    seen.layers.emplace_back();
    for (std::size_t k = 0; k < context.architecture.layers.size(); ++k) {
      const verdict::MixerFacts& facts = context.facts.mixer[k];
      using attention_kernel::Tri;
      char additive = facts.additive_only == Tri::yes ? 'y' : facts.additive_only == Tri::no ? 'n' : '?';
      // As the checker does before it asks: given rows under weights that may be polynomials (theory 16.32).
      const architecture::Mixer& mixer = context.architecture.layers[k].mixer;
      const bool polynomial = mixer.kind == architecture::MixerKind::attention
                                  ? !facts.softmax
                                  : mixer.kind == architecture::MixerKind::bias && attention_kernel::compute_activation_facts(mixer.activation, {}).polynomial != Tri::no;
      if (k == 0 && additive == 'n' && polynomial && context.architecture.input.positions == architecture::Positions::fixed) additive = '?';
      question.mixers.push_back({facts.softmax, additive, facts.blind, facts.sees_places, context.facts.kernel[k].positive == Tri::yes, facts.may_weigh_nobody});
      for (std::int64_t r = 0; r < context.architecture.layers[k].repeat; ++r, ++position) {
        if (facts.blind) seen.order[position] = static_cast<std::uint32_t>(seen.layers.size() - 1);
      }
    }
    sight = std::make_unique<checker::Sight>(seen, views);
    question.architecture = &architecture;
    question.layout = &layout;
    question.sight = sight.get();
    question.target = context.target_is_layout ? &layout_group.group : &target.group;
    question.layout_group = &layout_group;
    question.kind = static_cast<checker::ClassKind>(kind);
    question.given = context.given;
    question.evidence = &evidence;
    question.seen = &seen;
  }
  Asked(const Asked&) = delete;
};

json to_json(const auto& collision) {
  return collision ? json{{"a", collision->a}, {"b", collision->b}, {"x", collision->x}, {"y", collision->y}} : json();
}

/// Every field, for one comparison and a readable difference.
json to_json(const auto& layers, int floor) {
  return {{"layers", layers.layers ? json(*layers.layers) : json()}, {"never", layers.never}, {"only_necessary", layers.only_necessary},
          {"low", layers.low}, {"high", layers.high}, {"rule", layers.rule}, {"premises", layers.premises},
          {"targets", layers.distinct_targets ? json(*layers.distinct_targets) : json()}, {"floor", floor},
          {"at_given", to_json(layers.at_given)}, {"below", to_json(layers.below)}};
}

json derive(const checker::IdQuestion& question) {
  const checker::IdLayers layers = checker::id_layers(question);
  return to_json(layers, static_cast<int>(layers.floor));
}

std::map<std::string, int> rules_met;
int sweeps_run = 0;

void compare(const Architecture& a, std::optional<sight::ClassKind> kind = {}) {
  if (a.input.embedding != architecture::Embedding::table) return;
  const Budget budget;
  const verdict::Context context = make_context(a, budget);
  const verdict::IdLayers found = verdict::compute_id_layers(context, kind.value_or(context.target_class));
  const json evidence = certificate::to_evidence(found);
  certificate::SightEvidence views(context.sighted_layout(), context.layout_group, sight::RegisterRows::multisets, budget);
  if (!context.asked.empty()) {
    views.add_needed(context.question(context.sighted_layout(), kind.value_or(context.target_class), sight::RegisterRows::multisets));
  }
  Asked asked(context, kind.value_or(context.target_class), evidence, certificate::to_plain(views.result()));
  const json expected = to_json(found, static_cast<int>(found.floor));
  ++rules_met[found.rule];
  CHECK(derive(asked.question) == expected);
  // Nothing but a collision itself shows that there is one.
  for (const auto& [name, collision] : evidence.items()) {
    json less = evidence;
    less.erase(name);
    Asked without(context, kind.value_or(context.target_class), less);
    CHECK_THROWS_AS(derive(without.question), checker::Rejected);
    (void)collision;
  }
}

template <class T>
const T& pick(std::mt19937_64& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

/// Any id architecture that a file can say, small and large, most of them beyond enumeration.
std::string draw(std::mt19937_64& random) {
  const auto chance = [&](unsigned in) { return random() % in == 0; };
  const int n = static_cast<int>(chance(3) ? 1 + random() % 5 : 17 + random() % 12);
  std::string text = "tokens = " + std::to_string(n) + "\ndim = 8\ndepth = \"" + (chance(2) ? "listed" : "unbounded") + "\"\n[target]\nclass = \"" +
                     pick<std::string>(random, {"all", "all", "causal", "causal", "seen"}) + "\"\n";
  if (chance(4)) text += "symmetry = " + pick<std::string>(random, {"[\"()\"]", "\"S_" + std::to_string(n) + "\"", "\"C_" + std::to_string(n) + "\""}) + "\n";
  text += "[input]\nembedding = \"table\"\n";
  if (!chance(4)) text += "vocabulary = " + std::to_string(pick<int>(random, {2, 2, 3, 5, 1000, 32000})) + "\n";
  if (!chance(3)) text += "bos = true\n";
  if (chance(6)) text += "positions = \"" + pick<std::string>(random, {"learned", "sinusoidal"}) + "\"\n";
  if (chance(8)) text += "registers = [\"a\", \"a\", \"b\"]\n";
  const std::string shared = pick<std::string>(random, {"none", "none", "rotary", "alibi", "learned", "t5"});
  const bool causal = chance(2), uniform = !chance(3), all_full = chance(2);
  const int layers = 1 + static_cast<int>(random() % 4);
  for (int k = 0; k < layers; ++k) {
    const std::string kind = uniform || !chance(2) ? "attention" : pick<std::string>(random, {"mean", "sum", "max", "linformer", "linear", "convolution", "bias", "tokenwise"});
    text += "[[layer]]\nrepeat = " + std::to_string(1 + random() % 2) + "\n[layer.mixer]\nkind = \"" + kind + "\"\n";
    std::string relative = uniform || !chance(3) ? shared : pick<std::string>(random, {"none", "rotary"});
    if (kind == "attention" && relative != "none") {
      text += relative == "t5" ? "relative = { kind = \"t5\", buckets = " + std::to_string(pick<int>(random, {4, 8, 32})) + ", max_distance = 64, bidirectional = " + (chance(2) ? "true" : "false") + " }\n"
                               : "relative = \"" + relative + "\"\n";
    }
    if (kind == "attention" && chance(8)) text += "sink = true\n";
    if (kind == "attention" && chance(12)) text += "top_k = 1\n";
    if (kind == "attention" && chance(12)) text += "kernel = \"laplace\"\n";
    if (kind == "attention" && chance(12)) text += "normalised = false\n";
    if (kind == "linformer") text += "rank = 2\n";
    if (kind == "bias") text += "activation = \"" + pick<std::string>(random, {"1", "t", "relu"}) + "\"\n";
    if (kind == "convolution") {
      text += "taps = [0" + std::string(n > 1 ? ", 1" : "") + "]\n";
    } else if (kind != "linformer" && kind != "tokenwise") {
      const std::string cut = causal ? ", causal = true" : "";
      text += "pattern = " + (all_full ? "{ kind = \"full\"" + cut + " }"
                              : pick<std::string>(random, {"{ kind = \"full\"" + cut + " }", "{ kind = \"window\", before = " + std::to_string(1 + random() % 4) + cut + " }",
                                                           "{ kind = \"window\", radius = " + std::to_string(1 + random() % 3) + cut + " }",
                                                           "{ kind = \"blocks\", size = " + std::to_string(1 + random() % 4) + cut + " }",
                                                           "{ kind = \"fixed\", stride = 4, summary = 2" + cut + " }",
                                                           "{ kind = \"strided\", stride = " + std::to_string(1 + random() % 3) + cut + " }",
                                                           "{ kind = \"window\", radius = 1, global = [0]" + cut + " }"})) + "\n";
    }
  }
  return text;
}

void sweep(std::uint64_t first, int count) {
  ++sweeps_run;
  property::for_each_seed(first, count, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::string text = draw(random);
    INFO("seed ", seed, "\n", text);
    try {
      compare(architecture::parse_architecture(text, "random.toml"));
    } catch (const InputError& error) {  // a pattern that this many tokens do not have
      MESSAGE(std::string(error.what()));
    }
  });
}

void sweep_small(std::uint64_t first, int count) {
  ++sweeps_run;
  property::for_each_seed(first, count, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    property::Taste taste;
    taste.max_tokens = 5;
    taste.table = true;
    const property::SmallModel model = property::draw_model(random, taste);
    INFO("seed ", seed, "\n", model.describe());
    const Architecture a = property::to_architecture(model);
    compare(a);
    for (const auto kind : {sight::ClassKind::all, sight::ClassKind::causal, sight::ClassKind::seen}) compare(a, kind);
  });
}

}  // namespace

TEST_CASE("ids of golden cases, cases by hand, examples and real models") {
  ++sweeps_run;
  for (const testing::Case& made : testing::read_cases(4096)) {
    INFO(made.name);
    compare(made.architecture);
  }
  const json by_hand = json::parse(architecture::read_file(std::string(SIGHTLINE_SOURCE_DIR) + "/tests/verdict_cases/cases.json"));
  for (const auto& [name, made] : by_hand.items()) {
    INFO(name);
    try {
      compare(architecture::parse_architecture(made["architecture"].get<std::string>(), name + ".toml"));
    } catch (const InputError&) {
    }
  }
}

TEST_CASE("random ids small enough to enumerate, with matrix colours and registers") { sweep_small(3000000, 150); }

TEST_CASE("random ids beyond enumeration: closed forms") { sweep(4000000, 350); }

TEST_CASE("the cases above met every rule on ids") {
  if (sweeps_run < 3) return;  // some were filtered out
  std::string met;
  for (const auto& [rule, count] : rules_met) met += rule + " " + std::to_string(count) + ", ";
  MESSAGE(met);
  CHECK(rules_met.size() == 19);
}

TEST_SUITE("slow") {
  TEST_CASE("3,000 random ids small enough to enumerate") { sweep_small(30000000, 3000); }
  TEST_CASE("10,000 random ids: closed forms") { sweep(40000000, 10000); }
}

TEST_CASE("collisions of ids that are none are rejected") {
  const Budget budget;
  const Architecture a = architecture::parse_architecture(R"(
tokens = 4
dim = 8
[target]
class = "causal"
[input]
embedding = "table"
vocabulary = 3
bos = true
[mixer]
pattern = { kind = "full", causal = true }
)", "causal.toml");
  const verdict::Context context = make_context(a, budget);
  const verdict::IdLayers found = verdict::compute_id_layers(context, context.target_class);
  REQUIRE(found.layers == 2u);
  const json honest = certificate::to_evidence(found);
  REQUIRE(honest.size() == 2);
  const auto rejected = [&](const json& evidence, const char* claim) {
    INFO(evidence.dump());
    Asked asked(context, context.target_class, evidence);
    try {
      derive(asked.question);
    } catch (const checker::Rejected& lie) {
      CHECK(lie.claim == std::string("/evidence/ids/") + claim);
      return;
    } catch (const checker::Malformed&) {
      CHECK(std::string(claim) == "malformed");
      return;
    }
    FAIL("accepted");
  };
  const auto change = [&](auto edit) {
    json evidence = honest;
    edit(evidence["at_given"]);
    return evidence;
  };
  Asked asked(context, context.target_class, honest);
  CHECK_NOTHROW(derive(asked.question));
  rejected({}, "at_given");
  rejected({{"at_given", honest["at_given"]}}, "below");
  rejected(change([](json& c) { c["x"][1] = (c["x"][1].get<int>() + 1) % 3; }), "at_given");
  rejected(change([](json& c) { c["y"] = c["x"], c["b"] = c["a"]; }), "at_given");  // one input is no collision
  rejected(change([](json& c) { c["x"][0] = 0; }), "at_given");                     // no BOS
  rejected(change([](json& c) { c["x"][1] = 3; }), "at_given");                     // the BOS elsewhere
  rejected(change([](json& c) { c["x"].push_back(0); }), "at_given");
  rejected(change([](json& c) { c["x"].erase(3); }), "at_given");
  rejected(change([](json& c) { c["a"] = 4; }), "malformed");
  rejected(change([](json& c) { c["a"] = -1; }), "malformed");
  rejected(change([](json& c) { c["x"] = "abc"; }), "malformed");
  rejected(change([](json& c) { c.erase("y"); }), "malformed");
  for (int a_ = 0; a_ < 4; ++a_) {
    if (honest["at_given"]["a"] != a_ && honest["at_given"]["a"] != honest["at_given"]["b"]) rejected(change([&](json& c) { c["a"] = a_; }), "at_given");
  }
  // With a layer more nothing collides at the given depth: the old sequences have nothing to show.
  Architecture deeper = a;
  deeper.layers[0].repeat = 2;
  const verdict::Context deep = make_context(deeper, budget);
  Asked shown(deep, deep.target_class, honest);
  CHECK_THROWS_AS(derive(shown.question), checker::Rejected);
  Asked below_only(deep, deep.target_class, {{"below", honest["below"]}});
  CHECK_NOTHROW(derive(below_only.question));
}

/// Shown as a collision, a pair of labelled inputs is accepted exactly when its labels are equal (targets without symmetry tell all apart). Pairs are
/// drawn at random, among those of equal labels, and among those that only rows which forget a common factor make equal.
void probe_labels(std::uint64_t first, int count) {
  const Budget budget;
  int equal = 0, different = 0, forgotten = 0;
  property::for_each_seed(first, count, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    property::Taste taste;
    taste.min_tokens = 4, taste.max_tokens = 5, taste.max_layers = 2;
    taste.table = true;
    taste.labelled_inputs = 500;
    property::SmallModel model = property::draw_model(random, taste);
    model.layout_symmetry = false, model.generators.clear(), model.listed = true;
    model.vocabulary = 2;  // the number that decides is the number there is
    model.target_class = architecture::TargetClass::all;
    model.learned_positions = false;
    if (model.registers.empty()) model.bos = true;  // else constant sequences settle it; few rows read it, it would stand alone
    model.layers.resize(1);
    for (auto& layer : model.layers) {  // dense rows of a few colours, whose factors cancel
      layer.denominator = property::Denominator::plain;
      layer.repeat = 1;
      layer.heads.resize(1);
      layer.scheme = static_cast<property::Scheme>(random() % 5);
      for (auto& arcs : layer.heads) {
        const unsigned colours = 1 + random() % 2;
        for (auto& row : arcs) {
          for (int& colour : row) colour = random() % 5 == 0 ? 0 : 1 + static_cast<int>(random() % colours);
          for (std::size_t j = 0; j < row.size(); ++j) {
            if ((j == 0 || j >= static_cast<std::size_t>(model.tokens)) && random() % 4 != 0) row[j] = 0;
          }
        }
      }
    }
    const Architecture a = property::to_architecture(model);
    INFO("seed ", seed, "\n", model.describe());
    const verdict::Context context = make_context(a, budget);
    const verdict::IdLayers found = verdict::compute_id_layers(context, context.target_class);
    if (found.rule != "labels" || !found.at_given) return;
    json evidence = certificate::to_evidence(found);
    Asked asked(context, context.target_class, evidence);
    const property::IdEnumeration truth(model);
    const auto& labels = truth.labels(*context.given);
    const auto n = static_cast<std::size_t>(model.tokens);
    property::SmallModel counting = model;  // rows that forget nothing
    for (auto& layer : counting.layers) layer.denominator = property::Denominator::sum;
    const property::IdEnumeration exact(counting);
    const auto& counts = exact.labels(*context.given);
    using Place = std::pair<std::size_t, std::size_t>;
    std::map<property::Mark, std::vector<Place>> classes;
    for (std::size_t x = 0; x < labels.size(); ++x) {
      for (std::size_t token = 0; token < n; ++token) classes[labels[x][token]].emplace_back(x, token);
    }
    std::vector<std::pair<Place, Place>> pairs;
    for (const auto& [label, places] : classes) {
      const auto other = std::find_if(places.begin(), places.end(), [&](Place at) { return counts[at.first][at.second] != counts[places[0].first][places[0].second]; });
      if (other != places.end()) pairs.emplace_back(places[0], *other);
    }
    forgotten += static_cast<int>(pairs.size());
    for (int k = 0; k < 20; ++k) {
      const Place one{random() % labels.size(), random() % n};
      const auto& like = classes[labels[one.first][one.second]];
      pairs.emplace_back(one, k % 2 == 0 ? like[random() % like.size()] : Place{random() % labels.size(), random() % n});
    }
    for (const auto& [one, two] : pairs) {
      if (one == two) continue;
      evidence["at_given"] = {{"a", one.second}, {"b", two.second}, {"x", truth.inputs()[one.first]}, {"y", truth.inputs()[two.first]}};
      asked.evidence = checker::parse(evidence.dump());
      const bool same = labels[one.first][one.second] == labels[two.first][two.second];
      ++(same ? equal : different);
      INFO(evidence.dump());
      if (same) CHECK_NOTHROW(derive(asked.question));
      else CHECK_THROWS_AS(derive(asked.question), checker::Rejected);
    }
  });
  MESSAGE(equal, " equal, ", forgotten, " of them by a forgotten factor, ", different, " different");
  CHECK(forgotten > count);
}

TEST_CASE("labels are those of an independent enumeration, pair by pair") { probe_labels(6000000, 400); }
TEST_SUITE("slow") {
  TEST_CASE("labels of 10,000 random models, pair by pair") { probe_labels(60000000, 10000); }
}

TEST_CASE("a factor that mixes matrix and relative colours cancels") {
  // Row 3: tokens 1, 2 in colour 1 of the left bucket, 4, 5 in colour 2 of the right one: (w_1 u_left + w_2 u_right) (s + t); row 1: s + t in one colour.
  const Budget budget;
  const Architecture a = architecture::parse_architecture(R"toml(
tokens = 6
dim = 8
[target]
symmetry = ["()"]
[input]
embedding = "table"
vocabulary = 2
bos = true
[mixer]
relative = { kind = "t5", buckets = 4, max_distance = 4 }
pattern = { kind = "matrix", matrix = [[1,1,1,1,1,1],[0,0,1,1,0,0],[1,1,1,1,1,1],[0,1,1,0,2,2],[1,1,1,1,1,1],[1,1,1,1,1,1]] }
)toml", "product.toml");
  const verdict::Context context = make_context(a, budget);
  json evidence = certificate::to_evidence(verdict::compute_id_layers(context, context.target_class));
  REQUIRE(evidence.contains("at_given"));
  evidence["at_given"] = {{"a", 3}, {"b", 1}, {"x", {2, 0, 1, 0, 0, 1}}, {"y", {2, 0, 0, 1, 0, 0}}};
  Asked equal(context, context.target_class, evidence);
  CHECK_NOTHROW(derive(equal.question));
  evidence["at_given"]["x"] = {2, 0, 1, 0, 0, 0};  // two of one state on the right: no common factor
  Asked different(context, context.target_class, evidence);
  CHECK_THROWS_AS(derive(different.question), checker::Rejected);
}

TEST_CASE("two tokens that see the BOS late leave bounds, one leaves none") {
  for (const int late : {1, 2}) {
    std::string rows;
    for (int i = 0; i < 20; ++i) {
      rows += i == 0 ? "[" : ", [";
      for (int j = i >= 1 && i <= late ? 1 : 0; j < 20; ++j) rows += std::to_string(j) + (j == 19 ? "]" : ",");
    }
    const Architecture a = architecture::parse_architecture(
        "tokens = 20\ndim = 8\ndepth = \"unbounded\"\n[input]\nembedding = \"table\"\nbos = true\n[mixer]\nrelative = \"rotary\"\npattern = { kind = \"rows\", rows = [" + rows + "] }\n",
        "late.toml");
    compare(a);
    const Budget budget;
    const verdict::Context context = make_context(a, budget);
    Asked asked(context, context.target_class, {});
    const checker::IdLayers layers = checker::id_layers(asked.question);
    CHECK(layers.rule == "theorem-bos");
    CHECK(layers.layers == (late == 1 ? std::optional<std::uint64_t>(1) : std::nullopt));
    CHECK(layers.high == (late == 1 ? 0u : 2u));
  }
}

TEST_CASE("a collision of one layout is none of another") {
  const Budget budget;
  int kept = 0, rejected = 0;
  property::for_each_seed(5000000, 60, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    property::Taste taste;
    taste.min_tokens = taste.max_tokens = 4;
    taste.table = true, taste.groups = taste.registers = false;
    const Architecture one = property::to_architecture(property::draw_model(random, taste)), two = property::to_architecture(property::draw_model(random, taste));
    const verdict::Context first = make_context(one, budget), second = make_context(two, budget);
    const json evidence = certificate::to_evidence(verdict::compute_id_layers(first, first.target_class));
    const verdict::IdLayers truth = verdict::compute_id_layers(second, second.target_class);
    if (evidence.is_null() || evidence == certificate::to_evidence(truth)) return;
    Asked asked(second, second.target_class, evidence);
    try {  // what is accepted is a collision all the same, and everything else is the truth
      json derived = derive(asked.question), expected = to_json(truth, static_cast<int>(truth.floor));
      for (json* value : {&derived, &expected}) value->erase("at_given"), value->erase("below");
      CHECK(derived == expected);
      ++kept;
    } catch (const checker::Rejected&) {
      ++rejected;
    }
  });
  CHECK(rejected > 20);
  MESSAGE(rejected, " rejected, ", kept, " hold there too");
}
