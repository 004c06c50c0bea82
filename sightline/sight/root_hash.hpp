// Inside of rooted.hpp: the hashes in which root_colours.cpp and view_colours.cpp agree to the last bit. Not for other rooms.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sightline/base/mix.hpp"

namespace sightline::sight::root_hash {

/// Rounds after which refinement stops, whatever it could still find.
inline constexpr int most_rounds = 64;

using sightline::mix;

/// What an arc of the colour multiplies by; odd.
[[nodiscard]] inline std::uint64_t weigh(std::int64_t colour) { return mix(static_cast<std::uint64_t>(colour) ^ 0x51ab5ead) | 1; }

/// Leaves those whose key another one has. @param keys  as many
template <class Value>
void drop_unique(std::vector<Value>& values, const std::vector<std::uint64_t>& keys) {
  std::vector<std::uint64_t> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  std::size_t kept = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), keys[k]);
    if (end - begin > 1) values[kept++] = values[k];
  }
  values.resize(kept);
}

/// How many different hashes the seen vertices have, by open addressing.
class DistinctCounter {
public:
  explicit DistinctCounter(std::size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

  std::size_t count(const std::vector<std::uint64_t>& hash, const std::vector<bool>& seen) {
    return count_if(hash, 0, hash.size(), [&](std::size_t j) { return seen[j]; });
  }
  /// Of the first `end` hashes.
  std::size_t count(const std::vector<std::uint64_t>& hash, std::size_t end) {
    return count_if(hash, 0, end, [](std::size_t) { return true; });
  }
  /// Of the hashes `begin` .. `end` - 1 those that count.
  template <class Counts>
  std::size_t count(const std::vector<std::uint64_t>& hash, std::size_t begin, std::size_t end, const Counts& counts) {
    return count_if(hash, begin, end, counts);
  }

private:
  template <class Counts>
  __attribute__((noinline)) std::size_t count_if(const std::vector<std::uint64_t>& hash, std::size_t begin, std::size_t end, const Counts& counts) {
    const std::size_t mask = std::min(slots_.size(), std::bit_ceil(2 * (end - begin) + 1)) - 1;
    std::fill(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(mask) + 1, 0);
    std::size_t distinct = 0;
    for (std::size_t j = begin; j < end; ++j) {
      __builtin_prefetch(&slots_[hash[std::min(j + 16, end - 1)] & mask], 1);  // slots are all over memory
      if (!counts(j)) continue;
      const std::uint64_t key = hash[j] == 0 ? 1 : hash[j];
      std::size_t at = key & mask;
      while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & mask;
      if (slots_[at] == 0) {
        slots_[at] = key;
        ++distinct;
      }
    }
    return distinct;
  }

  std::vector<std::uint64_t> slots_;
};

}  // namespace sightline::sight::root_hash
