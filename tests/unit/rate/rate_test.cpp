#include "sightline/rate/rate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>

#include "sightline/base/error.hpp"
#include "sightline/target/expression.hpp"

using namespace sightline;
using rate::Diagonal;
using rate::Shape;

namespace {

rate::Result run(const char* text, const rate::Measure& measure, std::size_t samples = 0, std::size_t count = 64) {
  const target::Expression e = target::parse(text, target::Role::score, measure.dim);
  rate::Options options;
  options.samples = samples;
  options.count = count;
  const rate::Score score{[&](std::size_t pairs, const double* x, const double* y, double* out) { target::evaluate_pairs(e, pairs, x, y, out); },
                          [&](std::size_t readers, const double* x, std::size_t reads, const double* y, double* out) { target::evaluate_grid(e, readers, x, reads, y, out); }};
  return rate::rate_score(score, measure, options, Budget());
}

/// I_k(t) by its series.
double bessel(int order, double t) {
  double term = 1, sum = 0;
  for (int k = 1; k <= order; ++k) term *= t / 2 / k;
  for (int m = 0; m < 400; ++m) {
    sum += term;
    term *= (t / 2) * (t / 2) / ((m + 1.0) * (m + 1.0 + order));
  }
  return sum;
}

}  // namespace

TEST_CASE("Gauss on the circle: e^{-2g} I_k(2g), twice for k >= 1") {
  rate::Measure circle;
  circle.shape = Shape::circle;
  circle.dim = 2;
  for (const double g : {0.1, 0.5, 2.0, 10.0, 60.0}) {
    CAPTURE(g);
    const rate::Result result = run(("exp(-" + std::to_string(g) + "*norm2(x-y))").c_str(), circle);
    REQUIRE(result.sigma.size() >= 10);
    for (int k = 0; k < 10; ++k) {
      const int order = (k + 1) / 2;
      const double exact = std::exp(-2 * g) * bessel(order, 2 * g);
      CHECK(std::fabs(result.sigma[static_cast<std::size_t>(k)] - exact) < 1e-8 * exact);
    }
    CHECK(result.diagonal == Diagonal::smooth);
  }
}

TEST_CASE("min(x,y) on [0,1]: 1/((k-1/2) pi)^2, through the kink") {
  rate::Measure unit;
  unit.low = 0;
  const rate::Result result = run("min(x,y)", unit);
  CHECK(result.diagonal == Diagonal::kink);
  REQUIRE(result.sigma.size() >= 10);
  for (int k = 1; k <= 10; ++k) {
    const double exact = 1 / std::pow((k - 0.5) * std::numbers::pi, 2);
    CHECK(std::fabs(result.sigma[static_cast<std::size_t>(k) - 1] - exact) < 1e-12 * exact + 1e-15);
  }
  REQUIRE(result.exponent);
  CHECK(result.exponent->value == doctest::Approx(2).epsilon(0.05));
  // The tail sum_{k>m} sigma_k^2: all squares sum to the squared norm of min, 1/6.
  CHECK(result.norm_squared == doctest::Approx(1.0 / 6).epsilon(1e-9));
  double tail = 1.0 / 6;
  for (int k = 1; k <= 4; ++k) tail -= std::pow((k - 0.5) * std::numbers::pi, -4);
  CHECK(result.predicted[3].l2squared == doctest::Approx(tail).epsilon(1e-6));
  CHECK(result.predicted[3].l1 == doctest::Approx(std::sqrt(tail)).epsilon(1e-6));
  REQUIRE(result.recommended);  // 1 % of the norm: tail <= 1e-4 / 6
  CHECK(*result.recommended == 6);
}

TEST_CASE("finite rank is exact: zero beyond it") {
  rate::Measure unit;
  unit.low = 0;
  const rate::Result two = run("1+2*sin(6.283185307179586477*x)*sin(6.283185307179586477*y)", unit);
  CHECK(two.rank == std::optional<std::size_t>(2));
  CHECK(two.sigma[0] == doctest::Approx(1).epsilon(1e-12));
  CHECK(two.sigma[1] == doctest::Approx(1).epsilon(1e-12));
  for (std::size_t k = 2; k < two.sigma.size(); ++k) CHECK(two.sigma[k] <= 1e-13 * two.sigma[0]);
  CHECK(two.predicted.at(1).l2squared == 0);
  rate::Measure normal;
  normal.shape = Shape::normal;
  normal.dim = 3;
  const rate::Result three = run("dot(x,y)+1", normal);
  CHECK(three.rank == std::optional<std::size_t>(4));
  for (std::size_t k = 0; k < 4; ++k) CHECK(three.sigma[k] == doctest::Approx(1).epsilon(1e-10));
  rate::Measure line;
  const rate::Result many = run("dot(x,y)^4*3 + (x-y)^2 - x^3*y^5 + 0.001*x^7", line);
  CHECK(many.rank == std::optional<std::size_t>(5));  // as a function of y: y^4, 1, y, y^2, y^5
  CHECK(run("0*x*y", line).rank == std::optional<std::size_t>(0));
}

