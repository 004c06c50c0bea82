#include <doctest/doctest.h>

#include <filesystem>

#include "sightline/architecture/read.hpp"

using namespace sightline::architecture;

TEST_CASE("every golden case reads") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SIGHTLINE_SOURCE_DIR "/tests/golden/cases")) {
    CAPTURE(entry.path().string());
    CHECK_NOTHROW((void)read_architecture(entry.path().string()));
    ++count;
  }
  CHECK(count == 159);
}
