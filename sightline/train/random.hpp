// Seeded numbers of our own: the same for every version of LibTorch and every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "sightline/base/mix.hpp"

namespace sightline::train {

/// splitmix64, started from a seed and a name, so that every parameter has numbers of its own whatever the others are.
class Random {
public:
  Random(std::uint64_t seed, std::string_view name) : state_(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {
    for (const char c : name)
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    (void)draw();
  }
  std::uint64_t draw() { return draw_mixed(state_); }
  /// Uniform on [0, 1).
  double uniform() { return static_cast<double>(draw() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  std::uint64_t state_;
};

} // namespace sightline::train
