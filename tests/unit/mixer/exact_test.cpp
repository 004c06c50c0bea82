// Exact mode: f(sX) = s f(X) bit for bit, outputs and gradients, for random s in the group of random layouts.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "problem.hpp"
#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::mixer {
namespace {

using Images = std::vector<std::int64_t>;

std::vector<group::Permutation> find_generators(const Problem& problem) {
  symmetry::Structure structure;
  structure.vertices = problem.relations.front().vertex_count();
  structure.vertex_colour.assign(structure.vertices, 0);
  for (layout::Vertex v = problem.relations.front().tokens(); v < structure.vertices; ++v)
    structure.vertex_colour[v] = 1;
  for (const layout::Relation& relation : problem.relations)
    structure.relations.push_back({&relation, {}});
  return group::list_generators(symmetry::compute_automorphisms(structure, Budget()), 1000);
}

Images draw_element(const std::vector<group::Permutation>& generators, std::int64_t vertices, Random& random) {
  group::Permutation s;
  for (int k = 0; k < 12; ++k)
    s = generators[random() % generators.size()].after(s);
  Images images;
  for (std::int64_t v = 0; v < vertices; ++v)
    images.push_back(s(static_cast<group::Point>(v)));
  return images;
}

// [batch, token, rest]: token t goes to s(t).
template <class Real> std::vector<Real> move(const std::vector<Real>& numbers, const Images& s, std::int64_t batch) {
  std::vector<Real> moved(numbers.size());
  const std::size_t rest = numbers.size() / (s.size() * static_cast<std::size_t>(batch));
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b)
    for (std::size_t t = 0; t < s.size(); ++t)
      std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>((b * s.size() + t) * rest), rest,
                  moved.begin() + static_cast<std::ptrdiff_t>((b * s.size() + static_cast<std::size_t>(s[t])) * rest));
  return moved;
}

// Equal tokens, zeros of both signs, large and non-finite numbers.
template <class Real> void spoil(std::vector<Real>& numbers, std::size_t tokens, Random& random) {
  if (numbers.empty() || tokens == 0)
    return;
  const auto entry = [&]() -> Real& { return numbers[random() % numbers.size()]; };
  switch (random() % 12) {
  case 0:
    entry() = 0;
    entry() = Real(-0.0);
    entry() = Real(-0.0);
    break;
  case 1:
    entry() = std::numeric_limits<Real>::quiet_NaN();
    break;
  case 2:
    entry() = -std::numeric_limits<Real>::quiet_NaN();
    entry() = std::numeric_limits<Real>::quiet_NaN();
    break;
  case 3:
    entry() = std::numeric_limits<Real>::infinity();
    entry() = -std::numeric_limits<Real>::infinity();
    break;
  case 4:
    for (Real& number : numbers)
      number *= 30;
    break;
  case 5:
    for (Real& number : numbers)
      number = std::round(number);
    break;
  case 6:
    for (Real& number : numbers)
      number = 0;
    break;
  case 7:
    for (int k = 0; k < 6; ++k)
      entry() *= Real(1e-8);
    break;
  default:
    break;
  }
}

struct Tally {
  std::int64_t draws = 0, unequal = 0, moved = 0;
  std::array<std::int64_t, 5> orders{}; // draws by SummationOrder::Kind
};

template <class Real>
void check_element(const Problem& problem, const std::vector<group::Permutation>& generators, Random& random,
                   Tally& tally) {
  const std::int64_t batch = problem.shape.batch;
  const Images s = draw_element(generators, problem.shape.readers, random);
  const Execution execution{chance(random, 50) ? Implementation::reference : Implementation::cpu,
                            static_cast<int>(pick(random, 1, 3)), true, draw_set(random)};
  Execution other = execution;
  other.threads = static_cast<int>(pick(random, 1, 3));
  Numbers<Real> x = draw_numbers<Real>(problem, random);
  for (auto* numbers : {&x.query, &x.key, &x.value, &x.grad_out})
    spoil(*numbers, s.size(), random);
  Numbers<Real> moved = x;
  for (auto member : {&Numbers<Real>::query, &Numbers<Real>::key, &Numbers<Real>::value, &Numbers<Real>::grad_out}) {
    if (!(x.*member).empty())
      moved.*member = move(x.*member, s, batch);
  }
  run_forward(problem, x, execution);
  run_backward(problem, x, execution);
  run_forward(problem, moved, other);
  run_backward(problem, moved, other);
  ++tally.draws;
  ++tally.orders[static_cast<std::size_t>(problem.plan->order().kind)];
  for (std::size_t v = 0; v < s.size(); ++v)
    tally.moved += s[v] != static_cast<std::int64_t>(v);
  for (auto member :
       {&Numbers<Real>::out, &Numbers<Real>::grad_query, &Numbers<Real>::grad_key, &Numbers<Real>::grad_value}) {
    if ((x.*member).empty())
      continue;
    const bool equal = same_bits(move(x.*member, s, batch), moved.*member);
    if (!equal)
      ++tally.unequal;
    CHECK_MESSAGE(equal, problem.name << ", order " << static_cast<int>(problem.plan->order().kind));
  }
}

