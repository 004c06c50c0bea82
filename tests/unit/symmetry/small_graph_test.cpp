// Small structures read into bits: the same graph, to the last arc, as rows, twins and arcs one after another give.
#include <doctest/doctest.h>

#include "sample.hpp"
#include "sightline/symmetry/refinement.hpp"
#include "sightline/symmetry/small_graph.hpp"
#include "sightline/symmetry/twins.hpp"

using namespace sample;
namespace symmetry = sightline::symmetry;

namespace {

/// False where the small way declines.
bool agrees(const Structure& structure) {
  const auto small = symmetry::make_small_graph(structure, budget);
  if (!small) return false;
  symmetry::RunGraph graph = symmetry::make_run_graph(structure, budget);
  CHECK(!symmetry::find_twins({&graph}, budget).has_value());
  symmetry::complete(graph, budget);
  REQUIRE(graph.arcs.has_value());
  REQUIRE(small->arcs.has_value());
  CHECK(small->vertices == graph.vertices);
  CHECK(small->vertex_colour == graph.vertex_colour);
  CHECK(small->arcs->first_bundle == graph.arcs->first_bundle);
  CHECK(small->arcs->bundles == graph.arcs->bundles);
  CHECK(small->arcs->neighbours == graph.arcs->neighbours);
  CHECK(small->arcs->matrix == graph.arcs->matrix);
  CHECK(small->arcs->stride == graph.arcs->stride);
  CHECK(symmetry::compute_initial_keys(*small) == symmetry::compute_initial_keys(graph));
  REQUIRE(small->relations.size() == graph.relations.size());
  for (std::size_t r = 0; r < graph.relations.size(); ++r) {
    CHECK(small->relations[r].symmetric == graph.relations[r].symmetric);
    CHECK(small->relations[r].visible == graph.relations[r].visible);
  }
  return true;
}

Rows mirror(Rows rows) {
  Rows both = rows;
  for (Vertex i = 0; i < rows.size(); ++i) {
    for (const Vertex j : rows[i]) both[j].push_back(i);
  }
  for (auto& row : both) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  return both;
}

/// Every vertex reads the next one.
Rows make_path(Vertex n) {
  Rows rows(n);
  for (Vertex i = 0; i + 1 < n; ++i) rows[i] = {i + 1};
  return rows;
}

/// A path on which 3 and 7 read alike and are read by 2 alone; joined: they read each other too.
Rows path_with_twins(Vertex n, bool joined) {
  Rows rows = make_path(n);
  rows[3] = rows[7] = {1, 2};
  if (joined) {
    rows[3].push_back(7);
    rows[7] = {1, 2, 3};
  }
  rows[2] = {3, 7};
  rows[6] = {8};
  return rows;
}

}  // namespace

TEST_CASE("small structures read into bits are the graph that rows, twins and arcs give") {
  std::mt19937_64 random(81);
  int read = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(k % 5 == 0 ? 60 + random() % 80 : 3 + random() % 40);
    Sample sample(n);
    const auto relations = 1 + random() % 3;
    for (std::uint64_t r = 0; r < relations; ++r) {
      Rows rows = random() % 2 == 0 ? random_rows(n, random() % 2 == 0 ? 0.1 : 0.4, random) : structured_rows(n, random);
      if (random() % 2 == 0) rows = mirror(std::move(rows));
      sample.add(sightline::layout::make_pattern_from_rows(n, rows), {}, random() % 2 == 0 ? Cancels::nothing : Cancels::single_colour);
    }
    if (random() % 3 == 0) {
      for (Vertex v = 0; v < n; ++v) sample.structure.vertex_colour[v] = v % 3;
    }
    read += agrees(sample.structure) ? 1 : 0;
  }
  MESSAGE(read);
  CHECK(read > 150);
}

TEST_CASE("twins, coloured, hidden and large structures are left to the general way") {
  const auto declines = [](const Structure& structure) { return !symmetry::make_small_graph(structure, budget).has_value(); };
  const Vertex n = 12;
  const Rows path = make_path(n);
  {
    Sample sample(n);
    sample.add(sightline::layout::make_pattern_from_rows(n, path), {}, Cancels::nothing);
    CHECK(agrees(sample.structure));
    sample.structure.relations.back().visible.assign(n, true);
    CHECK(declines(sample.structure));
  }
  // Twins that do not read each other, and twins that do.
  for (const bool joined : {false, true}) {
    const Rows rows = path_with_twins(n, joined);
    Sample sample(n);
    sample.add(sightline::layout::make_pattern_from_rows(n, rows), {}, Cancels::nothing);
    CHECK(declines(sample.structure));
  }
  {
    Sample sample(n);
    Relative relative;
    relative.kind = RelativeKind::distance;
    Rows rows = path;
    rows[0] = {1, 5};
    sample.add(sightline::layout::make_pattern_from_rows(n, rows), relative, Cancels::nothing);
    CHECK(declines(sample.structure));
  }
  {
    Sample large(1025);
    large.add(make_path(1025));
    CHECK(declines(large.structure));
  }
}
