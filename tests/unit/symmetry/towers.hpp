// Towers made the quick way against those of find_twins and make_quotient, stage by stage.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "sightline/symmetry/tower.hpp"
#include "tests/unlimited.hpp"

namespace sightline::symmetry {

/// Whatever spans they are written with.
inline bool same_rows(const SpanLists& a, const SpanLists& b) {
  if (a.begin.size() != b.begin.size()) return false;
  const auto read = [](const SpanLists& lists, Vertex v) {
    std::vector<ColouredRun> row;
    for (const Span* span = lists.list_begin(v); span != lists.list_end(v); ++span) row.push_back(to_run(*span));
    canonicalise(row);
    return row;
  };
  for (Vertex v = 0; v < a.begin.size(); ++v) {
    if (read(a, v) != read(b, v)) return false;
  }
  return true;
}

/// Was it found that nothing moves but within classes?
inline bool compare_towers(const Structure& structure) {
  const TwinTower quick = TwinTower::make_shrunk(structure, unlimited);
  TwinTower plain(make_run_graph(structure, unlimited));
  TwinTower::shrink({&plain}, unlimited);
  REQUIRE(quick.graph().vertices == plain.graph().vertices);
  CHECK(quick.inner_colours() == plain.inner_colours());
  CHECK(quick.graph().vertex_colour == plain.graph().vertex_colour);
  for (std::size_t r = 0; r < structure.relations.size(); ++r) {
    CHECK(same_rows(quick.graph().relations[r].rows, plain.graph().relations[r].rows));
    CHECK(quick.graph().relations[r].visible == plain.graph().relations[r].visible);
  }
  REQUIRE(quick.twins().size() == plain.twins().size());
  for (std::size_t k = 0; k < quick.twins().size(); ++k) {
    CHECK(quick.twins()[k].length == plain.twins()[k].length);
    CHECK(quick.twins()[k].vertices == plain.twins()[k].vertices);
  }
  for (Vertex v = 0; v < quick.graph().vertices; ++v) REQUIRE(std::ranges::equal(quick.fibre(v), plain.fibre(v)));
  const TwinTower searched = TwinTower::make_for_search(structure, structure.vertices, unlimited);
  CHECK(searched.inner_colours() == plain.inner_colours());
  REQUIRE(searched.twins().size() == plain.twins().size());
  for (std::size_t k = 0; k < plain.twins().size(); ++k) CHECK(searched.twins()[k].vertices == plain.twins()[k].vertices);
  plain.complete_for_search(structure.vertices, unlimited);
  const Automorphisms found = plain.search(structure.vertices, unlimited), again = searched.search(structure.vertices, unlimited);
  CHECK(found.order == again.order);
  CHECK(found.path == again.path);
  CHECK(found.is_tight == again.is_tight);
  CHECK(found.generators == again.generators);
  return searched.graph().vertices == 0;
}

}  // namespace sightline::symmetry
