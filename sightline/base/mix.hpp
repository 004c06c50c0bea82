#pragma once
#include <cstdint>

namespace sightline {

/// Well mixed 64 bits of x: neighbouring numbers give unrelated ones. One step of splitmix64 (Steele, Lea and Flood 2014) from the state x,
/// specified to the bit, so that what is drawn or hashed with it is the same on every machine.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The next number of splitmix64; `state` moves on.
[[nodiscard]] constexpr std::uint64_t draw_mixed(std::uint64_t& state) {
  const std::uint64_t number = mix(state);
  state += 0x9e3779b97f4a7c15u;
  return number;
}

}  // namespace sightline
