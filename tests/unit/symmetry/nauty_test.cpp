// Larger structures, against nauty and against known groups.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "against_nauty.hpp"
#include "nauty_oracle.hpp"
#include "sample.hpp"

using namespace sample;
using sightline::group::Group;
namespace symmetry = sightline::symmetry;

namespace {

/// A structured layout of a few relations, colours and hidden rows on `n` vertices.
Sample make_layout(std::mt19937_64& random, Vertex n) {
  Sample sample(n);
  const auto relations = 1 + random() % 2;
  for (std::uint64_t r = 0; r < relations; ++r) {
    Relative relative;
    if (random() % 5 == 0) {
      relative.kind = std::vector<RelativeKind>{RelativeKind::distance, RelativeKind::bucket, RelativeKind::offset}[random() % 3];
      relative.buckets = 8;
      relative.max_distance = 16;
    }
    sample.add(sightline::layout::make_pattern_from_rows(n, structured_rows(n, random)), relative,
               random() % 2 == 0 ? Cancels::nothing : Cancels::single_colour);
    if (random() % 6 == 0) {
      auto& visible = sample.structure.relations.back().visible;
      visible.resize(n);
      const auto keep = 2 + random() % 3;
      for (Vertex i = 0; i < n; ++i) visible[i] = i % keep != 0;
    }
  }
  if (random() % 4 == 0) {
    const auto period = 1 + random() % 4;
    for (Vertex x = 0; x < n; ++x) sample.structure.vertex_colour[x] = x % period;
  }
  return sample;
}

mpz_class factorial(unsigned long n) {
  mpz_class value;
  mpz_fac_ui(value.get_mpz_t(), n);
  return value;
}

template <class Joined>
Sample make_graph(Vertex n, Joined&& joined) {
  Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (joined(i, j)) rows[i].push_back(j);
    }
  }
  Sample sample(n);
  sample.add(rows);
  return sample;
}

void check_order(const Sample& sample, const mpz_class& order) {
  const Group group = symmetry::compute_automorphisms(sample.structure, budget);
  CHECK(group.order == sightline::group::Order(order));
  for (const auto& generator : group.generators) CHECK(symmetry::is_automorphism(sample.structure, generator, budget));
}

Sample make_kneser(Vertex points, Vertex size) {
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 0; set < 1u << points; ++set) {
    if (static_cast<Vertex>(__builtin_popcount(set)) == size) sets.push_back(set);
  }
  return make_graph(static_cast<Vertex>(sets.size()), [&](Vertex i, Vertex j) { return (sets[i] & sets[j]) == 0; });
}

Sample make_paley(Vertex prime) {
  std::vector<bool> square(prime);
  for (std::uint64_t x = 1; x < prime; ++x) square[x * x % prime] = true;
  return make_graph(prime, [&](Vertex i, Vertex j) { return i != j && square[(i + prime - j) % prime]; });
}

Sample make_shrikhande() {
  return make_graph(16, [](Vertex i, Vertex j) {
    const Vertex dr = (i / 4 + 4 - j / 4) % 4, dc = (i % 4 + 4 - j % 4) % 4;
    return (dr == 0 && (dc == 1 || dc == 3)) || (dc == 0 && (dr == 1 || dr == 3)) || (dr == dc && (dr == 1 || dr == 3));
  });
}

Sample make_rook() {
  return make_graph(16, [](Vertex i, Vertex j) { return i != j && (i / 4 == j / 4 || i % 4 == j % 4); });
}

/// Edges of a graph, each once.
using Edges = std::vector<std::pair<Vertex, Vertex>>;

