#include <filesystem>

#include "cli/numbers.hpp"
#include "cli/train/command.hpp"
#include "cli/load.hpp"
#include "cli/train/commands.hpp"
#include "cli/writable.hpp"
#include "sightline/data/predictions.hpp"
#include "sightline/train/predictor.hpp"

namespace sightline::cli {

void add_predict(CLI::App& app) {
  struct Options {
    ModelFlags flags;
    std::string out;
    std::optional<std::uint64_t> attention;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("predict", "what a trained model says about data");
  options->flags.add_to(*command);
  command->add_option("--out", options->out, "the .npz file to write: y (scores before softmax), attention")
      ->required();
  command->add_option("--attention", options->attention, "also write the attention of this layer (from 0)")->check(whole_number(0));
  command->callback([options] {
    const std::filesystem::path model = options->flags.model; // weights, or a folder of them; the architecture lies beside
    std::error_code missing;
    const bool is_folder = std::filesystem::is_directory(model, missing);
    expect_npz_name(options->out);
    expect_writable(options->out, {model, is_folder ? model / "best.safetensors" : model,
                                   (is_folder ? model : model.parent_path()) / "architecture.json", options->flags.data,
                                   options->flags.targets.value_or("")});
    const Budget budget;
    const LoadedModel loaded = load_for(options->flags, false, budget);
    expect_writable(options->out, list_files(loaded.model->architecture()));
    const train::Run run = options->flags.run();
    data::write_npz(options->out, train::predict(*loaded.model, loaded.samples, options->flags.batch,
                                                 options->attention, run, loaded.device, budget));
  });
}

} // namespace sightline::cli