TEST_CASE("a score with a density: Hermite's exp(xy/2 ..) under the normal law") {
  // Mehler: sum_k r^k he_k(x) he_k(y) = (1-r^2)^{-1/2} exp(-(r^2 x^2 - 2 r x y + r^2 y^2) / (2 (1-r^2))): singular values r^k.
  rate::Measure normal;
  normal.shape = Shape::normal;
  const rate::Result result = run("1/sqrt(1-0.09)*exp(-(0.09*x^2-0.6*x*y+0.09*y^2)/(2*(1-0.09)))", normal, 64);
  for (int k = 0; k < 10; ++k) CHECK(result.sigma[static_cast<std::size_t>(k)] == doctest::Approx(std::pow(0.3, k)).epsilon(1e-8));
}

TEST_CASE("digits that change are not told, kinks and cusps are said") {
  rate::Measure square;
  square.dim = 3;
  const rate::Result rough = run("exp(-norm(x-y))", square, 216);
  CHECK(rough.diagonal == Diagonal::kink);
  CHECK(rough.digits[0] <= 4);
  const rate::Result finer = run("exp(-norm(x-y))", square, 1000);
  for (std::size_t k = 0; k < rough.sigma.size(); ++k) {
    const double unit = std::pow(10.0, std::floor(std::log10(rough.sigma[k])) + 1 - rough.digits[k]);
    CHECK(std::fabs(rough.sigma[k] - finer.sigma[k]) <= 1.5 * unit);
  }
  rate::Measure line;
  CHECK(run("abs(x-y)", line).diagonal == Diagonal::kink);
  CHECK(run("abs(x-y)^0.5", line).diagonal == Diagonal::cusp);
  CHECK(run("exp(x*y)", line).diagonal == Diagonal::smooth);
  CHECK(run("abs(x-y)^3", line).diagonal == Diagonal::smooth);
  CHECK_THROWS_WITH_AS((void)run("log(x*y)", line), doctest::Contains("expected a finite number, found nan at x = ("), InputError);
}

TEST_CASE("the exponent and its interval") {
  std::vector<double> sigma;
  for (int k = 1; k <= 40; ++k) sigma.push_back(3 * std::pow(k, -0.55));
  sigma[0] = 100;  // the first value is never fitted
  const auto exact = rate::fit_exponent(sigma, 2, 40);
  REQUIRE(exact);
  CHECK(exact->value == doctest::Approx(0.55).epsilon(1e-10));
  CHECK(exact->high - exact->low < 1e-6);
  // With noise of known size the interval holds the truth in about 95 of 100 draws.
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.2);
  int hits = 0;
  for (int draw = 0; draw < 400; ++draw) {
    std::vector<double> noisy;
    for (int k = 1; k <= 12; ++k) noisy.push_back(std::pow(k, -1.0) * std::exp(noise(random)));
    const auto fit = rate::fit_exponent(noisy, 2, 12);
    if (fit->low <= 1 && 1 <= fit->high) ++hits;
  }
  CHECK(hits > 365);
  CHECK(hits < 394);
  CHECK_FALSE(rate::fit_exponent({1, 0.5, 0.3, 0.2}, 2, 4));
}

TEST_CASE("logits: the mean, each sample, zero beyond the rank") {
  // Two samples u v^T + noise-free; their mean has rank 2.
  const std::size_t t = 12;
  std::vector<double> logits(2 * t * t);
  for (std::size_t i = 0; i < t; ++i) {
    for (std::size_t j = 0; j < t; ++j) {
      logits[i * t + j] = std::sin(static_cast<double>(i)) * std::cos(static_cast<double>(j));
      logits[t * t + i * t + j] = std::cos(static_cast<double>(i * i)) * static_cast<double>(j);
    }
  }
  const rate::Result result = rate::rate_logits(logits, 2, t, true, 0x1p-52, {}, Budget());
  CHECK(result.rank == std::optional<std::size_t>(2));
  REQUIRE(result.each.size() == 2);
  CHECK(result.each[0].rank == std::optional<std::size_t>(1));
  const auto json = nlohmann::json::parse(rate::to_json(result));
  CHECK(json["sigma"][2] == 0);
  CHECK(json["quartiles"]["recommended"] == nlohmann::json::array({1.0, 1.0, 1.0}));
  logits[5] = std::nan("");
  CHECK_THROWS_WITH_AS((void)rate::rate_logits(logits, 2, t, false, 0x1p-52, {}, Budget()), "sample 0, row 0, column 5: expected a finite number, found nan", InputError);
}
