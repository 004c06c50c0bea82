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

}  // namespace

TEST_CASE("closed forms are certified at small n and never beaten by the general search in their kind") {
  for (const char* text : {"C_5", "cyclic(9)", "D_6", "dihedral(5)", "S_4", "symmetric(6)", "trivial(4)", "S_2 wr S_3", "S_3 wr S_2", "S_4 wr S_2", "torus(5,5)", "torus(5,6)"}) {
    CAPTURE(text);
    const design::Request request = make_request(text);
    const auto form = design::find_closed_form(text);
    REQUIRE(form);
    const design::Design general = design::make_design(request, unlimited);
    for (const auto& [candidate, begin] : form->candidates) {
      const auto point = design::certify_candidate(request, candidate, begin, unlimited);
      REQUIRE(point);
      CHECK(point->layers == begin);
      const auto same = std::find_if(general.front.begin(), general.front.end(), [&](const FrontPoint& p) { return p.kind == point->kind && p.layers <= point->layers && p.pairs <= point->pairs; });
      CHECK(same != general.front.end());
      // Transitive families: the general search finds nothing cheaper than E either. (Trivial: missing loops may save a pair.)
      if (point->kind != PointKind::gather_broadcast || request.group.is_trivial()) continue;
      for (const FrontPoint& p : general.front) CHECK((p.kind != point->kind || p.pairs == point->pairs));
    }
  }
  CHECK_FALSE(design::find_closed_form("C_5 x C_5"));
  CHECK_FALSE(design::find_closed_form("torus(4,4)"));
}

TEST_CASE("every family has a certified point at lengths that are not searched") {
  for (const char* text : {"C_30000", "D_30000", "S_1000000", "S_100 wr S_30", "torus(60,60)"}) {
    CAPTURE(text);
    const design::Design design = design::make_design(make_request(text), unlimited);
    CHECK(design.two_closed);
    REQUIRE_FALSE(design.front.empty());
    CHECK(std::any_of(design.front.begin(), design.front.end(), [](const FrontPoint& p) { return p.kind == PointKind::gather_broadcast; }));
  }
}
