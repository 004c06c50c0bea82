// Groups of layouts whose rows are translates around the circle: what shows without a search is what a search finds, and the checker confirms it from the rows alone (docs/theory.md 16.82).
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "checker/views.hpp"
#include "../unit/sight/oracle.hpp"
#include "sight_convert.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/layout/pattern_spec.hpp"
#include "sightline/sight/product_group.hpp"
#include "sightline/sight/views.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

enum class Spoilt { no, yes };

/// One to three relations, one to a layer; i reads i + S around the circle, S drawn, or intervals; half of them are kept by x -> -x. One row of a spoilt layout lacks a vertex.
Layout draw_layout(std::mt19937_64& random, Vertex most_tokens, Spoilt spoilt) {
  const auto n = static_cast<Vertex>(5 + random() % (most_tokens - 4));
  std::vector<std::vector<oracle::Head>> layers;
  const bool both = random() % 2 == 0;
  for (std::uint64_t more = 1 + random() % 3; more > 0; --more) {
    std::set<Vertex> offsets;
    const std::uint64_t kind = random() % 4, rare = 2 + random() % 5;
    const auto radius = static_cast<Vertex>(1 + random() % (n / 2)), step = static_cast<Vertex>(1 + random() % 3);
    for (Vertex d = 0; d < n; ++d) {
      if (kind == 0 ? d <= radius : kind == 1 ? d % step == 0 && d <= radius : random() % rare == 0) offsets.insert(d);
    }
    if (both) {
      for (const Vertex d : std::set<Vertex>(offsets)) offsets.insert((n - d) % n);
    }
    oracle::Head head;
    head.rows.resize(n);
    for (Vertex i = 0; i < n; ++i) {
      for (const Vertex d : offsets) head.rows[i].push_back((i + d) % n);
      std::sort(head.rows[i].begin(), head.rows[i].end());
    }
    if (spoilt == Spoilt::yes && !offsets.empty()) head.rows[random() % n].pop_back();
    layers.push_back({head});
  }
  return oracle::make_layout(n, 0, layers);
}

checker::Json to_checker(const nlohmann::json& evidence) { return checker::parse(evidence.dump()); }

}  // namespace

TEST_CASE("rows around the circle show the group that a search finds, and the checker confirms it") {
  std::mt19937_64 random(82);
  int dihedral = 0, cyclic = 0, larger = 0, open = 0;
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    const Spoilt spoilt = k % 8 == 0 ? Spoilt::yes : Spoilt::no;
    const Layout layout = draw_layout(random, 40, spoilt);
    const checker::Layout theirs = convert::to_checker(layout);
    symmetry::SearchRecord record;
    const auto found = find_circulant_group(layout, unlimited, record);
    const auto circle = checker::find_circle(theirs);
    REQUIRE(found.has_value() == circle.has_value());
    const group::Group expected = symmetry::compute_layout_group(layout, unlimited);
    if (!found) {
      const bool small = expected.order == group::Order(mpz_class(layout.tokens)) || expected.order == group::Order(mpz_class(2 * layout.tokens));
      ++(spoilt == Spoilt::no && small ? open : larger);
      continue;
    }
    REQUIRE(found->order == expected.order);
    REQUIRE(found->orbit == expected.orbit);
    const symmetry::AutomorphismTest is_automorphism(symmetry::make_structure(layout), unlimited);
    for (const group::Permutation& generator : found->generators) REQUIRE(is_automorphism(generator));
    nlohmann::json evidence = certificate::to_plain(certificate::to_evidence(record));
    const auto confirmed = checker::find_named_group(theirs, to_checker(evidence));
    REQUIRE(confirmed);
    REQUIRE(confirmed->order->factored() == found->order.factored());
    REQUIRE(confirmed->group.generators.size() == found->generators.size());
    ++(found->generators.size() == 2 ? dihedral : cyclic);

    // Fewer generators, or others, are not what the rows show.
    evidence["generators"].erase(0);
    CHECK_FALSE(checker::find_named_group(theirs, to_checker(evidence)));
    evidence["path"].erase(evidence["path"].size() - 1);
    CHECK_FALSE(checker::find_named_group(theirs, to_checker(evidence)));
  }
  MESSAGE(dihedral << " dihedral, " << cyclic << " cyclic, " << open << " open, " << larger << " larger or spoilt");
  CHECK(dihedral > 300);
  CHECK(cyclic > 150);
  CHECK(larger > 200);
  CHECK(open < 100);
}

TEST_CASE("rings as patterns, whose rows are cut where they wrap") {
  for (const auto& [kind, n, radius] : {std::tuple{"ring", 16, 1}, {"ring", 17, 3}, {"ring", 64, 8}, {"ring", 200, 90}, {"ring", 4096, 100}}) {
    CAPTURE(n);
    layout::PatternSpec spec;
    spec.kind = layout::PatternKind::ring;
    spec.radius = radius;
    const auto tokens = static_cast<Vertex>(n);
    Layout layout;
    layout.tokens = tokens;
    layout.vertex_colour.assign(tokens, 0);
    layout.relations.emplace_back(layout::make_patterns(spec, {tokens, 0, 1}, unlimited).front(), layout::Relative{}, layout::Cancels::nothing, tokens);
    layout.layers.push_back({{0}});
    layout.order = {0, 0};
    symmetry::SearchRecord record;
    const auto found = find_circulant_group(layout, unlimited, record);
    REQUIRE(found);
    CHECK(found->order == group::Order(mpz_class(2 * tokens)));
    CHECK(checker::find_circle(convert::to_checker(layout)));
    if (tokens < 300) CHECK(found->order == symmetry::compute_layout_group(layout, unlimited).order);
  }
}

}  // namespace sightline::sight