/// The Cai-Fuerer-Immerman graph over a base graph of degree 3: per edge two vertices, per base vertex the four even
/// subsets of its edges; `twists` edges are crossed.
Rows make_cfi(Vertex base, const Edges& edges, int twists) {
  std::vector<std::vector<std::size_t>> at(base);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    at[edges[e].first].push_back(e);
    at[edges[e].second].push_back(e);
  }
  // Vertex v: four middles, then six ends (3 edges x 2 values).
  const auto n = static_cast<Vertex>(base * 10);
  Rows rows(n);
  const auto join = [&](Vertex x, Vertex y) {
    rows[x].push_back(y);
    rows[y].push_back(x);
  };
  const auto end = [&](Vertex v, std::size_t e, int value) {
    const auto k = static_cast<Vertex>(std::find(at[v].begin(), at[v].end(), e) - at[v].begin());
    return static_cast<Vertex>(v * 10 + 4 + 2 * k + value);
  };
  for (Vertex v = 0; v < base; ++v) {
    Vertex middle = v * 10;
    for (int set = 0; set < 8; ++set) {
      if (__builtin_popcount(static_cast<unsigned>(set)) % 2 != 0) continue;
      for (std::size_t k = 0; k < 3; ++k) join(middle, end(v, at[v][k], set >> k & 1));
      ++middle;
    }
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const int cross = static_cast<int>(e) < twists ? 1 : 0;
    for (int value = 0; value < 2; ++value) join(end(edges[e].first, e, value), end(edges[e].second, e, value ^ cross));
  }
  return rows;
}

/// A circular ladder, possibly with chords instead of rungs (Moebius): 3-regular on 2k vertices.
Edges make_ladder(Vertex k) {
  Edges edges;
  for (Vertex i = 0; i < k; ++i) {
    edges.emplace_back(i, (i + 1) % k);
    edges.emplace_back(k + i, k + (i + 1) % k);
    edges.emplace_back(i, k + i);
  }
  return edges;
}

Sample make_union(const Rows& a, const Rows& b) {
  Rows rows = a;
  const auto shift = static_cast<Vertex>(a.size());
  for (const auto& row : b) {
    rows.push_back(row);
    for (Vertex& x : rows.back()) x += shift;
  }
  Sample sample(static_cast<Vertex>(rows.size()));
  sample.add(rows);
  return sample;
}

Sample random_regular(Vertex n, int degree, std::mt19937_64& random) {
  std::vector<std::vector<bool>> joined(n, std::vector<bool>(n));
  for (int d = 0; d < degree; ++d) {
    std::vector<Vertex> order(n);
    std::iota(order.begin(), order.end(), Vertex{0});
    std::shuffle(order.begin(), order.end(), random);
    for (Vertex k = 0; k + 1 < n; k += 2) joined[order[k]][order[k + 1]] = joined[order[k + 1]][order[k]] = true;
  }
  return make_graph(n, [&](Vertex i, Vertex j) { return joined[i][j]; });
}

}  // namespace

TEST_CASE("random structured layouts of 20 to 120 vertices have the order and the orbits nauty finds") {
  std::mt19937_64 random(11);
  int compared = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    compared += check_against_nauty(make_layout(random, 20 + static_cast<Vertex>(random() % 100)).structure) ? 1 : 0;
  }
  CHECK(compared > 380);
}

TEST_CASE("20,000 random structured layouts of 8 to 200 vertices have the order and the orbits nauty finds" * doctest::test_suite("slow")) {
  std::mt19937_64 random(12);
  int compared = 0;
  for (int k = 0; k < 20000; ++k) {
    CAPTURE(k);
    compared += check_against_nauty(make_layout(random, 8 + static_cast<Vertex>(random() % (k % 20 == 0 ? 192 : 60))).structure) ? 1 : 0;
  }
  MESSAGE(compared);
  CHECK(compared > 19000);
}

TEST_CASE("renamed layouts are found isomorphic, and pairs of layouts are judged as nauty judges them") {
  std::mt19937_64 random(13);
  int different = 0;
  for (int k = 0; k < 150; ++k) {
    CAPTURE(k);
    const Vertex n = 10 + static_cast<Vertex>(random() % 40);
    const Sample sample = make_layout(random, n);
    std::vector<Vertex> images(n), identity(n);
    std::iota(identity.begin(), identity.end(), Vertex{0});
    images = identity;
    std::shuffle(images.begin(), images.end(), random);
    const Sample a = rename(sample.structure, identity), b = rename(sample.structure, images);
    REQUIRE(symmetry::find_isomorphism(a.structure, b.structure, budget).has_value());
    const Sample other = make_layout(random, n);
    if (other.structure.relations.size() != sample.structure.relations.size()) continue;
    const Sample c = rename(other.structure, images);
    const std::optional<bool> expected = oracle::are_isomorphic(a.structure, c.structure);
    if (!expected) continue;
    different += *expected ? 0 : 1;
    REQUIRE(symmetry::find_isomorphism(a.structure, c.structure, budget).has_value() == *expected);
  }
  CHECK(different > 10);
}

