// Everything the engine says about small structures, against all permutations.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "sample.hpp"
#include "sightline/base/error.hpp"
#include "sightline/symmetry/verification.hpp"

using namespace sample;
using sightline::group::Group;
using sightline::group::Permutation;
namespace symmetry = sightline::symmetry;

namespace {

using Images = std::vector<Vertex>;

bool preserves(const Structure& a, const std::vector<std::vector<std::int64_t>>& in_a, const Structure& b,
               const std::vector<std::vector<std::int64_t>>& in_b, const Images& images) {
  const Vertex n = a.vertices;
  for (Vertex x = 0; x < n; ++x) {
    if (a.vertex_colour[x] != b.vertex_colour[images[x]]) return false;
  }
  for (std::size_t r = 0; r < in_a.size(); ++r) {
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (in_a[r][i * n + j] != in_b[r][images[i] * n + images[j]]) return false;
      }
    }
  }
  return true;
}

std::set<Images> find_all(const Structure& a, const Structure& b) {
  const auto in_a = to_matrices(a), in_b = to_matrices(b);
  Images images(a.vertices);
  std::iota(images.begin(), images.end(), Vertex{0});
  std::set<Images> all;
  do {
    if (preserves(a, in_a, b, in_b, images)) all.insert(images);
  } while (std::next_permutation(images.begin(), images.end()));
  return all;
}

/// Closure of the generators of a group, by multiplication.
std::set<Images> close(const Group& group) {
  const auto generators = sightline::group::list_generators(group, 1000);
  Images identity(group.degree);
  std::iota(identity.begin(), identity.end(), Vertex{0});
  std::set<Images> elements{identity};
  std::vector<Images> queue{identity};
  while (!queue.empty()) {
    const Images x = queue.back();
    queue.pop_back();
    for (const Permutation& generator : generators) {
      Images y = x;
      for (Vertex& image : y) image = generator(image);
      if (elements.insert(y).second) queue.push_back(y);
    }
  }
  return elements;
}

Sample make_random(std::mt19937_64& random, Vertex most) {
  const Vertex n = 1 + static_cast<Vertex>(random() % most);
  Sample sample(n);
  const std::uint64_t colours = 1 + random() % 3;
  const bool coloured = random() % 3 == 0;
  if (coloured) {
    for (auto& colour : sample.structure.vertex_colour) colour = random() % colours;
  }
  const std::uint64_t relations = 1 + random() % 3;
  for (std::uint64_t r = 0; r < relations; ++r) {
    const double density = std::vector<double>{0.1, 0.3, 0.5, 0.8, 1.0}[random() % 5];
    Rows rows = random() % 3 == 0 ? structured_rows(n, random) : random_rows(n, density, random);
    if (random() % 3 == 0) {  // loops or none
      for (Vertex i = 0; i < n; ++i) {
        std::erase(rows[i], i);
        if (random() % 2 == 0) rows[i].push_back(i);
      }
    }
    std::vector<std::vector<std::uint32_t>> arc_colours;
    if (random() % 3 == 0) {
      for (const auto& row : rows) {
        arc_colours.emplace_back();
        for (std::size_t k = 0; k < row.size(); ++k) arc_colours.back().push_back(1 + random() % colours);
      }
    }
    Relative relative;
    if (random() % 3 == 0) {
      const RelativeKind kinds[] = {RelativeKind::offset, RelativeKind::distance, RelativeKind::bucket, RelativeKind::grid_offset,
                                    RelativeKind::column, RelativeKind::pair};
      relative.kind = kinds[random() % 6];
      relative.buckets = 4;
      relative.max_distance = 8;
      relative.grid_width = 1 + static_cast<std::uint32_t>(random() % 3);
    }
    const Cancels cancels[] = {Cancels::nothing, Cancels::single_colour, Cancels::common_shift};
    const Cancels forgotten = relative.kind == RelativeKind::distance && arc_colours.empty() ? cancels[random() % 3] : cancels[random() % 2];
    sample.add(sightline::layout::make_pattern_from_rows(n, rows, arc_colours), relative, forgotten,
               random() % 2 == 0 ? n : static_cast<Vertex>(1 + random() % n));
    if (random() % 4 == 0) {
      auto& visible = sample.structure.relations.back().visible;
      visible.resize(n);
      for (Vertex i = 0; i < n; ++i) visible[i] = random() % 3 != 0;
    }
  }
  return sample;
}

