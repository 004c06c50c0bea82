// Arcs left out of searches: the group is the same, with fewer of them.
#include "sightline/symmetry/even_arcs.hpp"

#include <doctest/doctest.h>

#include "modules.hpp"
#include "sightline/symmetry/search.hpp"

namespace sightline::symmetry {

namespace {

using namespace sample;

std::uint64_t count_arcs(const RunGraph& graph) {
  std::uint64_t arcs = 0;
  for (const RunRelation& relation : graph.relations) {
    for (Vertex v = 0; v < graph.vertices; ++v) {
      for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) arcs += (span->last - span->first) / span->step + 1;
    }
  }
  return arcs;
}

struct OrderAndOrbits {
  group::Order order;
  std::vector<Vertex> orbit;
};
OrderAndOrbits search(const RunGraph& graph) {
  const Automorphisms found = search_automorphisms(graph, {}, budget);
  Orbits orbits(graph.vertices);
  for (const MovedPairs& generator : found.generators) orbits.join(generator);
  OrderAndOrbits result{found.order, {}};
  for (Vertex v = 0; v < graph.vertices; ++v) result.orbit.push_back(orbits.find(v));
  return result;
}

}  // namespace

TEST_CASE("the group is the same without even arcs") {
  std::mt19937_64 random(11);
  int reduced = 0, whole = 0;
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    const Sample sample = make_modules(random);
    RunGraph spans = make_run_graph(sample.structure, budget), arcs = make_run_graph(sample.structure, budget);
    complete(spans, budget, Walk::spans);
    complete(arcs, budget, Walk::arcs);  // is searched with all of them
    REQUIRE_FALSE(drop_even_arcs(arcs, budget));
    const std::optional<RunGraph> fewer = drop_even_arcs(spans, budget);
    if (fewer) CHECK(2 * count_arcs(*fewer) <= count_arcs(spans));
    (fewer ? reduced : whole) += 1;
    const OrderAndOrbits expected = search(arcs), found = search(spans);
    CHECK(found.order == expected.order);
    CHECK(found.orbit == expected.orbit);
    for (Vertex v = 0; fewer && v < fewer->vertices; ++v) {
      for (std::size_t r = 0; r < spans.relations.size(); ++r) CHECK(fewer->relations[r].colour(v, v) == spans.relations[r].colour(v, v));
    }
  }
  CHECK(reduced >= 80);
  CHECK(whole >= 10);
}

}  // namespace sightline::symmetry
