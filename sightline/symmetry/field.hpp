// Arithmetic modulo 2^61 - 1 for linear fingerprints of rows and columns.
//
// Fingerprints only ever propose (twins, splits of cells); whatever rests on them is verified exactly afterwards, so a
// collision costs time and never correctness. The multipliers are fixed, so equal input gives equal work.
#pragma once

#include <cstdint>

#include "sightline/base/mix.hpp"

namespace sightline::symmetry::field {

using Element = std::uint64_t;

inline constexpr Element modulus = (std::uint64_t{1} << 61) - 1;

using sightline::mix;

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x, std::uint64_t y) { return mix(mix(x) ^ (y + 0x632be59bd9b4e019u)); }

/// Both halves of a product: mixes two elements well enough for sums that nothing but speed rests on.
[[nodiscard]] constexpr std::uint64_t fold(Element a, Element b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x2d358dccaa6c78a5u) * (b ^ 0x8bb84b93962eacc9u);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

[[nodiscard]] constexpr Element add(Element a, Element b) {
  const Element sum = a + b;
  return sum >= modulus ? sum - modulus : sum;
}

[[nodiscard]] constexpr Element subtract(Element a, Element b) { return a >= b ? a - b : a + modulus - b; }

[[nodiscard]] constexpr Element multiply(Element a, Element b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return add(static_cast<Element>(product & modulus), static_cast<Element>(product >> 61));
}

/// A fixed pseudo-random element other than 0 for every x.
[[nodiscard]] constexpr Element random(std::uint64_t x) { return mix(x) % (modulus - 1) + 1; }

/// base^exponent for any sign of the exponent (base != 0).
[[nodiscard]] constexpr Element power(Element base, std::int64_t exponent) {
  constexpr std::int64_t group_order = static_cast<std::int64_t>(modulus) - 1;
  exponent %= group_order;
  if (exponent < 0) exponent += group_order;
  Element result = 1;
  for (; exponent != 0; exponent >>= 1, base = multiply(base, base)) {
    if (exponent & 1) result = multiply(result, base);
  }
  return result;
}

/// The generator g of the weights of arc colours: an arc of colour c in relation r weighs relation_weight(r) * g^c, so a run
/// whose colours form an arithmetic progression is summed without expanding it.
inline constexpr Element colour_base = random(0xc0105);
[[nodiscard]] constexpr Element relation_weight(std::uint64_t relation) { return random(mix(0x4e1a7, relation)); }
/// What tells arcs into a vertex from arcs out of it.
inline constexpr Element backward_weight = random(0xbac4);

}  // namespace sightline::symmetry::field
