// Closed forms against the general search at small n, and at lengths that the general search does not reach.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sightline/design/closed_forms.hpp"
#include "sightline/group/expression.hpp"

using namespace sightline;
using design::FrontPoint;
using design::PointKind;

namespace {

const Budget unlimited;

design::Request make_request(const std::string& text) {
  design::Request request;
  request.group = group::parse_group(text, std::nullopt, {}, unlimited);
  request.symmetry = request.closed_form = text;
  return request;
}

} // namespace

TEST_CASE("closed forms are certified at small n and never beaten by the general search in their kind") {
  for (const char* text : {"C_5", "cyclic(9)", "D_6", "dihedral(5)", "S_4", "symmetric(6)", "trivial(4)", "S_2 wr S_3",
                           "S_3 wr S_2", "S_4 wr S_2", "torus(5,5)", "torus(5,6)"}) {
    CAPTURE(text);
    const design::Request request = make_request(text);
    const auto form = design::find_closed_form(text);
    REQUIRE(form);
    const design::Design general = design::make_design(request, unlimited);
    for (const auto& [candidate, begin, least] : form->points) {
      const auto point = design::certify_candidate(request, candidate, begin, unlimited);
      REQUIRE(point);
      CHECK(point->layers == begin);
      const auto same = std::find_if(general.front.begin(), general.front.end(), [&](const FrontPoint& p) {
        return p.kind == point->kind && p.layers <= point->layers && p.pairs <= point->pairs;
      });
      CHECK(same != general.front.end());
      // What is said to be the least at every length is not undercut where all was looked at.
      CHECK(least <= point->pairs);
      for (const FrontPoint& p : general.front)
        CHECK((p.kind != point->kind || p.layers != point->layers || least <= p.pairs));
      // Transitive families: the general search finds nothing cheaper than E either. (Trivial: missing loops may save a
      // pair.)
      if (point->kind != PointKind::gather_broadcast || request.group.is_trivial())
        continue;
      for (const FrontPoint& p : general.front)
        CHECK((p.kind != point->kind || p.pairs == point->pairs));
    }
  }
  CHECK_FALSE(design::find_closed_form("C_5 x C_5"));
  CHECK_FALSE(design::find_closed_form("torus(4,4)"));
}

TEST_CASE("every family has points at lengths that are not searched, and says what they rest on") {
  for (const char* text : {"C_4000", "D_30000", "S_1000000", "C_1000000", "D_1000000", "S_1000 wr S_1000", "symmetric(500) wr symmetric(2000)", "B_500000",
                           "torus(1000,1000)", "torus(60,60)", "trivial(1000000)"}) {
    CAPTURE(text);
    const design::Request request = make_request(text);
    const design::Design design = design::make_design(request, unlimited);
    CHECK(design.two_closed);
    REQUIRE_FALSE(design.front.empty());
    const auto form = design::find_closed_form(text);
    REQUIRE(form);
    CHECK(std::any_of(design.front.begin(), design.front.end(),
                      [](const FrontPoint& p) { return p.kind == PointKind::gather_broadcast; }));
    for (const FrontPoint& p : design.front) {
      CHECK(p.by_proof == (request.group.degree > 5000 || p.layers > 64));
      CHECK(p.architecture.layer_count() == p.layers);
      CHECK(p.lower_bound <= p.pairs);
      CHECK(p.proved <= (form->few_orbitals && p.lower_bound == p.pairs));
    }
  }
}

TEST_CASE("points by proof are the certifier's own at lengths where both can be had") {
  for (const char* text :
       {"C_3", "C_4", "C_11", "C_40", "D_3", "D_4", "D_12", "D_41", "S_3", "S_9", "trivial(3)", "trivial(12)",
        "trivial(60)", "S_2 wr S_2", "B_7", "S_5 wr S_4", "S_2 wr S_30", "torus(5,7)", "torus(6,6)", "torus(8,11)"}) {
    CAPTURE(text);
    const design::Request request = make_request(text);
    const auto form = design::find_closed_form(text);
    REQUIRE(form);
    CHECK(form->name == group::find_name(request.group, unlimited).value_or(""));
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
    }
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
