// Forward against formula (12) written down plainly for dense matrices of numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "problem.hpp"

namespace sightline::mixer {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& x, const Vector& y) {
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c)
    sum += x[c] * y[c];
  return sum;
}
double distance(const Vector& x, const Vector& y, double a = 1, double b = 1) {
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c)
    sum += (a * x[c] - b * y[c]) * (a * x[c] - b * y[c]);
  return sum;
}
Vector numbers_of(const std::vector<mpq_class>& v) {
  Vector result;
  for (const mpq_class& q : v)
    result.push_back(q.get_d());
  return result;
}
double elu1(double t) { return t > 0 ? t + 1 : std::exp(t); }

double plain_kernel(const attention_kernel::Kernel& kernel, const Vector& x, const Vector& y) {
  const std::string& name = kernel.name.empty() ? kernel.text : kernel.name;
  const double p = dot(x, y);
  if (name == "softmax")
    return std::exp(p);
  if (name == "gaussian" || name == "rbf")
    return std::exp(-kernel.gamma.get_d() * distance(x, y));
  if (name == "performer") {
    double sum = 0;
    for (const auto& w : kernel.features) {
      sum += std::exp(dot(numbers_of(w), x) - dot(x, x) / 2) * std::exp(dot(numbers_of(w), y) - dot(y, y) / 2);
    }
    return sum;
  }
  if (name == "exponential-sum")
    return std::exp(dot(numbers_of(kernel.weight), x) + dot(numbers_of(kernel.weight), y));
  if (name == "cauchy")
    return 1 / (1 + distance(x, y));
  if (name == "laplace")
    return std::exp(-std::sqrt(distance(x, y)));
  if (name == "elu1" || name == "dot(elu(x)+1,elu(y)+1)") {
    double sum = 0;
    for (std::size_t c = 0; c < x.size(); ++c)
      sum += elu1(x[c]) * elu1(y[c]);
    return sum;
  }
  if (name == "relu2")
    return p > 0 ? p * p : 0;
  if (name == "cosine")
    return std::exp(kernel.temperature.get_d() * p / std::sqrt(dot(x, x) * dot(y, y)));
  if (name == "(1+norm2(x-y))*exp(dot(x,y))")
    return (1 + distance(x, y)) * std::exp(p);
  if (name == "(1+norm2(x-y))^-0.5")
    return 1 / std::sqrt(1 + distance(x, y));
  if (name == "softplus(dot(x,y))/(1+norm2(y))")
    return std::log1p(std::exp(p)) / (1 + dot(y, y));
  if (name == "exp(dot(tanh(x),y))/exp(norm2(y)/4)") {
    Vector t = x;
    for (double& entry : t)
      entry = std::tanh(entry);
    return std::exp(dot(t, y) - dot(y, y) / 4);
  }
  if (name == "sigmoid(dot(x,y))")
    return 1 / (1 + std::exp(-p));
  if (name == "2+sin(dot(x,y))*cos(norm(2*x-y/3))")
    return 2 + std::sin(p) * std::cos(std::sqrt(distance(x, y, 2, 1.0 / 3)));
  if (name == "cosh(dot(x,y))^2+abs(dot(x,x+y))")
    return std::cosh(p) * std::cosh(p) + std::abs(dot(x, x) + p);
  if (name == "1.5")
    return 1.5;
  FAIL("no formula for " << name);
  return 0;
}

class Dense {
public:
  Dense(const Problem& problem, const Numbers<double>& numbers) : problem_(problem), numbers_(numbers) {}

  // Colour of the arc as mixer.hpp has it, -1 when absent or cut off by the lengths.
  std::int64_t colour(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const layout::Relation& relation =
        problem_.relations[problem_.relations.size() == 1 ? 0 : static_cast<std::size_t>(h)];
    if (!problem_.lengths.empty()) {
      const std::int64_t length = problem_.lengths[static_cast<std::size_t>(b)], tokens = relation.tokens();
      if ((i >= length && i < tokens) || (j >= length && j < tokens))
        return -1;
    }
    std::vector<layout::ColouredRun> row;
    relation.raw_row(static_cast<layout::Vertex>(i), row);
    for (const auto& run : row) {
      for (std::int64_t v = run.first, c = run.colour; v <= run.last; v += run.step, c += run.colour_step)
        if (v == j)
          return c - 1;
    }
    return -1;
  }

  // Rotated as rotary positions say, tokens counted inside their component.
  Vector entry(const std::vector<double>& numbers, std::int64_t heads, std::int64_t width, std::int64_t b,
               std::int64_t h, std::int64_t i, bool rotated) const {
    const std::int64_t vertices = problem_.shape.readers;
    Vector v;
    for (std::int64_t c = 0; c < width; ++c)
      v.push_back(numbers[static_cast<std::size_t>(((b * vertices + i) * heads + h) * width + c)]);
    if (!rotated || !problem_.rotary || i >= problem_.relations.front().tokens())
      return v;
    for (std::int64_t p = 0; 2 * p + 1 < width; ++p) {
      const double t = static_cast<double>(problem_.plan->positions()[static_cast<std::size_t>(i)]);
      const double angle = t / std::pow(10000.0, 2.0 * static_cast<double>(p) / static_cast<double>(width));
      const auto k = static_cast<std::size_t>(2 * p);
      const double x = v[k], y = v[k + 1];
      v[k] = x * std::cos(angle) - y * std::sin(angle);
      v[k + 1] = x * std::sin(angle) + y * std::cos(angle);
    }
    return v;
  }

