// The checker's groups of blocks, against all their elements.
#include "checker/blocks.hpp"

#include <doctest/doctest.h>

#include "../unit/group/block_groups.hpp"

namespace {

checker::Permutation to_permutation(const brute::Images& images) {
  std::vector<std::pair<checker::Vertex, checker::Vertex>> moves;
  for (checker::Vertex x = 0; x < images.size(); ++x) moves.emplace_back(x, images[x]);
  return checker::Permutation(std::move(moves));
}

int sweep(int rounds, unsigned seed, std::size_t most_blocks, std::size_t least_size, std::size_t most_size) {
  std::mt19937 random(seed);
  int found = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(seed);
    CAPTURE(round);
    const std::size_t blocks = 2 + random() % (most_blocks - 1), size = least_size + random() % (most_size - least_size + 1);
    const brute::Generated made = brute::make_block_group(blocks, size, random);
    constexpr std::size_t most = 6000;
    const auto elements = brute::closure(made.n, made.generators, most);
    if (elements.size() > most) continue;
    checker::Group group{static_cast<checker::Vertex>(made.n), {}, {}};
    for (const brute::Images& g : made.generators) group.generators.push_back(to_permutation(g));
    const auto reduction = checker::find_reduction(group);
    if (!reduction) continue;
    ++found;
    REQUIRE(reduction->order().decimal() == std::to_string(elements.size()));
    for (int k = 0; k < 16; ++k) {
      auto member = elements.begin();
      std::advance(member, random() % elements.size());
      REQUIRE(reduction->contains(to_permutation(*member)));
      auto near = *member;
      std::swap(near[random() % made.n], near[random() % made.n]);
      if (k % 2 == 0) std::swap(near[random() % made.n], near[random() % made.n]);
      REQUIRE(reduction->contains(to_permutation(near)) == (elements.count(near) > 0));
      auto from = brute::identity(made.n);
      std::shuffle(from.begin(), from.end(), random);
      from.resize(random() % 6);
      brute::Images to, wrong;
      for (const auto x : from) to.push_back((*member)[x]);
      REQUIRE(reduction->extends(from, to));
      for (const auto x : from) wrong.push_back(near[x]);
      REQUIRE(reduction->extends(from, wrong) == brute::extends(elements, from, wrong));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("checker: groups of blocks") {
  CHECK(sweep(3000, 21, 4, 2, 3) > 400);
  CHECK(sweep(1500, 22, 3, 3, 5) > 200);
  CHECK(sweep(1500, 23, 4, 3, 4) > 200);
}

TEST_CASE("checker: a mirror that some parts of blocks do not show") {
  const brute::Generated made = brute::make_mirrored_threes();
  checker::Group group{18, {}, {}};
  for (const brute::Images& g : made.generators) group.generators.push_back(to_permutation(g));
  const auto reduction = checker::find_reduction(group);
  CHECK_FALSE((reduction && reduction->extends({0, 1, 9, 10}, {0, 2, 9, 10})));  // one mirrored, the other not
}

TEST_CASE("checker: orders written as factorials") {
  checker::Order order;
  order.multiply_factorial(4, 3);
  order.multiply(checker::Natural(2));
  for (const char* same : {"4!^3 * 2", "4!^2 * 48", "4! * 1152", "27648", "4!^3 * 2!", "4!^2 * 3!^2 * 2!^0"}) {
    CAPTURE(same);
    CHECK(order.is_written_as(same) == (std::string(same) != "4!^2 * 3!^2 * 2!^0"));
  }
  for (const char* other : {"", "4!^3", "4!^3 * 3", "4!^3 * 02", "4!^3 * 2 * 1", "2 * 4!^3", "3! * 4!^3", "4!^3*2", "4!^3 * ", "4!^3 * -2", "4!^03 * 2", "4!^1 * 1152", "999999999999999999!^999999999999999999",
                            "4!^3 * 22222222222222222222222222222222222222222222"}) {
    CAPTURE(other);
    CHECK_FALSE(order.is_written_as(other));
  }
  CHECK(checker::Order().is_written_as("1"));
  CHECK_FALSE(checker::Order().is_written_as(""));
  CHECK_FALSE(order.is_written_as("1"));
}
