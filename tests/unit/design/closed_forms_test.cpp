// Closed forms against the general search at small n, and at lengths that the general search does not reach.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sightline/design/closed_forms.hpp"
#include "sightline/group/expression.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using design::FrontPoint;
using design::PointKind;

namespace {

design::Request make_request(const std::string& text) {
  design::Request request;
  request.group = group::parse_group(text, std::nullopt, {}, unlimited);
  request.symmetry = request.closed_form = text;
  return request;
}

} // namespace

TEST_CASE("with closed forms the front is never worse, their E is the cheapest, and their bounds hold") {
  for (const char* text :
       {"C_5",          "cyclic(9)",  "C_24",       "D_6",          "dihedral(5)", "D_36",       "S_4",
        "symmetric(6)", "trivial(4)", "trivial(7)", "S_2 wr S_3",   "S_3 wr S_2",  "S_4 wr S_2", "torus(5,5)",
        "torus(5,6)",   "C_3 wr C_3", "C_4 wr S_3", "D_4 wr C_3",   "S_2 wr D_5",  "S_3 wr D_4", "C_3 wr D_4",
        "D_5 wr S_2",   "grid(3,4)",  "grid(1,6)",  "hypercube(3)", "hypercube(4)"}) {
    CAPTURE(text);
    design::Request request = make_request(text);
    const auto form = design::find_closed_form(text);
    REQUIRE(form);
    const design::Design with = design::make_design(request, unlimited);
    request.closed_form.clear();
    const design::Design general = design::make_design(request, unlimited);
    for (const FrontPoint& p : general.front) {
      CAPTURE(p.description);
      CHECK(std::any_of(with.front.begin(), with.front.end(), [&](const FrontPoint& q) {
        return q.kind == p.kind && q.layers <= p.layers && q.pairs <= p.pairs && q.pattern_pairs <= p.pattern_pairs;
      }));
      for (const auto& [candidate, layers, least] : form->points) {
        CHECK((p.kind != candidate.kind || p.layers != layers || least <= p.pairs));
        // What all unions were looked at for is not undercut, and no closed form of a transitive group has a dearer E.
        const std::uint64_t pairs = design::count_pairs(candidate.layers, layers);
        if (p.proved && p.kind == candidate.kind && layers == p.layers)
          CHECK(pairs >= p.pairs);
        if (p.kind == PointKind::gather_broadcast && candidate.kind == p.kind && form->transitive)
          CHECK(pairs <= p.pairs);
      }
    }
  }
  for (const char* text :
       {"C_5 x C_5", "torus(4,4)", "torus(5,5) wr S_2", "hypercube(2)", "grid(2,2)", "C_2", "S_2 wr", "(S_3", "S_3)",
        "B_", "torus(7)", "C_99999999999999999999", "S_100000000 wr S_100000000", "", "A_5"})
    CHECK_FALSE(design::find_closed_form(text));
  CHECK(design::find_closed_form(" ( S_2 ) wr ( ( cyclic( 5 ) ) ) ")->name == "S_2 wr C_5");
  CHECK(design::find_closed_form("trivial(2) wr trivial(3)")->name == "trivial");
  CHECK(design::find_closed_form("D_3 wr D_2")->name == "S_3 wr S_2");
  CHECK(design::find_closed_form("S_1 wr C_5")->name == "C_5");
}

TEST_CASE("every family has points at lengths that are not searched, and says what they rest on") {
  for (const char* text : {"C_600",
                           "C_4000",
                           "D_30000",
                           "S_1000000",
                           "C_1000000",
                           "D_1000000",
                           "S_1000 wr S_1000",
                           "symmetric(500) wr symmetric(2000)",
                           "B_500000",
                           "torus(1000,1000)",
                           "torus(25,26)",
                           "trivial(600)",
                           "trivial(1000000)",
                           "C_1000 wr C_1000",
                           "C_1000 wr S_1000",
                           "S_1000 wr C_1000",
                           "D_1000 wr D_1000",
                           "trivial(1000) wr D_1000",
                           "C_1000 wr trivial(1000)",
                           "S_200 wr D_4",
                           "grid(1000,1000)",
                           "hypercube(10)"}) {
    CAPTURE(text);
    const design::Request request = make_request(text);
    const design::Design design = design::make_design(request, unlimited);
    CHECK(design.two_closed);
    REQUIRE_FALSE(design.front.empty());
    const auto form = design::find_closed_form(text);
    REQUIRE(form);
    CHECK(std::any_of(design.front.begin(), design.front.end(),
                      [](const FrontPoint& p) { return p.kind == PointKind::gather_broadcast; }));
    // ... and at least one without registers.
    CHECK(std::any_of(design.front.begin(), design.front.end(), [](const FrontPoint& p) { return p.registers == 0; }));
    if (request.group.degree <= 512)
      continue;
    for (const FrontPoint& p : design.front) {
      CHECK(p.by_proof == (request.group.degree > (form->transitive ? 5000 : 100) || p.layers > 64));
      CHECK(p.architecture.layer_count() == p.layers);
      CHECK(p.lower_bound <= p.pairs);
      CHECK(p.proved <= (form->few_orbitals && p.lower_bound == p.pairs));
    }
  }
}