  double weight(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t c = colour(b, h, i, j);
    if (c < 0)
      return 0;
    const Shape& s = problem_.shape;
    const std::int64_t tokens = problem_.relations.front().tokens();
    Vector x = entry(numbers_.query, s.heads, s.width, b, h, i, true);
    for (double& number : x)
      number *= problem_.rule.scale;
    double w = plain_kernel(problem_.rule.kernel, x,
                            entry(numbers_.key, s.key_heads, s.width, b, h * s.key_heads / s.heads, j, true));
    if (problem_.has_bias)
      w *= std::exp(numbers_.bias[static_cast<std::size_t>(h * problem_.plan->colours() + c)]);
    if (!problem_.rule.slopes.empty() && i < tokens && j < tokens)
      w *= std::exp(-problem_.rule.slopes[static_cast<std::size_t>(h)] * static_cast<double>(std::abs(i - j)));
    return w;
  }

  Vector attention_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    Vector w;
    for (std::int64_t j = 0; j < problem_.shape.reads; ++j)
      w.push_back(weight(b, h, i, j));
    if (problem_.rule.top_k && static_cast<std::size_t>(*problem_.rule.top_k) < w.size()) {
      Vector present;
      for (std::int64_t j = 0; j < problem_.shape.reads; ++j)
        if (colour(b, h, i, j) >= 0)
          present.push_back(w[static_cast<std::size_t>(j)]);
      std::sort(present.begin(), present.end(), std::greater<>());
      if (present.size() > static_cast<std::size_t>(*problem_.rule.top_k)) {
        const double least = present[static_cast<std::size_t>(*problem_.rule.top_k) - 1];
        std::int64_t left = *problem_.rule.top_k;
        // Ties by index: with equal kernels (a constant one) rounding decides nothing here.
        for (double& number : w)
          if (number > least)
            --left;
        for (std::size_t j = 0; j < w.size(); ++j) {
          if (w[j] == least && colour(b, h, i, static_cast<std::int64_t>(j)) >= 0 && left > 0)
            --left;
          else if (!(w[j] > least))
            w[j] = 0;
        }
      }
    }
    double sum = problem_.rule.eps;
    if (problem_.rule.sink == Sink::one)
      sum += 1;
    if (problem_.rule.sink == Sink::trained)
      sum += std::exp(numbers_.sink[static_cast<std::size_t>(h)]);
    for (double number : w)
      sum += number;
    if (problem_.rule.normalised) {
      for (double& number : w)
        number = number == 0 ? 0 : number / sum;
    }
    return w;
  }

  double output(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    const Shape& s = problem_.shape;
    double sum = 0, largest = -INFINITY;
    std::int64_t count = 0;
    const Vector w = problem_.is_attention ? attention_row(b, h, i) : Vector();
    for (std::int64_t j = 0; j < s.reads; ++j) {
      const std::int64_t arc = colour(b, h, i, j);
      if (arc < 0)
        continue;
      ++count;
      const double value = entry(numbers_.value, s.key_heads, s.value_width, b, h * s.key_heads / s.heads, j,
                                 false)[static_cast<std::size_t>(c)];
      const double by = problem_.is_attention ? w[static_cast<std::size_t>(j)]
                        : problem_.has_bias
                            ? numbers_.bias[static_cast<std::size_t>(h * problem_.plan->colours() + arc)]
                            : 1;
      sum += by * value;
      largest = std::max(largest, value);
    }
    if (count == 0)
      return 0;
    if (problem_.is_attention || problem_.aggregation == Aggregation::sum)
      return sum;
    return problem_.aggregation == Aggregation::mean ? sum / static_cast<double>(count) : largest;
  }

private:
  const Problem& problem_;
  const Numbers<double>& numbers_;
};

