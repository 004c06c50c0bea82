// How many values differ?
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace checker {

/// Values met so far, in a table that is at most half full: sorting would take longer than what made them.
class Distinct {
public:
  /// Forgets all; up to `most` values come.
  void begin(std::size_t most) {
    slots_.assign(std::bit_ceil(2 * most + 1), 0);
    zero_ = false;  // which marks an empty slot
  }
  /// Is it a new one?
  bool add(std::uint64_t value) {
    if (value == 0) return !std::exchange(zero_, true);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (value >> 7) & mask;
    while (slots_[at] != 0 && slots_[at] != value) at = (at + 1) & mask;
    return std::exchange(slots_[at], value) == 0;
  }
  /// Of the first `end` values.
  std::size_t count(const std::vector<std::uint64_t>& values, std::size_t end) {
    begin(end);
    std::size_t different = 0;
    for (std::size_t k = 0; k < end; ++k) different += add(values[k]) ? 1 : 0;
    return different;
  }

private:
  std::vector<std::uint64_t> slots_;
  bool zero_ = false;
};

/// Of all members of the list, value_of(member).
template <class Member, class Value>
bool are_distinct(const std::vector<Member>& list, const Value& value_of, Distinct& met) {
  met.begin(list.size());
  for (const Member& member : list) {
    if (!met.add(value_of(member))) return false;
  }
  return true;
}

}  // namespace checker
