// Any file a user may name -> Architecture.
#pragma once

#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/huggingface/import.hpp"

namespace sightline::cli {

/// Reads a TOML or JSON architecture, or imports a Hugging Face config.json (its assumptions become part of the answer).
/// A target symmetry that names files (graph:FILE, ...; relative to the architecture's folder) is replaced by its generators,
/// so that answers and certificates need no other file. Options for a config.json are refused where they would change nothing, unless
/// they may be meant for another file of the command. `named`: gets the files that the architecture names, which an answer must not
/// be written over. Throws InputError.
[[nodiscard]] architecture::Architecture load_architecture(const std::string& file, const huggingface::ImportOptions& options, bool only_file = true,
                                                           std::vector<std::string>* named = nullptr);

/// The same for `--require symmetry=` and other texts of the command line: files relative to `folder`.
void resolve_symmetry(architecture::Architecture& architecture, const std::string& folder, std::vector<std::string>* named = nullptr);

/// The masks and the table of positions that an architecture names; not what its symmetry names, which load_architecture replaces.
[[nodiscard]] std::vector<std::string> list_files(const architecture::Architecture& architecture);

/// For commands that do not ask about the target: throws InputError where certify would, when its symmetry is no group on the tokens.
void check_symmetry(const architecture::Architecture& architecture);

/// The architecture as the text of this file, to which paths inside are relative: canonical JSON where its name ends with .json, else TOML.
[[nodiscard]] std::string print_for_file(architecture::Architecture architecture, const std::string& file);

}  // namespace sightline::cli
