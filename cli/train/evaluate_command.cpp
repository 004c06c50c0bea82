#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/train/command.hpp"
#include "cli/train/commands.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/train/predictor.hpp"

namespace sightline::cli {

void add_evaluate(CLI::App& app) {
  auto flags = std::make_shared<ModelFlags>();
  CLI::App* command =
      app.add_subcommand("evaluate", "how good a trained model is on data: loss, accuracy or rmse, samples, as JSON");
  flags->add_to(*command);
  command->callback([flags] {
    const Budget budget;
    const LoadedModel loaded = load_for(*flags, true, budget);
    const train::Evaluation found =
        train::evaluate(*loaded.model, loaded.samples, flags->batch, flags->run(), loaded.device, &budget);
    nlohmann::ordered_json json;
    json["loss"] = found.loss;
    json[found.classes ? "accuracy" : "rmse"] = found.metric;
    json["samples"] = found.samples;
    fmt::print("{}\n", print_json(json));
  });
}

} // namespace sightline::cli
