// Lists of heads: what is said of whole relations, and of walks that need them near each other.
#include <doctest/doctest.h>

#include "sample.hpp"
#include "sightline/symmetry/head_lists.hpp"
#include "sightline/symmetry/search.hpp"
#include "sightline/symmetry/span.hpp"
#include "sightline/symmetry/written_graph.hpp"

using namespace sample;
namespace symmetry = sightline::symmetry;

namespace {

symmetry::HeadLists to_lists(const Rows& rows) {
  symmetry::HeadLists lists;
  lists.begin.push_back(0);
  for (const auto& row : rows) {
    lists.heads.insert(lists.heads.end(), row.begin(), row.end());
    lists.begin.push_back(static_cast<std::uint32_t>(lists.heads.size()));
  }
  return lists;
}

Rows random_symmetric(Vertex n, std::uint64_t arcs, std::mt19937_64& random) {
  Rows rows(n);
  for (std::uint64_t k = 0; k < arcs; ++k) {
    const auto i = static_cast<Vertex>(random() % n), j = static_cast<Vertex>(random() % n);
    rows[i].push_back(j);
    rows[j].push_back(i);
  }
  tidy(rows);
  return rows;
}

/// Every vertex and its neighbours up to `radius` to both sides, round a circle.
Rows circle(Vertex n, Vertex radius) {
  Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex d = 0; d <= 2 * radius; ++d) rows[i].push_back((i + n - radius + d) % n);
  }
  tidy(rows);
  return rows;
}

}  // namespace

TEST_CASE("rows are called symmetric when they are their own columns") {
  std::mt19937_64 random(91);
  // The last is passed in three strips.
  for (const auto& [n, arcs] : std::vector<std::pair<Vertex, std::uint64_t>>{{1, 1}, {2, 1}, {9, 12}, {60, 200}, {1500, 4000}, {2600, 300000}}) {
    CAPTURE(n);
    for (int k = 0; k < (n > 1000 ? 6 : 200); ++k) {
      Rows rows = random_symmetric(n, arcs, random);
      const symmetry::HeadLists lists = to_lists(rows);
      CHECK(symmetry::is_symmetric(lists, n));
      CHECK(symmetry::transpose(lists, n) == lists);
      // One arc less, or another one.
      auto& row = rows[random() % n];
      if (row.empty()) continue;
      const std::size_t place = random() % row.size();
      if (k % 2 == 0) row.erase(row.begin() + static_cast<std::ptrdiff_t>(place));
      else row[place] = static_cast<Vertex>(random() % n);
      tidy(rows);
      const symmetry::HeadLists changed = to_lists(rows);
      CHECK(symmetry::is_symmetric(changed, n) == (symmetry::transpose(changed, n) == changed));
    }
  }
}

TEST_CASE("a graph made in another order is the same graph") {
  std::mt19937_64 random(92);
  for (int k = 0; k < 12; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(1100 + random() % 200);
    Sample sample(n);
    for (int r = 0; r <= k % 3; ++r) {
      Rows rows = random_symmetric(n, 4 * n, random);
      if ((k + r) % 2 == 0) {
        for (Vertex i = 0; i < n; i += 3) rows[i].clear();
      }
      sample.add(rows);
    }
    for (Vertex v = 0; v < n; ++v) sample.structure.vertex_colour[v] = v % 5;
    std::vector<Vertex> order(n);
    std::iota(order.begin(), order.end(), Vertex{0});
    std::shuffle(order.begin(), order.end(), random);
    auto plain = symmetry::WrittenGraph::read(sample.structure, budget), mixed = symmetry::WrittenGraph::read(sample.structure, budget);
    REQUIRE(plain.has_value());
    plain->add_columns(budget);
    mixed->add_columns(budget);
    const symmetry::RunGraph expected = std::move(*plain).make_graph({}, budget), found = std::move(*mixed).make_graph(order, budget);
    const symmetry::ArcLists &from = *expected.arcs, &to = *found.arcs;
    REQUIRE(from.neighbours.size() == to.neighbours.size());
    for (Vertex v = 0; v < n; ++v) {
      const Vertex old = order[v];
      CHECK(found.vertex_colour[v] == expected.vertex_colour[old]);
      CHECK(found.initial_keys[v] == expected.initial_keys[old]);
      REQUIRE(to.first_bundle[v + 1] - to.first_bundle[v] == from.first_bundle[old + 1] - from.first_bundle[old]);
      std::vector<Vertex> heads(to.neighbours_of(v).begin(), to.neighbours_of(v).end());
      for (Vertex& x : heads) x = order[x];
      CHECK(heads == std::vector<Vertex>(from.neighbours_of(old).begin(), from.neighbours_of(old).end()));
      for (std::uint32_t b = 0; b < to.first_bundle[v + 1] - to.first_bundle[v]; ++b) {
        const auto &one = to.bundles[to.first_bundle[v] + b], &other = from.bundles[from.first_bundle[old] + b];
        CHECK(one.kind == other.kind);
        CHECK(one.weight == other.weight);
      }
    }
  }
}

