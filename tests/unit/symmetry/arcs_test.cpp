// Arcs and spans are two ways to walk through one graph: refinement, search and verification must not tell them apart.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "sample.hpp"
#include "sightline/symmetry/search.hpp"
#include "sightline/symmetry/verification.hpp"

using namespace sample;
namespace symmetry = sightline::symmetry;

namespace {

symmetry::RunGraph make_graph(const Structure& structure, symmetry::Walk walk) {
  symmetry::RunGraph graph = symmetry::make_run_graph(structure, budget);
  symmetry::complete(graph, budget, walk);
  return graph;
}

Sample make_sample(std::mt19937_64& random) {
  const auto n = static_cast<Vertex>(6 + random() % 30);
  Sample sample(n);
  const auto relations = 1 + random() % 2;
  for (std::uint64_t r = 0; r < relations; ++r) {
    Relative relative;
    if (random() % 3 == 0) {
      relative.kind = std::vector<RelativeKind>{RelativeKind::distance, RelativeKind::bucket, RelativeKind::offset}[random() % 3];
      relative.buckets = 8;
      relative.max_distance = 16;
    }
    const Rows rows = random() % 4 == 0 ? random_rows(n, 0.2, random) : structured_rows(n, random);
    sample.add(sightline::layout::make_pattern_from_rows(n, rows), relative, random() % 2 == 0 ? Cancels::nothing : Cancels::single_colour);
    if (random() % 6 == 0) {
      auto& visible = sample.structure.relations.back().visible;
      visible.resize(n);
      for (Vertex i = 0; i < n; ++i) visible[i] = i % 3 != 0;
    }
  }
  return sample;
}

std::vector<Vertex> random_images(Vertex n, std::mt19937_64& random) {
  std::vector<Vertex> images(n);
  std::iota(images.begin(), images.end(), Vertex{0});
  std::shuffle(images.begin(), images.end(), random);
  return images;
}

/// The definition: (i, j) has the colour of its image in every relation.
bool keeps_arcs(const std::vector<std::vector<std::int64_t>>& matrices, const std::vector<Vertex>& images) {
  const std::size_t n = images.size();
  bool kept = true;
  for (const auto& matrix : matrices) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) kept = kept && matrix[i * n + j] == matrix[std::size_t{images[i]} * n + images[j]];
    }
  }
  return kept;
}

}  // namespace

TEST_CASE("refinement finds the same over arcs and over spans") {
  std::mt19937_64 random(71);
  for (int k = 0; k < 200; ++k) {
    CAPTURE(k);
    const Sample sample = make_sample(random);
    const symmetry::RunGraph arcs = make_graph(sample.structure, symmetry::Walk::arcs), spans = make_graph(sample.structure, symmetry::Walk::spans);
    REQUIRE(arcs.arcs.has_value());
    REQUIRE(!spans.arcs.has_value());
    for (const auto& [first, second] : {std::pair{&arcs, &spans}, {&spans, &arcs}}) {
      symmetry::Refinement left(*first, budget), right(*second, budget);
      const symmetry::Path path = symmetry::follow_first_path(left, {}, budget);
      REQUIRE(right.refine_initial(nullptr, &path.root));
      for (const symmetry::PathLevel& level : path.levels) REQUIRE(right.individualise(level.chosen, nullptr, &level.trace));
      for (Vertex v = 0; v < sample.structure.vertices; ++v) REQUIRE(left.partition().cell_of(v) == right.partition().cell_of(v));
    }
    REQUIRE(symmetry::search_automorphisms(arcs, {}, budget).order == symmetry::search_automorphisms(spans, {}, budget).order);
  }
}

TEST_CASE("a graph in arcs is isomorphic to a renamed one in spans, and not to one with a colour more") {
  std::mt19937_64 random(72);
  for (int k = 0; k < 150; ++k) {
    CAPTURE(k);
    const Sample sample = make_sample(random);
    const Vertex n = sample.structure.vertices;
    // Both through rename(), which writes effective colours as colours of explicit rows.
    std::vector<Vertex> identity(n);
    std::iota(identity.begin(), identity.end(), Vertex{0});
    const Sample same = rename(sample.structure, identity);
    Sample renamed = rename(sample.structure, random_images(n, random));
    for (const auto& [one, other] : {std::pair{symmetry::Walk::arcs, symmetry::Walk::spans}, {symmetry::Walk::spans, symmetry::Walk::arcs}, {symmetry::Walk::arcs, symmetry::Walk::arcs}}) {
      const symmetry::RunGraph a = make_graph(same.structure, one);
      const symmetry::RunGraph b = make_graph(renamed.structure, other);
      const auto images = symmetry::search_isomorphism(a, b, budget);
      REQUIRE(images.has_value());
      CHECK(symmetry::is_isomorphism(a, b, symmetry::StretchMap(symmetry::to_moved(*images), n), false, budget));
    }
    renamed.structure.vertex_colour[random() % n] = 7;
    for (const auto& [one, other] : {std::pair{symmetry::Walk::arcs, symmetry::Walk::spans}, {symmetry::Walk::spans, symmetry::Walk::arcs}}) {
      CHECK(!symmetry::search_isomorphism(make_graph(same.structure, one), make_graph(renamed.structure, other), budget).has_value());
    }
  }
}

