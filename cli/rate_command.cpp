#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "sightline/base/error.hpp"
#include "sightline/rate/rate.hpp"
#include "sightline/target/expression.hpp"

namespace sightline::cli {
namespace {

struct RateOptions {
  std::string target, distribution = "uniform";
  std::size_t dim = 0;
  std::vector<double> domain{-1, 1};
  rate::Options rate;
  double error = 0.01;
  bool json = false, each = false;
  LimitOptions limits;
};

rate::Result rate_expression(const RateOptions& options, const Budget& budget) {
  const std::string text = options.target.substr(5);
  const std::size_t dim = options.dim != 0 ? options.dim : options.distribution == "circle" ? 2 : target::least_dim(text);
  if (options.distribution == "circle" && dim != 2) throw InputError(fmt::format("--distribution circle: expected --dim 2, found {}", dim));
  rate::Measure measure;
  measure.dim = dim;
  measure.low = options.domain[0];
  measure.high = options.domain[1];
  measure.shape = options.distribution == "normal" ? rate::Shape::normal : options.distribution == "circle" ? rate::Shape::circle : rate::Shape::uniform;
  if (!(measure.low < measure.high)) throw InputError(fmt::format("--domain: expected LO < HI, found {},{}", measure.low, measure.high));
  target::Expression expression;
  try {
    expression = target::parse(text, target::Role::score, dim);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", options.target, error.what()));
  }
  rate::Result result = rate::rate_score(
      [&](std::size_t count, const double* x, const double* y, double* out) { target::evaluate_pairs(expression, count, x, y, out); }, measure, options.rate, budget);
  result.target = options.target;
  return result;
}

}  // namespace

void add_rate(CLI::App& app, Exit&) {
  auto options = std::make_shared<RateOptions>();
  CLI::App* command = app.add_subcommand("rate", "singular values of an attention score, and the head dimension that it needs");
  command->add_option("TARGET", options->target, "expr:SCORE in x and y (of attend(score, value), the score)")->required();
  command->add_option("--dim", options->dim, "width of the tokens (default: what the indices in the expression need)")->check(CLI::Range(1, 64));
  command->add_option("--domain", options->domain, "LO,HI: tokens are uniform in this box (default -1,1)")->delimiter(',')->expected(2);
  command->add_option("--distribution", options->distribution, "uniform, normal, or circle (the unit circle, --dim 2)")->check(CLI::IsMember({"uniform", "normal", "circle"}));
  command->add_option("--samples", options->rate.samples, "points of the first discretisation; the second has twice as many")->check(CLI::Range(16, 8192));
  command->add_option("--count", options->rate.count, "how many singular values and head dimensions to tell")->check(CLI::Range(1, 4096));
  command->add_option("--error", options->error, "wanted error of the score, relative to its norm")->check(CLI::PositiveNumber);
  command->add_option("--seed", options->rate.seed, "seed of drawn points");
  command->add_flag("--json", options->json, "one JSON object");
  options->limits.add_to(*command);
  command->callback([options] {
    const Budget budget = make_budget(options->limits);
    options->rate.error = options->error;
    if (options->target.rfind("expr:", 0) != 0) throw InputError(fmt::format("{}: expected expr:SCORE", options->target));
    const rate::Result result = rate_expression(*options, budget);
    clear_progress();
    fmt::print("{}", options->json ? rate::to_json(result) + "\n" : rate::to_text(result));
  });
}

}  // namespace sightline::cli
