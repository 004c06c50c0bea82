// Comparing what a user wrote with the words that were expected, and showing it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sightline {

/// Edits (insert, delete, replace, swap neighbours) between two short words; upper and lower case differ.
/// O(|a| |b|) time and memory.
[[nodiscard]] std::size_t compute_edit_distance(std::string_view a, std::string_view b);

/// Bytes of a file in quotes, fit for one line of an error message: at most 40 of them, control characters as \x1b.
[[nodiscard]] std::string quote_bytes(std::string_view text);

}  // namespace sightline