TEST_CASE("a map is judged alike on arcs and on spans") {
  std::mt19937_64 random(73);
  int kept = 0;
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const Sample sample = make_sample(random);
    const Vertex n = sample.structure.vertices;
    const symmetry::RunGraph arcs = make_graph(sample.structure, symmetry::Walk::arcs), spans = make_graph(sample.structure, symmetry::Walk::spans);
    std::vector<std::vector<Vertex>> maps{random_images(n, random)};
    for (const symmetry::MovedPairs& moved : symmetry::search_automorphisms(spans, {}, budget).generators) {
      maps.emplace_back(n);
      std::iota(maps.back().begin(), maps.back().end(), Vertex{0});
      for (const auto& [x, y] : moved) maps.back()[x] = y;
      maps.push_back(maps.back());
      std::swap(maps.back()[random() % n], maps.back()[random() % n]);
    }
    symmetry::ArcComparison comparison(arcs, arcs, budget);
    REQUIRE(comparison.is_usable());
    for (const std::vector<Vertex>& images : maps) {
      const auto moved = symmetry::to_moved(images);
      const bool expected = symmetry::is_isomorphism(spans, spans, symmetry::StretchMap(moved, n), false, budget);
      REQUIRE(comparison.is_isomorphism(moved, true) == expected);
      REQUIRE(comparison.is_isomorphism(moved, false) == expected);
      REQUIRE(symmetry::is_isomorphism(arcs, arcs, symmetry::StretchMap(moved, n), true, budget) == expected);
      kept += expected ? 1 : 0;
    }
  }
  CHECK(kept > 100);
}

TEST_CASE("a map is judged by the definition on rows with steps that readers far apart share") {
  std::mt19937_64 random(74);
  int kept = 0;
  for (int k = 0; k < 60; ++k) {
    CAPTURE(k);
    const auto height = static_cast<Vertex>(4 + random() % 5), width = static_cast<Vertex>(4 + random() % 5), n = height * width;
    Sample sample(n);
    Rows columns(n), lines(n);
    std::vector<std::vector<std::uint32_t>> colours(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (j % width == i % width) columns[i].push_back(j), colours[i].push_back(k % 3 == 0 && j < width ? 2 : 1);
        if (j / width == i / width || (k % 2 == 0 && j % width == 0)) lines[i].push_back(j);
      }
    }
    sample.add(sightline::layout::make_pattern_from_rows(n, columns, colours));
    sample.add(lines);
    const symmetry::RunGraph graph = make_graph(sample.structure, symmetry::Walk::spans);
    REQUIRE(graph.relations[0].rows.begin[0] == graph.relations[0].rows.begin[width]);
    const auto matrices = to_matrices(sample.structure);
    const auto along = [&](bool columns_move) {
      std::vector<Vertex> images(n), order(columns_move ? width : height);
      std::iota(order.begin(), order.end(), Vertex{0});
      if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
      else std::swap(order[random() % order.size()], order[random() % order.size()]);
      for (Vertex x = 0; x < n; ++x) images[x] = columns_move ? x / width * width + order[x % width] : order[x / width] * width + x % width;
      return images;
    };
    std::vector<std::vector<Vertex>> maps{along(true), along(false), random_images(n, random)};
    for (int m = 0; m < 2; ++m) {
      maps.push_back(maps[static_cast<std::size_t>(m)]);
      std::swap(maps.back()[random() % n], maps.back()[random() % n]);
    }
    for (const std::vector<Vertex>& images : maps) {
      const bool expected = keeps_arcs(matrices, images);
      const auto moved = symmetry::to_moved(images);
      for (const bool local : {false, true}) REQUIRE(symmetry::is_isomorphism(graph, graph, symmetry::StretchMap(moved, n), local, budget) == expected);
      kept += expected ? 1 : 0;
    }
  }
  CHECK(kept > 60);
}

TEST_CASE("a map is judged by the definition on dilated windows") {
  std::mt19937_64 random(75);
  int kept = 0;
  for (int k = 0; k < 60; ++k) {
    CAPTURE(k);
    const auto step = static_cast<Vertex>(2 + random() % 4), length = static_cast<Vertex>(5 + random() % 6), n = step * length, radius = static_cast<Vertex>(1 + k % 4);
    Sample sample(n);
    Rows rows(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = i % step; j < n; j += step) {
        if (std::max(i, j) - std::min(i, j) <= radius * step) rows[i].push_back(j);
      }
    }
    Relative relative;
    if (k % 2 == 0) relative.kind = k % 4 == 0 ? RelativeKind::distance : RelativeKind::offset;
    sample.add(sightline::layout::make_pattern_from_rows(n, rows), relative);
    const symmetry::RunGraph graph = make_graph(sample.structure, symmetry::Walk::spans);
    const auto matrices = to_matrices(sample.structure);
    std::vector<std::vector<Vertex>> maps;
    for (int m = 0; m < 4; ++m) {
      std::vector<Vertex> classes(step), images(n);
      std::iota(classes.begin(), classes.end(), Vertex{0});
      if (m > 0) std::swap(classes[random() % step], classes[random() % step]);
      std::vector<bool> turned(step);
      for (Vertex c = 0; c < step; ++c) turned[c] = random() % 2 == 0;
      for (Vertex x = 0; x < n; ++x) {
        const Vertex c = x % step, place = turned[c] ? length - 1 - x / step : x / step;
        images[x] = place * step + classes[c];
      }
      maps.push_back(images);
      std::swap(images[random() % n], images[random() % n]);
      maps.push_back(images);
    }
    for (const std::vector<Vertex>& images : maps) {
      const bool expected = keeps_arcs(matrices, images);
      const auto moved = symmetry::to_moved(images);
      for (const bool local : {false, true}) REQUIRE(symmetry::is_isomorphism(graph, graph, symmetry::StretchMap(moved, n), local, budget) == expected);
      kept += expected && !moved.empty() ? 1 : 0;
    }
  }
  CHECK(kept > 60);
}
