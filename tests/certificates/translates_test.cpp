// Rows that are one another's translates: what library and checker conclude about all views at once holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

#include "../unit/sight/oracle.hpp"
#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/layout/pattern_spec.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

using Rows = oracle::Rows;

Rows translate(Vertex n, const std::set<std::int64_t>& offsets) {
  Rows rows(n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (const std::int64_t d : offsets) {
      if (i + d >= 0 && i + d < n) rows[static_cast<std::size_t>(i)].push_back(static_cast<Vertex>(i + d));
    }
  }
  return rows;
}

std::set<std::int64_t> strided_offsets(std::int64_t n, std::int64_t s) {
  std::set<std::int64_t> offsets;
  for (std::int64_t d = 1 - n; d < n; ++d) {
    if (std::abs(d) <= s || d % s == 0) offsets.insert(d);
  }
  return offsets;
}

Layout make(Vertex n, const std::vector<Rows>& layers) {
  std::vector<std::vector<oracle::Head>> heads;
  for (const Rows& rows : layers) heads.push_back({{rows, {}, {}, layout::Cancels::single_colour}});
  return oracle::make_layout(n, 0, heads);
}

/// What both say, which must be the same: only then does a certificate of one need no evidence for the other.
bool explains(const Layout& layout, std::uint64_t depth) {
  const bool found = do_translates_explain(layout, depth, unlimited);
  REQUIRE(checker::do_translates_explain(convert::to_checker(layout), depth) == found);
  return found;
}

}  // namespace

TEST_CASE("strided rows both ways: views of two layers have the symmetries of the layout") {
  int shown = 0;
  for (Vertex s = 1; s <= 6; ++s) {
    for (Vertex n = std::max<Vertex>(4, 4 * s); n <= std::min<Vertex>(8 * s + 3, s < 6 ? 44 : 40); ++n) {
      CAPTURE(s);
      CAPTURE(n);
      const std::set<std::int64_t> offsets = strided_offsets(n, s);
      const Layout layout = make(n, {translate(n, offsets)});
      CHECK(!explains(layout, 1));
      REQUIRE(explains(layout, 2) == (s >= 3 && n >= 5 * s));
      if (s < 3 || n < 5 * s) continue;
      ++shown;
      REQUIRE(is_so(layout, 2, true));
      REQUIRE(explains(layout, 3));
      // The generator writes moving runs.
      layout::PatternSpec spec;
      spec.kind = layout::PatternKind::strided;
      spec.stride = s;
      Layout generated = layout;
      generated.relations[0] = layout::Relation(layout::make_patterns(spec, {n, 0, 1}, unlimited).front(), layout::Relative{}, layout::Cancels::single_colour, n);
      REQUIRE(explains(generated, 2));
      // One offset more or less, one row of its own, another layer beside it.
      std::set<std::int64_t> other = offsets;
      other.erase(s);
      CHECK(!explains(make(n, {translate(n, other)}), 2));
      other = offsets;
      other.insert(-std::int64_t{s} - 1);
      CHECK(!explains(make(n, {translate(n, other)}), 2));
      Rows rows = translate(n, offsets);
      rows[n / 2].pop_back();
      CHECK(!explains(make(n, {rows}), 2));
      rows = translate(n, offsets);
      rows[n / 2].back() = n / 2 + s + 1;
      CHECK(!explains(make(n, {rows}), 2));
      CHECK(!explains(make(n, {translate(n, offsets), translate(n, {0, 1})}), 2));
      Layout coloured = layout;
      coloured.vertex_colour[1] = 5;
      CHECK(!explains(coloured, 2));
    }
  }
  CHECK(shown > 40);
}

TEST_CASE("rows that go down: readers name all tokens of all views, or nothing is said") {
  std::mt19937_64 random(16);
  int shown = 0, open = 0;
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(4 + random() % 24);
    std::vector<Rows> layers;
    for (auto more = 1 + random() % 2; more > 0; --more) {
      std::set<std::int64_t> offsets;
      if (random() % 3 != 0) offsets.insert(0);
      if (random() % 2 == 0) {
        const auto s = static_cast<std::int64_t>(2 + random() % 5);
        for (const std::int64_t d : strided_offsets(n, s)) {
          if (d < 0) offsets.insert(d);
        }
      } else {
        for (auto count = 1 + random() % 5; count > 0; --count) offsets.insert(-static_cast<std::int64_t>(1 + random() % (n - 1)));
        if (random() % 2 == 0) offsets.insert(-1);
      }
      layers.push_back(translate(n, offsets));
    }
    const auto depth = 1 + random() % 4;
    const Layout layout = make(n, layers);
    if (!explains(layout, depth)) {
      ++open;
      continue;
    }
    ++shown;
    REQUIRE(is_so(layout, depth, false));
    Rows& rows = layers[random() % layers.size()];
    const auto i = static_cast<std::size_t>(1 + random() % (n - 2));
    if (rows[i].empty()) continue;
    rows[i].erase(rows[i].begin() + static_cast<std::ptrdiff_t>(random() % rows[i].size()));
    CHECK(!explains(make(n, layers), depth));
  }
  CHECK(shown > 200);
  CHECK(open > 200);
}