void check_group(const Structure& structure) {
  const std::set<Images> expected = find_all(structure, structure);
  const Group group = symmetry::compute_automorphisms(structure, budget);
  REQUIRE(group.order == sightline::group::Order(mpz_class(static_cast<unsigned long>(expected.size()))));
  REQUIRE(close(group) == expected);
  for (Vertex x = 0; x < structure.vertices; ++x) {
    Vertex least = x;
    for (const Images& images : expected) least = std::min(least, images[x]);
    REQUIRE(group.orbit[x] == least);
  }
}

}  // namespace

TEST_CASE("groups of 2000 random structures of up to 5 vertices are those of brute force") {
  std::mt19937_64 random(1);
  for (int k = 0; k < 2000; ++k) {
    CAPTURE(k);
    check_group(make_random(random, 5).structure);
  }
}

TEST_CASE("groups of 300 random structures of 6 vertices are those of brute force") {
  std::mt19937_64 random(2);
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    check_group(make_random(random, 6).structure);
  }
}

TEST_CASE("is_automorphism agrees with the definition") {
  std::mt19937_64 random(3);
  for (int k = 0; k < 400; ++k) {
    const Sample sample = make_random(random, 5);
    const auto matrices = to_matrices(sample.structure);
    Images images(sample.structure.vertices);
    std::iota(images.begin(), images.end(), Vertex{0});
    do {
      REQUIRE(symmetry::is_automorphism(sample.structure, Permutation::from_images(images), budget) ==
              preserves(sample.structure, matrices, sample.structure, matrices, images));
    } while (std::next_permutation(images.begin(), images.end()));
  }
}

TEST_CASE("the local check, of moved rows and columns only, agrees with the definition") {
  std::mt19937_64 random(7);
  int yes = 0, no = 0;
  for (int k = 0; k < 3000; ++k) {
    CAPTURE(k);
    const Vertex n = 6 + static_cast<Vertex>(random() % 10);
    Sample sample(n);
    // Few arcs, so that most vertices may be swapped and single arcs decide; now and then whole rows and stepped rows.
    Rows rows(n);
    for (int arcs = static_cast<int>(random() % 4); arcs > 0; --arcs) {
      const auto i = static_cast<Vertex>(random() % n), j = static_cast<Vertex>(random() % n);
      if (std::find(rows[i].begin(), rows[i].end(), j) == rows[i].end()) rows[i].push_back(j);
    }
    if (random() % 2 == 0) {
      const auto i = static_cast<Vertex>(random() % n), step = static_cast<Vertex>(1 + random() % 3);
      rows[i].clear();
      for (Vertex j = static_cast<Vertex>(random() % step); j < n; j += step) rows[i].push_back(j);
    }
    sample.add(rows);
    Images images(n);
    std::iota(images.begin(), images.end(), Vertex{0});
    const auto first = static_cast<Vertex>(random() % n), length = static_cast<Vertex>(1 + random() % (n / 2));
    std::reverse(images.begin() + first, images.begin() + std::min(n, first + length));
    symmetry::RunGraph graph = symmetry::make_run_graph(sample.structure, budget);
    symmetry::complete(graph, budget);
    const auto matrices = to_matrices(sample.structure);
    const bool expected = preserves(sample.structure, matrices, sample.structure, matrices, images);
    (expected ? yes : no) += 1;
    REQUIRE(symmetry::is_isomorphism(graph, graph, symmetry::StretchMap(symmetry::to_moved(images), n), true, budget) == expected);
  }
  CHECK(yes > 300);
  CHECK(no > 300);
}

