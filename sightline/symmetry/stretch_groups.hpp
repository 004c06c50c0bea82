// Inside of symmetry: vertices that agree in a key, which are proposed as twins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::symmetry {

using layout::Vertex;

/// Neighbouring vertices of one key: on block masks there are few of these.
struct Stretch {
  std::uint64_t key;
  Vertex begin, end;
};

/// Takes away most stretches of one vertex whose key no other stretch has: those whose last bits no other key has. Keys are well mixed.
inline void drop_lonely(std::vector<Stretch>& stretches) {
  constexpr std::size_t few = 64, bits_per_stretch = 8;
  if (stretches.size() < few) return;
  const std::size_t count = std::bit_ceil(stretches.size() * bits_per_stretch);
  std::vector<std::uint64_t> once(count / 64, 0), twice(count / 64, 0);
  for (const Stretch& stretch : stretches) {
    const std::size_t place = stretch.key & (count - 1);
    const std::uint64_t bit = std::uint64_t{1} << (place % 64);
    twice[place / 64] |= once[place / 64] & bit;
    once[place / 64] |= bit;
  }
  std::erase_if(stretches, [&](const Stretch& stretch) {
    const std::size_t place = stretch.key & (count - 1);
    return stretch.end - stretch.begin == 1 && (twice[place / 64] >> (place % 64) & 1) == 0;
  });
}

/// Calls group(first stretch, last + 1) for all stretches of one key that have at least two vertices together.
template <class Group>
void for_each_group(std::vector<Stretch>& stretches, Group&& group) {
  drop_lonely(stretches);
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.key != b.key ? a.key < b.key : a.begin < b.begin; });
  for (std::size_t begin = 0; begin < stretches.size();) {
    std::size_t end = begin + 1;
    while (end < stretches.size() && stretches[end].key == stretches[begin].key) ++end;
    if (end - begin > 1 || stretches[begin].end - stretches[begin].begin > 1) group(begin, end);
    begin = end;
  }
}

}  // namespace sightline::symmetry
