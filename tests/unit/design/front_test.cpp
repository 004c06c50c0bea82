// The designer against the table of theory.md 8, against exhaustive search by definition, and against labels.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "sightline/design/configuration.hpp"
#include "sightline/design/front.hpp"
#include "sightline/design/orbitals.hpp"
#include "sightline/design/search.hpp"
#include "sightline/group/expression.hpp"
#include "tests/unit/design/groups.hpp"
#include "tests/unit/design/labels.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using design::Design;
using design::FrontPoint;
using design::PointKind;

namespace {

const Design& design_for(const std::string& text) {
  static std::map<std::string, Design> known; // several tests look at one design
  if (const auto at = known.find(text); at != known.end())
    return at->second;
  design::Request request;
  request.group = group::parse_group(text, std::nullopt, {}, unlimited);
  request.symmetry = text;
  return known[text] = design::make_design(request, unlimited);
}

const FrontPoint* find(const Design& design, PointKind kind, std::uint64_t layers, std::uint64_t pattern_pairs) {
  for (const FrontPoint& p : design.front) {
    if (p.kind == kind && p.layers == layers && p.pattern_pairs == pattern_pairs)
      return &p;
  }
  return nullptr;
}

std::uint64_t fewest_layers(const Design& design, PointKind kind) {
  std::uint64_t fewest = ~std::uint64_t{0};
  for (const FrontPoint& p : design.front) {
    if (p.kind == kind)
      fewest = std::min(fewest, p.layers);
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

} // namespace

TEST_CASE("the table of theory.md 8, line by line") {
  constexpr PointKind single = PointKind::single, several = PointKind::several, hub = PointKind::gather_broadcast;
  const Row rows[] = {{"C_5", single, 5, 4},
                      {"C_7", single, 7, 6},
                      {"C_7", single, 14, 3},
                      {"C_7", single, 21, 2},
                      {"D_5", single, 10, 2},
                      {"D_7", single, 14, 3},
                      {"trivial(3)", single, 4, 2},
                      {"trivial(3)", single, 3, 2},
                      {"trivial(4)", single, 5, 3},
                      {"trivial(4)", single, 4, 3},
                      {"gens[(0 3)(1 2)]", single, 6, 3},
                      {"gens[(0 3)(1 2)]", single, 4, 3},
                      {"S_5", single, 20, 1},
                      {"S_5", hub, 10, 2},
                      {"S_3 x S_2", single, 12, 2},
                      {"S_2 x S_4", single, 16, 2},
                      {"S_2 wr S_3", single, 24, 2},
                      {"S_3 wr S_2", single, 18, 2},
                      {"hypercube(3)", single, 24, 3},
                      {klein, several, 8, 2},
                      {cube2, several, 24, 3},
                      {quaternion, several, 16, 4},
                      {"C_3*C_3", several, 18, 4},
                      {"regular(S_3)", single, 12, 3},
                      {frobenius21, single, 21, 2},
                      {petersen, single, 30, 3},
                      {diagonal3, single, 9, 4},
                      {diagonal3, single, 12, 3},
                      {diagonal3, single, 15, 2}};
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
    if (row.kind == single)
      CHECK(point->pairs == row.layers * row.pattern_pairs);
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
  for (const char* group : {"C_5", "C_7", klein, quaternion, "C_3*C_3", "trivial(4)", "S_3 x S_2"})
    CHECK(fewest_layers(design_for(group), PointKind::coloured) == 1);
  for (const char* group : {"D_5", "D_7", "hypercube(3)", "S_2 wr S_3", frobenius21, petersen})
    CHECK(fewest_layers(design_for(group), PointKind::coloured) == 2);
}

TEST_CASE("gather and broadcast costs the cheapest pattern and two pairs per token (theory.md 13)") {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"C_6", 6 + 12}, {"D_6", 12 + 12}, {"S_3 wr S_2", 12 + 12}, {"gens[(0 4)(1 3)]", 8 + 10}};
  for (const auto& [group, most] : cases) {
    CAPTURE(group);
    const Design& design = design_for(group);
    const auto point = std::find_if(design.front.begin(), design.front.end(),
                                    [](const FrontPoint& p) { return p.kind == PointKind::gather_broadcast; });
    REQUIRE(point != design.front.end());
    CHECK(point->layers == 3);
    CHECK(point->registers == 1);
    CHECK(point->pairs <= most);
  }
}

