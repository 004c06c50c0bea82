// Pairs of labelled inputs with equal labels and different targets.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/sight/labels.hpp"
#include "sightline/sight/labels_inputs.hpp"

namespace sightline::sight {

/// `state` holds the label of vertex v of sequence k at k * vertices + v, labels being 0 .. distinct-1. Linear.
[[nodiscard]] bool has_collision(const Inputs& inputs, const Targets& targets, const std::vector<std::uint32_t>& state,
                                 std::uint64_t distinct);

/// The collision that IdCollision describes; there must be one (InternalError). O(count n^3 V).
[[nodiscard]] IdCollision find_least_collision(const Inputs& inputs, const Targets& targets, const std::vector<std::uint32_t>& state,
                                               const Budget& budget);

}  // namespace sightline::sight
