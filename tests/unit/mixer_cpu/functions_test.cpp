// The functions of expressions as the kernels compute them: a few units in the last place from the truth, everywhere.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "call.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

struct Function {
  std::string kernel;
  std::function<double(double)> value, slope;
  double from, to; // where it is asked
};

// One number per query and one key that is 1: the output is the function, the query's gradient its derivative. Asked where
// the function is, and at what is `given`; what a type cannot hold must be infinite.
template <class Real> void check(const Function& function, InstructionSet set, const std::vector<double>& given = {}) {
  CAPTURE(function.kernel);
  CAPTURE(static_cast<int>(set));
  std::vector<Real> query = {Real(0), Real(1), Real(-1)};
  query.insert(query.end(), given.begin(), given.end());
  Random random(3);
  for (int k = 0; k < 600; ++k) {
    const double share = static_cast<double>(random() % 100000) / 100000;
    query.push_back(static_cast<Real>(function.from + (function.to - function.from) * share));
    query.push_back(static_cast<Real>(std::ldexp(2 * share - 1, static_cast<int>(k % 30) - 25)));
  }
  const auto n = static_cast<std::int64_t>(query.size());
  const std::vector<Real> one(query.size(), Real(1));
  std::vector<Real> out(query.size()), slope(query.size()), statistics(2 * query.size());
  AttentionRule rule;
  rule.kernel = {"", function.kernel};
  rule.normalised = false;
  const auto plan = make_full_plan(n, 1);
  const Shape shape{1, 1, 1, n, 1, 1, 1};
  const auto view = [](auto* data) { return View<std::remove_pointer_t<decltype(data)>>{data, 0, 0, 1}; };
  const AttentionInputs<Real> in{view(static_cast<const Real*>(query.data())), view(one.data()), view(one.data())};
  const AttentionOutputs<Real> to{view(out.data()), statistics.data()};
  Execution execution;
  execution.instructions = set;
  attend<Real>(*plan, rule, shape, in, to, execution);
  AttentionGradients<Real> gradients;
  gradients.out = view(one.data());
  gradients.query = view(slope.data());
  attend_backward<Real>(*plan, rule, shape, in, to, gradients, execution);
  double worst = 0, worst_slope = 0;
  for (std::size_t k = 0; k < query.size(); ++k) {
    const auto x = static_cast<double>(query[k]);
    if (x < function.from || x > function.to)
      continue;
    const double unit = std::numeric_limits<Real>::epsilon();
    const auto error = [&](double found, double truth) {
      if (std::isinf(static_cast<Real>(truth)))
        return found == truth || (std::isinf(found) && std::signbit(found) == std::signbit(truth)) ? 0 : HUGE_VAL;
      if (std::isnan(found))
        return HUGE_VAL;
      return std::abs(found - truth) / (unit * (std::abs(truth) + std::numeric_limits<Real>::min() / unit));
    };
    worst = std::max(worst, error(static_cast<double>(out[k]), function.value(x)));
    worst_slope = std::max(worst_slope, error(static_cast<double>(slope[k]), function.slope(x)));
  }
  CHECK(worst <= 6);
  CHECK(worst_slope <= 12);
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"1+exp(dot(x,y))", [](double x) { return 1 + std::exp(x); }, [](double x) { return std::exp(x); }, -60, 60},
      {"log(dot(x,y))", [](double x) { return std::log(x); }, [](double x) { return 1 / x; }, 1e-37, 0.5},
      {"2+log(dot(x,y))", [](double x) { return 2 + std::log(x); }, [](double x) { return 1 / x; }, 1, 1e6},
      {"sqrt(dot(x,y))", [](double x) { return std::sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }, 1e-6, 1e6},
      {"cosh(dot(x,y))", [](double x) { return std::cosh(x); }, [](double x) { return std::sinh(x); }, -70, 70},
      {"sinh(dot(x,y))", [](double x) { return std::sinh(x); }, [](double x) { return std::cosh(x); }, -70, 70},
      {"tanh(dot(x,y))", [](double x) { return std::tanh(x); },
       [](double x) { return 1 - std::tanh(x) * std::tanh(x); }, -0.5, 0.5},
      {"1+tanh(dot(x,y))/2", [](double x) { return 1 + std::tanh(x) / 2; },
       [](double x) { return 0.5 - 0.5 * std::tanh(x) * std::tanh(x); }, -1, 1},
      {"sigmoid(dot(x,y))", logistic, [](double x) { return logistic(x) * logistic(-x); }, -60, 1},
      {"softplus(dot(x,y))", [](double x) { return std::log1p(std::exp(x)); }, logistic, -60, 60},
      {"1.5+sin(dot(x,y))", [](double x) { return 1.5 + std::sin(x); }, [](double x) { return std::cos(x); }, -1.5,
       1.5},
      {"sin(dot(x,y))", [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }, -1.5, 1.5},
      {"2+cos(dot(x,y))", [](double x) { return 2 + std::cos(x); }, [](double x) { return -std::sin(x); }, -3, 3},
      {"elu(dot(x,y))", [](double x) { return x > 0 ? x : std::expm1(x); },
       [](double x) { return x > 0 ? 1 : std::exp(x); }, -5, 5},
      {"dot(x,y)^-3", [](double x) { return std::pow(x, -3); }, [](double x) { return -3 * std::pow(x, -4); }, 0.1, 9},
      {"dot(x,y)^-1.5", [](double x) { return std::pow(x, -1.5); }, [](double x) { return -1.5 * std::pow(x, -2.5); },
       0.1, 9},
      {"dot(x,y)^-0.5", [](double x) { return std::pow(x, -0.5); }, [](double x) { return -0.5 * std::pow(x, -1.5); },
       1e-8, 1e8},
      {"dot(x,y)^2", [](double x) { return x * x; }, [](double x) { return 2 * x; }, 0.1, 9},
      {"dot(x,y)^7", [](double x) { return std::pow(x, 7); }, [](double x) { return 7 * std::pow(x, 6); }, 0.1, 9},
      {"dot(x,y)^2.5", [](double x) { return std::pow(x, 2.5); }, [](double x) { return 2.5 * std::pow(x, 1.5); }, 0.1,
       9},
      {"dot(x,y)^0.3", [](double x) { return std::pow(x, 0.3); }, [](double x) { return 0.3 * std::pow(x, -0.7); }, 0.1,
       9}};
  return all;
}

} // namespace

TEST_CASE("hyperbolic functions are right as far as they are finite, and infinite beyond") {
  std::vector<double> far;
  for (const double x : {1e-310, 1e-40, 1e-30, 1e-8, 21.9, 22.1, 44.0, 88.0, 88.8, 89.2, 89.4, 89.45, 89.6, 90.0, 95.0, 100.0, 177.5, 709.0, 710.2, 710.4, 710.49, 711.0, 1000.0, 1420.0}) {
    far.push_back(x);
    far.push_back(-x);
  }
  for (const Function& function : functions()) {
    if (function.kernel.find("sh(") == std::string::npos)
      continue;
    Function anywhere = function;
    anywhere.from = -1e4;
    anywhere.to = 1e4;
    for (const InstructionSet set : available_sets()) {
      check<float>(anywhere, set, far);
      check<double>(anywhere, set, far);
    }
  }
}

TEST_CASE("functions of expressions are right to a few units in the last place") {
  for (const Function& function : functions()) {
    for (const InstructionSet set : available_sets()) {
      check<float>(function, set);
      check<double>(function, set);
    }
  }
}
