#include "sightline/target/sampler.hpp"

#include <cmath>
#include <numbers>

#include "sightline/base/mix.hpp"

namespace sightline::target {

std::mt19937_64 make_random(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  return std::mt19937_64(mix(mix(mix(seed) ^ stream) ^ block));
}

void Sampler::fill(std::uint64_t seed, std::uint64_t stream, std::uint64_t block, std::size_t count, double* out, const Budget* budget) const {
  constexpr std::size_t drawn_unasked = 1 << 16;  // half a millisecond
  const auto ask = [budget](std::size_t k) {
    if (budget != nullptr && k % drawn_unasked == 0) budget->poll();
  };
  std::mt19937_64 random = make_random(seed, stream, block);
  if (law == Law::uniform) {
    const double width = high - low;
    for (std::size_t k = 0; k < count; ++k) {
      ask(k);
      out[k] = low + width * draw_unit(random);
    }
    return;
  }
  for (std::size_t k = 0; k < count; k += 2) {  // Box and Muller
    ask(k);
    const double radius = std::sqrt(-2 * std::log1p(-draw_unit(random))), angle = 2 * std::numbers::pi * draw_unit(random);
    out[k] = radius * std::cos(angle);
    if (k + 1 < count) out[k + 1] = radius * std::sin(angle);
  }
}

}  // namespace sightline::target
