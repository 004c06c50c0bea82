// Groups told by smaller groups, against all their elements.
#include "sightline/group/reduction.hpp"

#include <doctest/doctest.h>

#include "sightline/group/group.hpp"
#include "tests/unit/group/block_groups.hpp"
#include "tests/unlimited.hpp"

using namespace sightline::group;

namespace {

void check_reduction(const Reduction& reduction, const brute::Generated& made, const std::set<brute::Images>& elements, std::mt19937& random) {
  REQUIRE(reduction.order().value() == mpz_class(static_cast<unsigned long>(elements.size())));
  std::vector<brute::Images> kept;
  for (const std::size_t k : reduction.irredundant()) kept.push_back(made.generators.at(k));
  REQUIRE(brute::closure(made.n, kept) == elements);
  for (int k = 0; k < 16; ++k) {
    auto member = elements.begin();
    std::advance(member, random() % elements.size());
    REQUIRE(reduction.contains(*member));
    auto near = *member;
    std::swap(near[random() % made.n], near[random() % made.n]);
    if (k % 2 == 0) std::swap(near[random() % made.n], near[random() % made.n]);
    REQUIRE(reduction.contains(near) == (elements.count(near) > 0));
    auto from = brute::identity(made.n);
    std::shuffle(from.begin(), from.end(), random);
    from.resize(random() % 6);
    brute::Images to, wrong;
    for (const Point x : from) to.push_back((*member)[x]);
    REQUIRE(reduction.extends(from, to));
    for (const Point x : from) wrong.push_back(near[x]);
    REQUIRE(reduction.extends(from, wrong) == brute::extends(elements, from, wrong));
  }
}

/// @return for how many of the groups a reduction was found
int sweep(int rounds, unsigned seed, std::size_t least_blocks, std::size_t most_blocks, std::size_t least_size, std::size_t most_size) {
  std::mt19937 random(seed);
  int found = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(seed);
    CAPTURE(round);
    const std::size_t blocks = least_blocks + random() % (most_blocks - least_blocks + 1), size = least_size + random() % (most_size - least_size + 1);
    const brute::Generated made = brute::make_block_group(blocks, size, random);
    constexpr std::size_t most = 6000;
    const auto elements = brute::closure(made.n, made.generators, most);
    if (elements.size() > most) continue;
    const auto reduction = find_reduction(static_cast<Point>(made.n), made.generators, std::nullopt, unlimited);
    if (!reduction) continue;
    ++found;
    check_reduction(*reduction, made, elements, random);
  }
  return found;
}

Group copies(Point count, Point size, const std::vector<std::string>& cycles) {
  std::vector<Permutation> generators;
  for (Point copy = 0; copy < count; ++copy) {
    std::vector<Point> names(size);
    for (Point k = 0; k < size; ++k) names[k] = copy * size + k;
    for (const std::string& text : cycles) generators.push_back(rename(parse_cycles(text, size), names));
    std::vector<Point> images = Permutation().images(count * size);
    for (Point k = 0; copy > 0 && k < size; ++k) std::swap(images[copy * size + k], images[(copy - 1) * size + k]);
    generators.push_back(Permutation::from_images(images));
  }
  return make_group(count * size, generators, unlimited);
}

}  // namespace

TEST_CASE("group reduction: blocks and what is done inside of them") {
  CHECK(sweep(3000, 1, 2, 4, 2, 3) > 400);
  CHECK(sweep(1500, 2, 2, 3, 4, 5) > 200);
}

TEST_CASE("group reduction: rows and columns") { CHECK(sweep(1500, 3, 3, 4, 3, 4) > 200); }

TEST_CASE("slow: group reduction, more of both" * doctest::test_suite("slow")) {
  CHECK(sweep(60000, 11, 2, 5, 2, 3) > 8000);
  CHECK(sweep(30000, 12, 2, 4, 3, 5) > 4000);
}

TEST_CASE("group reduction: a mirror that some parts do not show") {
  // Two blocks of three threes. Each block turns its threes together; all are mirrored at once, which leaves the first three of a block where it is.
  const auto made = brute::make_mirrored_threes();
  const auto elements = brute::closure(made.n, made.generators);
  REQUIRE(elements.size() == 18);
  std::mt19937 random(4);
  if (const auto reduction = find_reduction(static_cast<Point>(made.n), made.generators, std::nullopt, unlimited)) {
    check_reduction(*reduction, made, elements, random);
    CHECK_FALSE(reduction->extends({0, 1, 9, 10}, {0, 2, 9, 10}));  // one mirrored, the other not
  }
}

TEST_CASE("group reduction: 64 copies of the Petersen graph") {
  // S_5 on the ten pairs of five.
  const Group group = copies(64, 10, {"(1 4)(2 5)(3 6)", "(0 4 7 9 3)(1 5 8 2 6)"});
  Order expected(mpz_class(120));
  expected.raise(64);
  expected.multiply_factorial(64);
  CHECK(group.order == expected);
  const Membership inside(group, unlimited);
  CHECK(inside.extends({0, 10, 20}, {25, 639, 4}));
  CHECK_FALSE(inside.extends({0, 1, 20}, {25, 639, 4}));    // one copy to two
  CHECK_FALSE(inside.extends({0, 1, 2}, {630, 631, 639}));  // pairs that meet to pairs that do not
}

TEST_CASE("group reduction: exchanges of 30 rows and 40 columns") {
  std::vector<Permutation> generators;
  const auto add = [&](auto image) {
    std::vector<Point> images(1200);
    for (Point x = 0; x < 1200; ++x) images[x] = image(x / 40, x % 40);
    generators.push_back(Permutation::from_images(images));
  };
  for (Point k = 1; k < 40; ++k) add([&](Point r, Point c) { return 40 * r + (c == k ? k - 1 : c == k - 1 ? k : c); });
  // Exchanges of rows that also turn the columns.
  for (Point k = 1; k < 30; ++k) add([&](Point r, Point c) { return 40 * (r == k ? k - 1 : r == k - 1 ? k : r) + (c + 1) % 40; });
  const Group group = make_group(1200, generators, unlimited);
  Order expected;
  expected.multiply_factorial(30);
  expected.multiply_factorial(40);
  CHECK(group.order == expected);
}
