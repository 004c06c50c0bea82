// Layouts that are looked at in another order of the tokens: the answer speaks of tokens, and is the same whatever their numbers are.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker/places.hpp"
#include "sightline/base/threshold.hpp"
#include "support.hpp"

namespace {

using nlohmann::json;

constexpr std::size_t n = 4096, size = 64;

std::vector<std::size_t> shuffle(std::uint64_t seed) {
  std::vector<std::size_t> name(n);
  std::iota(name.begin(), name.end(), std::size_t{0});
  std::mt19937_64 engine(seed);
  if (seed > 0) std::shuffle(name.begin(), name.end(), engine);
  return name;
}

/// Blocks of 64 tokens and blocks that are half of one further, in turns.
std::string write(const std::vector<std::size_t>& name, const std::string& rest = "") {
  std::string text = "tokens = 4096\ndim = 4\n" + rest;
  for (const std::size_t shift : {std::size_t{0}, size / 2}) {
    json rows = json::array();
    std::vector<json> by_token(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t block = (i + shift) / size, begin = std::max(block * size, shift) - shift, end = std::min((block + 1) * size - shift, n);
      std::vector<std::size_t> row;
      for (std::size_t j = begin; j < end; ++j) row.push_back(name[j]);
      std::sort(row.begin(), row.end());
      by_token[name[i]] = row;
    }
    for (json& row : by_token) rows.push_back(std::move(row));
    text += "[[layer]]\npattern = { kind = \"rows\", rows = " + rows.dump() + " }\n";
  }
  return text;
}

/// By token the least one of its orbit.
std::vector<std::size_t> orbits(const json& generators) {
  std::vector<std::size_t> least(n);
  std::iota(least.begin(), least.end(), std::size_t{0});
  const auto find = [&](std::size_t x) {
    while (least[x] != x) x = least[x];
    return x;
  };
  for (const json& text : generators) {
    std::vector<std::size_t> cycle;
    std::string digits;
    for (const char c : text.get<std::string>()) {
      if (c >= '0' && c <= '9') {
        digits += c;
        continue;
      }
      if (!digits.empty()) cycle.push_back(std::stoul(digits));
      digits.clear();
      if (c != ')') continue;
      for (const std::size_t x : cycle) least[std::max(find(x), find(cycle[0]))] = std::min(find(x), find(cycle[0]));
      cycle.clear();
    }
  }
  for (std::size_t x = 0; x < n; ++x) least[x] = find(x);
  return least;
}

std::vector<std::size_t> expand(const json& runs) {
  std::vector<std::size_t> values;
  for (const json& run : runs) values.insert(values.end(), run[1].get<std::size_t>(), run[0].get<std::size_t>());
  return values;
}

}  // namespace

TEST_CASE("places: shifted blocks of scattered tokens are answered as the same ones in order") {
  const std::vector<std::size_t> same = shuffle(0), name = shuffle(5);
  const json plain = certificates::make_from_text(write(same), "plain"), scattered = certificates::make_from_text(write(name), "scattered");
  REQUIRE_FALSE(plain["evidence"].contains("places"));
  REQUIRE(scattered["evidence"].contains("places"));
  CHECK(certificates::find_rejected_claim(scattered) == "");
  const json &a = plain["answer"], &b = scattered["answer"];
  CHECK(a["layout"]["order_factored"] == b["layout"]["order_factored"]);
  CHECK(a["layout"]["name"] == b["layout"]["name"]);
  for (const char* const key : {"verdict", "layers", "at_connected", "class", "output"}) CHECK(a[key] == b[key]);
  CHECK(a["floor"]["squared_error"] == b["floor"]["squared_error"]);
  const std::vector<std::size_t> before = expand(a["unseen"]), after = expand(b["unseen"]);
  for (std::size_t i = 0; i < n; ++i) REQUIRE(before[i] == after[name[i]]);
  // Every generator that is listed moves tokens that read and are read alike, or all of them.
  const std::vector<std::size_t> found = orbits(b["layout"]["generators"]);
  std::vector<std::size_t> origin(n);
  for (std::size_t i = 0; i < n; ++i) origin[name[i]] = i;
  for (std::size_t x = 0; x < n; ++x) {
    const std::size_t i = origin[x], j = origin[found[x]];
    REQUIRE((i / (size / 2) == j / (size / 2) || (n - 1 - i) / (size / 2) == j / (size / 2)));
  }
  // The pair that the witness names is out of sight: more than two blocks apart.
  const auto reader = static_cast<std::ptrdiff_t>(origin[b["witness"]["unseen"]["reader"].get<std::size_t>()]), token = static_cast<std::ptrdiff_t>(origin[b["witness"]["unseen"]["token"].get<std::size_t>()]);
  CHECK(std::abs(reader - token) > static_cast<std::ptrdiff_t>(size / 2));
}