TEST_CASE("rows that go down in colours of their offsets: readers name all tokens of all views, or nothing is said") {
  std::mt19937_64 random(161);
  int shown = 0, by_colour = 0, open = 0, refused = 0;
  for (int k = 0; k < 1000; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(4 + random() % 14);
    std::vector<std::vector<oracle::Head>> layers, plain;
    for (auto more = 1 + random() % 2; more > 0; --more) {
      const auto width = static_cast<std::int64_t>(1 + random() % n), step = static_cast<std::int64_t>(1 + random() % 3), few = static_cast<std::int64_t>(1 + random() % 3);
      std::set<std::int64_t> offsets;
      if (random() % 4 != 0) offsets.insert(0);
      for (std::int64_t d = step; d <= width * step; d += step) offsets.insert(-d);
      oracle::Head head{translate(n, offsets), {}, {}, random() % 2 == 0 ? layout::Cancels::nothing : layout::Cancels::single_colour};
      plain.push_back({head});
      if (random() % 3 == 0) {
        // Colours by distance, in stretches.
        for (Vertex i = 0; i < n; ++i) {
          head.colours.emplace_back();
          for (const Vertex j : head.rows[i]) head.colours[i].push_back(static_cast<std::uint32_t>(1 + (i - j) / few % 3));
        }
      } else {
        head.relative.kind = layout::RelativeKind::bucket;
        head.relative.buckets = 4 * static_cast<std::uint32_t>(1 + random() % 3);
        head.relative.max_distance = static_cast<std::uint32_t>(3 + random() % 8);
        head.relative.bidirectional = random() % 2 == 0;
      }
      layers.push_back({head});
    }
    const auto depth = 1 + random() % 4;
    const Layout layout = oracle::make_layout(n, 0, layers);
    if (!explains(layout, depth)) {
      ++open;
      continue;
    }
    ++shown;
    by_colour += !explains(oracle::make_layout(n, 0, plain), depth);
    REQUIRE(is_so(layout, depth, false));
    // One arc of another colour than the last row has at this offset.
    oracle::Head& head = layers[random() % layers.size()].front();
    const Vertex i = 2 + random() % (n - 3);
    if (head.rows[i].size() < 3) continue;
    if (head.colours.empty()) {
      for (const auto& row : head.rows) head.colours.emplace_back(row.size(), 1);
    }
    head.colours[i].front() += 7;
    ++refused;
    CHECK(!explains(oracle::make_layout(n, 0, layers), depth));
  }
  CHECK(shown > 150);
  CHECK(by_colour > 5);
  CHECK(open > 150);
  CHECK(refused > 50);
}

TEST_CASE("components of rows with steps are those of their members") {
  std::mt19937_64 random(17);
  int apart = 0;
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(10 + random() % 60);
    // Tokens of some progressions read one another, or the first of them reads all.
    std::vector<std::set<Vertex>> reads(n);
    std::vector<Vertex> name(n);
    std::iota(name.begin(), name.end(), Vertex{0});
    for (auto more = 1 + random() % 12; more > 0; --more) {
      const auto first = static_cast<Vertex>(random() % n), step = static_cast<Vertex>(1 + random() % 12);
      const Vertex last = std::min<Vertex>(n - 1, first + step * static_cast<Vertex>(random() % 9));
      for (Vertex x = first; x <= last; x += step) {
        for (Vertex y = first; y <= last && (x == first || k % 2 == 0); y += step) reads[x].insert(y);
        const Vertex from = std::max(name[first], name[x]), to = std::min(name[first], name[x]);
        std::replace(name.begin(), name.end(), from, to);
      }
    }
    Rows rows;
    for (const std::set<Vertex>& row : reads) rows.emplace_back(row.begin(), row.end());
    const Layout layout = make(n, {rows});
    std::vector<Vertex> size(n);
    for (Vertex x = 0; x < n; ++x) size[x] = static_cast<Vertex>(std::count(name.begin(), name.end(), name[x]));
    apart += size[0] < n ? 1 : 0;
    REQUIRE(checker::measure_components(convert::to_checker(layout)) == size);
    // Views that hold their component, unless one that does not has as many in view.
    const auto seen = oracle::see(layout, n);
    std::vector<Vertex> unseen(n);
    std::set<Vertex> doubtful;
    for (Vertex a = 0; a < n; ++a) {
      unseen[a] = static_cast<Vertex>(std::count(seen[a].begin(), seen[a].end(), false));
      if (unseen[a] + size[a] != n) doubtful.insert(unseen[a]);
    }
    const std::vector<bool> complete = find_complete_roots(layout, n + 1, unlimited);
    for (Vertex a = 0; a < n; ++a) REQUIRE(complete[a] == (unseen[a] == 0 || (std::count(unseen.begin(), unseen.end(), 0u) == 0 && !doubtful.contains(unseen[a]))));
  }
  CHECK(apart > 50);
}

}  // namespace sightline::sight
