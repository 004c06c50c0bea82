// Any file a user may name -> Architecture.
#pragma once

#include <string>

#include "sightline/architecture/architecture.hpp"
#include "sightline/huggingface/import.hpp"

namespace sightline::cli {

/// Reads a TOML or JSON architecture, or imports a Hugging Face config.json (its assumptions become part of the answer).
/// Throws InputError.
[[nodiscard]] architecture::Architecture load_architecture(const std::string& file, const huggingface::ImportOptions& options);

}  // namespace sightline::cli
