// Inside of symmetry: vertices that agree in a key, which are proposed as twins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::symmetry {

using layout::Vertex;

/// Neighbouring vertices of one key: on block masks there are few of these.
struct Stretch {
  std::uint64_t key;
  Vertex begin, end;
};

/// Most of the keys that were added once, by their last bits. Keys are well mixed.
class LonelyKeys {
public:
  explicit LonelyKeys(std::size_t keys) : places_(std::bit_ceil(std::max<std::size_t>(keys, 8) * 8)), once_(places_ / 64, 0), twice_(places_ / 64, 0) {}

  void add(std::uint64_t key) {
    const std::size_t place = key & (places_ - 1);
    const std::uint64_t bit = std::uint64_t{1} << (place % 64);
    twice_[place / 64] |= once_[place / 64] & bit;
    once_[place / 64] |= bit;
  }
  /// Of a key that was added. False also where the last bits of two keys agree.
  [[nodiscard]] bool has(std::uint64_t key) const {
    const std::size_t place = key & (places_ - 1);
    return (twice_[place / 64] >> (place % 64) & 1) == 0;
  }

private:
  std::size_t places_;
  std::vector<std::uint64_t> once_, twice_;
};

/// Takes away most stretches of one vertex whose key no other stretch has.
inline void drop_lonely(std::vector<Stretch>& stretches) {
  constexpr Threshold<std::size_t> few{64, 1, "lonely stretches"};
  if (stretches.size() < few) return;
  LonelyKeys lonely(stretches.size());
  for (const Stretch& stretch : stretches) lonely.add(stretch.key);
  std::erase_if(stretches, [&](const Stretch& stretch) { return stretch.end - stretch.begin == 1 && lonely.has(stretch.key); });
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
