#include "sightline/group/group.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/group/analysis.hpp"
#include "sightline/group/expression.hpp"
#include "tests/unit/group/brute.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using namespace sightline::group;

namespace {

std::vector<Permutation> to_permutations(const std::vector<brute::Images>& list) {
  std::vector<Permutation> result;
  for (const auto& g : list) result.push_back(Permutation::from_images(g));
  return result;
}

/// All generators of a Group as image lists, classes included.
std::vector<brute::Images> to_images(const Group& group) {
  std::vector<brute::Images> result;
  for (const Permutation& g : list_generators(group, 1000000)) result.push_back(g.images(group.degree));
  return result;
}

Group from_cycles(Point degree, const std::vector<std::string>& cycles) {
  std::vector<Permutation> generators;
  for (const auto& text : cycles) generators.push_back(parse_cycles(text, degree));
  return make_group(degree, generators, unlimited);
}

/// Everything that Group and Membership say, against the list of elements.
void check_against(const Group& group, const std::set<brute::Images>& elements, std::mt19937& random) {
  const Point n = group.degree;
  REQUIRE(group.order.value() == mpz_class(static_cast<unsigned long>(elements.size())));
  REQUIRE(brute::closure(n, to_images(group)) == elements);
  for (std::size_t c = 0; c < group.symmetric_classes.size(); ++c) REQUIRE(group.symmetric_classes[c].size() >= 2);
  const Membership membership(group, unlimited);
  REQUIRE(membership.order() == static_cast<unsigned long>(elements.size()));
  for (Point x = 0; x < n; ++x) {
    Point least = x;
    for (const auto& g : elements) least = std::min(least, g[x]);
    REQUIRE(group.orbit[x] == least);
    for (Point y = x + 1; y < n; ++y) {
      auto swap = brute::identity(n);
      std::swap(swap[x], swap[y]);
      bool together = false;
      for (const auto& members : group.symmetric_classes) {
        together = together || (std::count(members.begin(), members.end(), x) && std::count(members.begin(), members.end(), y));
      }
      REQUIRE(together == (elements.count(swap) > 0));
    }
  }
  for (int k = 0; k < 12; ++k) {
    auto candidate = brute::identity(n);
    std::shuffle(candidate.begin(), candidate.end(), random);
    REQUIRE(membership.contains(Permutation::from_images(candidate)) == (elements.count(candidate) > 0));
    auto member = elements.begin();
    std::advance(member, random() % elements.size());
    REQUIRE(membership.contains(Permutation::from_images(*member)));
    auto near = *member;
    std::swap(near[random() % n], near[random() % n]);
    REQUIRE(membership.contains(Permutation::from_images(near)) == (elements.count(near) > 0));
    auto from = brute::identity(n);
    std::shuffle(from.begin(), from.end(), random);
    from.resize(random() % (n + 1));
    brute::Images to, wrong;
    for (const Point x : from) to.push_back((*member)[x]);
    REQUIRE(membership.extends(from, to));
    for (const Point x : from) wrong.push_back(near[x]);
    REQUIRE(membership.extends(from, wrong) == brute::extends(elements, from, wrong));
    std::shuffle(wrong.begin(), wrong.end(), random);
    REQUIRE(membership.extends(from, wrong) == brute::extends(elements, from, wrong));
  }
}

void sweep(int rounds, unsigned seed, Point largest) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    const Point n = 2 + random() % (largest - 1);
    CAPTURE(seed);
    CAPTURE(round);
    std::vector<brute::Images> generators;
    for (unsigned k = 0; k < random() % 4; ++k) generators.push_back(brute::random_generator(n, random));
    const auto elements = brute::closure(n, generators);
    if (elements.size() > 6000 && round % 20 != 0) continue;
    check_against(make_group(n, to_permutations(generators), unlimited), elements, random);
  }
}