TEST_CASE("products of symmetric groups on their orbits need no pattern besides the register: it reads every orbit "
          "with a weight of its own") {
  for (const auto& [group, tokens] : {std::pair{"trivial(4)", 4u}, {"S_3 x S_2", 5u}, {"S_4 x S_1 x S_2", 7u}}) {
    CAPTURE(group);
    const FrontPoint* point = find(design_for(group), PointKind::gather_broadcast, 2, 2 * tokens);
    REQUIRE(point != nullptr);
    CHECK(point->proved);
  }
}

TEST_CASE("regular C_2^4, the last of Babai's exceptions: no single pattern, four matchings in four layers") {
  const Design& design = design_for("regular(C_2*C_2*C_2*C_2)");
  CHECK_FALSE(has(design, PointKind::single));
  const FrontPoint* point = find(design, PointKind::several, 4, 64);
  REQUIRE(point != nullptr);
  CHECK(point->proved);
  for (const FrontPoint& p : design.front)
    CHECK(p.lower_bound <= p.pairs);
}

TEST_CASE("above 16 non-diagonal orbitals nothing is called proved, and every point has a bound") {
  for (const char* group : {"C_30", "trivial(6)", "D_40", "C_5*C_5", "gens[(0 1 2)(3 4 5)(6 7 8)]"}) {
    CAPTURE(group);
    const Design& design = design_for(group);
    CHECK_FALSE(design.front.empty());
    for (const FrontPoint& p : design.front) {
      CAPTURE(p.description);
      CHECK_FALSE(p.proved);
      CHECK(p.lower_bound > 0);
      CHECK(p.lower_bound <= p.pairs);
    }
  }
}