TEST_CASE("renamed structures are isomorphic, and the map is one") {
  std::mt19937_64 random(4);
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    // Renaming writes effective colours out, so a renamed copy is compared with one that was renamed by the identity.
    const Sample sample = make_random(random, 6);
    Images images(sample.structure.vertices), identity(sample.structure.vertices);
    std::iota(identity.begin(), identity.end(), Vertex{0});
    images = identity;
    std::shuffle(images.begin(), images.end(), random);
    const Sample a = rename(sample.structure, identity), b = rename(sample.structure, images);
    const auto found = symmetry::find_isomorphism(a.structure, b.structure, budget);
    REQUIRE(found.has_value());
    REQUIRE(preserves(a.structure, to_matrices(a.structure), b.structure, to_matrices(b.structure), *found));
  }
}

TEST_CASE("find_isomorphism says no exactly where brute force does") {
  std::mt19937_64 random(5);
  int isomorphic = 0, different = 0;
  for (int k = 0; k < 3000; ++k) {
    CAPTURE(k);
    const Vertex n = 2 + static_cast<Vertex>(random() % 4);
    const auto degree = 1 + random() % 2;
    Sample a(n), b(n);
    for (Sample* sample : {&a, &b}) {
      Rows rows(n);
      for (Vertex i = 0; i < n; ++i) {
        for (std::uint64_t d = 0; d < degree; ++d) {
          const auto j = static_cast<Vertex>(random() % n);
          if (std::find(rows[i].begin(), rows[i].end(), j) == rows[i].end()) rows[i].push_back(j);
        }
      }
      sample->add(rows);
    }
    const bool expected = !find_all(a.structure, b.structure).empty();
    (expected ? isomorphic : different) += 1;
    const auto found = symmetry::find_isomorphism(a.structure, b.structure, budget);
    REQUIRE(found.has_value() == expected);
    if (found) REQUIRE(preserves(a.structure, to_matrices(a.structure), b.structure, to_matrices(b.structure), *found));
  }
  CHECK(isomorphic > 100);
  CHECK(different > 100);
}

TEST_CASE("restriction to tokens is the image of the group, with its exact order") {
  std::mt19937_64 random(6);
  for (int k = 0; k < 1000; ++k) {
    CAPTURE(k);
    Sample sample = make_random(random, 6);
    const Vertex n = sample.structure.vertices, tokens = static_cast<Vertex>(random() % (n + 1));
    for (Vertex x = tokens; x < n; ++x) sample.structure.vertex_colour[x] += 10;
    std::set<Images> expected;
    for (Images images : find_all(sample.structure, sample.structure)) {
      images.resize(tokens);
      expected.insert(images);
    }
    const Group whole = symmetry::compute_automorphisms(sample.structure, budget);
    for (const Group& group : {symmetry::compute_token_automorphisms(sample.structure, tokens, budget),
                               symmetry::restrict_to_tokens(whole, tokens, budget)}) {
      REQUIRE(group.degree == tokens);
      REQUIRE(group.order == sightline::group::Order(mpz_class(static_cast<unsigned long>(expected.size()))));
      REQUIRE(close(group) == expected);
      for (Vertex x = 0; x < tokens; ++x) {
        Vertex least = x;
        for (const Images& images : expected) least = std::min(least, images[x]);
        REQUIRE(group.orbit[x] == least);
      }
    }
  }
}

TEST_CASE("sizes that contradict each other are refused") {
  Sample a(2), b(3);
  CHECK_THROWS_AS((void)symmetry::find_isomorphism(a.structure, b.structure, budget), sightline::ArgumentError);
  a.structure.vertex_colour.resize(1);
  CHECK_THROWS_AS((void)symmetry::compute_automorphisms(a.structure, budget), sightline::ArgumentError);
}
