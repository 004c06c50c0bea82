// Arithmetic modulo 2^61 - 1 and well mixed numbers: what fingerprints and traces are made of. Fixed, so that equal input gives equal work.
#pragma once

#include <cstdint>

#include "graph.hpp"

namespace checker {

inline constexpr Element modulus = (Element{1} << 61) - 1;

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
inline std::uint64_t mix(std::uint64_t x, std::uint64_t y) { return mix(mix(x) ^ (y + 0x632be59bd9b4e019u)); }
inline Element add(Element a, Element b) { return a + b >= modulus ? a + b - modulus : a + b; }
inline Element subtract(Element a, Element b) { return a >= b ? a - b : a + modulus - b; }
inline Element multiply(Element a, Element b) {
  const Element ah = a >> 32, al = a & 0xffffffffu, bh = b >> 32, bl = b & 0xffffffffu;
  const Element middle = ah * bl + al * bh, low = al * bl;  // a b = ah bh 2^64 + middle 2^32 + low, and 2^61 = 1
  const Element sum = (ah * bh << 3) + (middle >> 29) + ((middle & 0x1fffffffu) << 32) + (low & modulus) + (low >> 61);
  const Element folded = (sum & modulus) + (sum >> 61);  // at most modulus + 7
  return folded >= modulus ? folded - modulus : folded;
}
inline Element random_element(std::uint64_t x) { return mix(x) % (modulus - 1) + 1; }
inline Element power_of(Element base, std::int64_t exponent) {
  constexpr auto order = static_cast<std::int64_t>(modulus) - 1;
  exponent %= order;
  if (exponent < 0) exponent += order;
  Element result = 1;
  for (; exponent != 0; exponent >>= 1, base = multiply(base, base)) {
    if ((exponent & 1) != 0) result = multiply(result, base);
  }
  return result;
}
inline const Element colour_base = random_element(0xc0105), backward = random_element(0xbac4);
inline Element scale_of(std::size_t table) { return random_element(mix(0x4e1a7, table)); }
inline Element value_of(Vertex x) { return random_element(mix(0x7715, x)); }
inline Element cell_value(std::uint32_t cell) { return random_element(mix(0xce11, cell)); }

}  // namespace checker
