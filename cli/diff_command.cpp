#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/design/difference.hpp"
#include "sightline/design/sources.hpp"

namespace sightline::cli {
namespace {

struct DiffOptions {
  std::string a, b;
  bool json = false;
  LimitOptions limits;
  ImportFlags import;
};

bool is_mask(const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  return extension == ".npy" || extension == ".npz" || extension == ".mtx" || extension == ".edges";
}

/// May options for a config.json be meant for this file?
bool takes_options(const std::string& file) { return is_mask(file) || architecture::detect_kind(architecture::read_file(file), file) == architecture::FileKind::huggingface_config; }

/// A mask as one layer of plain attention, repeated for ever: what such a mask can express at all.
/// @param dim  that of the other side, where it is an architecture
architecture::Architecture make_masked(const std::string& file, std::optional<std::int64_t> tokens, std::int64_t dim) {
  if (const auto size = design::find_mask_size(architecture::read_file(file))) tokens = *size;
  if (!tokens) throw InputError(fmt::format("{}: expected --tokens, because the size of this mask is not in the file", file));
  architecture::Architecture result = architecture::parse_architecture(fmt::format("tokens = {}\ndim = {}\ndepth = \"unbounded\"\n", *tokens, dim), file);
  layout::PatternSpec pattern;
  pattern.kind = layout::PatternKind::file;
  pattern.path = file;
  result.mixer.pattern = pattern;
  for (architecture::LayerSpec& layer : result.layers) layer.mixer.pattern = pattern;
  return result;
}

Exit run(const DiffOptions& options) {
  const Budget budget = make_budget(options.limits);
  std::optional<std::int64_t> tokens = options.import.tokens;
  std::int64_t dim = 64;
  architecture::Architecture sides[2];
  const std::string files[2] = {options.a, options.b};
  for (int k = 0; k < 2; ++k) {
    if (is_mask(files[k])) continue;
    sides[k] = load_architecture(files[k], options.import.options(), !takes_options(files[1 - k]));
    tokens = sides[k].tokens;
    dim = sides[k].dim;
  }
  for (int k = 0; k < 2; ++k) {
    if (is_mask(files[k])) sides[k] = make_masked(files[k], tokens, dim);
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
