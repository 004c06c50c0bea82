#include "sightline/approximate/cells.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "sightline/base/error.hpp"
#include "sightline/target/lipschitz.hpp"

using namespace sightline;

namespace {

approximate::CellResult run(const char* text, std::size_t n, std::size_t d, bool network, std::vector<std::size_t> cuts = {}) {
  const std::string name = std::string(text).rfind("expr:", 0) == 0 ? text : std::string("expr:") + text;
  const auto target = target::open_target(name, n, d);
  approximate::CellOptions options;
  options.network = network;
  options.cuts = std::move(cuts);
  options.sequences = 400;
  return approximate::approximate_by_cells(*target, options, Budget());
}

}  // namespace

TEST_CASE("slopes: enclosures hold every measured slope and are tight where they can be") {
  struct Case { const char* text; std::size_t n, d; double exact; };
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const Case& c : {Case{"3*x[0]-4*x[1]", 2, 2, 5}, Case{"sum(y)", 4, 1, 2}, Case{"mean(y)", 4, 1, 0.5}, Case{"max(y)-x", 3, 1, none}, Case{"exp(x)*sum(sin(y))", 2, 1, none}, Case{"attend(dot(x,y),y)", 3, 1, none},
                        Case{"sum((y-x)/(norm2(y-x)+0.5)^1.5)", 3, 1, none}, Case{"norm(x)+abs(x[0])*tanh(sum(y[1]))", 2, 2, none}, Case{"relu(x-mean(y))^3+cosh(x)/(2+cos(x))", 3, 1, none},
                        Case{"softplus(x)+elu(x)*sigmoid(2*x)+log(3+x)+sqrt(2+min(x,0.5))+sinh(x)", 1, 1, none}, Case{"sum(y*sum(z^2))", 2, 1, none}, Case{"concat(x,norm2(x))*[1,2]", 1, 1, none}}) {
    CAPTURE(c.text);
    const target::Expression e = target::parse(c.text, target::Role::sequence, c.d);
    const double bound = target::bound_slope(e, c.n, -1, 1, 500, Budget());
    REQUIRE(std::isfinite(bound));
    if (!std::isnan(c.exact)) CHECK(bound == doctest::Approx(c.exact).epsilon(1e-12));
    double largest = 0;
    const std::size_t size = c.n * c.d, width = c.n * e.width();
    std::vector<double> x(size), y(width), moved(width), gradient(width);
    for (std::uint64_t s = 0; s < 300; ++s) {
      target::Sampler{target::Sampler::Law::uniform, -0.999, 0.999}.fill(1, 2, s, size, x.data());
      target::evaluate(e, c.n, 1, x.data(), y.data());
      std::fill(gradient.begin(), gradient.end(), 0.0);
      for (std::size_t k = 0; k < size; ++k) {
        std::vector<double> step = x;
        step[k] += 1e-6;
        target::evaluate(e, c.n, 1, step.data(), moved.data());
        for (std::size_t o = 0; o < width; ++o) gradient[o] += std::pow((moved[o] - y[o]) / 1e-6, 2);
      }
      for (double g : gradient) largest = std::max(largest, std::sqrt(g));
    }
    CHECK(largest <= bound * (1 + 1e-4));
    CHECK(bound < 6 * largest);
  }
  for (const char* text : {"sqrt(x)", "log(x)", "1/x", "abs(x)^0.5", "x^x"}) {
    CAPTURE(text);
    CHECK(std::isinf(target::bound_slope(target::parse(text, target::Role::sequence, 1), 1, -1, 1, 64, Budget())));
  }
}

TEST_CASE("measured error <= proved bound, for both constructions and every grid; the bound falls like the mesh") {
  for (const auto& [text, n, d] : std::vector<std::tuple<const char*, std::size_t, std::size_t>>{
           {"x*sum(y)", 2, 1}, {"attend(3*dot(x,y),y)", 3, 1}, {"sum((y-x)/(norm2(y-x)+0.5)^1.5)", 2, 2}, {"concat(max(y),x^2)", 3, 1}, {"sin(3*x)", 1, 1}, {"mean(norm(x-y))", 2, 3}, {"exp(mean(y))", 6, 1}}) {
    for (const bool network : {false, true}) {
      CAPTURE(text);
      CAPTURE(network);
      std::vector<std::size_t> cuts{1, 2, 3};
      if (n * d <= 3) cuts.push_back(9);
      if (n * d == 2) cuts.push_back(211);  // 44521 codes: steep ramps, near codes
      const auto result = run(text, n, d, network, cuts);
      for (const auto& row : result.rows) {
        CAPTURE(row.cuts);
        CHECK(row.l2 <= row.bound);
        CHECK(row.l2 > 1e-4 * row.bound);  // and it is an error of this size, not 0
      }
      CHECK(result.rows[2].bound == doctest::Approx(result.rows[0].bound / 3).epsilon(0.01));
      CHECK(result.equivariance == 0);
    }
  }
}

