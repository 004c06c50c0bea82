// Any file a user may name -> Architecture.
#pragma once

#include <string>

#include "sightline/architecture/architecture.hpp"
#include "sightline/huggingface/import.hpp"

namespace sightline::cli {

/// Reads a TOML or JSON architecture, or imports a Hugging Face config.json (its assumptions become part of the answer).
/// A target symmetry that names files (graph:FILE, ...; relative to the architecture's folder) is replaced by its generators,
/// so that answers and certificates need no other file. Options for a config.json are refused where they would change nothing, unless
/// they may be meant for another file of the command. Throws InputError.
[[nodiscard]] architecture::Architecture load_architecture(const std::string& file, const huggingface::ImportOptions& options, bool only_file = true);

/// The same for `--require symmetry=` and other texts of the command line: files relative to `folder`.
void resolve_symmetry(architecture::Architecture& architecture, const std::string& folder);

/// For commands that do not ask about the target: throws InputError where certify would, when its symmetry is no group on the tokens.
void check_symmetry(const architecture::Architecture& architecture);

}  // namespace sightline::cli
