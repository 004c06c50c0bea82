// The designer against the table of theory.md 8, against exhaustive search by definition, and against labels.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sightline/design/configuration.hpp"
#include "sightline/design/front.hpp"
#include "sightline/design/orbitals.hpp"
#include "sightline/group/expression.hpp"
#include "tests/unit/design/groups.hpp"
#include "tests/unit/design/labels.hpp"

using namespace sightline;
using design::Design;
using design::FrontPoint;
using design::PointKind;

namespace {

const Budget unlimited;

const Design& design_for(const std::string& text) {
  static std::map<std::string, Design> known;  // several tests look at one design
  if (const auto at = known.find(text); at != known.end()) return at->second;
  design::Request request;
  request.group = group::parse_group(text, std::nullopt, {}, unlimited);
  request.symmetry = text;
  return known[text] = design::make_design(request, unlimited);
}

const FrontPoint* find(const Design& design, PointKind kind, std::uint64_t layers, std::uint64_t pattern_pairs) {
  for (const FrontPoint& p : design.front) {
    if (p.kind == kind && p.layers == layers && p.pattern_pairs == pattern_pairs) return &p;
  }
  return nullptr;
}

std::uint64_t fewest_layers(const Design& design, PointKind kind) {
  std::uint64_t fewest = ~std::uint64_t{0};
  for (const FrontPoint& p : design.front) {
    if (p.kind == kind) fewest = std::min(fewest, p.layers);
  }
  return fewest;
}

bool has(const Design& design, PointKind kind) {
  return std::any_of(design.front.begin(), design.front.end(), [kind](const FrontPoint& p) { return p.kind == kind; });
}

struct Row {
  const char* group;
  PointKind kind;
  std::uint64_t pattern_pairs, layers;
};

const char* const klein = "C_2*C_2";
const char* const cube2 = "regular(C_2*C_2*C_2)";
const char* const quaternion = "gens[(0 1 2 3)(4 5 6 7),(0 4 2 6)(1 7 3 5)]";
const char* const petersen = "gens[(0 4 7 9 3)(1 5 8 2 6),(0 4 1)(2 5 7)(3 6 8),(0 1)(5 7)(6 8)]";
const char* const frobenius21 = "gens[(0 1 2 3 4 5 6),(1 2 4)(3 6 5)]";
const char* const diagonal3 = "gens[(0 1 2)(3 4 5)]";

}  // namespace

TEST_CASE("the table of theory.md 8, line by line") {
  constexpr PointKind single = PointKind::single, several = PointKind::several, hub = PointKind::gather_broadcast;
  const Row rows[] = {
      {"C_5", single, 5, 4},          {"C_7", single, 7, 6},          {"C_7", single, 14, 3},       {"C_7", single, 21, 2},
      {"D_5", single, 10, 2},         {"D_7", single, 14, 3},         {"trivial(3)", single, 4, 2}, {"trivial(3)", single, 3, 2},
      {"trivial(4)", single, 5, 3},   {"trivial(4)", single, 4, 3},   {"gens[(0 3)(1 2)]", single, 6, 3},
      {"gens[(0 3)(1 2)]", single, 4, 3}, {"S_5", single, 20, 1},     {"S_5", hub, 10, 2},
      {"S_3 x S_2", single, 12, 2},   {"S_2 x S_4", single, 16, 2},   {"S_2 wr S_3", single, 24, 2}, {"S_3 wr S_2", single, 18, 2},
      {"hypercube(3)", single, 24, 3}, {klein, several, 8, 2},        {cube2, several, 24, 3},      {quaternion, several, 16, 4},
      {"C_3*C_3", several, 18, 4},    {"regular(S_3)", single, 12, 3}, {frobenius21, single, 21, 2}, {petersen, single, 30, 3},
      {diagonal3, single, 9, 4},      {diagonal3, single, 12, 3},     {diagonal3, single, 15, 2}};
  for (const Row& row : rows) {
    const Design& design = design_for(row.group);
    CAPTURE(row.group);
    CAPTURE(row.pattern_pairs);
    CAPTURE(row.layers);
    CHECK(design.two_closed);
    const FrontPoint* point = find(design, row.kind, row.layers, row.pattern_pairs);
    REQUIRE(point != nullptr);
    CHECK(point->proved);
    CHECK(point->lower_bound == point->pairs);
    if (row.kind == single) CHECK(point->pairs == row.layers * row.pattern_pairs);
  }
}

TEST_CASE("regular V_4, C_2^3, Q_8 and C_3^2 have no single pattern") {
  for (const char* group : {klein, cube2, quaternion, "C_3*C_3"}) {
    CAPTURE(group);
    const Design& design = design_for(group);
    CHECK_FALSE(has(design, PointKind::single));
    CHECK(has(design, PointKind::several));
  }
}

TEST_CASE("coloured single layers need one layer or two, as theory.md 8 says") {
  for (const char* group : {"C_5", "C_7", klein, quaternion, "C_3*C_3", "trivial(4)", "S_3 x S_2"}) CHECK(fewest_layers(design_for(group), PointKind::coloured) == 1);
  for (const char* group : {"D_5", "D_7", "hypercube(3)", "S_2 wr S_3", frobenius21, petersen}) CHECK(fewest_layers(design_for(group), PointKind::coloured) == 2);
}

