// Targets as functions, from the words in which floors state them (sightline/verdict/floors.cpp).
#pragma once

#include <cstdint>
#include <functional>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/verdict/answer.hpp"

namespace sightline::samples {

/// One of the two functions is set. They write y (n times `outputs` numbers, all 0 before).
struct Recipe {
  std::function<void(const double* x, double* y)> on_reals;
  std::function<void(const std::int64_t* ids, double* y)> on_ids;
  std::int64_t vocabulary = 0;  ///< ordinary ids; the BOS is this number
  std::int64_t ids_drawn = 0;   ///< ids are uniform over 0 .. ids_drawn - 1
};

/// Throws InputError when the words name no function, OutOfReach when its orbits are too many.
[[nodiscard]] Recipe make_recipe(const architecture::Architecture& architecture, const verdict::Answer& answer, const verdict::Floor& floor,
                                 std::uint64_t outputs, const Budget& budget);

}  // namespace sightline::samples
