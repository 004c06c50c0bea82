// The whole chain: the library's answer with its certificate, and the answer that the checker derives again from the architecture alone.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cases.hpp"
#include "checker/check.hpp"
#include "checker/exact.hpp"
#include "checker/json.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/certificate.hpp"
#include "sightline/report/report.hpp"

namespace {

using nlohmann::json;
using sightline::architecture::Architecture;

const sightline::Budget budget;

struct Certified {
  json answer, certificate;
};

Certified certify(const Architecture& architecture) {
  const auto context = sightline::verdict::analyse(architecture, budget);
  Certified out;
  out.answer = json::parse(sightline::report::to_json(context.answer));
  if (sightline::certificate::is_complete(context.answer)) {
    out.certificate = sightline::certificate::make_certificate(context, out.answer);
  }
  return out;
}

/// "" when confirmed, else the claim and the reason.
std::string judge(const json& certificate) {
  try {
    const checker::Report report = checker::check_certificate(sightline::certificate::print_canonical(certificate));
    return report.confirmed ? "" : report.claim + ": " + report.reason;
  } catch (const checker::Malformed& error) {
    return std::string("malformed: ") + error.what();
  }
}

void expect_confirmed(const std::string& name, const Architecture& architecture) {
  INFO(name);
  const Certified certified = certify(architecture);
  REQUIRE(!certified.certificate.is_null());
  CHECK(judge(certified.certificate) == "");
}

std::vector<sightline::testing::Case> read_verdict_cases(std::size_t stride) {
  std::ifstream file(SIGHTLINE_SOURCE_DIR "/tests/verdict_cases/cases.json");
  std::vector<sightline::testing::Case> out;
  std::size_t k = 0;
  const json cases = json::parse(file);
  for (const auto& [name, entry] : cases.items()) {
    if (k++ % stride == 0) out.push_back({name, sightline::architecture::parse_architecture(entry["architecture"].get<std::string>(), name + ".toml")});
  }
  return out;
}

TEST_CASE("golden cases, examples and real models: the derived answer is the library's") {
  for (const auto& found : sightline::testing::read_cases(128)) expect_confirmed(found.name, found.architecture);
}

TEST_CASE("cases of verdicts: the derived answer is the library's") {
  for (const auto& found : read_verdict_cases(9)) expect_confirmed(found.name, found.architecture);
}

TEST_SUITE("slow") {
  TEST_CASE("all cases of verdicts and all sizes") {
    for (const auto& found : read_verdict_cases(1)) expect_confirmed(found.name, found.architecture);
    for (const auto& found : sightline::testing::read_cases(1 << 20)) expect_confirmed(found.name, found.architecture);
  }
}

/// Single changes of premises: a place in the canonical architecture (`*` every layer) and another value.
const std::vector<std::pair<std::string, json>>& list_changes() {
  static const std::vector<std::pair<std::string, json>> changes = {
      {"/mixer/kernel", "cosine"}, {"/mixer/kernel", "laplace"}, {"/mixer/kernel", "elu1"}, {"/mixer/kernel", "relu2"},
      {"/mixer/value", "identity"}, {"/mixer/query_key", "tied"}, {"/mixer/normalised", false}, {"/mixer/sink", true}, {"/mixer/eps", 0.5},
      {"/mixer/top_k", 2}, {"/mixer/relative", "alibi"}, {"/mixer/relative", "rotary"}, {"/mixer/kind", "mean"}, {"/mixer/kind", "max"},
      {"/mixer/kind", "lsh"}, {"/mixer/kind", "tokenwise"}, {"/mixer/pattern", {{"kind", "self"}, {"causal", false}}},
      {"/mixer/pattern", {{"kind", "full"}, {"causal", true}}}, {"/feedforward/bias", false}, {"/feedforward/bias", "output"},
      {"/feedforward/kind", "affine"}, {"/feedforward/kind", "none"}, {"/feedforward/kind", "glu"}, {"/feedforward/activation", "tanh"},
      {"/feedforward/activation", "square"}, {"/feedforward/activation", "step"}, {"/feedforward/width", 4},
      {"/feedforward/spectral_norm_equals", 1.0}, {"/feedforward/spectral_norm_at_most", 1.0},
      {"/norm/kind", "layernorm"}, {"/norm/kind", "rmsnorm"}, {"/norm/place", "post"}, {"/norm/place", "after"}, {"/norm/eps", 0.0},
      {"/norm/affine", false}, {"/dim", 1}, {"/dim", 2}, {"/dim", 7}, {"/tokens", 3}, {"/depth", "listed"}, {"/depth", "unbounded"},
      {"/target/class", "causal"}, {"/target/class", "seen"}, {"/target/symmetry", "trivial"}, {"/input/bos", true}, {"/input/bos", false},
      {"/input/embedding", "linear"}, {"/input/embedding", "mlp"}, {"/input/embedding", "table"}, {"/input/positions", "learned"},
      {"/input/positions", "sinusoidal"}, {"/input/vocabulary", 3}, {"/input/vocabulary", 1000}, {"/input/domain", "centred"},
      {"/input/dim", 9}, {"/output/head", "linear"}, {"/output/dim", 2}, {"/output/dim", 50}, {"/output/pool", "mean"},
      {"/output/norm", {{"kind", "layernorm"}, {"eps", 1e-5}, {"affine", true}}}, {"/output/norm", {{"kind", "rmsnorm"}, {"eps", 0.0}, {"affine", false}}},
      {"/block/arrangement", "parallel"}, {"/block/residual", false}, {"/block/tied", true}};
  return changes;
}

TEST_CASE("a changed premise in the embedded architecture is noticed whenever it changes the answer") {
  std::size_t differ = 0, same = 0, invalid = 0;
  std::size_t turn = 0;
  for (const auto& found : sightline::testing::read_cases(12)) {
    if (turn++ % 6 != 0) continue;
    const Certified original = certify(found.architecture);
    for (const auto& [place, value] : list_changes()) {
      json changed = original.certificate["architecture"];
      changed[json::json_pointer(place)] = value;
      for (const char* part : {"/mixer", "/feedforward", "/norm"}) {
        if (!place.starts_with(std::string(part) + "/")) continue;
        for (json& layer : changed["layer"]) layer[json::json_pointer(place)] = value;
      }
      if (changed == original.certificate["architecture"]) continue;
      json answer;
      try {
        Architecture other = sightline::architecture::parse_architecture(changed.dump(), found.architecture.file + ".json");
        other.file = found.architecture.file;
        other.assumptions = found.architecture.assumptions;
        changed = json::parse(sightline::architecture::to_canonical_json(other));
        answer = certify(other).answer;
        answer["file"] = original.answer["file"];
      } catch (const sightline::InputError&) {
        ++invalid;
        continue;
      }
      json lie = original.certificate;
      lie["architecture"] = changed;
      lie["digest"] = checker::sha256(sightline::certificate::print_canonical(changed));
      INFO(found.name << " " << place << " = " << value.dump());
      if (answer == original.answer) {
        ++same;
      } else {
        ++differ;
        CHECK(judge(lie) != "");
      }
    }
  }
  MESSAGE(differ << " changes of the answer, " << same << " without, " << invalid << " no architectures");
  CHECK(differ > 500);
}

TEST_CASE("claims about the answer that rest on nothing are refused by name") {
  const Architecture architecture = sightline::architecture::parse_architecture(
      "tokens = 6\ndim = 4\n[mixer]\npattern = { kind = \"window\", radius = 1 }\n", "window.toml");
  const Certified original = certify(architecture);
  REQUIRE(judge(original.certificate) == "");
  const auto lie = [&](const std::string& place, const json& value) {
    json changed = original.certificate;
    changed["answer"][json::json_pointer(place)] = value;
    return judge(changed);
  };
  CHECK(lie("/verdict", "certified").find("/answer/verdict") == 0);
  CHECK(lie("/layers/needed", 1).find("/answer/layers/needed") == 0);
  CHECK(lie("/condition13", "fails").find("/answer/condition13") == 0);
  CHECK(lie("/output/largest", 5).find("/answer/output/largest") == 0);
  CHECK(lie("/published/sound", true) == "");  // what stands there already
  CHECK(lie("/published/sound", false).find("/answer/published/sound") == 0);
  CHECK(lie("/floor/squared_error", "1/12").find("/answer/floor/squared_error") == 0);
  CHECK(lie("/witness/unseen/token", 1).find("/answer/witness/unseen/token") == 0);
  CHECK(lie("/advice", json::array()).find("/answer/advice") == 0);
  CHECK(lie("/assumptions", json::array()).find("/answer/assumptions") == 0);
  CHECK(lie("/rules/0", "theorem-e (theory 2.4, 3.1): anything").find("/answer/rules/0") == 0);
  CHECK(lie("/class/kind", "causal").find("/answer/class/kind") == 0);
  CHECK(lie("/expressed/name", nullptr) != "");
}

TEST_CASE("verdicts that narrow premises do not support are refused") {
  std::size_t told = 0;
  for (const auto& found : read_verdict_cases(1)) {
    const bool narrow = found.name.starts_with("multiples-") || found.name.starts_with("additive-equal-rows") || found.name.starts_with("no-width") ||
                        found.name.starts_with("one-token-post") || found.name.starts_with("full-with-registers");
    if (!narrow) continue;
    INFO(found.name);
    const Certified original = certify(found.architecture);
    CHECK(judge(original.certificate) == "");
    for (const char* verdict : {"certified", "impossible", "unknown"}) {
      json lie = original.certificate;
      if (lie["answer"]["verdict"] == verdict) continue;
      lie["answer"]["verdict"] = verdict;
      CHECK(judge(lie).find("/answer/verdict") == 0);
      ++told;
    }
  }
  CHECK(told == 34);
}

TEST_CASE("a published promise inside the bounds on the layers is neither called right nor wrong") {
  sightline::verdict::Answer answer;
  answer.tokens = 4096;
  answer.connected = 2;
  answer.needed_between = {2, 3};
  answer.published = {sightline::verdict::PublishedVerdict::certified, "Corollary 2", 2, std::nullopt};
  CHECK(sightline::report::to_text(answer, false).find("promises 2 layers; whether that is enough is not known") != std::string::npos);
  CHECK(json::parse(sightline::report::to_json(answer))["published"]["sound"].is_null());
  answer.needed = 3;
  answer.published.sound = false;
  CHECK(sightline::report::to_text(answer, false).find("too few") != std::string::npos);
  answer.needed = 1;  // of a larger target: the promise suffices, its argument does not
  CHECK(sightline::report::to_text(answer, false).find("its argument does not hold here") != std::string::npos);
}

TEST_SUITE("slow") {
  // Theory 16.27. By search over all maps from 15 tokens with stride 3 to 25 with stride 5, and by refinement of views at this size.
  TEST_CASE("strided attention both ways: two layers, as published") {
    const Certified found = certify(sightline::architecture::parse_architecture(
        "tokens = 16384\ndim = 64\n[mixer]\npattern = { kind = \"strided\", stride = 128 }\n[[layer]]\nrepeat = 8\n", "strided.toml"));
    CHECK(found.answer["layers"]["needed"] == 2);
    CHECK(found.answer["published"]["layers"] == 2);
    CHECK(found.answer["published"]["sound"] == true);
    CHECK(judge(found.certificate) == "");
  }

  TEST_CASE("strided attention and a wider window: bounds on the layers leave the published claim open") {
    const Certified found = certify(sightline::architecture::parse_architecture(
        "tokens = 16384\ndim = 64\n[mixer]\npattern = { kind = \"union\", of = [{ kind = \"strided\", stride = 128 }, { kind = \"window\", radius = 200 }] }\n[[layer]]\nrepeat = 8\n",
        "strided.toml"));
    REQUIRE(found.answer["layers"]["needed_between"] == json{2, 3});
    CHECK(found.answer["published"]["sound"].is_null());
    CHECK(judge(found.certificate) == "");
  }
}

}  // namespace
