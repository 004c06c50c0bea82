// Values of expressions, entry by entry, whatever the entries are: normal forms, intervals.
#pragma once

#include <cstddef>
#include <vector>

namespace sightline::attention_kernel {

/// A vector, or a scalar with one entry.
template <class Entry>
struct Entries {
  bool is_vector = false;
  std::vector<Entry> entries;
};

/// function(entry) for every entry.
template <class Entry, class Function>
[[nodiscard]] Entries<Entry> map_entries(Entries<Entry> value, Function function) {
  for (Entry& entry : value.entries) entry = function(entry);
  return value;
}

/// function(a, b) entry by entry; a scalar meets every entry of a vector. Vectors of different sizes: std::out_of_range.
template <class Entry, class Function>
[[nodiscard]] Entries<Entry> join_entries(const Entries<Entry>& a, const Entries<Entry>& b, Function function) {
  Entries<Entry> result{a.is_vector || b.is_vector, {}};
  const std::size_t count = a.is_vector ? a.entries.size() : b.entries.size();
  for (std::size_t i = 0; i < count; ++i) result.entries.push_back(function(a.entries.at(a.is_vector ? i : 0), b.entries.at(b.is_vector ? i : 0)));
  return result;
}

}  // namespace sightline::attention_kernel
