// Exact mode: layouts compiled so that every sum over a row is taken in an order that the plan's group carries along
// (SummationOrder in plan.hpp). One reader's arithmetic must then not depend on where the reader lies, so all readers
// of a relation are taken the same way, all in tiles or all row by row.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/mixer/cpu/tiles.hpp"

namespace sightline::mixer::cpu {

/// Null when the plan's order is none that tiles or rows can follow (the reference then answers).
[[nodiscard]] const std::vector<Tiles>* find_exact(const Plan& plan, const CompiledPlan& compiled);

/// The same order row by row, where it goes round a ring or torus: what the backward pass needs, whose sums over readers
/// are lists. Null when there is none, or when it would hold too many arcs.
[[nodiscard]] const std::vector<Tiles>* find_exact_rows(const Plan& plan, const CompiledPlan& compiled);

/// What find_exact() took by tiles, for the backward pass (rings.hpp). Null where a relation has no tiles.
[[nodiscard]] const std::vector<Tiles>* find_exact_back(const Plan& plan, const CompiledPlan& compiled);

} // namespace sightline::mixer::cpu
