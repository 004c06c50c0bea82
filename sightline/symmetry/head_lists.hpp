// Rows or columns written out vertex by vertex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::symmetry {

using layout::Vertex;

/// Rows or columns as lists of heads, ascending.
struct HeadLists {
  std::vector<std::uint32_t> begin;
  std::vector<Vertex> heads;

  [[nodiscard]] std::span<const Vertex> of(Vertex v) const { return std::span(heads).subspan(begin[v], begin[v + 1] - begin[v]); }
  friend bool operator==(const HeadLists&, const HeadLists&) = default;
};

/// Lists that are read in an order that no cache guesses are asked for so many lists ahead.
constexpr Vertex rows_ahead = 8;
inline void prefetch_heads(const Vertex* heads) {
  constexpr std::size_t line = 64 / sizeof(Vertex);
  __builtin_prefetch(heads);
  __builtin_prefetch(heads + line);
}

/// Are the rows of 0 .. n-1 their own columns? O(heads), in most structures that are not symmetric far less.
[[nodiscard]] bool is_symmetric(const HeadLists& rows, Vertex n);

/// Columns from rows. O(n + heads).
[[nodiscard]] HeadLists transpose(const HeadLists& rows, Vertex n);

}  // namespace sightline::symmetry
