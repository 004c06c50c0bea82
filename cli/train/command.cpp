#include "cli/train/command.hpp"

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/train/checkpoint.hpp"
#include "sightline/train/device.hpp"

namespace sightline::cli {

void ModelFlags::add_to(CLI::App& command) {
  command.add_option("MODEL", model, "the folder of a run (its best.safetensors) or a weights file")->required();
  command.add_option("--data", data, ".npz, .npy or .csv with x")->required();
  command.add_option("--targets", targets, "y beside a .npy file");
  command.add_option("--split", split, "all (x as it stands), val (x_val) or test (x_test)")
      ->check(CLI::IsMember({"all", "val", "test"}));
  command.add_flag("--exact", exact, "bit for bit equivariant under the certified group");
  command.add_option("--threads", threads, "threads (default: all cores)")->check(CLI::Range(1, 1024));
  command.add_option("--batch", batch, "samples at a time")->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  command.add_option("--device", device, "cpu, or cuda (mixers as plain tensor operations)")
      ->check(CLI::IsMember({"cpu", "cuda"}));
}

train::Run ModelFlags::run() const {
  train::Run run;
  run.threads = threads > 0 ? threads : train::count_cores();
  if (const std::string word = train::describe_threads(run.threads); !word.empty())
    fmt::print(stderr, "sightline: {}\n", word);
  run.exact = exact;
  train::use_threads(run.threads);
  return run;
}

LoadedModel load_for(const ModelFlags& flags, bool targets, const Budget& budget) {
  LoadedModel loaded;
  if (flags.exact && flags.device != "cpu")
    throw InputError("--exact: expected --device cpu (exact mode is that of our own mixers), found " + flags.device);
  loaded.device = train::open_device(flags.device);
  loaded.model = train::load_model(flags.model, budget);
  loaded.model->to(loaded.device);
  const train::ModelOptions& options = loaded.model->options();
  const auto ids = options.ids > 0 ? std::optional<std::int64_t>(options.ids) : std::nullopt;
  const auto outputs = targets ? std::optional<std::int64_t>(options.outputs) : std::nullopt;
  data::Dataset data = data::read_dataset(flags.data, flags.targets,
                                          train::expect(loaded.model->architecture(), ids, outputs, targets), budget);
  const auto take = [&](const std::optional<data::Part>& part) {
    if (!part)
      throw InputError(
          fmt::format("{}: expected x_{} for --split {}, found none", flags.data, flags.split, flags.split));
    return train::to_batch(*part, options.dtype);
  };
  loaded.samples = flags.split == "val"    ? take(data.validation)
                   : flags.split == "test" ? take(data.test)
                                           : train::to_batch(data.train, options.dtype);
  return loaded;
}

} // namespace sightline::cli