TEST_CASE("places: what is no order, or may not be one, is refused, and claims are held to tokens") {
  const json good = certificates::make_from_text(write(shuffle(5)), "scattered");
  const auto judge = [](json certificate) { return certificates::find_rejected_claim(certificate); };
  json twice = good;
  twice["evidence"]["places"][1] = twice["evidence"]["places"][0];
  CHECK(judge(twice) == "malformed");
  json outside = good;
  outside["evidence"]["places"][7] = n;
  CHECK(judge(outside) == "malformed");
  json fewer = good;
  fewer["evidence"]["places"].erase(fewer["evidence"]["places"].size() - 1);
  CHECK(judge(fewer) == "malformed");
  json none = good;
  none["evidence"].erase("places");  // evidence that speaks of places then speaks of tokens
  CHECK(judge(none) != "");
  json other = good;
  std::swap(other["evidence"]["places"][0], other["evidence"]["places"][2000]);
  CHECK(judge(other) != "");
  json renamed = good;
  renamed["answer"]["layout"]["generators"][0] = "(0 1)";
  CHECK(judge(renamed) != "");
  json unseen = good;
  std::swap(unseen["answer"]["unseen"][0], unseen["answer"]["unseen"][1]);
  if (unseen["answer"]["unseen"] != good["answer"]["unseen"]) CHECK(judge(unseen) != "");
  json witness = good;
  witness["answer"]["witness"]["unseen"]["token"] = witness["answer"]["witness"]["unseen"]["reader"];
  CHECK(judge(witness) != "");
  json causal = good;
  causal["architecture"]["target"]["class"] = "causal";
  certificates::renew_digest(causal);
  CHECK(judge(causal) == "places");
  json placed = good;
  placed["architecture"]["input"]["positions"] = "learned";
  certificates::renew_digest(placed);
  CHECK(judge(placed) == "places");
}

TEST_CASE("places: rows that move along, or only go down, keep their order") {
  checker::Layout layout;
  layout.tokens = 4;
  layout.vertex_colour = {0, 0, 0, 0};
  auto pattern = std::make_shared<checker::Pattern>();
  pattern->vertices = 4;
  pattern->lists = {{{0, 0, 1, 1, 1, 1}}};
  pattern->segments = {{0, 4, 0, checker::Pattern::none}};
  checker::Relation relation;
  relation.pattern = pattern;
  relation.tokens = 4;
  layout.relations = {relation};
  layout.layers = {{0}};
  layout.order = {0};
  checker::Layout moving = layout;
  CHECK_THROWS_AS(checker::put_into_places(moving, {3, 1, 2, 0}), checker::Rejected);
  pattern->lists = {{{0, 0, 1, 1, 0, 0}}};
  checker::Layout down = layout;
  CHECK_THROWS_AS(checker::put_into_places(down, {3, 1, 2, 0}), checker::Rejected);
  pattern->lists = {{{0, 1, 1, 1, 0, 0}}};
  checker::Layout fine = layout;
  checker::put_into_places(fine, {3, 1, 2, 0});
  std::vector<checker::Run> row;
  fine.relations.front().pattern->row(2, row);
  REQUIRE(row.size() == 2);
  CHECK(row[0].first == 1);  // token 1 is at place 1, token 0 at place 3
  CHECK(row[1].first == 3);
}
