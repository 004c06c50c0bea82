#pragma once

#include "sightline/base/budget.hpp"

/// A budget that never ends, for tests that are not about budgets.
inline const sightline::Budget unlimited;
