// Hugging Face config.json -> Architecture: one table row per model family (rules per model_type).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/architecture/architecture.hpp"

namespace sightline::huggingface {

struct ImportOptions {
  std::optional<std::int64_t> tokens;      ///< --tokens; default: the position table
  std::vector<std::int64_t> global;        ///< --global (longformer)
  std::optional<bool> bos;                 ///< --bos yes|no; default: the family's habit
  std::string mode = "eval";               ///< --mode eval|train (big_bird)
};

struct Import {
  architecture::Architecture architecture;
  std::vector<std::string> assumptions;  ///< one line each, for standard error and comments
  std::vector<std::string> ignored;      ///< keys of the config that were not read
};

/// Throws InputError: unknown model_type (names it, suggests the nearest, lists the known ones), wrong types, contradictions,
/// a length beyond the position table.
[[nodiscard]] Import import_config(std::string_view json_text, const std::string& file, const ImportOptions& options);

/// All model types that are known, sorted.
[[nodiscard]] std::vector<std::string> known_model_types();

}  // namespace sightline::huggingface
