#include "cli/rate_options.hpp"

#include <fmt/format.h>

#include <optional>

#include "cli/numbers.hpp"
#include "sightline/approximate/approximate.hpp"
#include "sightline/base/error.hpp"
#include "sightline/target/expression.hpp"

namespace sightline::cli {

void add_rate_options(CLI::App& command, RateOptions& options) {
  command.add_option("TARGET", options.target, "expr:SCORE in x and y (of attend(score, value), the score), or measured logits: LOGITS.npy, [t, t] or [N, t, t] (their mean)")->required();
  command.add_option("--dim", options.dim, "width of the tokens (default: what the indices in the expression need)")->check(CLI::Range(1, 64));
  command.add_option("--domain", options.domain, "LO,HI: tokens are uniform in this box (default -1,1)")->delimiter(',')->expected(2);
  command.add_option("--distribution", options.distribution, "uniform, normal, or circle (the unit circle, --dim 2)")->check(CLI::IsMember({"uniform", "normal", "circle"}));
  command.add_option("--samples", options.rate.samples, "points of the first discretisation; the second has twice as many")->check(CLI::Range(16, 8192));
  command.add_option("--count", options.rate.count, "how many singular values and head dimensions to tell")->check(CLI::Range(1, 4096));
  command.add_option("--error", options.error, "wanted error of the score, relative to its norm")->check(positive_number);
  command.add_option("--seed", options.rate.seed, "seed of drawn points")->check(whole_number(0));
  command.add_flag("--each", options.each, "logits: also every sample, and quartiles");
  command.add_option("--data", options.data, "tokens are drawn from x of this .npz file, and not from a distribution");
  command.add_flag("--json", options.json, "one JSON object");
  command.add_flag("--verify", options.verify, "train a sweep of head dimensions and hold it against the prediction (LibTorch)");
  VerificationFlags& verification = options.verification;
  const auto at_least_one = CLI::Range(std::int64_t{1}, std::int64_t{1} << 30);
  command.add_option("--heads", verification.heads, "verify: head dimensions (default 1,2,4,8,16)")->delimiter(',')->check(CLI::Range(1, 4096));
  command.add_option("--tokens", verification.tokens, "verify: tokens per sequence (default 16)")->check(CLI::Range(2, 4096));
  command.add_option("--train-samples", verification.samples, "verify: sequences to fit (default 4096)")->check(CLI::Range(10, 1 << 22));
  command.add_option("--steps", verification.steps, "verify: steps of each training (default 2000)")->check(at_least_one);
  command.add_option("--lr", verification.rate, "verify: learning rate (default 0.003)")->check(positive_number);
  command.add_option("--frequency", verification.frequency, "verify: f has sines and not gelu, the first of so many times their argument; 100 for scores that oscillate in [0,1]")->check(positive_number);
  command.add_option("--threads", verification.threads, "verify: threads (default 1)")->check(CLI::Range(1, 1024));
  command.add_option("--plot", verification.plot, "verify: write prediction and measurement as .svg");
}

void check_rate_options(const CLI::App& command, const RateOptions& options) {
  const auto refuse = [&](std::initializer_list<const char*> names, const char* why) {
    for (const char* name : names)
      if (command.count(name) > 0) throw InputError(fmt::format("{}: {}", name, why));
  };
  if (options.target.rfind("expr:", 0) != 0) refuse({"--dim", "--domain", "--distribution", "--samples", "--seed", "--data"}, "expected expr:SCORE; measured logits are taken as they stand");
  else refuse({"--each"}, "expected LOGITS.npy with several samples, found expr:SCORE");
  if (!options.data.empty()) refuse({"--domain", "--distribution"}, "expected none with --data, whose tokens are as they stand");
  if (options.distribution != "uniform") refuse({"--domain"}, "expected --distribution uniform");
}

ScoreTask make_score_task(const RateOptions& options, const Budget& budget) {
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
  rate::Score score{[expression](std::size_t count, const double* x, const double* y, double* out) { target::evaluate_pairs(expression, count, x, y, out); },
                    [expression](std::size_t readers, const double* x, std::size_t reads, const double* y, double* out) { target::evaluate_grid(expression, readers, x, reads, y, out); }};
  return {std::move(score), std::move(measure)};
}

rate::Result rate_expression(const RateOptions& options, const Budget& budget) {
  const ScoreTask task = make_score_task(options, budget);
  rate::Result result = rate::rate_score(task.score, task.measure, options.rate, budget);
  result.target = options.target;
  return result;
}

}  // namespace sightline::cli