TEST_CASE("outside the ramps the network is the table") {
  const auto target = target::open_target("expr:attend(dot(x,y), concat(y, norm2(x+y)))", 3, 1);
  const auto table = approximate::make_table(*target, -1, 1, 7, Budget());
  CHECK(table.codes.size() == 7 * 28);
  const approximate::GridSumformer grid(table);
  const approximate::Theorem1Network network(table, 1e-4);
  CHECK(network.layers() == 6 + 6 + 1 + 7 * 28);
  CHECK(network.blocks_after().size() == table.codes.size());
  std::size_t ramps = 0;
  std::vector<double> x(3), a(6), b(6);
  for (std::uint64_t s = 0; s < 2000; ++s) {
    target::Sampler().fill(3, 4, s, 3, x.data());
    if (s % 10 == 0) x[1] = x[0];  // two equal tokens are no exception
    grid.evaluate(1, x.data(), a.data());
    network.evaluate(1, x.data(), b.data());
    bool near = false;
    for (double t : x) near = near || std::fabs(std::remainder(t + 1, 2.0 / 7)) < 1e-4 / 7;
    if (near) { ++ramps; continue; }
    for (std::size_t k = 0; k < 6; ++k) CHECK(std::fabs(a[k] - b[k]) < 1e-8);
  }
  CHECK(ramps < 20);
  // On a ramp the network is between: bounded by the largest value.
  double largest = 0;
  for (int k = -50; k <= 50; ++k) {
    const std::vector<double> on{-1 + 2.0 / 7 + k * 2e-6 / 7, 0.3, 0.9};
    network.evaluate(1, on.data(), b.data());
    for (double v : b) largest = std::max(largest, std::fabs(v));
  }
  CHECK(largest <= table.largest * (1 + 1e-9));
}

TEST_CASE("steep ramps: behind its last hinge a block adds a constant, not what rounding leaves") {
  // 1600 codes lie near one another, so a bump is millions of times steeper than its place is far: four hinges that cancel only in
  // exact arithmetic would leave 1e-10 and more of every value in every token.
  const auto target = target::open_target("expr:attend(dot(x,y), 3*y)", 2, 1);
  const auto table = approximate::make_table(*target, -1, 1, 40, Budget());
  const approximate::GridSumformer grid(table);
  const approximate::Theorem1Network network(table, 1e-3);
  CHECK(network.gap() < 1e-3);
  double worst = 0;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 40; ++j) {
      const std::vector<double> x{-1 + (i + 0.5) / 20, -1 + (j + 0.5) / 20};
      double a[2], b[2];
      grid.evaluate(1, x.data(), a);
      network.evaluate(1, x.data(), b);
      for (int k = 0; k < 2; ++k) worst = std::max(worst, std::fabs(a[k] - b[k]));
    }
  }
  CHECK(worst < 1e-14);
}

TEST_CASE("limits and refusals") {
  CHECK_THROWS_WITH_AS((void)run("expr:sum(y[0])", 4, 2, true), doctest::Contains("expected tokens * dim at most 6, found 8"), InputError);
  CHECK_THROWS_WITH_AS((void)run("expr:sum(y[0])", 3, 2, true, {10}), doctest::Contains("expected at most 1e+05"), InputError);
  CHECK_THROWS_WITH_AS((void)run("expr:x*i", 2, 1, false), doctest::Contains("not S_2-equivariant"), InputError);
  CHECK_THROWS_WITH_AS((void)run("expr:sqrt(x+1)", 1, 1, false), doctest::Contains("expected --lipschitz L"), InputError);
  const auto json = nlohmann::json::parse(approximate::to_json(run("expr:x*sum(y)", 2, 1, true, {4})));
  CHECK(json["table"][0]["layers"] == 3 + 3 + 1 + 16);
}
