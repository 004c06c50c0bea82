// Small pieces of JSON that the readers and the writers share.
#pragma once

#include <string>
#include <string_view>

#include "sightline/architecture/tree.hpp"

namespace sightline::architecture {

/// A key as one step of a JSON pointer: ~ and / are written ~0 and ~1; control characters are escaped and
/// keys of more than 80 bytes are cut, so that messages stay on one readable line.
[[nodiscard]] std::string escape_pointer(std::string_view key);
/// Does this JSON object have `model_type` or `architectures` at its top level, as models' configs do and architectures do not?
/// Of malformed text the part before the mistake decides.
[[nodiscard]] bool is_model_config(std::string_view text);
/// The tree as JSON: keys sorted by bytes, no spaces, integers as integers, other numbers as the shortest decimal.
[[nodiscard]] std::string print_json(const Node& node);
/// A string in JSON's quotes; also a TOML basic string.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace sightline::architecture
