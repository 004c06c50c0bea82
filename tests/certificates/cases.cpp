#include "cases.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sightline/architecture/read.hpp"
#include "sightline/huggingface/import.hpp"

namespace sightline::testing {

std::vector<Case> read_cases(std::int64_t most_tokens) {
  namespace fs = std::filesystem;
  const fs::path root(SIGHTLINE_SOURCE_DIR);
  std::vector<fs::path> files;
  for (const char* folder : {"tests/golden/cases", "examples", "tests/real"})
    for (const auto& entry : fs::directory_iterator(root / folder))
      if (entry.path().extension() == ".toml" || entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Case> out;
  for (const fs::path& file : files) {
    Case found{file.filename().string(), {}};
    if (file.extension() == ".toml") {
      found.architecture = architecture::read_architecture(file.string());
    } else {
      const nlohmann::json json = nlohmann::json::parse(std::ifstream(file));
      huggingface::ImportOptions options;
      options.tokens = json["tokens"].get<std::int64_t>();
      if (json["extra"].contains("global") && json["extra"]["global"].is_array()) options.global = json["extra"]["global"].get<std::vector<std::int64_t>>();
      found.architecture = huggingface::import_config(json["config"].dump(), file.string(), options).architecture;
    }
    if (found.architecture.tokens <= most_tokens) out.push_back(std::move(found));
  }
  return out;
}

}  // namespace sightline::testing