/// The same small group on several copies of its points, with something else beside it.
void sweep_copies(int rounds, unsigned seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    const Point k = 2 + random() % 3, copies = 2 + random() % 2, rest = random() % 3;
    const Point n = k * copies + rest;
    CAPTURE(seed);
    CAPTURE(round);
    auto place = brute::identity(n);
    std::shuffle(place.begin(), place.end(), random);
    std::vector<brute::Images> generators;
    for (unsigned g = 0; g < 1 + random() % 3; ++g) {
      const auto small = brute::random_generator(k, random);
      auto images = brute::identity(n);
      for (Point x = 0; x < k * copies; ++x) images[place[x]] = place[small[x % k] + x / k * k];
      if (rest == 2 && random() % 2 == 0) std::swap(images[place[n - 1]], images[place[n - 2]]);
      if (random() % 4 == 0) std::swap(images[place[0]], images[place[1]]);
      generators.push_back(images);
    }
    const auto elements = brute::closure(n, generators);
    if (elements.size() > 3000) continue;
    check_against(make_group(n, to_permutations(generators), unlimited), elements, random);
  }
}

void sweep_joins(int rounds, unsigned seed, Point largest) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    const Point n = 2 + random() % (largest - 1);
    CAPTURE(seed);
    CAPTURE(round);
    std::vector<Group> groups;
    std::vector<brute::Images> all;
    for (unsigned k = 0; k < 1 + random() % 3; ++k) {
      // Classes first, then generators: as the symmetry engine hands groups over.
      std::vector<Group> parts{make_trivial_group(n)};
      auto points = brute::identity(n);
      std::shuffle(points.begin(), points.end(), random);
      Group classes = make_trivial_group(n);
      std::size_t at = 0;
      while (random() % 2 == 0 && at + 2 <= n) {
        const std::size_t size = std::min<std::size_t>(2 + random() % 2, n - at);
        std::vector<Point> members(points.begin() + at, points.begin() + at + size);
        std::sort(members.begin(), members.end());
        for (std::size_t i = 1; i < size; ++i) classes.orbit[members[i]] = members[0];
        classes.symmetric_classes.push_back(members);
        classes.order.multiply_factorial(static_cast<std::uint32_t>(size));
        at += size;
      }
      parts.push_back(classes);
      if (random() % 2 == 0) parts.push_back(make_group(n, to_permutations({brute::random_generator(n, random)}), unlimited));
      groups.push_back(make_join(parts, unlimited));
      for (const Group& part : parts) {
        for (const auto& g : to_images(part)) all.push_back(g);
      }
    }
    const auto elements = brute::closure(n, all);
    if (elements.size() > 6000 && round % 20 != 0) continue;
    check_against(make_join(groups, unlimited), elements, random);
  }
}

}  // namespace

TEST_CASE("random groups of degree at most 7 agree with the list of their elements") { sweep(120, 1, 7); }
TEST_CASE("joins of random groups with symmetric classes agree with the list of their elements") { sweep_joins(120, 2, 7); }
TEST_CASE("random groups on several copies of their points agree with the list of their elements") { sweep_copies(150, 5); }
TEST_SUITE("slow") {
  TEST_CASE("many random groups on several copies") { sweep_copies(1500, 6); }
  TEST_CASE("many random groups of degree at most 8") { sweep(1500, 3, 8); }
  TEST_CASE("many random joins of degree at most 8") { sweep_joins(1500, 4, 8); }
}

TEST_CASE("famous groups have their orders") {
  CHECK(from_cycles(7, {"(0 1 2 3 4 5 6)", "(1 2)(3 6)"}).order == Order(mpz_class(168)));
  CHECK(from_cycles(11, {"(0 1 2 3 4 5 6 7 8 9 10)", "(2 6 10 7)(3 9 4 5)"}).order == Order(mpz_class(7920)));
  CHECK(from_cycles(12, {"(0 1 2 3 4 5 6 7 8 9 10)", "(2 6 10 7)(3 9 4 5)", "(0 11)(1 10)(2 5)(3 7)(4 8)(6 9)"}).order == Order(mpz_class(95040)));
  CHECK(from_cycles(24, {"(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22)", "(2 16 9 6 8)(3 12 13 18 4)(7 17 10 11 22)(14 19 21 20 15)",
                         "(0 23)(1 22)(2 11)(3 15)(4 17)(5 9)(6 19)(7 13)(8 20)(10 16)(12 21)(14 18)"}).order == Order(mpz_class(244823040)));
}

