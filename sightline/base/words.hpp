// Comparing what a user wrote with the words that were expected.
#pragma once

#include <cstddef>
#include <string_view>

namespace sightline {

/// Edits (insert, delete, replace, swap neighbours) between two short words; upper and lower case differ.
/// O(|a| |b|) time and memory.
[[nodiscard]] std::size_t compute_edit_distance(std::string_view a, std::string_view b);

}  // namespace sightline
