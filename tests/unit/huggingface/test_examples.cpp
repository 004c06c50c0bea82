// The architecture files of examples/ can be read, and those of real models say what an import of their config says.
#include <doctest/doctest.h>

#include <filesystem>

#include "dense_reach.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"

using namespace sightline;
using namespace sightline::huggingface;
using namespace sightline::huggingface::test;
using nlohmann::json;

namespace {

const std::string root = SIGHTLINE_SOURCE_DIR;

Import import_case(const json& item) {
  ImportOptions options;
  if (item.contains("tokens")) options.tokens = item["tokens"].get<std::int64_t>();
  if (item.contains("global")) options.global = item["global"].get<std::vector<std::int64_t>>();
  return import_json(item["config"], options);
}

}  // namespace

TEST_CASE("every example can be read and has its file's name") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/examples")) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    const auto architecture = architecture::read_architecture(entry.path().string());
    CHECK(architecture.name == entry.path().stem().string());
    CHECK(architecture.warnings.empty());
    ++count;
  }
  CHECK(count >= 29);
}

TEST_CASE("examples of real models are what an import of their published config gives") {
  for (const json& item : read_json(root + "/tests/unit/huggingface/published_configs.json")) {
    const std::string name = item["example"];
    CAPTURE(name);
    auto example = architecture::read_architecture(root + "/examples/" + name + ".toml");
    auto imported = import_case(item).architecture;
    imported.name = example.name;
    // Which settings are called defaults is a matter of style; every layer is compared whole.
    imported.mixer = example.mixer;
    imported.feedforward = example.feedforward;
    imported.norm = example.norm;
    CHECK(architecture::same_architecture(example, imported));
  }
}

TEST_CASE("an import written to a file reads back the same") {
  const auto check = [](const architecture::Architecture& imported) {
    CAPTURE(imported.name);
    const std::string toml = architecture::to_toml(imported);
    CHECK(architecture::same_architecture(architecture::parse_architecture(toml, "a.toml"), imported));
    const std::string canonical = architecture::to_canonical_json(imported);
    CHECK(architecture::same_architecture(architecture::parse_architecture(canonical, "a.json"), imported));
  };
  for (const json& item : read_json(root + "/tests/unit/huggingface/published_configs.json")) check(import_case(item).architecture);
  for (const std::string& type : known_model_types()) {
    json config = {{"model_type", type}};
    add_required_keys(config);
    ImportOptions options = with_tokens(type == "swin" ? 49 : 12);
    if (type == "vit" || type == "vit_msn" || type == "deit" || type.starts_with("dinov2") || type.ends_with("_vision_model")) options.tokens.reset();
    check(import_json(config, options).architecture);
  }
  check(import_json({{"model_type", "opt"}, {"word_embed_proj_dim", 8}, {"do_layer_norm_before", false}}).architecture);
  ImportOptions training = with_tokens(40);
  training.mode = "train";
  check(import_json({{"model_type", "big_bird"}, {"block_size", 2}, {"num_random_blocks", 1}}, training).architecture);
}