TEST_CASE("Rubik's cube has 43252003274489856000 positions") {
  // Faces of the 48 moving stickers, the standard numbering minus one.
  const Group cube = from_cycles(48, {"(0 2 7 5)(1 4 6 3)(8 32 24 16)(9 33 25 17)(10 34 26 18)", "(8 10 15 13)(9 12 14 11)(0 16 40 39)(3 19 43 36)(5 21 45 34)",
                                      "(16 18 23 21)(17 20 22 19)(5 24 42 15)(6 27 41 12)(7 29 40 10)", "(24 26 31 29)(25 28 30 27)(2 37 42 18)(4 35 44 20)(7 32 47 23)",
                                      "(32 34 39 37)(33 36 38 35)(2 8 45 31)(1 11 46 28)(0 13 47 26)", "(40 42 47 45)(41 44 46 43)(13 21 29 37)(14 22 30 38)(15 23 31 39)"});
  CHECK(cube.order == Order(mpz_class("43252003274489856000")));
  const Membership membership(cube, unlimited);
  CHECK(membership.order() == mpz_class("43252003274489856000"));
  CHECK_FALSE(membership.contains(Permutation::transposition(0, 2)));
  CHECK(membership.extends({0, 2}, {2, 7}));
}

TEST_CASE("symmetric and alternating groups are recognised without a transposition") {
  for (const Point n : {9u, 20u, 300u, 1500u}) {
    std::vector<Point> cycle = brute::identity(n), other = brute::identity(n);
    for (Point x = 0; x < n; ++x) cycle[x] = (x + 1) % n;
    std::swap(other[0], other[1]);
    std::swap(other[1], other[3]);
    const bool odd = n % 2 == 0;
    const Group group = make_group(n, to_permutations({cycle, other}), unlimited);
    Order expected;
    if (odd) {
      expected.multiply_factorial(n);
    } else {
      expected.multiply_factorial(n - 2);
      expected.multiply(mpz_class(n) * (n - 1) / 2);
    }
    CHECK(group.order == expected);
    CHECK(group.symmetric_classes.size() == (odd ? 1 : 0));
    const Membership membership(group, unlimited);
    CHECK(membership.contains(Permutation::transposition(0, n - 1)) == odd);
    CHECK(membership.contains(parse_cycles("(0 5 7)", n)));
    CHECK(membership.extends({0, 1, 2}, {2, 1, 5}));
    CHECK(membership.extends(brute::identity(n), Permutation::transposition(2, 3).images(n)) == odd);
  }
}

