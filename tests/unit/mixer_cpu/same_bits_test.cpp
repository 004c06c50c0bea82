// One instruction set, any number of threads: the same bits.
#include <doctest/doctest.h>

#include <cstring>

#include "call.hpp"
#include "sightline/mixer/cpu/dispatch.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

template <class Real> bool same(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

template <class Real> void check_threads(const Call& call, Random& random, InstructionSet set) {
  CAPTURE(call.name);
  const Numbers<Real> given = draw_numbers<Real>(call, random);
  Numbers<Real> first = given;
  Execution execution;
  execution.instructions = set;
  run(call, first, execution);
  for (const int threads : {2, 3, 7}) {
    CAPTURE(threads);
    Numbers<Real> other = given;
    execution.threads = threads;
    run(call, other, execution);
    CHECK(same(first.out, other.out));
    CHECK(same(first.grad_query, other.grad_query));
    CHECK(same(first.grad_key, other.grad_key));
    CHECK(same(first.grad_value, other.grad_value));
    CHECK(same(first.grad_sink, other.grad_sink));
    CHECK(same(first.grad_bias, other.grad_bias));
  }
}

} // namespace

TEST_CASE("the number of threads changes no bit") {
  Random random(8);
  for (int k = 0; k < 30; ++k) {
    Call call = draw_call(random, 900);
    if (k % 2 == 0)
      check_threads<float>(call, random, InstructionSet::best);
    else
      check_threads<double>(call, random, k % 4 == 1 ? InstructionSet::best : InstructionSet::generic);
  }
}

TEST_CASE("the number of threads changes no bit of sums of features") {
  Random random(10);
  for (int k = 0; k < 6; ++k) {
    Call call = draw_call(random, 40);
    set_full(call, pick(random, 1025, 4000), k % 2 == 0, random);
    set_kernel(call, "performer");
    check_threads<float>(call, random, InstructionSet::best);
  }
}

TEST_CASE("rows of a product do not depend on the other rows") {
  Random random(9);
  constexpr std::int64_t rows = 301, depth = 70, columns = 90;
  std::normal_distribution<float> normal;
  std::vector<float> in(rows * depth), weight(columns * depth), bias(columns);
  for (auto* each : {&in, &weight, &bias}) {
    for (float& v : *each)
      v = normal(random);
  }
  Execution execution;
  std::vector<float> all(rows * columns), one(columns);
  execution.threads = 3;
  multiply_rows<float>(in.data(), weight.data(), bias.data(), rows, depth, columns, all.data(), execution);
  execution.threads = 1;
  for (std::int64_t r = 0; r < rows; r += 7) {
    multiply_rows<float>(in.data() + r * depth, weight.data(), bias.data(), 1, depth, columns, one.data(), execution);
    CHECK(std::memcmp(one.data(), all.data() + r * columns, sizeof(float) * columns) == 0);
    double sum = bias[3];
    for (std::int64_t k = 0; k < depth; ++k)
      sum += static_cast<double>(in[static_cast<std::size_t>(r * depth + k)]) *
             weight[static_cast<std::size_t>(3 * depth + k)];
    CHECK(static_cast<double>(one[3]) == doctest::Approx(sum).epsilon(1e-5));
  }
}
