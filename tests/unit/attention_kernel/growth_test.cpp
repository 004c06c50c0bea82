// Condition (13) of random exponential polynomials in two dimensions against rates of growth measured along rays.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <string>

#include "sightline/attention_kernel/kernel.hpp"

using namespace sightline;
using namespace sightline::attention_kernel;

namespace {

// exp(y^T diag(p, q) y + r y_0 y_1 + x^T M y + beta.y)
struct Term {
  int p, q, r, m[2][2], beta[2];
};

std::string print(const std::vector<Term>& terms) {
  std::string out;
  for (const Term& s : terms) {
    auto part = [](int factor, const std::string& what) { return factor == 0 ? std::string() : "+(" + std::to_string(factor) + ")*" + what; };
    const std::string x[] = {"dot([1,0],x)", "dot([0,1],x)"}, y[] = {"dot([1,0],y)", "dot([0,1],y)"};
    std::string exponent = "0" + part(s.p, y[0] + "^2") + part(s.q, y[1] + "^2") + part(s.r, y[0] + "*" + y[1]);
    for (int i = 0; i < 2; ++i) {
      exponent += part(s.beta[i], y[i]);
      for (int j = 0; j < 2; ++j) exponent += part(s.m[i][j], x[i] + "*" + y[j]);
    }
    if (!out.empty()) out += "+";
    out += "exp(" + exponent + ")";
  }
  return out;
}

long double log_kernel(const std::vector<Term>& terms, const long double* x, long double y0, long double y1) {
  std::vector<long double> exponents;
  for (const Term& s : terms)
    exponents.push_back(s.p * y0 * y0 + s.q * y1 * y1 + s.r * y0 * y1 + (s.m[0][0] * x[0] + s.m[1][0] * x[1] + s.beta[0]) * y0 +
                        (s.m[0][1] * x[0] + s.m[1][1] * x[1] + s.beta[1]) * y1);
  long double most = exponents[0], sum = 0;
  for (const long double e : exponents) most = std::max(most, e);
  for (const long double e : exponents) sum += std::exp(e - most);
  return most + std::log(sum);
}

// (13) fails when, on an arc of directions, log k stays bounded, or log k(tv) - log k(lambda tv) does.
bool fails_by_measurement(const std::vector<Term>& terms, const long double* x) {
  const int steps = 720;
  // Every negative ratio of two rates of linear growth.
  std::vector<long double> lambdas = {-1};
  for (const Term& s : terms) {
    for (const Term& r : terms) {
      for (int j = 0; j < 2; ++j) {
        const long double b = s.m[0][j] * x[0] + s.m[1][j] * x[1] + s.beta[j], c = r.m[0][j] * x[0] + r.m[1][j] * x[1] + r.beta[j];
        if (b * c < 0) lambdas.push_back(b / c);
      }
    }
  }
  const std::size_t count = lambdas.size();
  std::vector<std::vector<bool>> flat(count + 1, std::vector<bool>(steps));
  for (int k = 0; k < steps; ++k) {
    const long double angle = 2 * std::numbers::pi_v<long double> * (k + 0.318L) / steps, c = std::cos(angle), s = std::sin(angle);
    auto settled = [&](auto value) { return std::abs(value(40000.0L) - value(20000.0L)) < 1e-3L && std::abs(value(80000.0L) - value(40000.0L)) < 1e-3L; };
    flat[count][k] = settled([&](long double t) { return log_kernel(terms, x, t * c, t * s); });
    for (std::size_t l = 0; l < count; ++l) {
      const long double lambda = lambdas[l];
      flat[l][k] = settled([&](long double t) { return log_kernel(terms, x, t * c, t * s) - log_kernel(terms, x, lambda * t * c, lambda * t * s); });
    }
  }
  for (const auto& arc : flat)
    for (int k = 0; k < steps; ++k) if (arc[k] && arc[(k + 1) % steps] && arc[(k + 2) % steps]) return true;
  return false;
}

void compare(unsigned seed, int rounds) {
  std::mt19937_64 random(seed);
  int holds = 0, fails = 0, undecided = 0, mixed = 0;
  for (int round = 0; round < rounds; ++round) {
    auto pick = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
    std::vector<Term> terms(1 + random() % 4);
    const int kind = pick(0, 3);
    for (Term& s : terms) {
      s = {};
      if (kind == 1 || pick(0, 3) == 0) s.p = s.q = -1;
      if (kind == 2) s.p = pick(-1, 1), s.q = pick(-1, 1), s.r = pick(-1, 1);
      if (kind != 3) for (auto& row : s.m) for (int& entry : row) entry = pick(0, 2) == 0 ? pick(-1, 1) : 0;
      if (kind == 3 || pick(0, 1) == 0) for (int& entry : s.beta) entry = pick(-1, 1);
    }
    if (terms.size() > 1 && pick(0, 1) == 0) {  // provoke opposite exponents
      const int factor = pick(0, 1) == 0 ? -1 : -2;
      terms[1] = terms[0];
      for (auto& row : terms[1].m) for (int& entry : row) entry *= factor;
      for (int& entry : terms[1].beta) entry *= factor;
    }
    Kernel kernel;
    kernel.name = "";
    kernel.text = print(terms);
    CAPTURE(kernel.text);
    const KernelFacts facts = compute_kernel_facts(kernel, 2, 4, {});
    CHECK(facts.positive == Tri::yes);
    CHECK(facts.analytic == Tri::yes);
    if (facts.condition13 == Condition13::undecided) { ++undecided; continue; }
    (facts.condition13 == Condition13::holds ? holds : fails) += 1;
    // The answer may depend on the query; these four stand for the sign patterns of the two coordinates.
    const long double queries[][2] = {{0.7310585786L, -1.2247448713L}, {-0.7310585786L, 1.2247448713L}, {1.4142135623L, 0.5772156649L}, {-1.4142135623L, -0.5772156649L}};
    int failing = 0;
    for (const auto& x : queries) failing += fails_by_measurement(terms, x);
    mixed += failing != 0 && failing != 4;
    if (failing == 0) CHECK(facts.condition13 == Condition13::holds);
    if (failing == 4) CHECK(facts.condition13_literal == Condition13::fails);
    if (failing == 4 && facts.condition13 == Condition13::holds) ++mixed;
    if (failing > 0) CHECK(facts.condition13_literal != Condition13::holds);
  }
  CHECK(holds > rounds / 8);
  CHECK(fails > rounds / 8);
  CHECK(undecided < rounds / 10);
  CHECK(mixed < rounds / 4);
}

}  // namespace

TEST_CASE("random exponential polynomials: the verdict is what rays show") { compare(1, 40); }

TEST_SUITE("slow") {
  TEST_CASE("random exponential polynomials, many") { compare(2, 400); }
}
