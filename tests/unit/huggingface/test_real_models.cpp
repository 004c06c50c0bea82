// Models of the library with random weights: which inputs each output really depends on (tests/real).
#include <doctest/doctest.h>

#include <filesystem>

#include "dense_reach.hpp"

using namespace sightline;
using namespace sightline::huggingface;
using namespace sightline::huggingface::test;

namespace {

std::vector<nlohmann::json> read_real_models(const std::string& folder = "/tests/real") {
  std::vector<nlohmann::json> models;
  for (const auto& entry : std::filesystem::directory_iterator(SIGHTLINE_SOURCE_DIR + folder))
    if (entry.path().extension() == ".json") models.push_back(read_json(entry.path().string()));
  return models;
}

void check_reach(const nlohmann::json& model, const nlohmann::json& config) {
  CAPTURE(model["name"].get<std::string>());
  ImportOptions options = with_tokens(model["tokens"].get<std::int64_t>());
  if (model["extra"].contains("global")) options.global = model["extra"]["global"].get<std::vector<std::int64_t>>();
  const Matrix reach = compute_reach(import_json(config, options).architecture);
  const auto rows = model["reach"].get<std::vector<std::vector<std::size_t>>>();
  REQUIRE(reach.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::size_t> row;
    for (std::size_t j = 0; j < reach.size(); ++j)
      if (reach[i][j]) row.push_back(j);
    CAPTURE(i);
    CHECK(row == rows[i]);
  }
}

}  // namespace

TEST_CASE("imported models see what the library's models depend on") {
  const auto models = read_real_models();
  CHECK(models.size() == 42);
  for (const auto& model : models) check_reach(model, model["config"]);
}

TEST_CASE("random configs as people write them: few keys, older names, lists and switches of every family") {
  const auto models = read_real_models("/tests/real/generated");
  CHECK(models.size() > 100);
  for (const auto& model : models) check_reach(model, model["config"]);
}

TEST_CASE("layers rebuilt from interval keys see the same as layer_types") {
  for (const auto& model : read_real_models()) {
    nlohmann::json config = model["config"];
    const std::string type = config["model_type"];
    if (!config.contains("layer_types") || model["name"] == "cohere2") continue;  // its file has lost the interval
    config.erase("layer_types");
    check_reach(model, config);
  }
}

TEST_CASE("an outer multimodal file sees what its text_config sees") {
  for (const auto& model : read_real_models()) {
    const std::string type = model["config"]["model_type"];
    if (type != "gemma3_text" && type != "llama4_text") continue;
    const std::string outer = type == "gemma3_text" ? "gemma3" : "llama4";
    check_reach(model, {{"model_type", outer}, {"text_config", model["config"]}, {"vision_config", nlohmann::json::object()}});
  }
}
