// The options of `rate`, and the score under a measure that they describe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "sightline/rate/rate.hpp"

namespace sightline::cli {

/// What only --verify takes.
struct VerificationFlags {
  std::vector<std::int64_t> heads;
  std::int64_t tokens = 0, samples = 0, steps = 0, threads = 0;
  double rate = 0, frequency = 0;
  std::string plot;
  [[nodiscard]] bool any() const { return !heads.empty() || tokens + samples + steps + threads > 0 || rate > 0 || frequency > 0 || !plot.empty(); }
};

struct RateOptions {
  std::string target, data, distribution = "uniform";
  std::size_t dim = 0;
  std::vector<double> domain{-1, 1};
  rate::Options rate;
  double error = 0.01;
  bool json = false, each = false, verify = false;
  VerificationFlags verification;
  LimitOptions limits;
};
void add_rate_options(CLI::App& command, RateOptions& options);

/// Throws InputError for an option that the target or another option leaves without effect.
void check_rate_options(const CLI::App& command, const RateOptions& options);

/// expr:SCORE and the measure of its tokens. Throws InputError.
struct ScoreTask {
  rate::Score score;
  rate::Measure measure;
};
[[nodiscard]] ScoreTask make_score_task(const RateOptions& options, const Budget& budget);
[[nodiscard]] rate::Result rate_expression(const RateOptions& options, const Budget& budget);

}  // namespace sightline::cli
