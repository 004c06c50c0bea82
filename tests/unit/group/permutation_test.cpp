#include "sightline/group/permutation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "sightline/base/error.hpp"

using namespace sightline;
using namespace sightline::group;

namespace {

std::string cycles_error_of(const std::string& text, Point degree) {
  try {
    (void)parse_cycles(text, degree);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("after applies the right permutation first, inverse undoes") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const Point n = 1 + random() % 9;
    std::vector<Point> a(n), b(n), product(n);
    std::iota(a.begin(), a.end(), Point{0});
    b = a;
    if (round % 3 != 0) std::shuffle(a.begin(), a.end(), random);
    std::shuffle(b.begin(), b.end(), random);
    for (Point x = 0; x < n; ++x) product[x] = a[b[x]];
    const auto s = Permutation::from_images(a), t = Permutation::from_images(b);
    CHECK(s.after(t) == Permutation::from_images(product));
    CHECK(s.after(t).images(n) == product);
    CHECK(s.inverse().after(s).is_identity());
    CHECK(parse_cycles(to_cycles(s), n) == s);
    for (Point x = 0; x < n; ++x) CHECK(s(x) == a[x]);
  }
}

TEST_CASE("cycles are written from their least point") {
  CHECK(to_cycles(Permutation()) == "()");
  CHECK(to_cycles(Permutation::from_images({1, 0, 3, 4, 2})) == "(0 1)(2 3 4)");
  CHECK(to_cycles(Permutation::from_images({2, 1, 0})) == "(0 2)");
  CHECK(to_cycles(parse_cycles(" ( 4 2,3 ) (1 0)()(5)", 6)) == "(0 1)(2 3 4)");
  CHECK(parse_cycles("(0 1 2)", 3)(0) == 1);
}

TEST_CASE("broken cycles are refused with the character") {
  CHECK(cycles_error_of("", 3).find("character 1: expected \"(\"") != std::string::npos);
  CHECK(cycles_error_of("(0 1", 3).find("character 5: expected a point or \")\", found the end") != std::string::npos);
  CHECK(cycles_error_of("(0 3)", 3).find("character 4: expected a point below 3, found 3") != std::string::npos);
  CHECK(cycles_error_of("(0 1)(2 1)", 3).find("character 9: point 1 occurs twice") != std::string::npos);
  CHECK(cycles_error_of("(0 x)", 3).find("character 4: expected a point or \")\", found \"x\"") != std::string::npos);
  CHECK(cycles_error_of("(0 1)2", 3).find("character 6") != std::string::npos);
  CHECK(cycles_error_of("(0 -1)", 3).find("character 4") != std::string::npos);
  CHECK(cycles_error_of("(0 99999999999999999999999)", 3).find("character 4: expected a point below 3") != std::string::npos);
  CHECK(cycles_error_of("(0,)", 3).find("after \",\"") != std::string::npos);
  CHECK(cycles_error_of("(0 0)", 3).find("occurs twice") != std::string::npos);
}

TEST_CASE("what is not a bijection is refused") {
  CHECK_THROWS_AS(Permutation::from_images({0, 0}), ArgumentError);
  CHECK_THROWS_AS(Permutation::from_images({1, 2}), ArgumentError);
  CHECK_THROWS_AS(Permutation::from_support({0, 1}, {1, 2}), ArgumentError);
  CHECK_THROWS_AS(Permutation::from_support({0, 0}, {0, 0}), ArgumentError);
  CHECK_THROWS_AS(Permutation::from_images({1, 2, 0}).restricted(2), ArgumentError);
  CHECK_THROWS_AS(Permutation::from_images({1, 2, 0}).images(2), ArgumentError);
  CHECK(Permutation::from_images({1, 0, 3, 2}).restricted(2) == Permutation::transposition(0, 1));
  CHECK(Permutation::from_support({5, 3, 4}, {5, 4, 3}) == Permutation::transposition(3, 4));
}
