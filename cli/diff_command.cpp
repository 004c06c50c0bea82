#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/design/difference.hpp"

namespace sightline::cli {
namespace {

struct DiffOptions {
  std::string a, b;
  bool json = false;
  LimitOptions limits;
  ImportFlags import;
};

/// May options for a config.json be meant for this file?
bool takes_options(const std::string& file) { return is_mask(file) || architecture::detect_kind(architecture::read_file(file), file) == architecture::FileKind::huggingface_config; }

Exit run(const DiffOptions& options) {
  const Budget budget = make_budget(options.limits);
  std::optional<std::int64_t> tokens = options.import.tokens;
  std::int64_t dim = masked_dim;
  architecture::Architecture sides[2];
  const std::string files[2] = {options.a, options.b};
  for (int k = 0; k < 2; ++k) {
    if (is_mask(files[k])) continue;
    sides[k] = load_architecture(files[k], options.import.options(), !takes_options(files[1 - k]));
    tokens = sides[k].tokens;
    dim = sides[k].dim;
  }
  for (int k = 0; k < 2; ++k) {
    if (is_mask(files[k])) sides[k] = load_mask(files[k], tokens, dim);
  }
  const design::Difference difference = design::compute_difference(sides[0], sides[1], budget);
  clear_progress();
  fmt::print("{}", options.json ? design::to_json(difference) + "\n" : design::to_text(difference));
  return difference.same ? Exit::answered : Exit::not_met;
}

}  // namespace

void add_diff(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "do two architectures, masks or model configs express the same? exit code 1 when not");
  command->add_option("A", options->a, "architecture, config.json or mask (.npy, .npz, .mtx, .edges)")->required();
  command->add_option("B", options->b, "the other one")->required();
  command->add_flag("--json", options->json, "one JSON object");
  options->limits.add_to(*command);
  options->import.add_to(*command);
  command->callback([options, &exit] { exit = run(*options); });
}

}  // namespace sightline::cli
