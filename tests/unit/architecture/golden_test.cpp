// The golden architecture files: all of them read, and survive both writers.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sightline/architecture/json_text.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/tree.hpp"
#include "sightline/architecture/write.hpp"

using namespace sightline::architecture;

namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SIGHTLINE_SOURCE_DIR "/tests/golden/cases"))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("every golden case reads and survives both writers") {
  const std::vector<std::string> files = golden_files();
  CHECK(files.size() == 159);
  for (const std::string& file : files) {
    CAPTURE(file);
    Architecture a;
    REQUIRE_NOTHROW(a = read_architecture(file));
    const std::string canonical = to_canonical_json(a);
    const Architecture from_json = parse_architecture(canonical, file);
    CHECK(same_architecture(a, from_json));
    CHECK(to_canonical_json(from_json) == canonical);
    const std::string toml = to_toml(a);
    CAPTURE(toml);
    const Architecture from_toml = parse_architecture(toml, file);
    CHECK(same_architecture(a, from_toml));
    CHECK(to_canonical_json(from_toml) == canonical);
    CHECK(to_toml(from_toml) == toml);
  }
}

TEST_CASE("the JSON twin of a TOML file is the same architecture") {
  for (const std::string& file : golden_files()) {
    CAPTURE(file);
    const std::string text = read_file(file);
    const std::string twin = print_json(parse_toml(text, file).root);
    CHECK(detect_kind(text, file) == FileKind::toml);
    CHECK(detect_kind(twin, file) == FileKind::json);
    CHECK(same_architecture(parse_architecture(text, file), parse_architecture(twin, file)));
  }
}
