// Structures large enough for what is only done there: maps that exchange sides, near numbers, degrees that end the search.
#include <doctest/doctest.h>

#include <algorithm>

#include "against_nauty.hpp"
#include "sample.hpp"
#include "sightline/symmetry/place_marks.hpp"
#include "sightline/symmetry/run_graph.hpp"

using namespace sample;
namespace symmetry = sightline::symmetry;

namespace {

/// Copies of a circulant, of both directions or of one, perhaps with a hub, perhaps with one arc less.
Rows make_circulants(std::mt19937_64& random) {
  const auto n = static_cast<Vertex>(620 + random() % 700), copies = static_cast<Vertex>(1 + random() % 2);
  const bool both_ways = random() % 4 != 0, is_window = random() % 2 == 0;
  std::vector<Vertex> steps;
  const std::uint64_t count = 1 + random() % 9;
  for (std::uint64_t k = 1; k <= count; ++k) steps.push_back(is_window ? static_cast<Vertex>(k) : static_cast<Vertex>(1 + random() % 40));
  const Vertex hubs = random() % 3 == 0 ? 1 : 0;
  Rows rows(std::size_t{copies} * n + hubs);
  for (Vertex i = 0; i < copies * n; ++i) {
    const Vertex copy = i / n * n;
    for (const Vertex step : steps) {
      rows[i].push_back(copy + (i - copy + step) % n);
      if (both_ways) rows[i].push_back(copy + (i - copy + n - step) % n);
    }
    for (Vertex hub = copies * n; hub < rows.size(); ++hub) {
      rows[i].push_back(hub);
      rows[hub].push_back(i);
    }
  }
  tidy(rows);
  if (random() % 4 == 0) rows[random() % n].pop_back();
  return rows;
}

void check_circulants(int graphs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  int compared = 0;
  for (int k = 0; k < graphs; ++k) {
    CAPTURE(k);
    Rows rows = make_circulants(random);
    if (k % 2 == 0) rows = relabel(rows, random);
    Sample sample(static_cast<Vertex>(rows.size()));
    sample.add(rows);
    compared += check_against_nauty(sample.structure) ? 1 : 0;
  }
  CHECK(compared > graphs * 3 / 4);
}

}  // namespace

TEST_CASE("circulants of 620 to 2,640 vertices, as they are and relabelled, have the order and the orbits nauty finds") { check_circulants(12, 91); }

TEST_CASE("many circulants of 620 to 2,640 vertices have the order and the orbits nauty finds" * doctest::test_suite("slow")) { check_circulants(100, 94); }

TEST_CASE("degrees end the search only where they tell all vertices apart") {
  std::mt19937_64 random(92);
  const Vertex n = 1100;
  for (const bool twins : {false, true}) {
    Rows rows(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j <= i; ++j) rows[i].push_back(j);
    }
    if (twins) rows[0].push_back(1);
    Sample sample(n);
    sample.add(relabel(rows, random));
    CHECK(symmetry::compute_automorphisms(sample.structure, budget).order == sightline::group::Order(twins ? 2 : 1));
  }
}

TEST_CASE("columns are who reads whom, symmetric or not") {
  std::mt19937_64 random(93);
  int symmetric = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(3 + random() % 9);
    Rows rows(n);
    const bool mirror = random() % 2 == 0;
    for (Vertex i = 0; i < n; ++i) {
      if (random() % 3 == 0) continue;  // empty rows between others
      const auto first = static_cast<Vertex>(random() % n), last = static_cast<Vertex>(first + random() % (n - first));
      for (Vertex j = first; j <= last; ++j) rows[i].push_back(j);
    }
    if (mirror) {
      const Rows once = rows;
      for (Vertex i = 0; i < n; ++i) {
        for (const Vertex j : once[i]) rows[j].push_back(i);
      }
      tidy(rows);
    }
    Sample sample(n);
    sample.add(rows);
    symmetry::RunGraph graph = symmetry::make_run_graph(sample.structure, budget);
    symmetry::complete(graph, budget, symmetry::Walk::spans);
    const symmetry::RunRelation& relation = graph.relations.front();
    symmetric += relation.symmetric ? 1 : 0;
    for (Vertex j = 0; j < n; ++j) {
      for (Vertex i = 0; i < n; ++i) {
        const bool listed = std::any_of(relation.by_read().list_begin(j), relation.by_read().list_end(j), [i](const symmetry::Span& span) { return span.contains(i); });
        REQUIRE(listed == (std::find(rows[i].begin(), rows[i].end(), j) != rows[i].end()));
      }
    }
  }
  CHECK(symmetric > 50);
  CHECK(symmetric < 350);
}

TEST_CASE("marked places are visited in order, once, and forgotten") {
  std::mt19937_64 random(94);
  const std::size_t count = 20'000;
  symmetry::PlaceMarks marks(count);
  for (int k = 0; k < 200; ++k) {
    std::vector<std::size_t> expected, found;
    for (std::uint64_t m = random() % 50; m-- > 0;) expected.push_back(random() % (k % 2 == 0 ? count : 70));
    for (const std::size_t place : expected) marks.mark(place);
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    CHECK(marks.is_empty() == expected.empty());
    for (const bool keep : {true, false}) {
      found.clear();
      marks.for_each(keep, [&](std::size_t place) { found.push_back(place); });
      REQUIRE(found == expected);
    }
    REQUIRE(marks.is_empty());
  }
}