TEST_CASE("known groups of known graphs") {
  check_order(make_kneser(5, 2), 120);          // Petersen
  check_order(make_kneser(7, 3), factorial(7));
  check_order(make_kneser(9, 4), factorial(9));
  check_order(make_paley(29), 29 * 14);
  check_order(make_paley(101), 101 * 50);
  check_order(make_shrikhande(), 192);
  check_order(make_rook(), 2 * factorial(4) * factorial(4));
  for (const Vertex d : {3u, 6u, 9u}) {
    check_order(make_graph(1u << d, [](Vertex i, Vertex j) { return __builtin_popcount(i ^ j) == 1; }), factorial(d) << d);
  }
  // Disjoint directed triangles: C_3 wr S_k, no twins anywhere.
  mpz_class triangles;
  mpz_ui_pow_ui(triangles.get_mpz_t(), 3, 100);
  check_order(make_graph(300, [](Vertex i, Vertex j) { return i / 3 == j / 3 && j % 3 == (i + 1) % 3; }), triangles * factorial(100));
}

TEST_CASE("the Shrikhande graph is not the rook's graph") {
  const Sample a = make_shrikhande(), b = make_rook();
  CHECK_FALSE(symmetry::find_isomorphism(a.structure, b.structure, budget).has_value());
  CHECK_FALSE(symmetry::find_isomorphism(b.structure, a.structure, budget).has_value());
  Rows rows_a(16), rows_b(16);
  for (Vertex i = 0; i < 16; ++i) {
    for (Vertex j = 0; j < 16; ++j) {
      if (a.relations[0].pattern().reads(i, j)) rows_a[i].push_back(j);
      if (b.relations[0].pattern().reads(i, j)) rows_b[i].push_back(j);
    }
  }
  check_order(make_union(rows_a, rows_b), 192 * 2 * factorial(4) * factorial(4));
  check_order(make_union(rows_a, rows_a), mpz_class(192) * 192 * 2);
}

TEST_CASE("Hadamard graphs of Sylvester's matrices") {
  // Rows and columns with signs; order of the automorphism group from nauty.
  for (const Vertex k : {3u, 4u, 5u}) {
    const Vertex m = 1u << k;
    const Sample sample = make_graph(4 * m, [m](Vertex i, Vertex j) {
      const bool row_i = i < 2 * m, row_j = j < 2 * m;
      if (row_i == row_j) return false;
      const Vertex r = row_i ? i : j, c = (row_i ? j : i) - 2 * m;
      const bool negative = __builtin_popcount(r / 2 & c / 2) % 2 != 0;
      return ((r % 2) ^ (c % 2)) == (negative ? 1u : 0u);
    });
    check_against_nauty(sample.structure);
  }
}

TEST_CASE("Cai-Fuerer-Immerman pairs are told apart and their groups found") {
  for (const Vertex k : {4u, 8u, 15u}) {
    CAPTURE(k);
    const Edges edges = make_ladder(k);
    const Rows straight = make_cfi(2 * k, edges, 0), once = make_cfi(2 * k, edges, 1), twice = make_cfi(2 * k, edges, 2);
    const auto n = static_cast<Vertex>(straight.size());
    Sample a(n), b(n), c(n);
    a.add(straight);
    b.add(once);
    c.add(twice);
    check_against_nauty(a.structure);
    check_against_nauty(b.structure);
    CHECK(symmetry::find_isomorphism(a.structure, c.structure, budget).has_value());
    CHECK_FALSE(symmetry::find_isomorphism(a.structure, b.structure, budget).has_value());
    const Group order_a = symmetry::compute_automorphisms(a.structure, budget), order_b = symmetry::compute_automorphisms(b.structure, budget);
    CHECK(symmetry::compute_automorphisms(make_union(straight, once).structure, budget).order ==
          sightline::group::Order(*order_a.order.value() * *order_b.order.value()));
  }
}

TEST_CASE("random regular graphs") {
  std::mt19937_64 random(14);
  for (const int degree : {3, 4, 8}) {
    for (int k = 0; k < 10; ++k) check_against_nauty(random_regular(60 + 10 * static_cast<Vertex>(k), degree, random).structure);
  }
}
