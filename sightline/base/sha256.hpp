// The digest by which a certificate names its architecture.
#pragma once

#include <string>
#include <string_view>

namespace sightline {

/// SHA-256 (FIPS 180-4) of the bytes, as 64 lower-case hexadecimal digits. O(bytes).
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace sightline
