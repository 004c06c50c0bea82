#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/rate_options.hpp"
#include "cli/train/commands.hpp"
#include "cli/train/watch.hpp"
#include "cli/writable.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/trials/verify.hpp"

namespace sightline::cli {

void add_rate_verify(CLI::App& app) {
  auto options = std::make_shared<RateOptions>();
  CLI::App* command = app.add_subcommand("rate", "the predicted error of a head dimension against trained heads");
  add_rate_options(*command, *options);
  options->limits.add_to(*command);
  command->callback([options, command] {
    check_rate_options(*command, *options);
    expect_writable(options->verification.plot, {options->data});
    const Budget budget = make_budget(options->limits, false);
    const Watch watch(options->limits.time_seconds);
    if (options->target.rfind("expr:", 0) != 0)
      throw InputError(
          fmt::format("{}: --verify trains on the tokens of a score: expected expr:SCORE", options->target));
    options->rate.error = options->error;
    const VerificationFlags& flags = options->verification;
    trials::VerifyOptions verify;
    if (!flags.heads.empty())
      verify.heads = flags.heads;
    std::sort(verify.heads.begin(), verify.heads.end());
    verify.heads.erase(std::unique(verify.heads.begin(), verify.heads.end()), verify.heads.end());
    if (flags.tokens > 0)
      verify.tokens = flags.tokens;
    if (flags.samples > 0)
      verify.samples = flags.samples;
    if (flags.steps > 0)
      verify.steps = flags.steps;
    if (flags.rate > 0)
      verify.rate = flags.rate;
    if (flags.frequency > 0)
      verify.frequency = flags.frequency;
    if (flags.threads > 0)
      verify.threads = static_cast<int>(flags.threads);
    verify.seed = options->rate.seed;
    options->rate.count = std::max(options->rate.count, static_cast<std::size_t>(verify.heads.back()));
    const ScoreTask task = make_score_task(*options, budget);
    rate::Result rate = rate::rate_score(task.score, task.measure, options->rate, budget);
    rate.target = options->target;
    // Beyond the last value above the noise there is no prediction (with a finite rank it is 0).
    const std::int64_t last = rate.predicted.empty() ? 0 : static_cast<std::int64_t>(rate.predicted.back().heads);
    if (!rate.rank && verify.heads.back() > last) {
      if (!flags.heads.empty() || last == 0)
        throw InputError(fmt::format(
            "--heads: expected at most {}: beyond it the singular values are below the noise floor {:.2g}, found {}",
            last, rate.noise_floor, verify.heads.back()));
      std::erase_if(verify.heads, [&](std::int64_t heads) { return heads > last; });
    }
    const trials::Verification result =
        trials::verify(task.score, task.measure, std::move(rate), verify, budget,
                       [&](const std::string& stage, double share) { budget.report(stage, share); });
    if (!flags.plot.empty())
      write_file_atomically(flags.plot, trials::to_svg(result));
    clear_progress();
    fmt::print("{}", options->json ? trials::to_json(result) + "\n" : trials::to_text(result));
  });
}

} // namespace sightline::cli
