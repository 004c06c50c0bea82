// Large structures with hardly any row twice: the same twins, quotients and arcs as by way of spans, and nothing called rigid that moves.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "nauty_oracle.hpp"
#include "sample.hpp"
#include "sightline/symmetry/tower.hpp"
#include "sightline/symmetry/written_graph.hpp"

using namespace sample;
namespace symmetry = sightline::symmetry;

namespace {

/// How many stages of twins there are; -1 where the written way declines.
int compare_stages(const Structure& structure) {
  auto written = symmetry::WrittenGraph::read(structure, budget);
  if (!written) return -1;
  written->add_columns(budget);
  symmetry::TwinTower tower(symmetry::make_run_graph(structure, budget));
  symmetry::RunGraph spans = symmetry::make_run_graph(structure, budget);
  symmetry::ColourNames names, other_names;
  for (int stage = 0;; ++stage) {
    const auto expected = symmetry::find_twins({&spans}, budget);
    const auto found = written->find_twins(budget);
    REQUIRE(found.has_value() == expected.has_value());
    if (!found) {
      const symmetry::RunGraph graph = std::move(*written).make_graph({}, budget);
      symmetry::complete(spans, budget, symmetry::Walk::arcs);
      CHECK(graph.vertices == spans.vertices);
      CHECK(graph.vertex_colour == spans.vertex_colour);
      CHECK(symmetry::compute_initial_keys(graph) == symmetry::compute_initial_keys(spans));
      CHECK(graph.arcs->first_bundle == spans.arcs->first_bundle);
      CHECK(graph.arcs->bundles == spans.arcs->bundles);
      CHECK(graph.arcs->neighbours == spans.arcs->neighbours);
      CHECK(graph.arcs->matrix == spans.arcs->matrix);
      return stage;
    }
    CHECK(written->list_inner_colours() == symmetry::list_inner_colours({&spans}));
    REQUIRE(found->class_of == expected->front().class_of);
    CHECK(found->begin == expected->front().begin);
    CHECK(found->members == expected->front().members);
    CHECK(found->inner == expected->front().inner);
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t k = 0; k < found->size(); ++k) sizes.push_back(found->begin[k + 1] - found->begin[k]);
    spans = symmetry::make_quotient(spans, *found, sizes, names, budget);
    written = written->make_quotient(*found, sizes, other_names, budget);
    written->add_columns(budget);
  }
}

Rows mirror(const Rows& rows) {
  Rows both = rows;
  for (Vertex i = 0; i < rows.size(); ++i) {
    for (const Vertex j : rows[i]) both[j].push_back(i);
  }
  tidy(both);
  return both;
}

Rows few_reads(Vertex n, std::uint64_t most, std::mt19937_64& random) {
  Rows rows(n);
  for (auto& row : rows) {
    for (std::uint64_t m = random() % (most + 1); m-- > 0;) row.push_back(static_cast<Vertex>(random() % n));
  }
  tidy(rows);
  return rows;
}

/// Vertex v reads what images[v] reads in `rows`: copies of one vertex are twins, and joined ones read each other.
Rows copy_vertices(const Rows& rows, const std::vector<Vertex>& original, bool joined) {
  const auto n = static_cast<Vertex>(original.size());
  std::vector<std::vector<Vertex>> copies(rows.size());
  for (Vertex v = 0; v < n; ++v) copies[original[v]].push_back(v);
  Rows made(n);
  for (Vertex v = 0; v < n; ++v) {
    for (const Vertex j : rows[original[v]]) {
      if (j == original[v]) continue;
      made[v].insert(made[v].end(), copies[j].begin(), copies[j].end());
    }
    if (joined) made[v].insert(made[v].end(), copies[original[v]].begin(), copies[original[v]].end());
  }
  tidy(made);
  return made;
}

}  // namespace