TEST_CASE("huge symmetric classes cost nothing") {
  const Point n = 1 << 20;
  Group blocks = make_trivial_group(n);
  for (Point start = 0; start < n; start += 64) {
    blocks.symmetric_classes.emplace_back();
    for (Point x = start; x < start + 64; ++x) {
      blocks.symmetric_classes.back().push_back(x);
      blocks.orbit[x] = start;
    }
  }
  blocks.order.multiply_factorial(64, n / 64);
  std::vector<Point> mirror(n);
  for (Point x = 0; x < n; ++x) mirror[x] = n - 1 - x;
  Group reflection = make_trivial_group(n);
  reflection.generators = {Permutation::from_images(mirror)};
  reflection.order = Order(mpz_class(2));
  for (Point x = 0; x < n; ++x) reflection.orbit[x] = std::min(x, n - 1 - x);
  const Group join = make_join({blocks, reflection}, unlimited);
  CHECK(join.order.factored() == "64!^16384 * 2");
  const Membership membership(join, unlimited);
  CHECK(membership.contains(Permutation::transposition(5, 63)));
  CHECK_FALSE(membership.contains(Permutation::transposition(63, 64)));
  CHECK(membership.extends({0, 1, n - 1}, {n - 1, n - 64, 63}));
  CHECK_FALSE(membership.extends({0, 1, n - 1}, {n - 1, n - 64, 64}));
  // One transposition across two blocks melts these two and their mirror images together.
  Group across = make_trivial_group(n);
  across.symmetric_classes = {{63, 64}};
  across.orbit[64] = 63;
  across.order.multiply_factorial(2);
  CHECK(make_join({join, across}, unlimited).order.factored() == "128!^2 * 64!^16380 * 2");
  CHECK(make_join({join, make_symmetric_group(n)}, unlimited).order.factored() == "1048576!");
}

TEST_CASE("blocks permuted freely: the symmetric quotient is found, not searched") {
  // S_4 wr S_250 from three generators.
  const Point n = 1000;
  auto next_block = brute::identity(n), swap_blocks = brute::identity(n);
  for (Point x = 0; x < n; ++x) next_block[x] = (x + 4) % n;
  for (Point x = 0; x < 4; ++x) std::swap(swap_blocks[x], swap_blocks[x + 4]);
  const Group group = make_group(n, {parse_cycles("(0 1)", n), parse_cycles("(0 1 2 3)", n), Permutation::from_images(next_block), Permutation::from_images(swap_blocks)}, unlimited);
  Order expected;
  expected.multiply_factorial(4, 250);
  expected.multiply_factorial(250);
  CHECK(group.order == expected);
  const Membership membership(group, unlimited);
  CHECK(membership.extends({0, 1, 999}, {999, 998, 2}));
  CHECK_FALSE(membership.extends({0, 1, 999}, {999, 2, 1}));
}

TEST_CASE("orbits that are copies of one another are folded: blocks with several kinds of points") {
  // (S_3 x S_2) wr S_400, block = 5 points, from neighbouring swaps of whole blocks: no transposition of classes.
  const Point blocks = 400, n = 5 * blocks;
  std::vector<Permutation> generators{parse_cycles("(0 1)", n), parse_cycles("(1 2)", n), parse_cycles("(3 4)", n)};
  for (Point b = 0; b + 1 < blocks; ++b) {
    std::vector<Point> moved, image;
    for (Point x = 5 * b; x < 5 * b + 10; ++x) {
      moved.push_back(x);
      image.push_back(x < 5 * b + 5 ? x + 5 : x - 5);
    }
    generators.push_back(Permutation::from_support(moved, image));
  }
  const Group group = make_group(n, generators, unlimited);
  Order expected;
  expected.multiply_factorial(3, blocks);
  expected.multiply_factorial(2, blocks);
  expected.multiply_factorial(blocks);
  CHECK(group.order == expected);
  const Membership membership(group, unlimited);
  CHECK(membership.contains(generators[200]));
  CHECK(membership.extends({0, 3, 5}, {7, 9, 1995}));
  CHECK_FALSE(membership.extends({0, 3, 5}, {7, 14, 1995}));
  CHECK_FALSE(membership.extends({0}, {3}));
  std::vector<Point> moved{0, 1, 2, 5, 6, 7}, image{5, 6, 7, 0, 1, 2};
  CHECK_FALSE(membership.contains(Permutation::from_support(moved, image)));
}

