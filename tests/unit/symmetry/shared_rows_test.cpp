// Rows as vertices of their own: the same group as without them.
#include "sightline/symmetry/shared_rows.hpp"

#include <doctest/doctest.h>

#include "sample.hpp"
#include "sightline/symmetry/search.hpp"

namespace sightline::symmetry {

namespace {

using namespace sample;

/// Orbits and order of the first `vertices` under what the search finds.
struct Found {
  group::Order order;
  std::vector<Vertex> orbit;
};
Found search_first(RunGraph graph, Vertex vertices) {
  complete(graph, budget);
  std::vector<std::uint8_t> prefer;
  for (Vertex v = 0; v < graph.vertices && graph.vertices > vertices; ++v) prefer.push_back(v < vertices ? 1 : 0);
  const Automorphisms found = search_automorphisms(graph, prefer, budget);
  Orbits orbits(graph.vertices);
  for (const MovedPairs& generator : found.generators) orbits.join(generator);
  Found result{found.order, {}};
  for (Vertex v = 0; v < vertices; ++v) result.orbit.push_back(orbits.find(v));
  return result;
}

MovedPairs restrict_to(const MovedPairs& moved, Vertex vertices) {
  MovedPairs below;
  for (const auto& pair : moved) {
    if (pair.first < vertices) below.push_back(pair);
  }
  return below;
}

}  // namespace

TEST_CASE("the group is the same with shared rows as vertices") {
  std::mt19937_64 random(3);
  int named_graphs = 0;
  for (int trial = 0; trial < 600; ++trial) {
    CAPTURE(trial);
    const auto n = static_cast<Vertex>(16 + random() % 33);
    Sample sample(n);
    const auto relations = 1 + random() % 3;
    for (std::uint64_t r = 0; r < relations; ++r) {
      sample.add(random() % 4 == 0 ? structured_rows(n, random) : shared_rows(n, static_cast<Vertex>(1 + random() % (n / 8 + 1)), random));
      if (random() % 4 != 0) continue;
      std::vector<bool> visible(n, true);
      for (Vertex v = 0; v < n; ++v) visible[v] = v % 4 != 0;
      sample.structure.relations.back().visible = visible;
    }
    if (random() % 3 == 0) {
      for (Vertex v = 0; v < n; ++v) sample.structure.vertex_colour[v] = v < n / 2 ? 7 : ~std::uint64_t{0};
    }
    const RunGraph graph = make_run_graph(sample.structure, budget);
    const auto named = name_shared_rows(graph, budget, 0);
    if (!named) continue;
    ++named_graphs;
    CHECK(named->vertices == n);
    const Found plain = search_first(graph, n), with_rows = search_first(named->graph, n);
    CHECK(with_rows.order == plain.order);
    CHECK(with_rows.orbit == plain.orbit);
  }
  CHECK(named_graphs > 300);
}

TEST_CASE("a map of the vertices goes on to the rows, or cannot") {
  constexpr Vertex side = 16, n = side * side;
  Sample sample(n);
  Rows rows(n), columns(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex k = 0; k < side; ++k) {
      rows[i].push_back(i / side * side + k);
      columns[i].push_back(i % side + k * side);
    }
  }
  sample.add(rows);
  sample.add(columns);
  const auto named = name_shared_rows(make_run_graph(sample.structure, budget), budget, 0);
  REQUIRE(named);
  CHECK(named->graph.vertices == n + 2 * side);
  MovedPairs swap;  // of the first two rows of the grid
  for (Vertex i = 0; i < 2 * side; ++i) swap.emplace_back(i, i < side ? i + side : i - side);
  const auto extended = named->extend(swap);
  REQUIRE(extended);
  CHECK(restrict_to(*extended, n) == swap);
  CHECK(extended->size() == swap.size() + 2);
  CHECK_FALSE(named->extend({{0, side}, {side, 2 * side}, {2 * side, 0}, {1, 2 * side + 1}, {2 * side + 1, 1}}));  // one row with two images

  const AutomorphismTest test(sample.structure, budget);
  CHECK(test(group::Permutation::from_images([&] {
    std::vector<group::Point> images(n);
    for (Vertex i = 0; i < n; ++i) images[i] = i % side * side + i / side;
    return images;
  }())) == false);  // rows and columns are two relations
}

TEST_CASE("equal rows are found however they are cut") {
  constexpr Vertex n = 64;
  RunGraphBuilder builder(n, {}, budget);
  builder.begin_relation();
  for (Vertex i = 0; i < n; ++i) {
    const std::vector<ColouredRun> whole{{0, 9, 1, 0, 0}}, cut{{0, 4, 1, 0, 0}, {5, 9, 1, 0, 0}}, other{{0, 9, 1, 1, 0}}, stepped{{0, 8, 2, 0, 0}, {1, 9, 2, 0, 0}};
    builder.add_row(i % 4 == 0 ? whole : i % 4 == 1 ? cut : i % 4 == 2 ? other : stepped, true);
  }
  const auto named = name_shared_rows(builder.take(), budget, 0);
  REQUIRE(named);
  CHECK(named->graph.vertices == n + 2);
}

}  // namespace sightline::symmetry
