// Theorem E by its definition: labels of all tokens under all rearrangements of one input, interned as values.
#pragma once

#include <set>

#include "sightline/layout/layout.hpp"
#include "tests/unit/design/groups.hpp"

namespace small_groups {

/// True when every label depends on every token and, after `depth` layers of the list and on an input X of different tokens, token b of tau X has the label of token a
/// of X exactly for tau in `elements` and b = tau(a). Rows are normalised: frequencies of (colour, label). n <= 7.
bool tells_exactly(const sightline::layout::Layout& layout, std::uint64_t depth, const std::set<Images>& elements);

}  // namespace small_groups
