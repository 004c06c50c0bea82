// Graphs that come apart into equal components: the same group as that of the whole, along a path that a search could have gone.
#include "sightline/symmetry/equal_components.hpp"

#include <doctest/doctest.h>

#include "sample.hpp"

namespace sightline::symmetry {

namespace {

using namespace sample;

/// `count` times the same rows on `size` vertices, as segments or as residues; `spoil`: and one arc more.
Sample make_copies(Vertex size, Vertex count, bool are_segments, bool spoil, std::mt19937_64& random) {
  const Vertex n = size * count;
  const auto place = [&](Vertex t, Vertex c) { return are_segments ? c * size + t : t * count + c; };
  Sample sample(n);
  const auto relations = 1 + random() % 2;
  for (std::uint64_t r = 0; r < relations; ++r) {
    const Rows part = random() % 2 == 0 ? structured_rows(size, random) : random_rows(size, 0.4, random);
    const bool has_colours = random() % 3 == 0;
    const bool hides = random() % 4 == 0;
    Rows rows(n);
    std::vector<std::vector<std::uint32_t>> colours(n);
    std::vector<bool> visible(n, true);
    for (Vertex t = 0; t < size; ++t) {
      for (const Vertex j : part[t]) {
        const auto colour = static_cast<std::uint32_t>(has_colours ? 1 + random() % 2 : 1);
        for (Vertex c = 0; c < count; ++c) {
          rows[place(t, c)].push_back(place(j, c));
          colours[place(t, c)].push_back(colour);
        }
      }
      for (Vertex c = 0; c < count; ++c) visible[place(t, c)] = !hides || t % 3 != 1;
    }
    if (spoil && r == 0) {
      const auto reader = random() % n;
      const auto j = static_cast<Vertex>(random() % n);
      if (std::find(rows[reader].begin(), rows[reader].end(), j) == rows[reader].end()) {
        rows[reader].push_back(j);
        colours[reader].push_back(1);
      }
    }
    sample.add(layout::make_pattern_from_rows(n, rows, colours), random() % 4 == 0 ? Relative{RelativeKind::distance} : Relative{});
    sample.structure.relations.back().visible = visible;
  }
  if (random() % 4 == 0) {
    for (Vertex t = 0; t < size; ++t) {
      for (Vertex c = 0; c < count; ++c) sample.structure.vertex_colour[place(t, c)] = t < size / 2 ? 7 : 9;
    }
  }
  return sample;
}

/// The product of the orbits along the path, each under the generators that fix what comes before.
group::Order multiply_orbits(const Automorphisms& found, Vertex n) {
  group::Order product;
  std::vector<bool> fixed(n, false);
  for (const Vertex v : found.path) {
    Orbits orbits(n);
    for (const MovedPairs& moved : found.generators) {
      if (std::none_of(moved.begin(), moved.end(), [&](const auto& pair) { return fixed[pair.first]; })) orbits.join(moved);
    }
    product.multiply(mpz_class(orbits.size(v)));
    fixed[v] = true;
  }
  return product;
}

}  // namespace

TEST_CASE("the group of equal components is that of the whole") {
  std::mt19937_64 random(11);
  int found_apart = 0, tight = 0, spoiled_apart = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    CAPTURE(trial);
    const auto size = static_cast<Vertex>(2 + random() % 8), count = static_cast<Vertex>(2 + random() % 5);
    const bool spoil = random() % 4 == 0;
    const Sample sample = make_copies(size, count, random() % 2 == 0, spoil, random);
    const RunGraph graph = make_run_graph(sample.structure, budget);
    std::optional<EqualComponents> parts = find_equal_components(graph, budget, 2);
    if (!parts) continue;
    ++found_apart;
    spoiled_apart += spoil ? 1 : 0;
    REQUIRE(parts->count * parts->first.vertices == graph.vertices);
    complete(parts->first, budget);
    const Automorphisms whole = parts->make_whole(search_automorphisms(parts->first, {}, budget), budget);
    const group::Group other = compute_automorphisms(sample.structure, budget);
    REQUIRE(whole.order == other.order);
    Orbits orbits(graph.vertices);
    for (const MovedPairs& moved : whole.generators) {
      REQUIRE(std::is_sorted(moved.begin(), moved.end()));
      std::vector<Vertex> from, to;
      for (const auto& [x, y] : moved) {
        from.push_back(x);
        to.push_back(y);
      }
      REQUIRE(is_automorphism(sample.structure, group::Permutation::from_support(from, to), budget));
      orbits.join(moved);
    }
    for (Vertex v = 0; v < graph.vertices; ++v) REQUIRE(orbits.find(v) == other.orbit[v]);
    REQUIRE(multiply_orbits(whole, graph.vertices) == whole.order);
    if (!whole.is_tight) continue;
    ++tight;
    // What a checker asks of a tight path: its cells are these orbits, and in the end every vertex is alone.
    RunGraph complete_graph = make_run_graph(sample.structure, budget);
    complete(complete_graph, budget);
    Refinement refinement(complete_graph, budget);
    REQUIRE(refinement.refine_initial(nullptr, nullptr));
    group::Order cells;
    for (const Vertex v : whole.path) {
      cells.multiply(mpz_class(refinement.partition().size(refinement.partition().cell_of(v))));
      refinement.individualise(v, nullptr, nullptr);
    }
    REQUIRE(cells == whole.order);
    REQUIRE(refinement.partition().is_discrete());
  }
  CHECK(found_apart > 600);
  CHECK(tight > 500);
  CHECK(spoiled_apart < found_apart / 6);
}

}  // namespace sightline::symmetry