TEST_CASE("many independent reflections are components, not one long chain") {
  const Point n = 40000;
  std::vector<Permutation> generators;
  for (Point x = 0; x + 3 < n; x += 4) generators.push_back(Permutation::from_support({x, x + 1, x + 2, x + 3}, {x + 1, x, x + 3, x + 2}));
  const Group group = make_group(n, generators, unlimited);
  mpz_class expected;
  mpz_ui_pow_ui(expected.get_mpz_t(), 2, n / 4);
  CHECK(group.order == Order(expected));
  const Membership membership(group, unlimited);
  CHECK(membership.contains(generators[7]));
  CHECK_FALSE(membership.contains(Permutation::transposition(0, 1)));
  CHECK(membership.extends({0, 4}, {1, 4}));
  CHECK_FALSE(membership.extends({0, 2}, {1, 2}));
}

TEST_CASE("a dihedral group of a large ring is decided by its known order") {
  const Point n = 200000;
  std::vector<Point> turn(n), mirror(n);
  for (Point x = 0; x < n; ++x) {
    turn[x] = (x + 1) % n;
    mirror[x] = (n - x) % n;
  }
  Group ring;
  ring.degree = n;
  ring.generators = to_permutations({turn, mirror});
  ring.order = Order(mpz_class(2 * n));
  ring.orbit.assign(n, 0);
  const Membership membership(ring, unlimited);
  for (Point x = 0; x < n; ++x) turn[x] = (777 + n - x) % n;
  CHECK(membership.contains(Permutation::from_images(turn)));
  std::swap(turn[5], turn[6]);
  CHECK_FALSE(membership.contains(Permutation::from_images(turn)));
  CHECK(membership.extends({0, 1, 2}, {50000, 49999, 49998}));
  CHECK_FALSE(membership.extends({0, 1, 2}, {50000, 49999, 50001}));
  CHECK(make_join({ring, ring, make_trivial_group(n)}, unlimited).order == Order(mpz_class(2 * n)));
}

TEST_CASE("a wrong known order is our own bug, not an answer") {
  Group group = from_cycles(5, {"(0 1 2 3 4)", "(1 4)(2 3)"});
  group.order = Order(mpz_class(20));
  CHECK_THROWS_AS(Membership(group, unlimited), InternalError);
  group.order = Order(mpz_class(5));
  CHECK_THROWS_AS(Membership(group, unlimited), InternalError);
}

TEST_CASE("an upper bound spares the proof where it is reached and changes nothing where it is not") {
  const std::vector<Permutation> generators{parse_cycles("(0 1 2 3 4 5 6)", 7), parse_cycles("(1 2 4)(3 6 5)", 7)};
  for (const int bound : {21, 42, 100, 168, 5040}) CHECK(make_group(7, generators, Order(mpz_class(bound)), unlimited).order == Order(mpz_class(21)));
  for (const int bound : {20, 7, 1}) CHECK_THROWS_AS(make_group(7, generators, Order(mpz_class(bound)), unlimited), InternalError);
  // Twins, copies of orbits and two components: what a bound of the whole says of the parts.
  for (const std::string text : {"S_3 wr C_5", "C_4 x D_5", "C_3*C_5", "S_4 x S_4", "A_6 x C_2"}) {
    const Group group = parse_group(text, std::nullopt, {}, unlimited);
    const std::vector<Permutation> all = list_generators(group, 1000);
    CHECK(make_group(group.degree, all, group.order, unlimited).order == group.order);
    CHECK(make_group(group.degree, all, Order(mpz_class(*group.order.value() * 7)), unlimited).order == group.order);
  }
}

TEST_CASE("generators are listed classes first and cut at the limit") {
  const Group group = from_cycles(6, {"(0 1)", "(1 2)", "(3 4 5)"});
  REQUIRE(list_generators(group, 100).size() == 3);
  CHECK(to_cycles(list_generators(group, 100)[0]) == "(0 1)");
  CHECK(to_cycles(list_generators(group, 100)[1]) == "(1 2)");
  CHECK(to_cycles(list_generators(group, 100)[2]) == "(3 4 5)");
  CHECK(list_generators(group, 2).size() == 2);
  CHECK(list_generators(make_trivial_group(4), 9).empty());
}

