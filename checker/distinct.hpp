// Are values all different?
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace checker {

/// Of all members of the list, value_of(member). In a table that is at most half full: sorting would take longer than what made them.
template <class Member, class Value>
bool are_distinct(const std::vector<Member>& list, const Value& value_of, std::vector<std::uint64_t>& table) {
  const std::size_t size = std::bit_ceil(2 * list.size() + 1);
  table.assign(size, 0);
  bool zero = false;
  for (const Member& member : list) {
    const std::uint64_t value = value_of(member);
    if (value == 0 && std::exchange(zero, true)) return false;
    for (std::size_t at = value & (size - 1); value != 0; at = (at + 1) & (size - 1)) {
      if (table[at] == value) return false;
      if (table[at] != 0) continue;
      table[at] = value;
      break;
    }
  }
  return true;
}

}  // namespace checker
