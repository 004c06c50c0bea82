// Groups of layouts in which some relation is a line of intervals: what shows without a search is what a search finds, and the checker confirms it (docs/theory.md 16.102).
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "checker/views.hpp"
#include "../unit/sight/oracle.hpp"
#include "sight_convert.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/sight/views.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

/// Rows lo .. hi around their readers, ends that rise (and at times fall once), the readers themselves read or not; or arcs at random.
oracle::Head draw_rows(std::mt19937_64& random, Vertex n, bool intervals) {
  oracle::Head head;
  head.rows.resize(n);
  Vertex lo = 0, hi = 0;
  const bool loops = random() % 3 > 0;
  const std::uint64_t rare = 2 + random() % 4;
  const auto radius = static_cast<Vertex>(random() % 4), slack = static_cast<Vertex>(random() % 3);
  for (Vertex i = 0; i < n; ++i) {
    const auto drawn = [&](Vertex ends) { return ends + static_cast<Vertex>(random() % (slack + 1)); };
    lo = std::min(i, std::max(lo, i < radius + slack ? 0 : drawn(i - radius - slack)));
    hi = std::min(n - 1, std::max(hi, drawn(i + radius)));
    for (Vertex j = 0; j < n; ++j) {
      if (intervals ? j >= lo && j <= hi && (loops || j != i) : random() % rare == 0) head.rows[i].push_back(j);
    }
  }
  if (intervals && random() % 12 == 0) {
    auto& row = head.rows[random() % n];
    if (!row.empty()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(random() % row.size()));
  }
  return head;
}

/// With every arc its image under the reflection of the line.
void reflect(oracle::Head& head) {
  const auto n = static_cast<Vertex>(head.rows.size());
  oracle::Rows both = head.rows;
  for (Vertex i = 0; i < n; ++i) {
    for (const Vertex j : head.rows[i]) both[n - 1 - i].push_back(n - 1 - j);
  }
  for (auto& row : both) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  head.rows = std::move(both);
}

Layout draw_layout(std::mt19937_64& random) {
  const auto n = static_cast<Vertex>(2 + random() % 40);
  const bool both = random() % 2 == 0;
  const std::uint64_t count = 1 + random() % 3, line = random() % count;
  std::vector<std::vector<oracle::Head>> layers;
  for (std::uint64_t l = 0; l < count; ++l) {
    layers.push_back({draw_rows(random, n, l == line || random() % 3 == 0)});
    if (both) reflect(layers.back().front());
  }
  Layout layout = oracle::make_layout(n, 0, layers);
  if (random() % 5 == 0) {
    const auto i = static_cast<Vertex>(random() % n);
    layout.vertex_colour[i] = 7;
    if (both && random() % 2 == 0) layout.vertex_colour[n - 1 - i] = 7;
  }
  return layout;
}

checker::Json read(const nlohmann::json& evidence) { return checker::parse(evidence.dump()); }

}  // namespace

TEST_CASE("lines of intervals show the group that a search finds, and the checker confirms it") {
  std::mt19937_64 random(102);
  int reflected = 0, trivial = 0, other = 0, larger = 0;
  for (int k = 0; k < 3000; ++k) {
    CAPTURE(k);
    const Layout layout = draw_layout(random);
    const checker::Layout theirs = convert::to_checker(layout);
    symmetry::SearchRecord record;
    const auto found = find_interval_group(layout, unlimited, record);
    REQUIRE(found.has_value() == checker::has_line_of_intervals(theirs));
    const group::Group expected = symmetry::compute_layout_group(layout, unlimited);
    if (!found) {
      ++(expected.order == group::Order(mpz_class(1)) || expected.order == group::Order(mpz_class(2)) ? other : larger);
      continue;
    }
    REQUIRE(found->order == expected.order);
    REQUIRE(found->orbit == expected.orbit);
    const nlohmann::json evidence = certificate::to_plain(certificate::to_evidence(record));
    const auto confirmed = checker::find_named_group(theirs, read(evidence));
    REQUIRE(confirmed);
    REQUIRE(confirmed->order->factored() == found->order.factored());
    ++(found->generators.empty() ? trivial : reflected);
    // The other of the two is not what the rows show; nor is it where names of rows that go down tell.
    symmetry::SearchRecord lie;
    lie.is_tight = true;
    if (found->generators.empty()) {
      symmetry::MovedPairs& moved = lie.generators.emplace_back();
      for (Vertex x = 0; x < layout.tokens; ++x) {
        if (x != layout.tokens - 1 - x) moved.emplace_back(x, layout.tokens - 1 - x);
      }
      lie.path.push_back(0);
    }
    CHECK_FALSE(checker::find_named_group(theirs, read(certificate::to_plain(certificate::to_evidence(lie)))));
  }
  MESSAGE(reflected << " reflected, " << trivial << " trivial, " << other << " others, " << larger << " larger");
  CHECK(reflected > 300);
  CHECK(trivial > 300);
  CHECK(larger > 200);
}

}  // namespace sightline::sight
