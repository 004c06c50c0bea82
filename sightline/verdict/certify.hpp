// The main job: Architecture -> Answer.
#pragma once

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/verdict/answer.hpp"

namespace sightline::verdict {

/// Decides (theory.md 0, 15.7). Never throws for a limit: a BudgetExhausted inside gives verdict unknown with `limit` set and
/// whatever was established before. Throws InputError (a pattern or group that cannot be built), Interrupted, InternalError.
[[nodiscard]] Answer certify(const architecture::Architecture& architecture, const Budget& budget);

}  // namespace sightline::verdict
