// Arcs left out of searches: the group is the same, with fewer of them.
#include "sightline/symmetry/even_arcs.hpp"

#include <doctest/doctest.h>

#include "modules.hpp"
#include "sightline/symmetry/search.hpp"
#include "sightline/symmetry/twins.hpp"

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

TEST_CASE("twins among summaries that are read with steps are those that arcs say") {
  std::mt19937_64 random(17);
  const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
  std::size_t joined = 0, cut = 0;
  for (int trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    const Vertex block = 3 + draw(5), n = block * (70 + draw(10)) + draw(block), summaries = 1 + draw(block - 1);
    const Vertex odd = draw(2) == 0 ? draw(n) : n, lacks = draw(n);  // a row that lacks one vertex
    layout::PatternBuilder builder(n, budget);
    std::vector<std::vector<bool>> reads(n, std::vector<bool>(n, false));
    for (Vertex i = 0; i < n; ++i) {
      const Vertex begin = i - i % block, end = std::min(n, begin + block);
      for (Vertex j = 0; j < n; ++j) reads[i][j] = ((j >= begin && j < end) || j % block >= block - summaries) && !(i == odd && j == lacks);
      std::vector<layout::AffineRun> runs;
      for (Vertex residue = 0; residue < block; ++residue) {
        for (Vertex j = residue; j < n;) {
          Vertex last = j;
          if (!reads[i][j]) {
            j += block;
            continue;
          }
          while (last + block < n && reads[i][last + block]) last += block;
          runs.push_back(layout::make_constant_run(j, last));
          runs.back().step = last > j ? block : 1;
          j = last + 2 * block;
        }
      }
      builder.add_segment(i, builder.add_list(runs));
    }
    Sample sample(n);
    sample.add(builder.build());
    const RunGraph graph = make_run_graph(sample.structure, budget);
    const auto are_twins = [&](Vertex x, Vertex y) {
      if (reads[x][x] != reads[y][y] || reads[x][y] != reads[y][x]) return false;
      for (Vertex z = 0; z < n; ++z) {
        if (z != x && z != y && (reads[x][z] != reads[y][z] || reads[z][x] != reads[z][y])) return false;
      }
      return true;
    };
    const auto found = find_twins({&graph}, budget);
    REQUIRE(found);
    const TwinClasses& classes = found->front();
    for (Vertex x = 0; x + 1 < n; ++x) {
      const bool together = classes.class_of[x] == classes.class_of[x + 1];
      REQUIRE(are_twins(x, x + 1) == together);
      joined += together ? 1 : 0;
      cut += together ? 0 : 1;
    }
  }
  CHECK(joined > 5000);
  CHECK(cut > 5000);
}

}  // namespace sightline::symmetry
