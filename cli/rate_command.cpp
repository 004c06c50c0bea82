#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "sightline/approximate/approximate.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/data/file_bytes.hpp"
#include "sightline/rate/rate.hpp"
#include "sightline/target/expression.hpp"

namespace sightline::cli {
namespace {

struct RateOptions {
  std::string target, data, distribution = "uniform";
  std::size_t dim = 0;
  std::vector<double> domain{-1, 1};
  rate::Options rate;
  double error = 0.01;
  bool json = false, each = false;
  LimitOptions limits;
};

rate::Result rate_expression(const RateOptions& options, const Budget& budget) {
  const std::string text = options.target.substr(5);
  std::optional<approximate::Samples> samples;
  if (!options.data.empty()) samples = approximate::read_samples(options.data, budget);
  if (samples && options.dim != 0 && options.dim != samples->dim) throw InputError(fmt::format("--dim {}: expected {}, the width of x in {}", options.dim, samples->dim, options.data));
  const std::size_t dim = samples ? samples->dim : options.dim != 0 ? options.dim : options.distribution == "circle" ? 2 : target::least_dim(text);
  if (options.distribution == "circle" && dim != 2) throw InputError(fmt::format("--distribution circle: expected --dim 2, found {}", dim));
  rate::Measure measure;
  measure.dim = dim;
  measure.low = options.domain[0];
  measure.high = options.domain[1];
  measure.shape = options.distribution == "normal" ? rate::Shape::normal : options.distribution == "circle" ? rate::Shape::circle : rate::Shape::uniform;
  if (samples) {
    measure.shape = rate::Shape::points;
    measure.points = std::move(samples->x);
  }
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

/// Every number of a .npy file, [t, t] or [N, t, t].
rate::Result rate_file(const RateOptions& options, const Budget& budget) {
  const std::string& file = options.target;
  const data::FileBytes bytes(file, budget);
  try {
    const NpyFile array = parse_npy(bytes.view());
    const NpyNumbers numbers(array);
    const std::size_t axes = array.shape.size();
    if (axes < 2 || axes > 3 || array.shape[axes - 1] != array.shape[axes - 2] || array.shape[axes - 1] == 0 || array.shape[0] == 0)
      throw NpyError("logits [t, t] or [N, t, t]", data::print_shape(array.shape));
    const std::uint64_t t = array.shape[axes - 1], count = axes == 3 ? array.shape[0] : 1;
    if (t > 20000 || count > (std::uint64_t{1} << 40) / (t * t)) throw NpyError("at most 20000 tokens and 2^40 numbers", data::print_shape(array.shape));
    numbers.check_size(count * t * t);
    budget.ask(count * t * t * sizeof(double) + 3 * t * t * sizeof(double));
    std::vector<double> logits(count * t * t);
    for (std::uint64_t s = 0; s < count; ++s)
      for (std::uint64_t i = 0; i < t; ++i)
        for (std::uint64_t j = 0; j < t; ++j) logits[(s * t + i) * t + j] = numbers.number(array.fortran ? (j * t + i) * count + s : (s * t + i) * t + j);
    const double precision = numbers.width() == 8 ? 0x1p-52 : numbers.width() == 4 ? 0x1p-23 : 0x1p-10;
    rate::Result result = rate::rate_logits(logits, count, t, options.each, precision, options.rate, budget);
    result.target = file;
    return result;
  } catch (const NpyError& error) {
    throw InputError(fmt::format("{}: expected {}, found {}", file, error.expected, error.found));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace

void add_rate(CLI::App& app, Exit&) {
  auto options = std::make_shared<RateOptions>();
  CLI::App* command = app.add_subcommand("rate", "singular values of an attention score, and the head dimension that it needs");
  command->add_option("TARGET", options->target, "expr:SCORE in x and y (of attend(score, value), the score), or measured logits: LOGITS.npy, [t, t] or [N, t, t] (their mean)")->required();
  command->add_option("--dim", options->dim, "width of the tokens (default: what the indices in the expression need)")->check(CLI::Range(1, 64));
  command->add_option("--domain", options->domain, "LO,HI: tokens are uniform in this box (default -1,1)")->delimiter(',')->expected(2);
  command->add_option("--distribution", options->distribution, "uniform, normal, or circle (the unit circle, --dim 2)")->check(CLI::IsMember({"uniform", "normal", "circle"}));
  command->add_option("--samples", options->rate.samples, "points of the first discretisation; the second has twice as many")->check(CLI::Range(16, 8192));
  command->add_option("--count", options->rate.count, "how many singular values and head dimensions to tell")->check(CLI::Range(1, 4096));
  command->add_option("--error", options->error, "wanted error of the score, relative to its norm")->check(CLI::PositiveNumber);
  command->add_option("--seed", options->rate.seed, "seed of drawn points");
  command->add_flag("--each", options->each, "logits: also every sample, and quartiles");
  command->add_option("--data", options->data, "tokens are drawn from x of this .npz file, and not from a distribution");
  command->add_flag("--json", options->json, "one JSON object");
  options->limits.add_to(*command);
  command->callback([options] {
    const Budget budget = make_budget(options->limits);
    options->rate.error = options->error;
    const rate::Result result = options->target.rfind("expr:", 0) == 0 ? rate_expression(*options, budget) : rate_file(*options, budget);
    clear_progress();
    fmt::print("{}", options->json ? rate::to_json(result) + "\n" : rate::to_text(result));
  });
}

}  // namespace sightline::cli
