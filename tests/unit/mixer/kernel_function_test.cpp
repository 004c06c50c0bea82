// Kernels as numbers: the scalar program against the vectors, rounding of rationals, which kernels have a program.
#include <doctest/doctest.h>

#include <cmath>

#include "problem.hpp"
#include "sightline/mixer/kernel_function.hpp"
#include "sightline/mixer/scalar_functions.hpp"

namespace sightline::mixer {
namespace {

using attention_kernel::Op;

PairWeight<double> run_program(const ScalarProgram& program, double p, double a, double b) {
  std::vector<double> slots = {p, a, b};
  for (const auto& step : program.steps) {
    const double left = step.left < 0 ? 0 : slots[static_cast<std::size_t>(step.left)],
                 right = step.right < 0 ? 0 : slots[static_cast<std::size_t>(step.right)];
    switch (step.op) {
    case Op::number:
      slots.push_back(step.value);
      break;
    case Op::add:
      slots.push_back(left + right);
      break;
    case Op::subtract:
      slots.push_back(left - right);
      break;
    case Op::multiply:
      slots.push_back(left * right);
      break;
    case Op::divide:
      slots.push_back(program.zero_over_zero && right == 0 ? 0 : left / right);
      break;
    case Op::power:
      slots.push_back(raise(left, right));
      break;
    default:
      slots.push_back(apply_function(step.op, left));
    }
  }
  PairWeight<double> result;
  if (program.factor >= 0)
    result.factor = slots[static_cast<std::size_t>(program.factor)];
  if (program.exponent >= 0)
    result.exponent = slots[static_cast<std::size_t>(program.exponent)];
  return result;
}

TEST_CASE("the scalar program says what the vectors say") {
  Random random(51);
  for (const std::string& name : all_kernels()) {
    const bool expected = name != "performer" && name != "exponential-sum" && name != "elu1" &&
                          name.find("elu(") == std::string::npos && name.find("tanh(x)") == std::string::npos;
    for (int round = 0; round < 20; ++round) {
      const KernelFunction function(make_kernel(name, 3, random), 3);
      REQUIRE_MESSAGE(function.scalar_program().has_value() == expected, name);
      if (!expected)
        continue;
      double x[3], y[3], p = 0, a = 0, b = 0;
      for (int c = 0; c < 3; ++c) {
        x[c] = round == 0 ? 0 : normal(random);
        y[c] = normal(random);
        p += x[c] * y[c];
        a += x[c] * x[c];
        b += y[c] * y[c];
      }
      KernelFunction::Workspace<double> work;
      const auto vectors = function.evaluate(x, y, work), scalars = run_program(*function.scalar_program(), p, a, b);
      CHECK_MESSAGE(scalars.factor == doctest::Approx(vectors.factor), name);
      CHECK_MESSAGE(scalars.exponent == doctest::Approx(vectors.exponent), name);
      CHECK(std::isfinite(vectors.exponent));
    }
  }
}

TEST_CASE("which kernels are exponentials") {
  Random random(52);
  const auto make = [&](const char* name) { return KernelFunction(make_kernel(name, 2, random), 2); };
  for (const char* name : {"softmax", "gaussian", "laplace", "performer", "exponential-sum", "cosine",
                           "exp(dot(tanh(x),y))/exp(norm2(y)/4)"}) {
    CHECK_MESSAGE(make(name).is_exponential(), name);
    CHECK_MESSAGE(!make(name).has_no_exponent(), name);
  }
  for (const char* name : {"cauchy", "elu1", "relu2", "sigmoid(dot(x,y))", "1.5"}) {
    CHECK_MESSAGE(!make(name).is_exponential(), name);
    CHECK_MESSAGE(make(name).has_no_exponent(), name);
  }
  const KernelFunction both = make("(1+norm2(x-y))*exp(dot(x,y))");
  CHECK(!both.is_exponential());
  CHECK(!both.has_no_exponent());
}

TEST_CASE("rationals are rounded to the nearest double") {
  CHECK(nearest_double(mpq_class(1, 10)) == 0.1);
  CHECK(nearest_double(mpq_class(-1, 10)) == -0.1);
  CHECK(nearest_double(mpq_class(2, 3)) == 2.0 / 3);
  CHECK(nearest_double(mpq_class(0)) == 0);
  CHECK(nearest_double(mpq_class(9007199254740993, 1)) == 9007199254740992.0); // a tie, to even
  CHECK(nearest_double(mpq_class(9007199254740995, 1)) == 9007199254740996.0);
  Random random(53);
  for (int k = 0; k < 1000; ++k) {
    const auto a = static_cast<long>(random() % 2000001) - 1000000, b = static_cast<long>(random() % 1000000) + 1;
    mpq_class q(a, b);
    q.canonicalize();
    CHECK(nearest_double(q) == static_cast<double>(a) / static_cast<double>(b));
  }
}

} // namespace
} // namespace sightline::mixer
