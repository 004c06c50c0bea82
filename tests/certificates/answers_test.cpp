// Whole answers, whatever questions were asked on the way and what was kept from one to the next: what the library concludes, the checker confirms.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

namespace {

/// Two layers of twelve tokens, random but for a symmetry of order two; in the second a few tokens read everything, so that views of all kinds meet: some hold all rows of the first layer, some do not.
std::string draw_architecture(std::mt19937_64& random) {
  constexpr std::size_t tokens = 12;
  const auto draw = [&](std::uint64_t limit) { return static_cast<std::size_t>(random() % limit); };
  std::array<std::size_t, tokens> points{}, image{};
  std::iota(points.begin(), points.end(), std::size_t{0});
  std::shuffle(points.begin(), points.end(), random);
  std::iota(image.begin(), image.end(), std::size_t{0});
  for (std::size_t k = 0, pairs = 3 + draw(3); k < pairs; ++k) std::swap(image[points[2 * k]], image[points[2 * k + 1]]);
  std::string text = fmt::format("tokens = {}\ndim = 4\ndepth = \"listed\"\n[target]\nclass = \"{}\"\n", tokens, draw(4) == 0 ? "all" : "causal");
  for (int layer = 0; layer < 2; ++layer) {
    std::array<std::array<bool, tokens>, tokens> reads{};
    for (std::size_t i = 0; i < tokens; ++i) {
      reads[i][i] = true;
      for (std::size_t j = 0; j < tokens; ++j) {
        if (draw(20) < 7) reads[i][j] = reads[image[i]][image[j]] = true;
      }
    }
    for (std::size_t k = 0; layer == 1 && k < 2; ++k) {
      const std::size_t all = draw(tokens);
      reads[all].fill(true);
      reads[image[all]].fill(true);
    }
    text += "[[layer]]\npattern = { kind = \"rows\", rows = [";
    for (std::size_t i = 0; i < tokens; ++i) {
      text += i == 0 ? "[" : ",[";
      bool is_first = true;
      for (std::size_t j = 0; j < tokens; ++j) {
        if (reads[i][j]) text += fmt::format("{}{}", std::exchange(is_first, false) ? "" : ",", j);
      }
      text += "]";
    }
    text += "] }\n";
  }
  return text;
}

void check(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  int grown = 0;
  for (int k = 0; k < count; ++k) {
    const std::string text = draw_architecture(random);
    CAPTURE(text);
    const nlohmann::json certificate = certificates::make_from_text(text, "drawn.toml");
    CHECK(certificates::find_rejected_claim(certificate).empty());
    grown += certificate.at("answer").at("expressed") != certificate.at("answer").at("layout") ? 1 : 0;
  }
  CHECK(4 * grown > count);
}

}  // namespace

TEST_CASE("answers about layouts with a symmetry and tokens that read everything are confirmed") { check(1, 1200); }

TEST_SUITE("slow") {
TEST_CASE("answers about 20,000 layouts with a symmetry and tokens that read everything are confirmed") { check(2, 20000); }
}
