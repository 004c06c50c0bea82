// Reading architecture files: TOML or JSON text -> validated Architecture (format.md).
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "sightline/architecture/architecture.hpp"

namespace sightline::architecture {

/// What a file holds, decided by its content and name.
enum class FileKind { toml, json, huggingface_config };

/// Reads a file (TOML or JSON architecture; not a config.json: see huggingface/import.hpp). Everything is validated before
/// this returns: unknown keys (with a suggestion), types, ranges, keys of another kind, contradictory sizes.
/// Throws InputError: `FILE:LINE:COLUMN: ...` for TOML and for JSON syntax, `FILE: /mixer/pattern/radius: ...` for JSON fields.
[[nodiscard]] Architecture read_architecture(const std::string& file);
/// The same from text; `file` is used in messages and to resolve relative paths.
[[nodiscard]] Architecture parse_architecture(std::string_view text, const std::string& file);
/// Is this text a JSON object with a string `model_type` (a Hugging Face config)?
[[nodiscard]] FileKind detect_kind(std::string_view text, const std::string& file);
/// Whole file as bytes; throws InputError naming the file and the system's reason.
[[nodiscard]] std::string read_file(const std::string& file);

}  // namespace sightline::architecture