void check_dense(Problem problem, Random& random) {
  problem.bare = chance(random, 50);
  Numbers<double> numbers = draw_numbers<double>(problem, random);
  const Dense dense(problem, numbers);
  for (const auto implementation : {Implementation::reference, Implementation::cpu}) {
    for (const bool exact : {false, true}) {
      if (exact && problem.rule.top_k)
        continue; // ties are cut differently
      Numbers<double> result = numbers;
      run_forward(problem, result, {implementation, 1, exact});
      const Shape& s = problem.shape;
      std::size_t at = 0, at_weight = 0;
      double worst = 0, worst_weight = 0;
      for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t i = 0; i < s.readers; ++i)
          for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t c = 0; c < s.value_width; ++c, ++at) {
              const double expected = dense.output(b, h, i, c);
              worst = std::max(worst, std::abs(expected - result.out[at]) / (1 + std::abs(expected)));
            }
      CHECK_MESSAGE(worst < 1e-11, problem.name << ": off by " << worst);
      if (!problem.is_attention || problem.bare)
        continue;
      for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
          for (std::int64_t i = 0; i < s.readers; ++i)
            for (const double expected : dense.attention_row(b, h, i)) {
              worst_weight =
                  std::max(worst_weight, std::abs(expected - result.attention[at_weight++]) / (1 + std::abs(expected)));
            }
      CHECK_MESSAGE(worst_weight < 1e-11, problem.name << ": weights off by " << worst_weight);
    }
  }
}

TEST_CASE("forward is formula (12): every kernel") {
  Random random(21);
  for (const std::string& kernel : all_kernels()) {
    for (int round = 0; round < 25; ++round) {
      Problem problem = draw_attention(random, draw_heads(random, 8, 1 + round % 2), kernel, false);
      if (kernel == "1.5")
        problem.rule.top_k.reset(); // every weight ties, rounding would choose
      check_dense(problem, random);
    }
  }
}

TEST_CASE("forward is formula (12): every mixer") {
  Random random(22);
  for (int round = 0; round < 400; ++round) {
    Problem problem = draw_problem(random, 10, false);
    if (problem.rule.kernel.text == "1.5" || problem.rule.kernel.name == "relu2")
      problem.rule.top_k.reset();
    check_dense(problem, random);
  }
}

TEST_CASE("large scores do not overflow, sinks and eps count even so") {
  const auto relation =
      layout::Relation(layout::make_pattern_from_rows(2, {{0, 1}, {0, 1}}), {}, layout::Cancels::nothing, 2);
  Problem problem;
  problem.relations = {relation};
  problem.plan = make_plan(problem.relations, Budget());
  problem.shape = {1, 1, 1, 2, 2, 1, 1};
  for (const auto implementation : {Implementation::reference, Implementation::cpu}) {
    for (const char* kernel : {"softmax", "exponential-sum", "performer", "exp(dot(x,y))"}) {
      problem.rule = {};
      Random random(1);
      problem.rule.kernel = make_kernel(kernel, 1, random);
      problem.rule.kernel.weight = {mpq_class(1)};
      problem.rule.kernel.features = {{mpq_class(100)}};
      for (const double eps : {0.0, 1e-6}) {
        for (const Sink sink : {Sink::none, Sink::one, Sink::trained}) {
          problem.rule.eps = eps;
          problem.rule.sink = sink;
          Numbers<float> numbers;
          numbers.query = {30, -30};
          numbers.key = {20, 10};
          numbers.value = {1, 3};
          numbers.sink = {5};
          numbers.grad_out = {1, 1};
          run_forward(problem, numbers, {implementation});
          run_backward(problem, numbers, {implementation});
          CHECK(numbers.out[0] == doctest::Approx(1).epsilon(1e-3));
          for (const auto* results :
               {&numbers.out, &numbers.grad_query, &numbers.grad_key, &numbers.grad_value, &numbers.grad_sink})
            for (const float number : *results)
              CHECK(std::isfinite(number));
          if (std::string(kernel) == "softmax" && sink == Sink::none && eps == 0)
            CHECK(numbers.out[1] == doctest::Approx(3));
          if (std::string(kernel) == "softmax" && sink == Sink::one)
            CHECK(numbers.out[1] == 0); // e^-300 beside 1
        }
      }
    }
  }
}

TEST_CASE("top_k: ties go to the smaller index, in exact mode all stay; a weight of another sign") {
  const auto relation =
      layout::Relation(layout::make_pattern_from_rows(4, {{0, 1, 2, 3}, {}, {}, {}}), {}, layout::Cancels::nothing, 4);
  Problem problem;
  problem.relations = {relation};
  problem.plan = make_plan(problem.relations, Budget());
  problem.shape = {1, 1, 1, 4, 4, 1, 1};
  problem.rule.top_k = 2;
  Numbers<double> numbers;
  numbers.query = {1, 0, 0, 0};
  numbers.key = {0, 1, 1, 1};
  numbers.value = {std::numeric_limits<double>::quiet_NaN(), 2, 4, 9};
  numbers.grad_out = {1, 1, 1, 1};
  for (const auto implementation : {Implementation::reference, Implementation::cpu}) {
    run_forward(problem, numbers, {implementation});
    run_backward(problem, numbers, {implementation});
    CHECK(numbers.out == std::vector<double>{3, 0, 0, 0});
    CHECK(numbers.grad_value == std::vector<double>{0, 0.5, 0.5, 0});
    run_forward(problem, numbers, {implementation, 1, true});
    CHECK(numbers.out[0] == doctest::Approx(5));
  }
}

} // namespace
} // namespace sightline::mixer
