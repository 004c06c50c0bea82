// Readers of a layer that read the same though they are no neighbours: blocks and hubs whose tokens stand in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

/// The groups of a layer by what they read.
class RowClasses {
public:
  /// Nothing unless there are at most half as many rows as groups. O(ranges).
  [[nodiscard]] static std::optional<RowClasses> make(const ReadLayer& layer, const Budget& budget);

  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
  /// The groups that read row c, ascending.
  [[nodiscard]] std::span<const std::uint32_t> groups(std::size_t c) const { return std::span(groups_).subspan(begin_[c], begin_[c + 1] - begin_[c]); }

private:
  explicit RowClasses(Booking booking) : booking_(std::move(booking)) {}

  Booking booking_;
  std::vector<std::uint32_t> begin_, groups_;
};

}  // namespace sightline::sight
