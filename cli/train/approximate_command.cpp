#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/train/commands.hpp"
#include "cli/train/target_flags.hpp"
#include "cli/train/watch.hpp"
#include "cli/writable.hpp"
#include "sightline/approximate/mlp_sumformer.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/data/safetensors.hpp"
#include "sightline/trials/fit_mlp.hpp"

namespace sightline::cli {

void add_approximate_mlp(CLI::App& app, int& exit) {
  struct Options {
    TargetFlags target;
    trials::MlpOptions fit;
    std::string method, save;
    bool json = false, resume = false;
    LimitOptions limits;
  };
  auto options = std::make_shared<Options>();
  trials::MlpOptions& fit = options->fit;
  CLI::App* command = app.add_subcommand("approximate", "an MLP Sumformer, trained on a target");
  options->target.default_tokens = 4;
  options->target.add_to(*command);
  const auto at_least_one = CLI::Range(std::int64_t{1}, std::int64_t{1} << 30);
  command->add_option("--method", options->method)->check(CLI::IsMember({"mlp"}));
  command->add_option("--latent", fit.latent)->check(at_least_one);
  command->add_option("--width", fit.width)->check(at_least_one);
  command->add_option("--steps", fit.steps)->check(at_least_one);
  command->add_option("--batch", fit.batch)->check(at_least_one);
  command->add_option("--lr", fit.rate)->check(positive_number);
  command->add_option("--threads", fit.threads)->check(CLI::Range(1, 1024));
  command->add_option("--error", fit.error)->check(positive_number);
  command->add_option("--save", options->save);
  command->add_flag("--resume", options->resume);
  command->add_option("--checkpoint-seconds", fit.checkpoint_seconds)->check(non_negative_number);
  command->add_flag("--json", options->json);
  options->limits.add_to(*command);
  command->callback([options, &exit] {
    expect_model_writable(options->save, {file_of_target(options->target.target)}, true, approximate::architecture_comment);
    const Budget budget = make_budget(options->limits, false);
    trials::MlpOptions fit = options->fit;
    fit.seed = options->target.seed;
    if (options->resume && options->save.empty())
      throw InputError("--resume: expected --save M.safetensors, whose unfinished fit is M.safetensors.part");
    if (!options->save.empty()) {
      fit.checkpoint = options->save + ".part";
      if (!options->resume)
        std::remove(fit.checkpoint.c_str());
      else if (!std::filesystem::exists(fit.checkpoint))
        fmt::print(stderr, "sightline: {} is not there: the training begins anew\n", fit.checkpoint);
    }
    const Watch watch(options->limits.time_seconds, fit.checkpoint);
    trials::MlpResult result;
    try {
      const trials::TaskData data = options->target.read(budget);
      result = trials::fit_mlp(data, fit, budget,
                               [&](const std::string& stage, double share) { budget.report(stage, share); });
    } catch (const BudgetExhausted& error) {
      throw BudgetExhausted(fmt::format("{}: {}", error.what(), describe_checkpoint(fit.checkpoint)));
    }
    std::string architecture;
    if (!options->save.empty()) {
      const std::string& save = options->save;
      data::write_safetensors(save, result.model->to_tensors());
      architecture = architecture_beside(save);
      write_file_atomically(architecture, result.model->to_architecture());
      std::filesystem::remove(fit.checkpoint);
    }
    clear_progress();
    fmt::print("{}", options->json ? trials::to_json(result, options->save, architecture) + "\n"
                                   : trials::to_text(result, options->save, architecture));
    if (!(result.relative_l2 <= result.wanted))
      exit = 1;
  });
}

} // namespace sightline::cli