TEST_CASE("causal designs: up to four tokens every set of pairs that look back, above windows") {
  const auto causal = [](const char* text) {
    design::Request request;
    request.group = group::parse_group(text, std::nullopt, {}, unlimited);
    request.causal = true;
    return design::make_design(request, unlimited);
  };
  const Design small = causal("trivial(4)");
  // One pattern that reads one token back in each of three layers; all six pairs in one.
  REQUIRE(find(small, PointKind::single, 3, 3) != nullptr);
  CHECK(find(small, PointKind::single, 3, 3)->proved);
  REQUIRE(find(small, PointKind::coloured, 1, 6) != nullptr);
  CHECK(find(small, PointKind::coloured, 1, 6)->proved);
  const Design large = causal("trivial(9)");
  CHECK_FALSE(large.front.empty());
  for (const FrontPoint& p : large.front) {
    CHECK_FALSE(p.proved);
    CHECK(p.lower_bound >= 8);
    CHECK(p.lower_bound <= p.pairs);
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

/// One layer: who reads whom, on top of the own token.
layout::Pattern make_pattern(std::size_t n, const design::Orbitals& orbitals, std::uint32_t set) {
  const std::uint32_t diagonal = orbitals.diagonal_count();
  std::vector<std::vector<layout::Vertex>> rows(n);
  for (design::Point i = 0; i < n; ++i) {
    for (design::Point j = 0; j < n; ++j) {
      if (i == j || ((set >> (orbitals.number(i, j) - diagonal)) & 1) != 0)
        rows[i].push_back(j);
    }
  }
  return layout::make_pattern_from_rows(static_cast<layout::Vertex>(n), rows);
}

/// The patterns in this order, repeated for ever.
layout::Layout make_layers(std::size_t n, const std::vector<const layout::Pattern*>& patterns) {
  layout::Layout layout;
  layout.tokens = static_cast<layout::Vertex>(n);
  layout.vertex_colour.assign(n, 0);
  for (std::uint32_t q = 0; q < patterns.size(); ++q) {
    layout.relations.emplace_back(*patterns[q], layout::Relative{}, layout::Cancels::nothing, layout.tokens);
    layout.layers.push_back({{q}});
    layout.order.push_back(q);
  }
  return layout;
}

std::uint64_t count_arcs(const layout::Pattern& pattern) { return pattern.arc_count() - pattern.vertex_count(); }

struct Sweep {
  std::size_t groups = 0, searched = 0, layouts = 0, lists = 0;
};

/// Is the group realisable exactly when full lists say that it is 2-closed; is every layout on the front confirmed by
/// labels under all n! rearrangements, and refuted with a layer fewer; is the least number of pairs of one pattern with
/// all loops that of every union of at most `most_orbitals` orbitals, by labels; the same for lists of two and three
/// layers of at most `most_in_lists`; is gather and broadcast as cheap as any coloured union with the right
/// automorphisms; and do the bounds stay below.
void check_design(std::size_t n, const std::vector<small_groups::Images>& generators, std::uint32_t most_orbitals,
                  std::uint32_t most_in_lists, std::uint64_t most_register_pairs, Sweep& sweep) {
  const auto elements = small_groups::list_elements(n, generators);
  design::Request request;
  request.group = small_groups::to_group(n, generators);
  const design::Orbitals orbitals = design::compute_orbitals(request.group, unlimited);
  const std::uint32_t diagonal = orbitals.diagonal_count(),
                      others = static_cast<std::uint32_t>(orbitals.list().size()) - diagonal;
  const auto order = elements.size();
  const bool closed = small_groups::count_preserving(n, small_groups::colour_pairs(n, elements)) == order;
  if (!closed && order * n > most_register_pairs)
    return;
  const Design design = design::make_design(request, unlimited);
  CAPTURE(n);
  std::string images;
  for (const small_groups::Images& g : generators) {
    for (const auto image : g) images += std::to_string(image) + " ";
    images += "; ";
  }
  CAPTURE(images);
  CHECK(design.two_closed == closed);
  ++sweep.groups;
  if (n > 1)
    CHECK_FALSE(design.front.empty());
  std::vector<small_groups::Images> suspects;
  for (const FrontPoint& p : design.front) {
    CAPTURE(p.description);
    const layout::Layout layout = architecture::make_layout(p.architecture, unlimited);
    CHECK(small_groups::tells_exactly(layout, p.layers, elements, suspects));
    CHECK((p.layers == 1 || !small_groups::tells_exactly(layout, p.layers - 1, elements, suspects)));
    CHECK(p.lower_bound <= p.pairs);
    CHECK(p.proved <= (p.lower_bound == p.pairs && others <= 16));
    CHECK(design::bound_pairs(orbitals, false, p.kind, p.layers) <= p.pairs);
    ++sweep.layouts;
  }
  if (!closed || n == 1 || others > most_orbitals)
    return;
  ++sweep.searched;
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::vector<std::uint64_t> fewest(n + 2, none), found(n + 2, none);
  std::vector<layout::Pattern> patterns;
  for (std::uint32_t set = 1; set < 1u << others; ++set)
    patterns.push_back(make_pattern(n, orbitals, set));
  std::vector<std::uint32_t> by_size(patterns.size());
  for (std::uint32_t k = 0; k < by_size.size(); ++k)
    by_size[k] = k;
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](auto a, auto b) { return count_arcs(patterns[a]) < count_arcs(patterns[b]); });
  // A rearrangement outside the group that keeps a pattern is told apart at no depth: such patterns need no labels.
  std::vector<small_groups::Images> keepers;
  for (const std::uint32_t k : by_size) {
    const std::uint64_t pairs = count_arcs(patterns[k]);
    const auto keeps = [&](const small_groups::Images& tau) {
      for (layout::Vertex i = 0; i < n; ++i) {
        for (layout::Vertex j = 0; j < n; ++j) {
          if (patterns[k].reads(i, j) != patterns[k].reads(tau[i], tau[j])) return false;
        }
      }
      return true;
    };
    const auto keeper = std::find_if(keepers.begin(), keepers.end(), keeps);
    if (keeper != keepers.end()) {
      std::iter_swap(keepers.begin(), keeper);
      continue;
    }
    const layout::Layout layout = make_layers(n, {&patterns[k]});
    for (std::uint64_t m = 1; m <= n && pairs < fewest[m]; ++m) {
      if (!small_groups::tells_exactly(layout, m, elements, suspects)) continue;
      CHECK(design::bound_pairs(orbitals, false, PointKind::single, m) <= m * pairs);
      for (std::uint64_t q = m; q < fewest.size(); ++q) fewest[q] = std::min(fewest[q], pairs);
    }
    if (!suspects.empty() && elements.count(suspects.front()) == 0 && keeps(suspects.front())) keepers.push_back(suspects.front());
  }
  for (const FrontPoint& p : design.front) {
    if (p.kind != PointKind::single || p.loops_chosen)
      continue;
    for (std::uint64_t q = p.layers; q < found.size(); ++q)
      found[q] = std::min(found[q], p.pattern_pairs);
  }
  CHECK(fewest == found);

  // Gather and broadcast: the register may read every orbit of the tokens with a weight of its own.
  std::uint64_t cheapest = none;
  std::vector<small_groups::Images> strangers; // not in the group; they preserved some union before
  for (std::size_t k = 0; k <= by_size.size() && cheapest == none; ++k) {
    const std::uint32_t set = k == 0 ? 0 : by_size[k - 1] + 1;
    std::vector<std::uint32_t> colours(n * n, 1000);
    for (design::Point i = 0; i < n; ++i) {
      for (design::Point j = 0; j < n; ++j) {
        const std::uint32_t orbital = orbitals.number(i, j);
        if (i == j || ((set >> (orbital - diagonal)) & 1) != 0)
          colours[i * n + j] = orbital;
      }
    }
    const auto preserves = [&](const small_groups::Images& tau) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          if (colours[tau[i] * n + tau[j]] != colours[i * n + j])
            return false;
        }
      }
      return true;
    };
    if (std::any_of(strangers.begin(), strangers.end(), preserves))
      continue;
    small_groups::Images tau(n);
    std::iota(tau.begin(), tau.end(), 0u);
    bool exact = true;
    do {
      if (!preserves(tau) || elements.count(tau) > 0)
        continue;
      strangers.push_back(tau);
      exact = false;
    } while (exact && std::next_permutation(tau.begin(), tau.end()));
    if (exact)
      cheapest = k == 0 ? 0 : count_arcs(patterns[set - 1]);
  }
  std::uint64_t hub = none;
  for (const FrontPoint& p : design.front) {
    if (p.kind == PointKind::gather_broadcast)
      hub = std::min(hub, p.pairs);
  }
  CHECK(hub == cheapest + 2 * n);

  if (others > most_in_lists)
    return;
  ++sweep.lists;
  std::uint64_t least = none; // pairs of up to m layers
  std::vector<std::vector<std::uint32_t>> lists{{}};
  for (std::uint64_t m = 1; m <= 3; ++m) {
    std::vector<std::vector<std::uint32_t>> longer;
    for (const auto& list : lists) {
      for (std::uint32_t k = 0; k < patterns.size(); ++k) {
        longer.push_back(list);
        longer.back().push_back(k);
      }
    }
    lists = std::move(longer);
    for (const auto& list : lists) {
      std::uint64_t pairs = 0;
      std::vector<const layout::Pattern*> layers;
      for (const std::uint32_t k : list) {
        layers.push_back(&patterns[k]);
        pairs += count_arcs(patterns[k]);
      }
      if (pairs < least && small_groups::tells_exactly(make_layers(n, layers), m, elements, suspects))
        least = pairs;
    }
    std::uint64_t offered = none, with_loops_chosen = none;
    for (const FrontPoint& p : design.front) {
      if (p.layers > m || (p.kind != PointKind::several && p.kind != PointKind::single))
        continue;
      std::uint64_t& best = p.loops_chosen ? with_loops_chosen : offered;
      best = std::min(best, p.pairs);
    }
    CAPTURE(m);
    if (with_loops_chosen <= least)
      continue; // what that beats is not looked for
    CHECK(offered == least);
  }
}

} // namespace