// large: tokens by the dozen and heads wider than a vector register, so that tiles, tails and threads all take part.
Tally sweep(std::uint64_t seed, std::int64_t draws, std::int64_t per_layout, std::int64_t largest) {
  const bool large = largest > 12;
  Random random(seed);
  Tally tally;
  while (tally.draws < draws && tally.unequal < 5) {
    Problem problem = draw_problem(random, largest, true);
    if (large && problem.is_attention) {
      problem.shape.width = 2 * pick(random, 1, 20);
      const std::string kernel = problem.rule.kernel.name.empty() ? problem.rule.kernel.text : problem.rule.kernel.name;
      problem.rule.kernel = make_kernel(kernel, problem.shape.width, random);
    }
    if (large)
      problem.shape.value_width = pick(random, 1, 40);
    const auto generators = find_generators(problem);
    if (generators.empty())
      continue;
    for (std::int64_t k = 0; k < per_layout; ++k) {
      if (chance(random, 50))
        check_element<float>(problem, generators, random, tally);
      else
        check_element<double>(problem, generators, random, tally);
    }
  }
  CHECK(tally.draws >= draws);
  CHECK(tally.moved > tally.draws);
  if (large)
    return tally;
  for (const auto kind : {SummationOrder::Kind::cyclic, SummationOrder::Kind::dihedral, SummationOrder::Kind::torus,
                          SummationOrder::Kind::value}) {
    CHECK(tally.orders[static_cast<std::size_t>(kind)] > draws / 200);
  }
  return tally;
}

TEST_CASE("exact mode is equivariant bit for bit") {
  sweep(11, 2000, 3, 12);
  sweep(14, 60, 1, 70);
}

// Full, pooling and convolution plans: attention to landmarks, means of blocks, taps.
TEST_CASE("exact mode on plans without a layout file") {
  Random random(15);
  for (int round = 0; round < 300; ++round) {
    Problem problem;
    const int kind = round % 3;
    const std::int64_t n = 6;
    std::vector<std::int64_t> readers, reads; // where s takes them
    for (std::int64_t v = 0; v < n; ++v)
      readers.push_back(v);
    if (kind == 0) { // tokens move, landmarks stay or move
      std::shuffle(readers.begin(), readers.end(), random);
      reads = {0, 1, 2, 3};
      std::shuffle(reads.begin(), reads.end(), random);
      problem.plan = make_full_plan(n, 4);
      problem.rule.kernel = make_kernel(chance(random, 50) ? "softmax" : "gaussian", 2, random);
      problem.shape = {1, 1, 1, n, 4, 2, 3};
    } else if (kind == 1) { // blocks are exchanged, tokens inside a block too
      const std::vector<std::vector<std::int64_t>> blocks = {{0, 1, 2}, {3, 4, 5}};
      problem.plan = make_pooling_plan(blocks, n);
      reads = {4, 3, 5, 1, 0, 2};
      readers = {1, 0};
      problem.is_attention = false;
      problem.aggregation = Aggregation::mean;
      problem.shape = {1, 1, 1, 2, n, 0, 3};
    } else {
      const std::vector<std::int64_t> taps = {0, 1, 3, 4};
      problem.plan = make_convolution_plan(n, 0, taps, Budget());
      const std::int64_t shift = pick(random, 1, 5);
      for (std::int64_t& v : readers)
        v = (v + shift) % n;
      reads = readers;
      problem.is_attention = false;
      problem.has_bias = true;
      problem.shape = {1, 1, 1, n, n, 0, 3};
    }
    const Execution execution{round % 2 == 0 ? Implementation::reference : Implementation::cpu, 1 + round % 2, true};
    Numbers<float> x = draw_numbers<float>(problem, random), moved = x;
    if (problem.is_attention) {
      moved.query = move(x.query, readers, 1);
      moved.key = move(x.key, reads, 1);
    }
    moved.value = move(x.value, reads, 1);
    moved.grad_out = move(x.grad_out, readers, 1);
    for (auto* numbers : {&x, &moved}) {
      run_forward(problem, *numbers, execution);
      run_backward(problem, *numbers, execution);
    }
    CHECK(same_bits(move(x.out, readers, 1), moved.out));
    CHECK(same_bits(move(x.grad_value, reads, 1), moved.grad_value));
    if (!problem.is_attention)
      continue;
    CHECK(same_bits(move(x.grad_query, readers, 1), moved.grad_query));
    CHECK(same_bits(move(x.grad_key, reads, 1), moved.grad_key));
  }
}

