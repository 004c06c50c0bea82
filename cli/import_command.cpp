#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/writable.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/atomic_file.hpp"

namespace sightline::cli {
namespace {

struct ImportOptions {
  std::string file, save;
  ImportFlags flags;
};

void run(const ImportOptions& options) {
  expect_writable(options.save, {options.file});
  huggingface::Import imported = huggingface::import_config(architecture::read_file(options.file), options.file, options.flags.options());
  imported.architecture.comments = imported.assumptions;
  const std::string text = print_for_file(imported.architecture, options.save);
  if (!options.save.empty()) write_file_atomically(options.save, text);  // first: what was assumed is of no use without the file
  for (const std::string& line : imported.assumptions) fmt::print(stderr, "assumed: {}\n", line);
  if (!imported.ignored.empty()) fmt::print(stderr, "ignored: {}\n", fmt::join(imported.ignored, ", "));
  if (options.save.empty()) fmt::print("{}", text);
}

}  // namespace

void add_import(CLI::App& app, Exit&) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "turn a Hugging Face config.json into an architecture file");
  command->add_option("CONFIG", options->file, "config.json")->required();
  command->add_option("--save", options->save, "file to write (default: standard output)");
  options->flags.add_to(*command);
  command->footer(fmt::format("model types: {}", fmt::join(huggingface::known_model_types(), ", ")));
  command->callback([options] { run(*options); });
}

}  // namespace sightline::cli
