#include "cli/load.hpp"

#include <fmt/format.h>

#include "sightline/architecture/read.hpp"

namespace sightline::cli {

architecture::Architecture load_architecture(const std::string& file, const huggingface::ImportOptions& options) {
  const std::string text = architecture::read_file(file);
  if (architecture::detect_kind(text, file) != architecture::FileKind::huggingface_config) {
    return architecture::parse_architecture(text, file);
  }
  huggingface::Import imported = huggingface::import_config(text, file, options);
  imported.architecture.file = file;
  imported.architecture.assumptions = imported.assumptions;
  if (!imported.ignored.empty()) {
    imported.architecture.assumptions.push_back(fmt::format("keys of the config that play no part: {}", fmt::join(imported.ignored, ", ")));
  }
  return imported.architecture;
}

}  // namespace sightline::cli