// Means of many tokens: units are guessed from the first ones, floats become whole numbers of 27 bits.
template <class Real> void check_means(std::int64_t n, std::int64_t width, int kind, InstructionSet instructions, Random& random) {
  CAPTURE(n);
  CAPTURE(width);
  CAPTURE(kind);
  Problem problem;
  problem.plan = make_full_plan(n, n);
  problem.is_attention = false;
  problem.aggregation = Aggregation::mean;
  problem.shape = {1, 1, 1, n, n, 0, width};
  Numbers<Real> x = draw_numbers<Real>(problem, random);
  const auto entry = [&](std::int64_t token, std::int64_t k) -> Real& { return x.value[static_cast<std::size_t>(token * width + k)]; };
  for (std::int64_t i = 0; i < n; ++i) {
    entry(i, 0) = 0;
    if (kind == 1) entry(i, 1) *= i == n - 1 ? Real(3e4) : Real(1); // larger than what the first promise
    if (kind == 2) entry(i, 2) *= Real(1e-33);                      // too small for whole numbers
    if (kind == 3) entry(i, 3) *= Real(1e36);
  }
  if (kind == 4) entry(n / 2, 4) = std::numeric_limits<Real>::infinity();
  if (kind == 4) entry(n - 1, 5) = std::numeric_limits<Real>::quiet_NaN();
  Images s(static_cast<std::size_t>(n));
  std::iota(s.begin(), s.end(), 0);
  std::shuffle(s.begin(), s.end(), random);
  Numbers<Real> moved = x;
  moved.value = move(x.value, s, 1);
  moved.grad_out = move(x.grad_out, s, 1);
  const Execution execution{Implementation::cpu, 1, true, instructions};
  for (auto* numbers : {&x, &moved}) {
    run_forward(problem, *numbers, execution);
    run_backward(problem, *numbers, execution);
  }
  CHECK(same_bits(move(x.out, s, 1), moved.out));
  CHECK(same_bits(move(x.grad_value, s, 1), moved.grad_value));
  Numbers<Real> plain = x;
  run_forward(problem, plain, {Implementation::cpu, 1, false, instructions});
  double error = 0, plain_error = 0;  // summed squares over entries
  const double unit = sizeof(Real) == 4 ? 0x1p-24 : 0x1p-36;
  for (std::int64_t k = 0; k < width; ++k) {
    long double sum = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      sum += entry(i, k);
      largest = std::max(largest, std::abs(static_cast<double>(entry(i, k))));
    }
    const auto mean = static_cast<double>(sum / n), found = static_cast<double>(x.out[static_cast<std::size_t>(k)]);
    CAPTURE(k);
    if (std::isnan(mean) || std::isinf(mean)) CHECK(std::isnan(found) == std::isnan(mean));
    else CHECK(std::abs(found - mean) <= unit * (largest + std::abs(mean)));
    error += (found - mean) * (found - mean);
    plain_error += std::pow(static_cast<double>(plain.out[static_cast<std::size_t>(k)]) - mean, 2);
  }
  if (kind == 0 && sizeof(Real) == 4) CHECK(std::sqrt(error) <= std::sqrt(plain_error));
}

TEST_CASE("exact means of many tokens have no order") {
  Random random(17);
  for (const InstructionSet instructions : {InstructionSet::best, InstructionSet::avx2, InstructionSet::generic}) {
    if (!cpu::has_instructions(instructions)) continue;
    for (const std::int64_t n : {512, 517, 1500}) {
      for (const std::int64_t width : {16, 64, 80, 85}) {
        for (int kind = 0; kind < 5; ++kind) {
          check_means<float>(n, width, kind, instructions, random);
          check_means<double>(n, width, kind, instructions, random);
        }
      }
    }
  }
}

TEST_CASE("without exact mode it is not: the test can fail") {
  Random random(12);
  std::int64_t differs = 0;
  for (int k = 0; k < 400; ++k) {
    const Problem problem = draw_problem(random, 12, true);
    const auto generators = find_generators(problem);
    if (generators.empty())
      continue;
    const Images s = draw_element(generators, problem.shape.readers, random);
    Numbers<float> x = draw_numbers<float>(problem, random), moved = x;
    if (!x.query.empty())
      moved.query = move(x.query, s, problem.shape.batch);
    if (!x.key.empty())
      moved.key = move(x.key, s, problem.shape.batch);
    moved.value = move(x.value, s, problem.shape.batch);
    run_forward(problem, x, {Implementation::reference});
    run_forward(problem, moved, {Implementation::reference});
    differs += !same_bits(move(x.out, s, problem.shape.batch), moved.out);
  }
  CHECK(differs > 30);
}

TEST_SUITE_BEGIN("slow");
TEST_CASE("exact mode is equivariant bit for bit: 100,000 draws") {
  const Tally tally = sweep(13, 100000, 20, 12);
  MESSAGE(tally.draws << " draws, " << tally.unequal << " unequal; cyclic " << tally.orders[1] << ", dihedral "
                      << tally.orders[2] << ", torus " << tally.orders[3] << ", value " << tally.orders[4]);
}
TEST_CASE("exact mode is equivariant bit for bit: many tokens, wide heads") {
  const Tally tally = sweep(16, 1500, 2, 90);
  MESSAGE(tally.draws << " draws, " << tally.unequal << " unequal");
}
TEST_SUITE_END();

} // namespace
} // namespace sightline::mixer
