// Inside of reach_engine.hpp and views.hpp: many columns, or roots, at once. Not for other rooms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sightline::sight {

/// One bit for each of 64 Words columns or roots. Aligned, so that one lies in one line of the cache: rows that are all over the place cost a line for each vertex.
template <unsigned Words>
struct alignas(8 * Words) Lane {
  std::array<std::uint64_t, Words> word{};
  Lane& operator|=(const Lane& other) {
#pragma GCC unroll 8
    for (unsigned w = 0; w < Words; ++w) word[w] |= other.word[w];
    return *this;
  }
  [[nodiscard]] Lane both(const Lane& other) const {
    Lane common;
#pragma GCC unroll 8
    for (unsigned w = 0; w < Words; ++w) common.word[w] = word[w] & other.word[w];
    return common;
  }
  [[nodiscard]] Lane without(const Lane& other) const {
    Lane rest;
#pragma GCC unroll 8
    for (unsigned w = 0; w < Words; ++w) rest.word[w] = word[w] & ~other.word[w];
    return rest;
  }
  [[nodiscard]] bool any() const { return !(*this == Lane{}); }
  [[nodiscard]] bool get(std::size_t bit) const { return (word[bit / 64] >> (bit % 64)) & 1; }
  void set(std::size_t bit) { word[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  friend bool operator==(const Lane& a, const Lane& b) {
    std::uint64_t differences = 0;
#pragma GCC unroll 8
    for (unsigned w = 0; w < Words; ++w) differences |= a.word[w] ^ b.word[w];
    return differences == 0;
  }
};

}  // namespace sightline::sight
