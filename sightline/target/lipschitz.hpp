// Bounds of slopes by interval arithmetic.
#pragma once

#include <cstddef>

#include "sightline/base/budget.hpp"
#include "sightline/target/expression.hpp"

namespace sightline::target {

/// An upper bound L of the Euclidean length of the gradient of every output number of every token, over [low, high]^(n d): then
/// |F_ie(X) - F_ie(Y)| <= L |X - Y|. Values and derivatives are enclosed by double-precision intervals rounded outward, on at most `boxes`
/// equal boxes; corners (relu, abs, max, min, norm) get the hull of their slopes. Infinity when some slope is not bounded on the domain (a root or a
/// logarithm near 0, a division by an enclosure of 0). O(boxes * steps * n^axes * n d).
[[nodiscard]] double bound_slope(const Expression& expression, std::size_t tokens, double low, double high, std::size_t boxes, const Budget& budget);

}  // namespace sightline::target
