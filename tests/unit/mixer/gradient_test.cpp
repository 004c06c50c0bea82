// Backward against central differences of forward, in float64, for every mixer, kernel and option on random layouts.
#include <doctest/doctest.h>

#include <cmath>

#include "problem.hpp"

namespace sightline::mixer {
namespace {

double loss(const Problem& problem, Numbers<double>& numbers, Implementation implementation) {
  run_forward(problem, numbers, {implementation});
  double sum = 0;
  for (std::size_t k = 0; k < numbers.out.size(); ++k)
    sum += numbers.out[k] * numbers.grad_out[k];
  return sum;
}

// Some entries of one input; a corner of the kernel inside the difference is the one excuse, so steps of two sizes are
// tried.
void check_input(const Problem& problem, Numbers<double>& numbers, std::vector<double> Numbers<double>::*input,
                 const std::vector<double>& gradient, Random& random, Implementation implementation) {
  REQUIRE(gradient.size() == (numbers.*input).size());
  for (std::size_t tries = 0; tries < 8 && !gradient.empty(); ++tries) {
    const std::size_t k = random() % gradient.size();
    double& entry = (numbers.*input)[k];
    const double kept = entry;
    double best = INFINITY, found = 0;
    for (const double h : {1e-5, 1e-6}) {
      entry = kept + h;
      const double up = loss(problem, numbers, implementation);
      entry = kept - h;
      const double down = loss(problem, numbers, implementation);
      entry = kept;
      const double difference = (up - down) / (2 * h);
      if (std::abs(difference - gradient[k]) < best) {
        best = std::abs(difference - gradient[k]);
        found = difference;
      }
    }
    CHECK_MESSAGE(best <= 2e-6 * (1 + std::abs(found)),
                  problem.name << " entry " << k << ": backward " << gradient[k] << ", differences " << found);
  }
}

void check_problem(const Problem& problem, Random& random, Implementation implementation) {
  Numbers<double> numbers = draw_numbers<double>(problem, random);
  run_forward(problem, numbers, {implementation});
  run_backward(problem, numbers, {implementation});
  const Numbers<double> gradients = numbers;
  using N = Numbers<double>;
  check_input(problem, numbers, &N::query, gradients.grad_query, random, implementation);
  check_input(problem, numbers, &N::key, gradients.grad_key, random, implementation);
  check_input(problem, numbers, &N::value, gradients.grad_value, random, implementation);
  check_input(problem, numbers, &N::bias, gradients.grad_bias, random, implementation);
  check_input(problem, numbers, &N::sink, gradients.grad_sink, random, implementation);
}

TEST_CASE("backward is the derivative of forward: every kernel") {
  Random random(1);
  for (const std::string& kernel : all_kernels()) {
    for (int round = 0; round < 12; ++round) {
      const Problem problem = draw_attention(random, draw_heads(random, 7, 1 + round % 2), kernel, false);
      for (const auto implementation : {Implementation::reference, Implementation::cpu})
        check_problem(problem, random, implementation);
    }
  }
}

TEST_CASE("backward is the derivative of forward: every mixer") {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    const Problem problem = draw_problem(random, 8, false);
    for (const auto implementation : {Implementation::reference, Implementation::cpu})
      check_problem(problem, random, implementation);
  }
}

TEST_CASE("backward is the derivative of forward: landmarks, projections, pools, taps") {
  Random random(3);
  for (int round = 0; round < 40; ++round) {
    Problem problem;
    const std::int64_t n = pick(random, 1, 7), rank = pick(random, 1, 3), heads = pick(random, 1, 2);
    problem.is_attention = round % 4 == 0;
    problem.has_bias = round % 4 != 2;
    if (round % 4 == 0) {
      problem.name = "landmarks";
      problem.plan = make_full_plan(n, rank);
      problem.shape = {2, heads, 1, n, rank, 2, 3};
      problem.rule.normalised = chance(random, 50);
      problem.lengths = {pick(random, 0, n), n};
    } else if (round % 4 == 1) {
      problem.name = "projection";
      problem.plan = make_full_plan(rank, n, true);
      problem.shape = {2, heads, 1, rank, n, 0, 3};
      problem.lengths = {pick(random, 0, n), n};
    } else if (round % 4 == 2) {
      problem.name = "pool";
      problem.plan = make_pooling_plan(std::vector<std::vector<std::int64_t>>{{0}, {n - 1}, {}}, n);
      problem.aggregation = chance(random, 50) ? Aggregation::mean : Aggregation::max;
      problem.shape = {1, heads, heads, 3, n, 0, 2};
    } else {
      problem.name = "taps";
      problem.plan = make_convolution_plan(n + 3, 1, std::vector<std::int64_t>{-1, 0, 2}, Budget());
      problem.shape = {1, heads, heads, n + 4, n + 4, 0, 2};
    }
    for (const auto implementation : {Implementation::reference, Implementation::cpu})
      check_problem(problem, random, implementation);
  }
}

} // namespace
} // namespace sightline::mixer