TEST_CASE("gather and broadcast costs the cheapest pattern and two pairs per token (theory.md 13)") {
  const std::pair<const char*, std::uint64_t> cases[] = {{"C_6", 6 + 12}, {"D_6", 12 + 12}, {"S_3 wr S_2", 12 + 12}, {"gens[(0 4)(1 3)]", 8 + 10}, {"trivial(5)", 4 + 10}};
  for (const auto& [group, most] : cases) {
    CAPTURE(group);
    const Design& design = design_for(group);
    const auto point = std::find_if(design.front.begin(), design.front.end(), [](const FrontPoint& p) { return p.kind == PointKind::gather_broadcast; });
    REQUIRE(point != design.front.end());
    CHECK(point->layers == 3);
    CHECK(point->registers == 1);
    CHECK(point->pairs <= most);
  }
}

TEST_CASE("groups that are not 2-closed get their closure and one register per element") {
  const Design& design = design_for("A_4");
  CHECK_FALSE(design.two_closed);
  REQUIRE(design.closure);
  CHECK(design.closure->order.factored() == "4!");
  REQUIRE(design.front.size() == 1);
  CHECK(design.front[0].kind == PointKind::registers);
  CHECK(design.front[0].registers == 12);
  CHECK(design.front[0].layers == 2);
  CHECK(design.front[0].pairs == 2 * 4 * 12);
}

namespace {

/// Every layout on the front against labels; the least pairs of one pattern with all loops against every union, by labels.
void check_design(std::size_t n, const std::vector<small_groups::Images>& generators, std::uint32_t most_orbitals) {
  const auto elements = small_groups::list_elements(n, generators);
  design::Request request;
  request.group = small_groups::to_group(n, generators);
  const design::Orbitals orbitals = design::compute_orbitals(request.group, unlimited);
  const std::uint32_t others = static_cast<std::uint32_t>(orbitals.list().size()) - orbitals.diagonal_count();
  if (others > most_orbitals) return;
  const auto order = elements.size();
  const bool closed = small_groups::count_preserving(n, small_groups::colour_pairs(n, elements)) == order;
  if (!closed && order * n > 200) return;
  const Design design = design::make_design(request, unlimited);
  CHECK(design.two_closed == closed);
  if (n > 1) CHECK_FALSE(design.front.empty());
  for (const FrontPoint& p : design.front) {
    CAPTURE(p.description);
    const layout::Layout layout = architecture::make_layout(p.architecture, unlimited);
    CHECK(small_groups::tells_exactly(layout, p.layers, elements));
    CHECK((p.layers == 1 || !small_groups::tells_exactly(layout, p.layers - 1, elements)));
  }
  if (!closed || n == 1) return;
  std::vector<std::uint64_t> fewest(n + 2, ~std::uint64_t{0}), found(n + 2, ~std::uint64_t{0});
  const std::uint32_t diagonal = orbitals.diagonal_count();
  for (std::uint32_t set = 1; set < 1u << others; ++set) {
    std::vector<std::vector<layout::Vertex>> rows(n);
    std::uint64_t pairs = 0;
    for (design::Point i = 0; i < n; ++i) {
      for (design::Point j = 0; j < n; ++j) {
        if (i != j && ((set >> (orbitals.number(i, j) - diagonal)) & 1) == 0) continue;
        rows[i].push_back(j);
        pairs += i != j;
      }
    }
    layout::Layout layout;
    layout.tokens = static_cast<layout::Vertex>(n);
    layout.vertex_colour.assign(n, 0);
    layout.relations.emplace_back(layout::make_pattern_from_rows(layout.tokens, rows), layout::Relative{}, layout::Cancels::nothing, layout.tokens);
    layout.layers.push_back({{0}});
    layout.order = {0};
    for (std::uint64_t m = 1; m <= n; ++m) {
      if (pairs >= fewest[m]) break;
      if (small_groups::tells_exactly(layout, m, elements)) {
        for (std::uint64_t q = m; q < fewest.size(); ++q) fewest[q] = std::min(fewest[q], pairs);
        break;
      }
    }
  }
  for (const FrontPoint& p : design.front) {
    if (p.kind != PointKind::single || p.loops_chosen) continue;
    for (std::uint64_t q = p.layers; q < found.size(); ++q) found[q] = std::min(found[q], p.pattern_pairs);
  }
  CHECK(fewest == found);
}

}  // namespace

TEST_CASE("designs of the transitive groups of degree at most 5 are the best by exhaustive search, and labels confirm every point") {
  for (std::size_t n = 1; n <= 5; ++n) {
    for (const auto& generators : small_groups::list_transitive_groups(n)) check_design(n, generators, 8);
  }
}

TEST_CASE("designs of random intransitive groups are the best by exhaustive search, and labels confirm every point") {
  for (std::uint32_t seed = 0; seed < 30; ++seed) check_design(2 + seed % 4, small_groups::draw_intransitive_group(2 + seed % 4, seed), 6);
}

TEST_SUITE("slow") {
  TEST_CASE("the same for all transitive groups of degree at most 7 and 200 intransitive ones") {
    for (std::size_t n = 6; n <= 7; ++n) {
      for (const auto& generators : small_groups::list_transitive_groups(n)) check_design(n, generators, 6);
    }
    for (std::uint32_t seed = 0; seed < 200; ++seed) check_design(2 + seed % 6, small_groups::draw_intransitive_group(2 + seed % 6, seed), 12);
  }
}
