// Theorem E by its definition: labels of all tokens under all rearrangements of one input, interned as values.
#pragma once

#include <set>

#include "sightline/layout/layout.hpp"
#include "tests/unit/design/groups.hpp"

namespace small_groups {

/// True when every label depends on every token and, after `depth` layers of the list and on an input X of different
/// tokens, token b of tau X has the label of token a of X exactly for tau in `elements` and b = tau(a). Rows are
/// normalised: frequencies of (colour, label). All n! rearrangements are tried, n <= 8. `suspects`: rearrangements that
/// refuted other layouts; they are tried first, and the one that refutes this is put in front. Whatever is in there,
/// the answer is the same.
bool tells_exactly(const sightline::layout::Layout& layout, std::uint64_t depth, const std::set<Images>& elements,
                   std::vector<Images>& suspects);
bool tells_exactly(const sightline::layout::Layout& layout, std::uint64_t depth, const std::set<Images>& elements);

} // namespace small_groups