TEST_CASE("a circle needs two generators, whatever its tokens are called") {
  std::mt19937_64 random(93);
  for (const Vertex n : {1024u, 1500u, 2310u, 4096u}) {
    CAPTURE(n);
    const Rows rows = circle(n, 8);
    for (const bool relabelled : {false, true}) {
      Sample sample(n);
      sample.add(relabelled ? relabel(rows, random) : rows);
      const auto group = symmetry::compute_automorphisms(sample.structure, budget);
      CHECK(group.order == sightline::group::Order(mpz_class(2 * n)));
      CHECK(group.generators.size() == 2);
      CHECK(std::all_of(group.orbit.begin(), group.orbit.end(), [](Vertex v) { return v == 0; }));
      for (const auto& generator : group.generators) CHECK(symmetry::is_automorphism(sample.structure, generator, budget));
    }
  }
}

TEST_CASE("the span of a row that holds its reader is found in any order of readers") {
  std::mt19937_64 random(94);
  for (int k = 0; k < 40; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(30 + random() % 300);
    Rows rows(n), lists(1 + random() % 9);
    for (auto& list : lists) {
      const std::uint64_t one_in = 1 + random() % 6;
      for (Vertex j = 0; j < n; ++j) {
        if (random() % one_in == 0) list.push_back(j);
      }
    }
    for (auto& row : rows) row = lists[random() % lists.size()];
    Sample sample(n);
    sample.add(rows);
    const symmetry::RunGraph graph = symmetry::make_run_graph(sample.structure, budget);
    symmetry::OwnSpans ascending(graph.relations[0]), mixed(graph.relations[0]);
    for (Vertex v = 0; v < n; ++v) {
      CHECK(ascending.find(v) == graph.relations[0].find(v, v));
      const auto x = static_cast<Vertex>(random() % n);
      CHECK(mixed.find(x) == graph.relations[0].find(x, x));
      CHECK(mixed.colour(x) == graph.relations[0].colour(x, x));
    }
  }
}

TEST_CASE("colours of one row after another") {
  std::mt19937_64 random(95);
  const Vertex n = 400;
  symmetry::RowColours colours(n);
  for (int k = 0; k < 60; ++k) {
    std::vector<sightline::layout::ColouredRun> row;
    for (Vertex x = static_cast<Vertex>(random() % 3); x < n; x += static_cast<Vertex>(1 + random() % (k % 3 == 0 ? 200 : 9))) {
      const Vertex last = std::min(n - 1, x + static_cast<Vertex>(k % 2 == 0 ? 0 : random() % 40));
      row.push_back({x, last, 1, static_cast<std::int64_t>(random() % 3), 0});
      x = last;
    }
    symmetry::canonicalise(row);
    colours.read(row);
    for (Vertex x = 0; x < n; ++x) CHECK(colours.of(x) == symmetry::find_colour(row, x));
  }
}