namespace {

/// Every point of the form is certified with its own number of layers, and refused with one fewer where it repeats.
void check_points(const std::string& text) {
  CAPTURE(text);
  const design::Request request = make_request(text);
  const auto form = design::find_closed_form(text);
  REQUIRE(form);
  for (const auto& [candidate, layers, least] : form->points) {
    const FrontPoint claimed = design::make_point(request, candidate, layers);
    CAPTURE(claimed.description);
    // Beginning one layer lower: the certifier must refuse that, and find the proved number.
    const std::uint64_t begin = candidate.whole_list_once ? layers : std::max<std::uint64_t>(layers, 2) - 1;
    const auto found = design::certify_candidate(request, candidate, begin, unlimited);
    REQUIRE(found);
    CHECK(found->layers == claimed.layers);
    CHECK(least <= claimed.pairs);
    CHECK(found->pairs == claimed.pairs);
    CHECK(found->pattern_pairs == claimed.pattern_pairs);
    // The figures are those of the patterns as generated.
    const layout::Layout layout = architecture::make_layout(claimed.architecture, unlimited);
    std::uint64_t pairs = 0;
    for (std::uint64_t q = 0; q < layers; ++q) {
      const layout::Pattern& pattern =
          layout.relations[layout.layers[layout.order[q % layout.order.size()]].relations[0]].pattern();
      pairs += pattern.arc_count();
      for (layout::Vertex i = 0; i < pattern.vertex_count(); ++i)
        pairs -= pattern.reads(i, i) ? 1u : 0u;
    }
    CHECK(pairs == claimed.pairs);
  }
}

} // namespace

TEST_CASE("points by proof are the certifier's own at lengths where both can be had") {
  for (const char* text :
       {"C_3",         "C_4",        "C_5",         "C_6",          "C_7",          "C_8",         "C_11",
        "C_16",        "C_17",       "C_40",        "D_3",          "D_4",          "D_5",         "D_6",
        "D_7",         "D_8",        "D_9",         "D_12",         "D_16",         "D_31",        "D_32",
        "D_33",        "D_41",       "S_3",         "S_9",          "trivial(3)",   "trivial(4)",  "trivial(12)",
        "trivial(60)", "S_2 wr S_2", "B_7",         "S_5 wr S_4",   "S_2 wr S_30",  "torus(5,5)",  "torus(5,7)",
        "torus(6,6)",  "torus(7,7)", "torus(8,11)", "grid(1,3)",    "grid(1,12)",   "grid(2,3)",   "grid(2,7)",
        "grid(3,3)",   "grid(4,5)",  "grid(5,5)",   "hypercube(3)", "hypercube(4)", "hypercube(5)"})
    check_points(text);
}

TEST_CASE("wreath products in closed form: every pair of small members, by the certifier") {
  for (const char* inside : {"C_3", "C_4", "C_5", "D_4", "D_5", "D_6", "S_2", "S_3", "trivial(2)", "trivial(3)"}) {
    for (const char* outside : {"C_3", "C_4", "C_5", "D_4", "D_5", "D_6", "S_2", "S_3", "trivial(2)", "trivial(3)"})
      check_points(std::string(inside) + " wr " + outside);
  }
}

TEST_CASE("closed forms call groups what find_name calls them, or by what was asked for") {
  for (const char* text :
       {"C_3", "C_11", "D_3", "D_4", "D_12", "S_3", "S_9", "trivial(5)", "S_5 wr S_4", "C_3 wr S_3", "D_5 wr S_2"}) {
    CAPTURE(text);
    CHECK(design::find_closed_form(text)->name == group::find_name(make_request(text).group, unlimited).value_or(""));
  }
}

TEST_CASE("a kernel that shows nothing has no closed form either") {
  design::Request request = make_request("C_1000000");
  request.kernel = "0*dot(x,y)";
  const design::Design design = design::make_design(request, unlimited);
  CHECK(design.front.empty());
}

TEST_CASE("two steps to everyone cost at least 2(n-1) arcs on four points, and three on three (theory.md 16.10)") {
  const auto fewest = [](std::uint32_t n) {
    std::uint32_t best = n * n;
    for (std::uint32_t set = 0; set < 1u << (n * (n - 1)); ++set) {
      std::vector<std::uint32_t> row(n), two(n);
      std::uint32_t bit = 0, arcs = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        row[i] = 1u << i;
        for (std::uint32_t j = 0; j < n; ++j) {
          if (i == j || ((set >> bit++) & 1) == 0)
            continue;
          row[i] |= 1u << j;
          ++arcs;
        }
      }
      bool all = true;
      for (std::uint32_t i = 0; i < n; ++i) {
        for (std::uint32_t j = 0; j < n; ++j)
          two[i] |= (row[i] >> j) & 1 ? row[j] : 0;
        all = all && two[i] == (1u << n) - 1;
      }
      if (all)
        best = std::min(best, arcs);
    }
    return best;
  };
  CHECK(fewest(3) == 3);
  CHECK(fewest(4) == 6);
}
