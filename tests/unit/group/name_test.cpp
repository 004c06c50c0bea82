#include <doctest/doctest.h>

#include "sightline/group/group.hpp"
#include "tests/unit/group/brute.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using namespace sightline::group;

namespace {

std::string name_of(Point degree, const std::vector<std::string>& cycles) {
  std::vector<Permutation> generators;
  for (const auto& text : cycles) generators.push_back(parse_cycles(text, degree));
  return find_name(make_group(degree, generators, unlimited), unlimited).value_or("null");
}

}  // namespace

TEST_CASE("small groups have their usual names") {
  CHECK(name_of(3, {}) == "trivial");
  CHECK(name_of(1, {}) == "trivial");
  CHECK(name_of(2, {"(0 1)"}) == "S_2");
  CHECK(name_of(3, {"(0 1)"}) == "C_2");
  CHECK(name_of(4, {"(0 3)(1 2)"}) == "C_2");
  CHECK(name_of(5, {"(0 4)(1 3)"}) == "C_2");
  CHECK(name_of(3, {"(0 1 2)"}) == "C_3");
  CHECK(name_of(6, {"(0 1 2)(3 4 5)"}) == "C_3");
  CHECK(name_of(3, {"(0 1)", "(1 2)"}) == "S_3");
  CHECK(name_of(4, {"(0 1 2 3)", "(0 1)"}) == "S_4");
  CHECK(name_of(5, {"(1 2 3 4)", "(1 2)"}) == "S_4");
  CHECK(name_of(4, {"(0 1 2)", "(0 1)(2 3)"}) == "null");  // A_4
  CHECK(name_of(12, {"(0 1 2 3 4 5 6 7 8 9 10 11)"}) == "C_12");
  CHECK(name_of(7, {"(0 1 2)(3 4 5 6)"}) == "C_4 x C_3");
}

TEST_CASE("dihedral groups on the ring, off it and on two rings at once") {
  CHECK(name_of(5, {"(0 1 2 3 4)", "(1 4)(2 3)"}) == "D_5");
  CHECK(name_of(4, {"(0 1 2 3)", "(1 3)"}) == "D_4");
  CHECK(name_of(12, {"(0 1 2 3 4 5 6 7 8 9 10 11)", "(1 11)(2 10)(3 9)(4 8)(5 7)"}) == "D_12");
  CHECK(name_of(5, {"(0 1)(2 4)", "(0 4)(1 3)"}) == "D_5");
  CHECK(name_of(10, {"(0 1 2 3 4)(5 6 7 8 9)", "(1 4)(2 3)(6 9)(7 8)"}) == "D_5");
  CHECK(name_of(6, {"(0 1 2)(3 4 5)", "(0 3)(1 5)(2 4)"}) == "S_3");
  CHECK(name_of(6, {"(0 1 2)(3 4 5)", "(1 2)(4 5)"}) == "S_3");
  // Q_8: an element of order 4 is inverted, but by elements of order 4 only.
  CHECK(name_of(8, {"(0 1 2 3)(4 5 6 7)", "(0 4 2 6)(1 7 3 5)"}) == "null");
}

TEST_CASE("products") {
  CHECK(name_of(5, {"(0 1)", "(1 2)", "(3 4)"}) == "S_3 x S_2");
  CHECK(name_of(5, {"(0 1)", "(2 3)", "(3 4)"}) == "S_3 x S_2");
  CHECK(name_of(6, {"(0 1)", "(2 3 4 5)", "(2 3)"}) == "S_4 x S_2");
  CHECK(name_of(5, {"(0 1)(2 3 4)"}) == "C_3 x S_2");
  CHECK(name_of(4, {"(0 1)", "(2 3)"}) == "S_2 x S_2");
  CHECK(name_of(4, {"(0 1)(2 3)", "(0 2)(1 3)"}) == "C_2 x C_2");
  CHECK(name_of(9, {"(0 1 2)(3 4 5)(6 7 8)", "(0 3 6)(1 4 7)(2 5 8)"}) == "C_3 x C_3");
  CHECK(name_of(8, {"(0 1)(2 3)(4 5)(6 7)", "(0 2)(1 3)(4 6)(5 7)", "(0 4)(1 5)(2 6)(3 7)"}) == "C_2 x C_2 x C_2");
  CHECK(name_of(8, {"(0 1 2 3)(4 5 6 7)", "(0 4)(1 5)(2 6)(3 7)"}) == "C_4 x C_2");
  CHECK(name_of(12, {"(0 1 2 3)(4 5 6 7)(8 9 10 11)", "(0 4 8)(1 5 9)(2 6 10)(3 7 11)"}) == "C_12");
  CHECK(name_of(7, {"(0 1 2 3)", "(1 3)", "(4 5 6)"}) == "D_4 x C_3");
  // Rows and columns of a grid exchanged: a product that acts on pairs. S_3 x S_2 is D_6.
  CHECK(name_of(6, {"(0 1)(3 4)", "(1 2)(4 5)", "(0 3)(1 4)(2 5)"}) == "D_6");
  CHECK(name_of(12, {"(0 1)(4 5)(8 9)", "(0 1 2 3)(4 5 6 7)(8 9 10 11)", "(0 4)(1 5)(2 6)(3 7)", "(0 4 8)(1 5 9)(2 6 10)(3 7 11)"}) == "S_4 x S_3");
  // The subgroup of S_3 x S_3 with equal signs is no product: order 18.
  CHECK(name_of(6, {"(0 1 2)", "(3 4 5)", "(0 1)(3 4)"}) == "null");
  // The same group on pairs, rows and columns.
  CHECK(name_of(9, {"(0 1 2)(3 4 5)(6 7 8)", "(0 3 6)(1 4 7)(2 5 8)", "(1 2)(3 6)(4 8)(5 7)"}) == "null");
}

