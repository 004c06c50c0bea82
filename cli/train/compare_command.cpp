#include <fmt/format.h>

#include <memory>

#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/train/commands.hpp"
#include "cli/train/target_flags.hpp"
#include "cli/train/watch.hpp"
#include "cli/writable.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/trials/compare.hpp"

namespace sightline::cli {

void add_compare(CLI::App& app) {
  struct Options {
    TargetFlags target;
    trials::CompareOptions compare;
    std::vector<std::string> only;
    std::string csv, plot, positions = "none";
    bool json = false;
    LimitOptions limits;
  };
  auto options = std::make_shared<Options>();
  trials::CompareOptions& compare = options->compare;
  CLI::App* command =
      app.add_subcommand("compare", "attention and Sumformers of the same cost side by side on a target");
  options->target.add_to(*command);
  const auto at_least_one = CLI::Range(std::int64_t{1}, std::int64_t{1} << 30);
  command->add_option("--budget", compare.budget, "forward operations per sequence (docs/compare.md says what counts)")
      ->required()
      ->check(positive_number);
  command
      ->add_option("--only", options->only,
                   "some of full, window, linformer, performer, register, mlp-sumformer, polynomial")
      ->delimiter(',');
  command->add_option("--layers", compare.layers, "mixing layers of the attention networks (default 2)")
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--radius", compare.radius,
                   "of the window, round the ring (default: what the layers need to see all)")
      ->check(at_least_one);
  command->add_option("--rank", compare.rank, "of the linformer (default: a quarter of the tokens)")
      ->check(at_least_one);
  command->add_option("--features", compare.features, "of the performer (default: its width, at most 32)")->check(at_least_one);
  command->add_option("--positions", options->positions, "none, or learned codes in the attention networks")
      ->check(CLI::IsMember({"none", "learned"}));
  command->add_option("--steps", compare.steps, "of each training (default 2000)")->check(at_least_one);
  command->add_option("--batch", compare.batch, "sequences per step (default 64)")->check(at_least_one);
  command->add_option("--lr", compare.rate, "learning rate (default 0.003; cosine schedule)")
      ->check(positive_number);
  command->add_option("--seeds", compare.seeds, "trainings of each network (default 3)")->check(CLI::Range(1, 1000));
  command->add_option("--threads", compare.threads, "threads of a training (default 1)")->check(CLI::Range(1, 1024));
  command->add_option("--csv", options->csv, "write a row per network and seed");
  command->add_option("--plot", options->plot, "write the errors as .svg");
  command->add_flag("--json", options->json, "one JSON object");
  options->limits.add_to(*command);
  command->callback([options] {
    const std::string data_file = file_of_target(options->target.target);
    expect_writable(options->csv, {data_file});
    expect_writable(options->plot, {data_file, options->csv});
    const Budget budget = make_budget(options->limits, false);
    const Watch watch(options->limits.time_seconds);
    trials::CompareOptions compare = options->compare;
    for (const std::string& word : options->only)
      compare.kinds.push_back(trials::parse_kind(word));
    compare.positions = options->positions == "learned";
    compare.seed = options->target.seed;
    const trials::TaskData data = options->target.read(budget);
    const trials::Comparison result = trials::compare(
        data, compare, budget, [&](const std::string& stage, double share) { budget.report(stage, share); });
    clear_progress();
    if (!options->csv.empty())
      write_file_atomically(options->csv, trials::to_csv(result));
    if (!options->plot.empty())
      write_file_atomically(options->plot, trials::to_svg(result));
    fmt::print("{}", options->json ? trials::to_json(result) + "\n" : trials::to_text(result));
  });
}

} // namespace sightline::cli
