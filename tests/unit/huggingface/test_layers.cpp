// Which layer reads what: 304 configs whose layers the library itself derived on loading (config_variants.json holds files
// as people write them and as the library saves them), and hand-written cases of missing keys, nulls and strays.
#include <doctest/doctest.h>

#include "dense_reach.hpp"

using namespace sightline;
using namespace sightline::huggingface;
using namespace sightline::huggingface::test;
using architecture::RelativeScheme;
using nlohmann::json;

namespace {

std::vector<std::string> patterns_of(const json& config, const ImportOptions& options = with_tokens(20)) {
  std::vector<std::string> patterns;
  for (const auto& layer : write_out(import_json(config, options).architecture))
    patterns.push_back(describe_pattern(layer.mixer.pattern));
  return patterns;
}

std::vector<std::string> repeat(std::size_t count, const std::string& pattern) { return std::vector<std::string>(count, pattern); }

using Patterns = std::vector<std::string>;

}  // namespace

TEST_CASE("layers are those that the library derives from the same file") {
  const json cases = read_json(std::string(SIGHTLINE_SOURCE_DIR) + "/tests/unit/huggingface/config_variants.json");
  CHECK(cases.size() == 304);
  for (const json& item : cases) {
    CAPTURE(item["config"].dump());
    const auto layers = write_out(import_json(item["config"], with_tokens(20)).architecture);
    REQUIRE(layers.size() == item["layers"].size());
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const std::string kind = item["layers"][k][0];
      const std::string expected =
          kind == "full" || kind == "causal" ? kind : kind + " " + std::to_string(item["layers"][k][1].get<int>());
      CAPTURE(k);
      CHECK(describe_pattern(layers[k].mixer.pattern) == expected);
      CHECK((layers[k].mixer.relative.scheme == RelativeScheme::rotary) == item["layers"][k][2].get<bool>());
    }
  }
}

TEST_CASE("a missing window is the library's default and null is none") {
  const json two = {{"model_type", "mistral"}, {"num_hidden_layers", 2}};
  CHECK(patterns_of(two) == repeat(2, "causal_window 4096"));
  json none = two;
  none["sliding_window"] = nullptr;
  CHECK(patterns_of(none) == repeat(2, "causal"));
  json mixtral = two;
  mixtral["model_type"] = "mixtral";
  CHECK(patterns_of(mixtral) == repeat(2, "causal"));
  CHECK(patterns_of({{"model_type", "qwen2"}, {"num_hidden_layers", 30}, {"sliding_window", 4}}) == repeat(30, "causal"));
  CHECK(patterns_of({{"model_type", "gemma2"}, {"num_hidden_layers", 3}}) ==
        Patterns{"causal_window 4096", "causal", "causal_window 4096"});
  CHECK(patterns_of({{"model_type", "gpt_oss"}, {"num_hidden_layers", 2}}) == Patterns{"causal_window 128", "causal"});
  CHECK(patterns_of({{"model_type", "phi3"}, {"num_hidden_layers", 1}}) == Patterns{"causal"});
}

TEST_CASE("qwen slides from max_window_layers on, 28 when the key is missing") {
  auto expected = repeat(28, "causal");
  expected.resize(30, "causal_window 4");
  CHECK(patterns_of({{"model_type", "qwen2"}, {"num_hidden_layers", 30}, {"sliding_window", 4}, {"use_sliding_window", true}}) ==
        expected);
}

TEST_CASE("a stray layer_types of a one-window type is ignored and said") {
  const json config = {
      {"model_type", "mistral"}, {"num_hidden_layers", 1}, {"sliding_window", 5}, {"layer_types", {"full_attention"}}};
  CHECK(patterns_of(config) == Patterns{"causal_window 5"});
  const Import result = import_json(config, with_tokens(20));
  CHECK(result.ignored == std::vector<std::string>{"layer_types"});
}

TEST_CASE("old and new names of the size keys are one") {
  for (const auto& [type, key] : std::vector<std::pair<std::string, std::string>>{{"gpt2", "n_layer"},
                                                                                  {"gptj", "n_layer"},
                                                                                  {"gpt_neo", "num_layers"},
                                                                                  {"bloom", "n_layer"},
                                                                                  {"mpt", "n_layers"},
                                                                                  {"distilbert", "n_layers"},
                                                                                  {"t5", "num_layers"},
                                                                                  {"detr", "encoder_layers"}}) {
    CAPTURE(type);
    json config = {{"model_type", type}, {key, 2}, {"attention_types", {{{"local", "global"}, 1}}}};
    CHECK(patterns_of(config).size() == 2);
    config.erase(key);
    config["num_hidden_layers"] = 2;
    CHECK(patterns_of(config).size() == 2);
  }
  // In a file that holds both, the canonical name wins; a type without a second name does not know it.
  CHECK(patterns_of({{"model_type", "gpt2"}, {"n_layer", 2}, {"num_hidden_layers", 5}}).size() == 5);
  const Import llama = import_json({{"model_type", "llama"}, {"n_layer", 5}}, with_tokens(20));
  CHECK(llama.architecture.layer_count() == 32);
  CHECK(llama.ignored == std::vector<std::string>{"n_layer"});
}

TEST_CASE("equal neighbours are merged, others are not") {
  const auto architecture =
      import_json({{"model_type", "gemma3_text"}, {"num_hidden_layers", 12}, {"sliding_window", 4}}, with_tokens(20)).architecture;
  REQUIRE(architecture.layers.size() == 4);
  CHECK(architecture.layers[0].repeat == 5);
  CHECK(architecture.layers[1].repeat == 1);
  CHECK(architecture.layers[2].repeat == 5);
  CHECK(architecture.mixer == architecture.layers[0].mixer);
}

TEST_CASE("longformer reads half of its total width on each side, per layer, and global tokens") {
  ImportOptions options = with_tokens(32);
  options.global = {3, 0, 3};
  const auto layers = write_out(
      import_json({{"model_type", "longformer"}, {"num_hidden_layers", 2}, {"attention_window", {4, 8}}}, options).architecture);
  CHECK(layers[0].mixer.pattern.radius == 2);
  CHECK(layers[1].mixer.pattern.radius == 4);
  CHECK(layers[1].mixer.pattern.global == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("big_bird is full up to (5 + 2r) b tokens, unpadded") {
  const json config = {{"model_type", "big_bird"}, {"num_hidden_layers", 2}, {"block_size", 4}, {"num_random_blocks", 1}};
  CHECK(patterns_of(config, with_tokens(28)) == repeat(2, "full"));
  CHECK(patterns_of(config, with_tokens(29)) == repeat(2, "bigbird eval 0"));
  ImportOptions training = with_tokens(40);
  training.mode = "train";
  CHECK(patterns_of(config, training) == Patterns{"bigbird train 0", "bigbird train 1"});
  json full = config;
  full["attention_type"] = "original_full";
  CHECK(patterns_of(full, with_tokens(40)) == repeat(2, "full"));
}
