// Writing architectures: canonical JSON (every default filled in, keys sorted, no spaces), and TOML for people.
#pragma once

#include <string>

#include "sightline/architecture/architecture.hpp"

namespace sightline::architecture {

/// Canonical JSON of the architecture, one line without newline at the end. parse_architecture(to_canonical_json(a)) == a.
[[nodiscard]] std::string to_canonical_json(const Architecture& architecture);
/// TOML as a person would write it: only what differs from the defaults, layers with `repeat`, comments on top.
/// parse_architecture(to_toml(a)) == a (apart from comments).
[[nodiscard]] std::string to_toml(const Architecture& architecture);
/// Writes a file whole or not at all: temporary file in the same folder, fsync, rename. Throws InputError with the reason.
void write_file_atomically(const std::string& file, std::string_view bytes);

}  // namespace sightline::architecture