TEST_CASE("designs of the transitive groups of degree at most 5 are the best by exhaustive search, and labels confirm "
          "every point") {
  Sweep sweep;
  for (std::size_t n = 1; n <= 5; ++n) {
    for (const auto& generators : small_groups::list_transitive_groups(n))
      check_design(n, generators, 8, 4, 200, sweep);
  }
  CHECK(sweep.groups >= 11);
}

TEST_CASE("designs of random intransitive groups are the best by exhaustive search, and labels confirm every point") {
  Sweep sweep;
  for (std::uint32_t seed = 0; seed < 30; ++seed)
    check_design(2 + seed % 4, small_groups::draw_intransitive_group(2 + seed % 4, seed), 6, 4, 200, sweep);
  CHECK(sweep.groups == 30);
}

TEST_SUITE("slow") {
  TEST_CASE("the same for all 37 transitive groups of degree at most 7, every union") {
    Sweep sweep;
    for (std::size_t n = 1; n <= 7; ++n) {
      for (const auto& generators : small_groups::list_transitive_groups(n))
        check_design(n, generators, 16, 5, 100'000, sweep);
    }
    CHECK(sweep.groups == 37);
    MESSAGE("transitive: " << sweep.groups << " groups, " << sweep.searched << " searched, " << sweep.layouts
                           << " layouts, " << sweep.lists << " with lists");
  }

  TEST_CASE("the same for 200 intransitive groups on up to 8 points, wherever there are at most 2^16 unions") {
    Sweep sweep;
    for (std::uint32_t seed = 0; seed < 200; ++seed)
      check_design(2 + seed % 7, small_groups::draw_intransitive_group(2 + seed % 7, seed), 16, 4, 100'000, sweep);
    CHECK(sweep.groups == 200);
    MESSAGE("intransitive: " << sweep.groups << " groups, " << sweep.searched << " searched, " << sweep.layouts
                             << " layouts, " << sweep.lists << " with lists");
  }
}
