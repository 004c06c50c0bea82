// Orbitals and 2-closures against full lists of elements (n <= 8), the list of theory.md 8, and larger groups of known rank.
#include <doctest/doctest.h>

#include <string>

#include "sightline/design/two_closure.hpp"
#include "sightline/group/expression.hpp"
#include "tests/unit/design/groups.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using design::compute_orbitals;
using design::compute_two_closure;
using design::Orbitals;
using design::Point;

namespace {

/// The numbering of pairs must be the oracle's, up to the names of the orbitals, and all figures of an orbital must fit it.
void check_orbitals(std::size_t n, const Orbitals& orbitals, const std::vector<std::uint32_t>& oracle) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::vector<std::uint64_t> size(orbitals.list().size(), 0);
  for (Point i = 0; i < n; ++i) {
    for (Point j = 0; j < n; ++j) {
      const std::uint32_t k = orbitals.number(i, j);
      pairs.emplace(k, oracle[i * n + j]);
      ++size[k];
      CHECK(orbitals.list()[k].paired == orbitals.number(j, i));
      CHECK(orbitals.list()[k].is_diagonal() == (i == j));
    }
  }
  CHECK(pairs.size() == orbitals.list().size());
  CHECK(std::set<std::uint32_t>(oracle.begin(), oracle.end()).size() == orbitals.list().size());
  for (std::uint32_t k = 0; k < orbitals.list().size(); ++k) CHECK(size[k] == orbitals.list()[k].size);
}

void check_against_lists(std::size_t n, const std::vector<small_groups::Images>& generators) {
  const auto elements = small_groups::list_elements(n, generators);
  const auto colours = small_groups::colour_pairs(n, elements);
  const group::Group group = small_groups::to_group(n, generators);
  const Orbitals orbitals = compute_orbitals(group, unlimited);
  check_orbitals(n, orbitals, colours);
  const group::Group closure = compute_two_closure(group, orbitals, unlimited);
  const mpz_class preserving(static_cast<unsigned long>(small_groups::count_preserving(n, colours)));
  CHECK(closure.order.value() == preserving);
  // From the generators alone.
  std::vector<group::Permutation> permutations;
  for (const small_groups::Images& g : generators) permutations.push_back(group::Permutation::from_images(g));
  const Orbitals again = compute_orbitals(static_cast<Point>(n), permutations, unlimited);
  check_orbitals(n, again, colours);
  const group::Group from_generators = compute_two_closure(permutations, again, unlimited);
  CHECK(from_generators.order.value() == preserving);
  std::vector<small_groups::Images> images;
  for (const group::Permutation& g : group::list_generators(from_generators, ~std::size_t{0})) images.push_back(g.images(static_cast<Point>(n)));
  CHECK(small_groups::list_elements(n, images).size() == preserving.get_ui());
}

std::string closure_of(const std::string& text, Point degree) {
  const group::Group group = group::parse_group(text, degree, unlimited);
  const group::Group closure = compute_two_closure(group, compute_orbitals(group, unlimited), unlimited);
  const std::vector<group::Permutation> generators = group::list_generators(group, ~std::size_t{0});
  CHECK(compute_two_closure(generators, compute_orbitals(degree, generators, unlimited), unlimited).order == closure.order);
  return closure.order.factored();
}

std::string order_of(const std::string& text, Point degree) { return group::parse_group(text, degree, unlimited).order.factored(); }

}  // namespace

TEST_CASE("orbitals and 2-closures of the 37 transitive groups of degree at most 7 are those of full lists") {
  std::size_t count = 0;
  for (std::size_t n = 1; n <= 7; ++n) {
    for (const auto& generators : small_groups::list_transitive_groups(n)) {
      check_against_lists(n, generators);
      ++count;
    }
  }
  CHECK(count == 37);
}

TEST_CASE("orbitals and 2-closures of 200 random intransitive groups are those of full lists") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::size_t n = 2 + seed % 7;
    check_against_lists(n, small_groups::draw_intransitive_group(n, seed));
  }
}

TEST_CASE("the groups that theory.md 8 calls not 2-closed are not, with the closures it names") {
  CHECK(closure_of("A_4", 4) == "4!");
  CHECK(closure_of("A_5", 5) == "5!");
  CHECK(closure_of("gens[(0 1 2 3 4),(1 2 4 3)]", 5) == "5!");                       // AGL(1,5)
  CHECK(closure_of("gens[(0 1 2 3 4 5 6),(1 2)(3 6)]", 7) == "7!");                  // PSL(3,2)
  // A_5 on the 10 pairs of 5 points, as the group of Petersen's graph without its odd elements: the closure is S_5.
  const std::string five_cycle = "(0 4 7 9 3)(1 5 8 2 6)";                           // pairs 01 02 03 04 12 13 14 23 24 34
  const std::string three_cycle = "(0 4 1)(2 5 7)(3 6 8)";
  CHECK(order_of("gens[" + five_cycle + "," + three_cycle + "]", 10) == "60");
  CHECK(closure_of("gens[" + five_cycle + "," + three_cycle + "]", 10) == "120");
}