TEST_CASE("calls that make no sense are refused") {
  CHECK_THROWS_AS((void)make_join({}, unlimited), ArgumentError);
  CHECK_THROWS_AS((void)make_join({make_trivial_group(2), make_trivial_group(3)}, unlimited), ArgumentError);
  CHECK_THROWS_AS((void)make_group(3, {Permutation::transposition(2, 3)}, unlimited), ArgumentError);
  const Group d5 = from_cycles(5, {"(0 1 2 3 4)", "(1 4)(2 3)"});
  CHECK_THROWS_AS((void)Membership(d5, unlimited).extends({0, 1}, {0}), ArgumentError);
  CHECK_THROWS_AS((void)Membership(d5, unlimited).extends({5}, {0}), ArgumentError);
  const Budget none(0.0, std::nullopt);
  CHECK_THROWS_AS((void)make_group(48, {parse_cycles("(0 1 2 3 4 5 6 7 8 9 10)", 48), parse_cycles("(2 6 10 7)(3 9 4 5)", 48)}, none), BudgetExhausted);
}

TEST_CASE("the stabiliser of a point has the order that the orbit says") {
  const Group dihedral = parse_group("D_7", 7, unlimited);
  CHECK(make_stabiliser(dihedral, 3, unlimited).order == Order(mpz_class(2)));
  const Group symmetric = make_symmetric_group(6);
  const Group fixing = make_stabiliser(symmetric, 0, unlimited);
  CHECK(fixing.order == Order(mpz_class(120)));
  CHECK(fixing.orbit == std::vector<Point>{0, 1, 1, 1, 1, 1});
  const Group wreath = parse_group("S_3 wr S_2", 6, unlimited);
  CHECK(make_stabiliser(wreath, 5, unlimited).order == Order(mpz_class(12)));
  // Nothing shows to fix the point: a reflection that moves it, and Schreier generators have to be asked for.
  std::vector<Point> turned(1001), reflected(1001);
  for (Point x = 0; x < 1001; ++x) turned[x] = (x + 1) % 1001, reflected[x] = (1501 - x) % 1001;
  const Group hidden = make_group(1001, {Permutation::from_images(turned), Permutation::from_images(reflected)}, unlimited);
  const Group last = make_stabiliser(hidden, 1000, unlimited);
  CHECK(last.order == Order(mpz_class(2)));
  CHECK(last.orbit[999] == 0);  // 1000 + k and 1000 - k change places
  CHECK(make_stabiliser(parse_group("D_8192", 8192, unlimited), 8191, unlimited).order == Order(mpz_class(2)));
  CHECK(make_stabiliser(parse_group("torus(64,64)", 4096, unlimited), 100, unlimited).order ==
        Order(*parse_group("torus(64,64)", 4096, unlimited).order.value() / 4096));
}

TEST_CASE("the stabiliser of a point is all that fixes it: groups of few points, element by element") {
  std::mt19937 random(3);
  for (int k = 0; k < 200; ++k) {
    CAPTURE(k);
    const auto degree = static_cast<Point>(3 + random() % 5);
    std::vector<Permutation> generators;
    for (unsigned count = 1 + random() % 3; count > 0; --count) {
      std::vector<Point> images(degree);
      std::iota(images.begin(), images.end(), 0);
      std::shuffle(images.begin(), random() % 2 == 0 ? images.begin() + 3 : images.end(), random);
      generators.push_back(Permutation::from_images(images));
    }
    const Group group = make_group(degree, generators, unlimited);
    const auto point = static_cast<Point>(random() % degree);
    const Group fixing = make_stabiliser(group, point, unlimited);
    const Membership in_group(group, unlimited), in_fixing(fixing, unlimited);
    std::vector<Point> images(degree);
    std::iota(images.begin(), images.end(), 0);
    do {
      const Permutation g = Permutation::from_images(images);
      REQUIRE(in_fixing.contains(g) == (in_group.contains(g) && g(point) == point));
    } while (std::next_permutation(images.begin(), images.end()));
  }
}
