// The group language of the project (interfaces.md 7): "D_12", "S_3 wr S_2", "cyclic(3)*cyclic(4)", "gens[(0 1 2),(3 4)]".
#pragma once

#include <string_view>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

/// Parses and builds the group on `degree` points. Throws InputError: what is wrong and at which character (1-based),
/// with a suggestion for a misspelt name; also when the degree differs from `degree`.
[[nodiscard]] Group parse_group(std::string_view text, Point degree, const Budget& budget);

}  // namespace sightline::group
