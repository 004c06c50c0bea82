#include "sightline/target/expression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>

#include "sightline/base/error.hpp"

using namespace sightline;

namespace {

std::vector<double> draw(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return values;
}

/// Compares with a plain function of one sequence: x [n][d] and the own token.
void compare(const char* text, std::size_t tokens, std::size_t dim, std::size_t width,
             const std::function<std::vector<double>(const std::vector<std::vector<double>>&, std::size_t)>& expected) {
  CAPTURE(text);
  const target::Expression e = target::parse(text, target::Role::sequence, dim);
  REQUIRE(e.width() == width);
  const std::size_t count = 37;
  const std::vector<double> x = draw(count * tokens * dim, 7);
  std::vector<double> y(count * tokens * width);
  target::evaluate(e, tokens, count, x.data(), y.data());
  for (std::size_t s = 0; s < count; ++s) {
    std::vector<std::vector<double>> sequence;
    for (std::size_t i = 0; i < tokens; ++i) sequence.emplace_back(x.begin() + static_cast<long>((s * tokens + i) * dim), x.begin() + static_cast<long>((s * tokens + i + 1) * dim));
    for (std::size_t i = 0; i < tokens; ++i) {
      const std::vector<double> wanted = expected(sequence, i);
      const auto own = static_cast<std::uint32_t>(i);
      std::vector<double> at(width);
      target::evaluate_at(e, tokens, 1, x.data() + s * tokens * dim, &own, at.data());
      for (std::size_t k = 0; k < width; ++k) REQUIRE(at[k] == doctest::Approx(wanted[k]).epsilon(1e-12));
      for (std::size_t k = 0; k < width; ++k) REQUIRE(y[(s * tokens + i) * width + k] == doctest::Approx(wanted[k]).epsilon(1e-12));
    }
  }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

std::string message(const char* text, target::Role role = target::Role::sequence, std::size_t dim = 2) {
  try {
    (void)target::parse(text, role, dim);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

using Sequence = std::vector<std::vector<double>>;

}  // namespace

TEST_CASE("expressions agree with plain loops") {
  compare("2*x - x[1]^3/4", 5, 2, 2, [](const Sequence& s, std::size_t i) {
    const double cube = s[i][1] * s[i][1] * s[i][1] / 4;
    return std::vector{2 * s[i][0] - cube, 2 * s[i][1] - cube};
  });
  compare("sum((y-x)/(norm2(y-x)+0.01)^1.5)", 6, 3, 3, [](const Sequence& s, std::size_t i) {
    std::vector<double> force(3, 0.0);
    for (const auto& y : s) {
      double square = 0.01;
      for (int k = 0; k < 3; ++k) square += (y[k] - s[i][k]) * (y[k] - s[i][k]);
      for (int k = 0; k < 3; ++k) force[k] += (y[k] - s[i][k]) / std::pow(square, 1.5);
    }
    return force;
  });
  compare("attend(dot(x,y), concat(y, n))", 4, 2, 3, [](const Sequence& s, std::size_t i) {
    double total = 0;
    std::vector<double> out(3, 0.0);
    for (const auto& y : s) {
      const double w = std::exp(dot(s[i], y));
      total += w;
      out[0] += w * y[0];
      out[1] += w * y[1];
    }
    return std::vector{out[0] / total, out[1] / total, 4.0};
  });
  compare("max(y[0]) - min(y[0]) + mean(3)*min(x[0],x[1])", 7, 2, 1, [](const Sequence& s, std::size_t i) {
    double high = -9, low = 9;
    for (const auto& y : s) { high = std::max(high, y[0]); low = std::min(low, y[0]); }
    return std::vector{high - low + 3 * std::min(s[i][0], s[i][1])};
  });
  compare("sum(exp(-norm(x-y)) * sum(relu(y[0]*z[1]) - sigmoid(x[0])))", 4, 2, 1, [](const Sequence& s, std::size_t i) {
    double sum = 0;
    for (const auto& y : s) {
      double inner = 0;
      for (const auto& z : s) inner += std::max(y[0] * z[1], 0.0) - 1 / (1 + std::exp(-s[i][0]));
      sum += std::exp(-std::sqrt((s[i][0] - y[0]) * (s[i][0] - y[0]) + (s[i][1] - y[1]) * (s[i][1] - y[1]))) * inner;
    }
    return std::vector{sum};
  });
  compare("sum(j*y[0]) + i + n + sum(mean(j))", 3, 1, 1, [](const Sequence& s, std::size_t i) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += static_cast<double>(j) * s[j][0];
    return std::vector{sum + static_cast<double>(i) + 3 + 3};
  });
}

TEST_CASE("y is the token of the nearest reduction; with z, of the outer one") {
  compare("mean(norm2(y - mean(y)))", 5, 1, 1, [](const Sequence& s, std::size_t) {  // inner y: the inner token; so outer y minus the mean
    double mean = 0, variance = 0;
    for (const auto& y : s) mean += y[0] / 5;
    for (const auto& y : s) variance += (y[0] - mean) * (y[0] - mean) / 5;
    return std::vector{variance};
  });
  compare("sum(sum(z[0]*y[0]^2))", 3, 1, 1, [](const Sequence& s, std::size_t) {
    double sum = 0;
    for (const auto& y : s) for (const auto& z : s) sum += z[0] * y[0] * y[0];
    return std::vector{sum};
  });
}

TEST_CASE("what depends on fewer axes is computed over fewer") {
  const target::Expression e = target::parse("sum(x[0]*mean(y[1])) + mean(y[1])", target::Role::sequence, 2);
  std::size_t means = 0;
  for (const target::Step& step : e.steps) {
    if (step.op != target::Op::mean) continue;
    CHECK(step.axes == 0);
    ++means;
  }
  CHECK(means == 2);  // over the outer and over the inner axis
  CHECK_FALSE(e.uses_index);
  CHECK(target::parse("i*x", target::Role::sequence, 2).uses_index);
}

TEST_CASE("many tokens are cut into pieces with the same result") {
  const target::Expression e = target::parse("sum(sum(abs(x[0]+y[0]+z[0])))", target::Role::sequence, 1);
  const std::size_t tokens = 130;
  const std::vector<double> x = draw(tokens, 3);
  std::vector<double> y(tokens);
  target::evaluate(e, tokens, 1, x.data(), y.data());
  for (std::size_t i : {std::size_t{0}, std::size_t{77}, tokens - 1}) {
    double sum = 0;
    for (double b : x) for (double c : x) sum += std::fabs(x[i] + b + c);
    CHECK(y[i] == doctest::Approx(sum).epsilon(1e-12));
  }
}

TEST_CASE("scores") {
  const target::Expression e = target::parse("x + 2*attend(exp(-norm2(x-y)), y)", target::Role::score, 2);
  const std::vector<double> x{0.5, 1, -1, 2}, y{0, 1, 1, 2};  // [dim][count]
  std::vector<double> out(2);
  target::evaluate_pairs(e, 2, x.data(), y.data(), out.data());
  CHECK(out[0] == doctest::Approx(std::exp(-0.25 - 4)));
  CHECK(out[1] == doctest::Approx(1));
}

TEST_CASE("scores of all pairs: the bits of pair by pair") {
  const std::size_t readers = 131, reads = 517, dim = 2;
  const std::vector<double> x = draw(readers * dim, 5), y = draw(reads * dim, 6);
  for (const char* text : {"dot(x,y)+sin(3*x[0])*exp(y[1])-norm(x-y)^3", "x[0]^2+exp(x[1])", "max(y[0],0.2)", "1.5", "dot([1,2]*x,concat(y[1],x[0]))/(1+norm2(y))", "min(x[0]*x[1],y[0])"}) {
    CAPTURE(text);
    const target::Expression e = target::parse(text, target::Role::score, dim);
    std::vector<double> grid(readers * reads), pair(2), a(dim), b(dim);
    target::evaluate_grid(e, readers, x.data(), reads, y.data(), grid.data());
    for (std::size_t i = 0; i < readers; i += 7) {
      for (std::size_t j = 0; j < reads; j += 5) {
        for (std::size_t c = 0; c < dim; ++c) { a[c] = x[c * readers + i]; b[c] = y[c * reads + j]; }
        target::evaluate_pairs(e, 1, a.data(), b.data(), pair.data());
        REQUIRE(grid[i * reads + j] == pair[0]);
      }
    }
  }
}

TEST_CASE("errors say the character") {
  CHECK(message("x +") == "character 4: expected a number, x, y, z, n, i, j, a vector, a function or \"(\", found the end");
  CHECK(message("x ? 1") == "character 3: expected an operator or the end, found \"?\"");
  CHECK(message("y") == "character 1: expected y inside sum, mean, max, min or attend, found it outside");
  CHECK(message("sum(z)") == "character 5: expected z inside a reduction within a reduction, found it outside");
  CHECK(message("x[2]") == "character 2: expected an index below 2, found 2");
  CHECK(message("x + [1,2,3]") == "character 3: expected 2 numbers on both sides, found 2 and 3");
  CHECK(message("2^x") == "character 3: expected a scalar exponent, found a vector of 2 numbers");
  CHECK(message("summ(y)") == "character 1: expected a number, x, y, z, n, i, j, a vector, a function or \"(\", found \"summ\" (did you mean \"sum\"?)");
  CHECK(message("attend(y, y)") == "character 8: expected a score, one number, found a vector of 2 numbers");
  CHECK(message("sum(sum(sum(y)))") == "character 9: expected at most one reduction inside a reduction, found another one inside");
  CHECK(message("dot(x)") == "character 1: expected 2 arguments for dot, found 1");
  CHECK(message("(x") == "character 3: expected \")\", found the end");
  CHECK(message("1e999") == "character 1: expected a number below 1.8e308, found \"1e999\"");
  CHECK(message("x-y", target::Role::score) == "character 2: expected a score, one number, found a vector of 2 numbers (use dot, norm2, norm or [0])");
  CHECK(message("sum(y[0])", target::Role::score) == "character 1: expected a score of x and y alone, found a reduction over the sequence");
  CHECK(message("attend(x[0]*y[0],y) + attend(x[1]*y[1],y)", target::Role::score) == "character 23: expected one attend, whose score is asked for, found a second one");
  CHECK(message("n*dot(x,y)", target::Role::score) == "character 1: expected a score of x and y alone, found \"n\"");
  CHECK(message(std::string(300, '(').c_str()).find("at most 200 nested brackets") != std::string::npos);
  std::string chain = "x";
  for (int k = 0; k < 1200; ++k) chain += "+x";
  CHECK(message(chain.c_str()).find("at most 1000 terms") != std::string::npos);
  CHECK(target::least_dim("x[0]*y[4]") == 5);
  CHECK(target::least_dim("exp(x)") == 1);
}
