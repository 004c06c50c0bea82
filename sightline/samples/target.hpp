// Samples of the target in a floor, so that anyone can train against it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/verdict/answer.hpp"

namespace sightline::samples {

/// Inputs x with the floor's measure and targets y = F(x), as `x` [N, n, input.dim] float or [N, n] ids (the BOS is the id V)
/// and `y` [N, n, k], k = outputs per token asked for.
struct Samples {
  std::uint64_t count = 0, tokens = 0, width = 0, outputs = 0;
  std::vector<double> x;             ///< real-valued tokens
  std::vector<std::int64_t> ids;     ///< or ids
  std::vector<double> y;
  [[nodiscard]] bool has_ids() const { return width == 0; }
};

/// Draws `count` samples of the floor's target; the same seed gives the same samples. F is taken from the words of the
/// floor (its `target` and `domain`) and from the architecture's group. Without a vocabulary there are max(2, n) ids, rounded
/// up to even. Throws InputError when the floor names no target that can be evaluated (no closed form), BudgetExhausted,
/// and OutOfReach when the orbits that define F are too many.
[[nodiscard]] Samples draw_samples(const architecture::Architecture& architecture, const verdict::Answer& answer, const verdict::Floor& floor,
                                   std::uint64_t count, std::uint64_t seed, const Budget& budget);

/// x, y and, under "floor", the words given (the floor as JSON): an .npz archive.
[[nodiscard]] std::string to_npz(const Samples& samples, const std::string& floor);

}  // namespace sightline::samples