TEST_CASE("wreath products, hyperoctahedral groups and cubes") {
  CHECK(name_of(6, {"(0 1)", "(1 2)", "(0 3)(1 4)(2 5)"}) == "S_3 wr S_2");
  CHECK(name_of(6, {"(0 1)", "(0 2)(1 3)", "(2 4)(3 5)"}) == "B_3");
  CHECK(name_of(8, {"(0 1)", "(0 2)(1 3)", "(0 4)(1 5)(2 6)(3 7)"}) == "D_4 wr S_2");
  CHECK(name_of(9, {"(0 1 2)", "(0 3)(1 4)(2 5)", "(3 6)(4 7)(5 8)"}) == "C_3 wr S_3");
  CHECK(name_of(9, {"(0 1 2)", "(0 3 6)(1 4 7)(2 5 8)"}) == "null");  // C_3 wr C_3
  CHECK(name_of(10, {"(0 1 2 3 4)", "(1 4)(2 3)", "(0 5)(1 6)(2 7)(3 8)(4 9)"}) == "D_5 wr S_2");
  CHECK(name_of(8, {"(0 1)(2 3)", "(0 2)(1 3)", "(0 4)(1 5)(2 6)(3 7)"}) == "(C_2 x C_2) wr S_2");
  // Three paths of three points exchanged: C_2 inside is the same group as B_3.
  CHECK(name_of(9, {"(0 2)", "(0 3)(1 4)(2 5)", "(3 6)(4 7)(5 8)"}) == "B_3");
  // The rotations and reflections of the 3-cube on its corners.
  CHECK(name_of(8, {"(0 1)(2 3)(4 5)(6 7)", "(1 2)(5 6)", "(1 2 4)(3 6 5)"}) == "B_3");
  CHECK(name_of(8, {"(0 3)(1 2)(4 7)(5 6)", "(1 2 4)(3 6 5)"}) != "B_3");
  // A star with three leaves, twice.
  CHECK(name_of(8, {"(1 2)", "(2 3)", "(0 4)(1 5)(2 6)(3 7)"}) == "S_3 wr S_2");
}

TEST_CASE("groups without a name in the list have none") {
  CHECK(name_of(7, {"(0 1 2 3 4 5 6)", "(1 2 4)(3 6 5)"}) == "null");
  CHECK(name_of(7, {"(0 1 2 3 4 5 6)", "(1 2)(3 6)"}) == "null");
  CHECK(name_of(5, {"(0 1 2 3 4)", "(1 2 4 3)"}) == "null");
}

TEST_CASE("large structured groups are named at once") {
  const Point n = 1 << 20;
  CHECK(find_name(make_symmetric_group(n), unlimited) == "S_1048576");
  CHECK(find_name(make_trivial_group(n), unlimited) == "trivial");
  Group blocks = make_trivial_group(n);
  for (Point start = 0; start < n; start += 64) {
    blocks.symmetric_classes.emplace_back();
    for (Point x = start; x < start + 64; ++x) {
      blocks.symmetric_classes.back().push_back(x);
      blocks.orbit[x] = start;
    }
  }
  blocks.order.multiply_factorial(64, n / 64);
  CHECK_FALSE(find_name(blocks, unlimited).has_value());
  blocks.order.multiply_factorial(n / 64);
  std::vector<Point> turn(n), swap = brute::identity(n);
  for (Point x = 0; x < n; ++x) turn[x] = (x + 64) % n;
  for (Point x = 0; x < 64; ++x) std::swap(swap[x], swap[x + 64]);
  blocks.generators = {Permutation::from_images(turn), Permutation::from_images(swap)};
  blocks.orbit.assign(n, 0);
  CHECK(find_name(blocks, unlimited) == "S_64 wr S_16384");
  Group ring = make_trivial_group(n);
  std::vector<Point> mirror(n);
  for (Point x = 0; x < n; ++x) {
    turn[x] = (x + 1) % n;
    mirror[x] = (n - x) % n;
  }
  ring.generators = {Permutation::from_images(turn), Permutation::from_images(mirror)};
  ring.order = Order(mpz_class(2 * n));
  ring.orbit.assign(n, 0);
  CHECK(find_name(ring, unlimited) == "D_1048576");
  ring.generators.pop_back();
  ring.order = Order(mpz_class(n));
  CHECK(find_name(ring, unlimited) == "C_1048576");
  // Two classes of different sizes, as two kinds of tokens.
  Group two = make_trivial_group(n);
  two.symmetric_classes.resize(2);
  for (Point x = 0; x < n; ++x) {
    two.symmetric_classes[x < 16 ? 0 : 1].push_back(x);
    two.orbit[x] = x < 16 ? 0 : 16;
  }
  two.order.multiply_factorial(16);
  two.order.multiply_factorial(n - 16);
  CHECK(find_name(two, unlimited) == "S_1048560 x S_16");
}
