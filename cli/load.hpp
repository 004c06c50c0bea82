// Any file a user may name -> Architecture.
#pragma once

#include <cstdint>
#include <optional>
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

/// Has the file the name of a mask (.npy, .npz, .mtx, .edges)?
[[nodiscard]] bool is_mask(const std::string& file);
/// A mask as layers of plain attention, as many as are needed: what such a mask can express at all.
/// @param tokens  of edge lists, which may leave out the last ones. @param dim  numbers per token
/// Throws InputError, also where the number of tokens is neither given nor in the file.
inline constexpr std::int64_t masked_dim = 64;
[[nodiscard]] architecture::Architecture load_mask(const std::string& file, std::optional<std::int64_t> tokens, std::int64_t dim);
/// load_architecture, or load_mask: for commands that look at who reads whom.
[[nodiscard]] architecture::Architecture load_layout(const std::string& file, const huggingface::ImportOptions& options, bool only_file = true,
                                                     std::vector<std::string>* named = nullptr);

/// What load_architecture does about files that a symmetry names, for `--require symmetry=` and other texts of the command line: files relative to `folder`.
void resolve_symmetry(architecture::Architecture& architecture, const std::string& folder, std::vector<std::string>* named = nullptr);

/// The masks and the table of positions that an architecture names; not what its symmetry names, which load_architecture replaces.
[[nodiscard]] std::vector<std::string> list_files(const architecture::Architecture& architecture);

/// For commands that do not ask about the target: throws InputError where certify would, when its symmetry is no group on the tokens.
void check_symmetry(const architecture::Architecture& architecture);

/// The architecture as the text of this file, to which paths inside are relative: canonical JSON where its name ends with .json, else TOML.
[[nodiscard]] std::string print_for_file(architecture::Architecture architecture, const std::string& file);

}  // namespace sightline::cli