TEST_CASE("twins, quotients and arcs are the same on heads as on spans") {
  std::mt19937_64 random(82);
  int read = 0, with_twins = 0, with_stages = 0;
  for (int k = 0; k < 60; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(1025 + random() % 300);
    Sample sample(n);
    const auto relations = 1 + random() % 2;
    std::vector<Vertex> original(n);
    // Every third structure has copies of vertices, and copies of these.
    const Vertex kinds = k % 3 == 0 ? n - n / 8 : n;
    for (Vertex v = 0; v < n; ++v) original[v] = v < kinds ? v : static_cast<Vertex>(random() % (n / 4));
    for (std::uint64_t r = 0; r < relations; ++r) {
      Rows rows = few_reads(kinds, k % 4 == 0 ? 60 : 12, random);
      if (random() % 2 == 0) rows = mirror(rows);
      if (k % 5 == 0) rows[3] = rows[7] = {1, 3, 7};  // twins, unless somebody reads one of them
      rows = copy_vertices(rows, original, random() % 2 == 0);
      if (k % 4 == 1) {
        // Hubs that read all and that all read; three parts of four that read one another: parts become twins once their members are one.
        const auto in_parts = [](Vertex v) { return v >= 500 && v < 512; };
        for (auto& row : rows) std::erase_if(row, in_parts);
        for (Vertex v = 500; v < 512; ++v) {
          rows[v].clear();
          for (Vertex w = 500; w < 512; ++w) {
            if (w % 3 != v % 3) rows[v].push_back(w);
          }
        }
        for (Vertex hub = 20; hub < 24; ++hub) {
          rows[hub].resize(n);
          std::iota(rows[hub].begin(), rows[hub].end(), Vertex{0});
          for (Vertex i = 0; i < n; ++i) rows[i].push_back(hub);
        }
      }
      tidy(rows);
      sample.add(sightline::layout::make_pattern_from_rows(n, rows), {}, random() % 2 == 0 ? Cancels::nothing : Cancels::single_colour);
    }
    if (random() % 3 == 0) {
      for (Vertex v = 0; v < n; ++v) sample.structure.vertex_colour[v] = v / 20 % 3;
    }
    const int stages = compare_stages(sample.structure);
    read += stages >= 0 ? 1 : 0;
    with_twins += stages >= 1 ? 1 : 0;
    with_stages += stages >= 2 ? 1 : 0;
  }
  CHECK(read > 50);
  CHECK(with_twins > 15);
  CHECK(with_stages > 3);
}

TEST_CASE("rows that many share, coloured and hidden ones are left to spans") {
  const auto declines = [](const Structure& structure) { return !symmetry::WrittenGraph::read(structure, budget).has_value(); };
  const Vertex n = 1025;
  Rows rows(n), equal(n);
  for (Vertex i = 0; i + 1 < n; ++i) rows[i] = {i + 1};
  for (Vertex i = 0; i < n; ++i) equal[i] = {i / 3};
  Sample path(n), shared(n), coloured(n), small(n - 1);
  path.add(rows);
  CHECK(!declines(path.structure));
  path.structure.relations.back().visible.assign(n, true);
  CHECK(declines(path.structure));
  shared.add(equal);
  CHECK(declines(shared.structure));
  Relative relative;
  relative.kind = RelativeKind::distance;
  coloured.add(sightline::layout::make_pattern_from_rows(n, rows), relative);
  CHECK(declines(coloured.structure));
  rows.pop_back();
  rows.back().clear();
  small.add(rows);
  CHECK(declines(small.structure));
}

namespace {

void check_rigid(int graphs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  int rigid = 0, open = 0, compared = 0;
  for (int k = 0; k < graphs; ++k) {
    CAPTURE(k);
    const auto half = static_cast<Vertex>(600 + random() % 100);
    Rows rows = few_reads(half, 2 + k % 7, random);
    if (k % 3 == 0) rows = mirror(rows);
    if (k % 2 == 0) {
      // Two copies side by side change places, whatever else there is.
      const auto size = static_cast<Vertex>(rows.size());
      rows.resize(std::size_t{size} * 2);
      for (Vertex i = 0; i < size; ++i) {
        for (const Vertex j : rows[i]) rows[size + i].push_back(size + j);
      }
    } else {
      rows = few_reads(2 * half, 4 + k % 9, random);
      for (auto& row : rows) {
        for (int more = 0; more < 5; ++more) row.push_back(static_cast<Vertex>(random() % rows.size()));
      }
      tidy(rows);
    }
    rows = relabel(rows, random);
    const auto n = static_cast<Vertex>(rows.size());
    Sample sample(n);
    sample.add(rows);
    const auto written = symmetry::WrittenGraph::read(sample.structure, budget);
    if (!written) continue;
    const bool is_rigid = written->is_surely_rigid(budget);
    ++(is_rigid ? rigid : open);
    if (k % 2 == 0) CHECK(!is_rigid);
    const auto group = symmetry::compute_automorphisms(sample.structure, budget);
    const auto expected = oracle::compute(sample.structure);
    if (!expected) continue;  // nauty gave up
    ++compared;
    CHECK(group.order == sightline::group::Order(expected->order));
    CHECK(group.orbit == expected->orbit);
  }
  CHECK(rigid > graphs / 6);
  CHECK(open > graphs * 5 / 12);
  CHECK(compared > graphs * 2 / 3);
}

}  // namespace

TEST_CASE("what hashes call rigid has no automorphism") { check_rigid(18, 83); }

TEST_CASE("what hashes call rigid has no automorphism, many graphs" * doctest::test_suite("slow")) { check_rigid(120, 84); }
