#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/load.hpp"
#include "cli/numbers.hpp"
#include "cli/train/commands.hpp"
#include "cli/train/progress.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"

namespace sightline::cli {
namespace {

struct TrainOptions {
  std::string file;
  train::TrainRequest request;
  std::map<std::string, std::string> settings;
};

/// The architecture with what the command line says about [train]: the file's JSON form with these keys put in, read
/// again, so that the same rules and messages apply.
architecture::Architecture load_with_settings(const TrainOptions& options) {
  architecture::Architecture a = load_architecture(options.file, {});
  if (options.settings.empty())
    return a;
  nlohmann::json root = nlohmann::json::parse(architecture::to_canonical_json(a));
  nlohmann::json& table = root["train"];
  if (table.is_null())
    table = nlohmann::json::object();
  for (const auto& [key, text] : options.settings) {
    const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    table[key] = value.is_discarded() ? nlohmann::json(text) : value; // words need no quotes
    if (key == "epochs" && !options.settings.contains("steps"))
      table.erase("steps");
  }
  try {
    return architecture::parse_architecture(root.dump(), options.file);
  } catch (const InputError& error) {
    // The file alone was read before: what is wrong now was said on the command line.
    const std::string message = error.what();
    for (const auto& [key, text] : options.settings) {
      const std::string place = fmt::format("{}: /train/{}: ", options.file, key);
      if (message.starts_with(place))
        throw InputError(fmt::format("--train.{}: {}", key, message.substr(place.size())));
    }
    throw;
  }
}

void run_training(const TrainOptions& options) {
  train::TrainRequest request = options.request;
  request.architecture = load_with_settings(options);
  for (const std::string& warning : request.architecture.warnings)
    fmt::print(stderr, "warning: {}\n", warning);
  ProgressBar bar;
  train::TrainListener listener;
  listener.say = [&](const std::string& line) {
    bar.clear();
    fmt::print(stderr, "{}\n", line);
  };
  listener.show = [&](const train::Progress& progress) { bar.show(progress); };
  const train::TrainResult result = train::train(request, listener, Budget{});
  bar.clear();
  if (!result.speaks)
    return;
  fmt::print("{} after {} steps; best loss {:.6g} at step {}; weights in {}\n",
             result.stopped_early ? "stopped early" : "finished", result.steps, result.best_loss, result.best_step,
             request.out);
}

} // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  train::TrainRequest& request = options->request;
  CLI::App* command = app.add_subcommand("train", "train a network with this architecture on data");
  command->add_option("FILE", options->file, "architecture (.toml, .json) or Hugging Face config.json")->required();
  command->add_option("--data", request.data, ".npz, .npy (with --targets) or .csv")->required();
  command->add_option("--targets", request.targets, "y beside a .npy file");
  command->add_option("--out", request.out, "the folder to make: weights, metrics, curves")->required();
  command->add_flag("--resume", request.resume,
                    "go on with the run in that folder, bit for bit as if it had never stopped");
  command->add_option("--init-from", request.init_from, "weights (or the folder of a run) to start from");
  command->add_option("--only", request.only, "train the tensors whose names begin so, e.g. input,output; the others stay")
      ->delimiter(',');
  command->add_option("--threads", request.threads, "threads (default: all cores; the run's own with --resume)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--validation", request.validation, "share of x kept for validation when the data has no x_val")
      ->check(CLI::Range(0.0, 0.9));
  command->add_option("--checkpoint-seconds", request.checkpoint_seconds, "least time between two checkpoints")
      ->check(non_negative_number);
  command->add_option("--device", request.device, "cpu, or cuda (mixers as plain tensor operations)")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  for (const char* key : {"epochs", "steps", "batch", "optimiser", "lr", "schedule", "warmup", "weight_decay", "clip",
                          "patience", "label_smoothing", "dtype", "seed"}) {
    const auto keep = [options, key](const std::string& text) { options->settings[key] = text; };
    command->add_option_function<std::string>(fmt::format("--train.{}", key), keep,
                                              fmt::format("{} of the file's [train] table", key));
  }
  command->callback([options] { run_training(*options); });
}

} // namespace sightline::cli
