// Writing architectures: canonical JSON (every default filled in, keys sorted, no spaces), and TOML for people.
#pragma once

#include <string>

#include "sightline/architecture/architecture.hpp"

namespace sightline::architecture {

/// Canonical JSON of the architecture's normal form: one line without newline at the end, keys sorted, no spaces, integers
/// as integers, other numbers as the shortest decimal that reads back. Every default is filled in and every layer is written
/// out whole (mixer, feedforward, norm, repeat); what is absent is null. `input.file` is replaced by its content; pattern
/// files keep their path, written relative to the folder of `architecture.file` when they lie below it.
/// same_architecture(parse_architecture(to_canonical_json(a), a.file), a).
/// Throws ArgumentError for kernel parameters that no decimal number spells (never after reading a file).
[[nodiscard]] std::string to_canonical_json(const Architecture& architecture);
/// TOML as a person would write it: comments on top, only what differs from the defaults, runs of equal layers with `repeat`.
/// same_architecture(parse_architecture(to_toml(a), a.file), a). One exception: when a layer lacks an optional value that
/// the defaults have (JSON's null, which TOML cannot say), every layer is written out and the default tables are left out.
/// Paths are relative to the folder of `architecture.file`: set it first when the text goes elsewhere.
[[nodiscard]] std::string to_toml(const Architecture& architecture);

}  // namespace sightline::architecture
