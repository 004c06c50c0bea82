// Random sequences that any thread can draw again: block b of a seed is the same numbers on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "sightline/base/budget.hpp"

namespace sightline::target {

/// Independent tokens with independent coordinates: uniform in [low, high], or standard normal.
struct Sampler {
  enum class Law { uniform, normal } law = Law::uniform;
  double low = -1, high = 1;

  /// Fills `count` numbers from block `block` of stream `stream` of the seed. `budget`: polled on the way, for counts that take long.
  void fill(std::uint64_t seed, std::uint64_t stream, std::uint64_t block, std::size_t count, double* out, const Budget* budget = nullptr) const;
};

/// A generator for block `block` of a stream, far from all others.
[[nodiscard]] std::mt19937_64 make_random(std::uint64_t seed, std::uint64_t stream, std::uint64_t block);
/// Uniform in [0, 1).
[[nodiscard]] inline double draw_unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace sightline::target
