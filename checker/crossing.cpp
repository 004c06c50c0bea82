// Two layers that suffice: rows of the later one that meet the readers of every column of the earlier one (strided patterns).
#include <algorithm>

#include "poll.hpp"
#include "read_layers.hpp"

namespace checker {

std::optional<RowShape> measure_rows(const ReadLayer& layer, Vertex tokens) {
  if (layer.ranges.size() > 64 * std::size_t{tokens}) return std::nullopt;
  RowShape shape;
  std::vector<Range> row;
  std::uint64_t work = 0;
  // The last member so far, and how far apart members are.
  struct Walk {
    Vertex last, gap;
    void pass(const Range& range) {
      if (range.first > last) gap = std::max(gap, range.first - last);
      if (range.last <= last) return;
      // Above `last` the range goes on in its own step.
      if (range.first < range.last) gap = std::max(gap, range.step);
      last = range.last;
    }
  };
  std::uint32_t walked = 0;
  Walk common{};
  for (const ReadLayer::Group& group : layer.groups) {
    const std::span<const Range> shared = layer.shared(group), own = layer.own(group);
    if (group.common != walked) {
      walked = group.common;
      if (!shared.empty()) common = {shared.front().first, 1};
      for (const Range& range : shared) common.pass(range);
    }
    // All common ranges begin before the others and the reader: they are walked through once.
    const bool is_first = !shared.empty() && shared.back().first <= group.begin && std::ranges::all_of(own, [&](const Range& range) { return shared.back().first <= range.first; });
    for (Vertex i = group.begin; i < std::min(group.end, tokens); ++i) {
      poll();
      row.assign(own.begin(), own.end());
      if (!is_first) row.insert(row.end(), shared.begin(), shared.end());
      row.push_back({1, i, i});
      if ((work += row.size()) > 64 * std::uint64_t{tokens}) return std::nullopt;
      std::sort(row.begin(), row.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
      Vertex from = i, to = i;
      for (const Range& range : row) {  // sorted: what touches the interval from below comes before what touches it from above
        if (range.step != 1 || range.first > std::uint64_t{to} + 1 || std::uint64_t{range.last} + 1 < from) continue;
        from = std::min(from, range.first);
        to = std::max(to, range.last);
      }
      Walk walk = is_first ? common : Walk{row.front().first, 1};
      for (const Range& range : row) walk.pass(range);
      shape.gap = std::max(shape.gap, walk.gap);
      shape.from.push_back(from);
      shape.to.push_back(std::min(to, tokens - 1));
      shape.latest_first = std::max(shape.latest_first, is_first ? shared.front().first : row.front().first);
      shape.earliest_last = std::min(shape.earliest_last, walk.last);
    }
  }
  return shape;
}

// i reads k in the later layer and k reads j in the earlier one. All readers in [start, end], an interval around j, read j in the earlier layer.
// A row that begins at `end` or before, ends at `start` or after and whose members are at most end - start + 1 apart has a member k there: else
// the last member before `start` and the first behind `end` would be farther apart.
bool do_two_layers_suffice(const std::optional<RowShape>& readers, const std::optional<RowShape>& rows, Vertex tokens, bool causal) {
  if (!readers || !rows || !std::is_sorted(readers->from.begin(), readers->from.end()) || !std::is_sorted(readers->to.begin(), readers->to.end())) return false;
  for (Vertex j = 0, start = 0, end = 0; j < tokens; ++j) {
    while (start < j && readers->to[start] < j) ++start;
    end = std::max(end, j);
    while (end + 1 < tokens && readers->from[end + 1] <= j) ++end;
    if (!causal) {
      if (rows->latest_first > end || rows->earliest_last < start || rows->gap > end - start + 1) return false;
      continue;
    }
    // Asked of i >= j only: up to `end` the token is its own k, and behind it the row goes as far as i.
    if (end + 1 < tokens && (rows->latest_first > end || rows->gap > end - j + 1)) return false;
  }
  return true;
}

}  // namespace checker
