// Exact feasibility of strict homogeneous linear inequalities.
#pragma once

#include <optional>
#include <vector>

#include "sightline/attention_kernel/surd.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::attention_kernel {

/// A vector v with row . v > 0 for every row, or nothing when there is none. Exact both ways: a returned v has been
/// checked, and "nothing" means that nonnegative multipliers, not all 0, with sum of multiplier * row = 0 were found
/// (Gordan). All rows have `dim` entries. Primal simplex with Bland's rule on the multipliers: no cycling; the cost
/// of a pivot is O(dim * rows) operations.
[[nodiscard]] std::optional<std::vector<Surd>> find_strict_solution(const std::vector<std::vector<Surd>>& rows, std::size_t dim, const Budget& budget);

[[nodiscard]] Surd dot_product(const std::vector<Surd>& a, const std::vector<Surd>& b);

}  // namespace sightline::attention_kernel