TEST_CASE("the groups of theory.md 8's table are 2-closed") {
  const std::pair<const char*, Point> cases[] = {
      {"C_5", 5}, {"C_7", 7}, {"D_5", 5}, {"D_7", 7}, {"trivial(3)", 3}, {"trivial(4)", 4}, {"gens[(0 3)(1 2)]", 4}, {"S_6", 6},
      {"S_3 x S_2", 5}, {"S_2 x S_4", 6}, {"S_2 wr S_3", 6}, {"S_3 wr S_2", 6}, {"hypercube(3)", 8}, {"C_2*C_2", 4},
      {"regular(C_2*C_2*C_2)", 8}, {"C_3*C_3", 9}, {"regular(S_3)", 6}, {"gens[(0 1 2 3 4 5 6),(1 2 4)(3 6 5)]", 7},
      {"gens[(0 1 2)(3 4 5)]", 6}, {"gens[(0 1 2 3)(4 5 6 7),(0 4 2 6)(1 7 3 5)]", 8}};
  for (const auto& [text, degree] : cases) {
    CAPTURE(text);
    CHECK(closure_of(text, degree) == order_of(text, degree));
  }
}

TEST_CASE("orbitals of larger groups have the known ranks, with and without the table of pairs") {
  const auto rank = [](const std::string& text, Point degree) { return compute_orbitals(group::parse_group(text, degree, unlimited), unlimited).list().size(); };
  CHECK(rank("S_500", 500) == 2);
  CHECK(rank("D_1000", 1000) == 501);
  CHECK(rank("S_40 wr S_25", 1000) == 3);
  CHECK(rank("hypercube(9)", 512) == 10);
  CHECK(rank("D_30*D_30", 900) == 256);
  CHECK(rank("hypercube(13)", 8192) == 14);  // beyond the table: stabilisers by random elements
  CHECK(rank("S_2 wr C_1000", 2000) == 1001);
  CHECK(rank("S_3 x S_2 x S_1 x S_2", 8) == 19);
  CHECK(rank("S_90 wr S_60", 5400) == 3);
}

TEST_CASE("rows of orbitals beyond the table are those that the group moves about") {
  const Orbitals large = compute_orbitals(group::parse_group("hypercube(13)", 8192, unlimited), unlimited);
  std::vector<Point> row;
  for (const Point i : {0u, 1u, 4095u, 8191u}) {
    for (std::uint32_t k = 0; k < large.list().size(); ++k) {
      large.read_row(k, i, row);
      CHECK(row.size() == large.list()[k].subdegree);
      const int distance = __builtin_popcount(row.front() ^ i);
      for (const Point j : row) {
        CHECK(__builtin_popcount(j ^ i) == distance);
        CHECK(large.number(i, j) == k);
      }
    }
  }
}

TEST_CASE("closures of larger groups") {
  CHECK(closure_of("A_300", 300) == "300!");
  CHECK(closure_of("C_60*C_60", 3600) == "3600");
  CHECK(closure_of("A_5 wr C_20", 100) == order_of("S_5 wr C_20", 100));
  CHECK(closure_of("C_40 x D_30", 70) == order_of("C_40 x D_30", 70));
  CHECK(closure_of("D_10 wr D_20", 200) == order_of("D_10 wr D_20", 200));
  CHECK(closure_of("C_2 wr C_100", 200) == order_of("C_2 wr C_100", 200));
  CHECK(closure_of("torus(10,20)", 200) == "800");
  CHECK(closure_of("C_7*(C_5 x S_1)", 42) == "35");
}

TEST_CASE("orders of long bases come from above: all and even permutations of 30 points on their pairs") {
  constexpr Point m = 30, n = m * (m - 1) / 2;
  const auto number = [](Point a, Point b) { return a < b ? b * (b - 1) / 2 + a : a * (a - 1) / 2 + b; };
  const auto act = [&](const std::vector<Point>& g) {
    std::vector<Point> images(n);
    for (Point b = 1; b < m; ++b) {
      for (Point a = 0; a < b; ++a) images[number(a, b)] = number(g[a], g[b]);
    }
    return group::Permutation::from_images(images);
  };
  std::vector<Point> swap(m), turn(m), three(m);
  for (Point x = 0; x < m; ++x) {
    swap[x] = x < 2 ? 1 - x : x;
    turn[x] = x == 0 ? 0 : x % (m - 1) + 1;  // 29 points: an even cycle
    three[x] = x < 3 ? (x + 1) % 3 : x;
  }
  group::Order all;
  all.multiply_factorial(m);
  const std::vector<group::Permutation> symmetric{act(turn), act(swap), act(three)}, even{act(turn), act(three)};
  for (const auto& generators : {symmetric, even}) {
    const auto bound = design::bound_order(n, generators, unlimited);
    REQUIRE(bound);
    CHECK(*bound->value() == *all.value());
  }
  CHECK(*group::make_group(n, symmetric, all, unlimited).order.value() == *all.value());
  CHECK(2 * *group::make_group(n, even, all, unlimited).order.value() == *all.value());
  CHECK(!design::bound_order(6, {group::parse_cycles("(0 1 2)", 6)}, unlimited));
}
