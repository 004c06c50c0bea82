// Two layers that suffice: rows of the later one that meet the readers of every column of the earlier one (strided patterns).
#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "poll.hpp"
#include "read_layers.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

/// A member next to an interval, and how far its range goes on from there without a gap.
using Stretch = std::pair<Vertex, Vertex>;

constexpr unsigned most_passes = 4;  // rows of interleaved ranges would take as many as they have members

/// How far down an interval that begins at `from` goes on in members of the ranges.
Vertex lower(std::span<const Range> ranges, Vertex from, std::vector<Stretch>& buffer) {
  std::uint64_t before = std::uint64_t{from} + 1;
  for (unsigned pass = 0; pass < most_passes && from < before; ++pass) {  // a range with a step adds one member at a time
    before = from;
    buffer.clear();
    for (const Range& range : ranges) {
      if (range.first >= from) continue;
      const Vertex end = std::min(range.last, from - 1), last = end - (end - range.first) % range.step;
      buffer.emplace_back(last, range.step == 1 ? range.first : last);
    }
    std::sort(buffer.rbegin(), buffer.rend());
    for (const auto& [last, first] : buffer) {
      if (last + 1 < from) break;
      from = std::min(from, first);
    }
  }
  return from;
}

/// The same upwards, behind `to`; a range with a step adds one member at most.
Vertex raise(std::span<const Range> ranges, Vertex to, std::vector<Stretch>& buffer) {
  buffer.clear();
  for (const Range& range : ranges) {
    if (range.last <= to) continue;
    const Vertex first = range.first > to ? range.first : to + range.step - (to - range.first) % range.step;
    if (first <= range.last) buffer.emplace_back(first, range.step == 1 ? range.last : first);
  }
  std::sort(buffer.begin(), buffer.end());
  for (const auto& [first, last] : buffer) {
    if (first > std::uint64_t{to} + 1) break;
    to = std::max(to, last);
  }
  return to;
}

}  // namespace

std::uint64_t count_widest(const ReadLayer& layer) {
  const auto count = [](std::span<const Range> ranges) {
    std::uint64_t members = 0;
    for (const Range& range : ranges) members += (range.last - range.first) / range.step + 1;
    return members;
  };
  std::uint64_t widest = 0, common = 0;
  std::uint32_t counted = 0;
  for (const ReadLayer::Group& group : layer.groups) {
    if (group.common != counted) {
      counted = group.common;
      common = count(layer.shared(group));
    }
    widest = std::max(widest, common + count(layer.own(group)));
  }
  return widest + 1;
}

std::optional<RowShape> measure_rows(const ReadLayer& layer, Vertex tokens) {
  if (layer.ranges.size() > 256 * std::size_t{tokens}) return std::nullopt;
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
  std::vector<Stretch> touching;
  struct {
    std::uint32_t common = ~std::uint32_t{0};
    Vertex from = 0, to = 0;
  } known;
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
      // Members of ranges with steps may touch it as well; what common ranges add is found once for readers whose interval begins alike.
      from = lower(row, from, touching);
      Vertex before = tokens;
      for (unsigned pass = 0; is_first && pass < most_passes && from != before; ++pass) {
        if (known.common != group.common || known.from != from) known = {group.common, from, lower(shared, from, touching)};
        before = known.to;
        from = lower(row, before, touching);
      }
      to = raise(row, to, touching);
      if (is_first && common.last > to) to = raise(shared, to, touching);
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

// Each token reads, in the earlier layer, all that read what it reads: its class. Whoever meets all classes in the later one sees everything.
bool do_rows_meet_classes(const ReadLayer& earlier, const std::optional<RowShape>& rows, Vertex tokens) {
  constexpr Threshold<std::size_t> most_in_row{64, 2, "crossing rows"};
  if (!rows || earlier.groups.empty()) return false;
  std::map<std::vector<Range>, std::uint32_t> number;
  std::vector<std::uint32_t> class_of(tokens, 0);
  std::vector<std::uint64_t> open;  // of each class: members that were not among its readers yet
  Vertex passed = 0;
  for (const ReadLayer::Group& group : earlier.groups) {
    poll();
    std::vector<Range> row;
    for (const Range& range : earlier.row(group)) row.push_back({range.first == range.last ? 1 : range.step, range.first, range.last});
    if (row.empty() || row.size() > most_in_row || group.begin != passed) return false;
    passed = group.end;
    const auto [at, fresh] = number.try_emplace(row, static_cast<std::uint32_t>(open.size()));
    if (fresh) {
      std::sort(row.begin(), row.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
      if (row.front().first != group.begin) return false;  // the first of a class is the first to read it
      open.push_back(0);
      for (std::size_t k = 0; k < row.size(); ++k) {
        if (k > 0 && row[k].first <= row[k - 1].last) return false;
        open.back() += (row[k].last - row[k].first) / row[k].step + 1;
      }
    }
    for (Vertex i = group.begin; i < group.end; ++i) {
      const bool own = std::ranges::any_of(row, [i](const Range& range) { return i >= range.first && i <= range.last && (i - range.first) % range.step == 0; });
      if (!own || open[at->second]-- == 0) return false;
      class_of[i] = at->second;
    }
  }
  if (passed != tokens || std::ranges::any_of(open, [](std::uint64_t left) { return left > 0; })) return false;
  // [from, end) holds all classes; a row's interval that begins at `from` must not end sooner.
  std::vector<Vertex> held(open.size(), 0), end_of(tokens, 0);
  std::size_t missing = held.size();
  Vertex end = 0;
  for (Vertex from = 0; from < tokens; ++from) {
    for (; missing > 0 && end < tokens; ++end) missing -= held[class_of[end]]++ == 0 ? 1 : 0;
    if (missing == 0) end_of[from] = end;
    if (missing > 0) break;
    missing += --held[class_of[from]] == 0 ? 1 : 0;
  }
  for (Vertex i = 0; i < tokens; ++i) {
    if (end_of[rows->from[i]] == 0 || rows->to[i] + 1 < end_of[rows->from[i]]) return false;
  }
  return true;
}

}  // namespace checker
