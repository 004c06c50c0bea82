// Inside of sight: what the reflection of the line, i -> n-1-i, does to rows. Not for other rooms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::sight {

/// Room for the two rows that are compared.
struct ReflectedRows {
  std::vector<layout::ColouredRun> row, image;
};

/// Has the image of p its colour, and is, in each relation r with 0 < first[r] <= layers, what the row of p holds of low .. high mapped onto what that of its image holds of theirs? No registers.
/// @param work  grows by the vertices that are gone through one by one
[[nodiscard]] bool is_token_reflected(const layout::Layout& layout, const std::vector<std::uint64_t>& first, layout::Vertex p, layout::Vertex low, layout::Vertex high, std::uint64_t layers,
                                      ReflectedRows& rows, std::uint64_t& work);
/// Is the reflection an automorphism of the layout? Nothing once `work` exceeds `most_work`. O(runs) else.
[[nodiscard]] std::optional<bool> is_line_reflected(const layout::Layout& layout, const std::vector<std::uint64_t>& first, std::uint64_t& work, std::uint64_t most_work, const Budget& budget);

}  // namespace sightline::sight
