// Upper bounds on "connected" that read two layers only, on runs: rows that must meet columns.
#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/stepped_sums.hpp"

namespace sightline::sight {

namespace {

constexpr Vertex nobody = std::numeric_limits<Vertex>::max();

// Of every row, own token included: the interval around the reader, and how the row is spread.
struct RowShape {
  std::vector<Vertex> from, to;  // the interval around reader i
  bool monotone = true;          // both ends grow with i
  Vertex gap = 1;                // no row leaves more than gap - 1 neighbours out between its first and last member
  Vertex latest_first = 0, earliest_last = nobody;
};

struct RangesBefore {
  bool operator()(const std::vector<ReadRange>& a, const std::vector<ReadRange>& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const ReadRange& x, const ReadRange& y) { return std::tie(x.first, x.last, x.step) < std::tie(y.first, y.last, y.step); });
  }
};

/// A member next to an interval, and how far its range goes on from there without a gap.
using Stretch = std::pair<Vertex, Vertex>;

constexpr std::uint64_t most_ranges = 256;  // of a row, on average: columns, which come next, cost as much for longer ones
constexpr unsigned most_passes = 4;  // rows of interleaved ranges would take as many as they have members

/// How far down an interval that begins at `from` goes on in members of the ranges.
Vertex extend_down(std::span<const ReadRange> ranges, Vertex from, std::vector<Stretch>& buffer) {
  Vertex before = nobody;
  for (unsigned pass = 0; pass < most_passes && from != before; ++pass) {  // a range with a step adds one member at a time
    before = from;
    buffer.clear();
    for (const ReadRange& range : ranges) {
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
Vertex extend_up(std::span<const ReadRange> ranges, Vertex to, std::vector<Stretch>& buffer) {
  buffer.clear();
  for (const ReadRange& range : ranges) {
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

// Nothing when rows are so long that this is no shortcut.
std::optional<RowShape> measure_rows(const ReadLayer& layer, Vertex tokens, const Budget& budget) {
  RowShape shape;
  std::uint64_t work = 0;
  shape.from.resize(tokens);
  shape.to.resize(tokens);
  // What members of sorted ranges leave out, up to the last of them.
  struct Scan {
    Vertex first = nobody, last = 0, gap = 1;
    void add(const ReadRange& range) {
      if (first == nobody) first = last = range.first;
      if (range.first > last) gap = std::max(gap, range.first - last);
      if (range.last <= last) return;
      if (range.last > range.first) gap = std::max(gap, range.step);
      last = range.last;
    }
  };
  std::vector<ReadRange> row;
  std::vector<Stretch> touching;
  struct {
    std::uint32_t shared = ~std::uint32_t{0};
    Vertex from = nobody, to = nobody;
  } down;
  std::uint32_t known = 0;
  Scan shared;
  for (const ReadGroup& group : layer.groups) {
    const std::span<const ReadRange> common = layer.shared_ranges(group.shared), own = layer.own_ranges(group);
    if (group.shared != known) {
      shared = {};
      for (const ReadRange& range : common) shared.add(range);
      known = group.shared;
    }
    // Ranges that begin behind those of the stretch are looked at alone; those of the stretch have steps.
    const bool is_behind = !common.empty() && common.back().first <= group.begin && (own.empty() || common.back().first <= own.front().first);
    for (Vertex i = group.begin; i < std::min(group.end, tokens); ++i) {
      budget.poll();
      row.assign(own.begin(), own.end());
      if (!is_behind) row.insert(row.end(), common.begin(), common.end());
      row.push_back({i, i, 1});
      work += common.size() + own.size() + 1;
      if (work > most_ranges * std::uint64_t{tokens}) return std::nullopt;
      std::sort(row.begin(), row.end(), [](const ReadRange& a, const ReadRange& b) { return a.first < b.first; });
      Vertex from = i, to = i;
      for (const ReadRange& range : row) {
        if (range.step == 1 && range.first <= i && range.last + 1 >= i) from = std::min(from, range.first), to = std::max(to, range.last);
      }
      for (const ReadRange& range : row) {
        if (range.step == 1 && range.first <= to + 1 && range.last > to) to = range.last;
      }
      // Members of ranges with steps may touch it as well: how rows are written down must not matter. Where ranges of the stretch are apart, what they
      // add is found once for readers whose interval begins alike.
      from = extend_down(row, from, touching);
      Vertex before = nobody;
      for (unsigned pass = 0; is_behind && pass < most_passes && from != before; ++pass) {
        if (down.shared != group.shared || down.from != from) down = {group.shared, from, extend_down(common, from, touching)};
        before = down.to;
        from = extend_down(row, before, touching);
      }
      to = extend_up(row, to, touching);
      if (is_behind && shared.last > to) to = extend_up(common, to, touching);
      shape.from[i] = from;
      shape.to[i] = std::min(to, tokens - 1);
      if (i > 0 && (shape.from[i] < shape.from[i - 1] || shape.to[i] < shape.to[i - 1])) shape.monotone = false;
      Scan scan = is_behind ? shared : Scan{};
      for (const ReadRange& range : row) scan.add(range);
      shape.gap = std::max(shape.gap, scan.gap);
      shape.latest_first = std::max(shape.latest_first, scan.first);
      shape.earliest_last = std::min(shape.earliest_last, scan.last);
    }
  }
  return shape;
}

}  // namespace

// Path i -> k -> j: i reads k in the later layer, k reads j in the earlier one. The earlier layer's intervals are monotone,
// so the readers of j contain an interval [s_j, e_j] around j. A row of the later layer whose gaps are at most the length of
// that interval, which starts at or before e_j and ends at or after s_j, has a member k in it.
bool do_rows_cross(const ReachQuestion& question, const ReadLayer& earlier, const ReadLayer& later, const Budget& budget) {
  const Vertex tokens = question.layout->tokens;
  const bool causal = question.wanted.kind == ClassKind::causal;
  const auto measured_earlier = measure_rows(earlier, tokens, budget), measured_later = measure_rows(later, tokens, budget);
  if (!measured_earlier || !measured_later || !measured_earlier->monotone) return false;
  const RowShape &readers = *measured_earlier, &rows = *measured_later;
  for (Vertex j = 0, s = 0, e = 0; j < tokens; ++j) {
    while (readers.to[s] < j) ++s;
    e = std::max(e, j);
    while (e + 1 < tokens && readers.from[e + 1] <= j) ++e;
    const Vertex start = std::min(s, j);
    if (causal) {
      // For i >= j only: the own token i ends every row at or after j, and when [j, e] reaches the end it holds i itself.
      if (e + 1 == tokens) continue;
      if (rows.latest_first > e || rows.gap > e - j + 1) return false;
      continue;
    }
    if (rows.latest_first > e || rows.earliest_last < start || rows.gap > e - start + 1) return false;
  }
  return true;
}

// The earlier layer's rows are classes: each token reads those that read what it reads. A row of the later one that meets every class reads everything.
bool do_rows_meet_classes(const ReachQuestion& question, const ReadLayer& earlier, const ReadLayer& later, const Budget& budget) {
  const Vertex tokens = question.layout->tokens;
  if (question.wanted.kind == ClassKind::causal || question.layout->registers > 0) return false;
  std::map<std::vector<ReadRange>, Vertex, RangesBefore> numbers;
  std::vector<Vertex> class_of(tokens);
  std::vector<std::uint64_t> readers, members;
  std::vector<ReadRange> row;
  constexpr Threshold<std::size_t> most_in_row{64, 2, "crossing rows"};
  for (const ReadGroup& group : earlier.groups) {
    budget.poll();
    row.clear();
    for (const ReadRange& range : earlier.row(group)) row.push_back(range);
    if (row.empty() || row.size() > most_in_row) return false;
    tidy(row);
    const auto [at, is_new] = numbers.try_emplace(row, static_cast<Vertex>(readers.size()));
    if (is_new) {
      if (row.front().first != group.begin) return false;  // the first of a class is its first reader
      readers.push_back(0);
      members.push_back(0);
      Vertex end = 0;
      for (const ReadRange& range : row) {
        if (range.first < end) return false;  // ranges that overlap count twice
        end = range.last + 1;
        members.back() += (range.last - range.first) / range.step + 1;
      }
    }
    for (Vertex i = group.begin; i < group.end; ++i) {
      if (std::none_of(row.begin(), row.end(), [i](const ReadRange& range) { return i >= range.first && i <= range.last && (i - range.first) % range.step == 0; })) return false;
      class_of[i] = at->second;
      ++readers[at->second];
    }
  }
  if (readers != members) return false;
  const auto rows = measure_rows(later, tokens, budget);
  if (!rows) return false;
  // From each token on, the first one by which all classes were met: the window that holds them all moves along.
  std::vector<Vertex> met(readers.size(), 0), by(tokens, nobody);
  std::size_t open = readers.size();
  for (Vertex from = 0, to = 0; from < tokens; ++from) {
    while (open > 0 && to < tokens) open -= met[class_of[to++]]++ == 0 ? 1 : 0;
    if (open > 0) break;
    by[from] = to - 1;
    open += --met[class_of[from]] == 0 ? 1 : 0;
  }
  for (Vertex i = 0; i < tokens; ++i) {
    if (rows->to[i] < by[rows->from[i]] || by[rows->from[i]] == nobody) return false;
  }
  return true;
}

// A core: tokens k that every token (that wants what k sees; causal: every i >= k) reads in the later layer. Each wanted j
// must be read by one of them in the earlier layer, or (causal) by every i from j on until one comes.
bool does_core_suffice(const ReachQuestion& question, const ReadLayer& earlier, const ReadLayer& later, const Budget& budget) {
  const Vertex tokens = question.layout->tokens;
  const bool causal = question.wanted.kind == ClassKind::causal;
  // How many of the readers i (causal: i >= k) read k.
  SteppedSums<std::int64_t> readers(tokens);
  std::uint64_t work = 0;
  bool is_long = false;
  for_each_stretch(later, [&](Vertex from, Vertex to, std::span<const ReadRange> ranges) {
    if (from >= tokens || is_long) return;
    budget.poll();
    const Vertex end = std::min(to, tokens);
    for (const ReadRange& range : ranges) {
      if (range.first >= tokens) continue;
      const auto members_until = [&range](Vertex bound) { return bound - (bound - range.first) % range.step; };  // the last member up to a bound in it
      const Vertex last = members_until(std::min(range.last, tokens - 1));
      if (!causal || last <= from) {
        readers.add(range.first, last, range.step, end - from);
        continue;
      }
      // Members up to the first reader are read by all of the stretch, the others by those from there on.
      std::uint64_t j = range.first;
      if (range.first <= from) {
        readers.add(range.first, members_until(from), range.step, end - from);
        j = std::uint64_t{members_until(from)} + range.step;
      }
      for (; j <= last && j < end; j += range.step) {
        is_long = ++work > 64 * std::uint64_t{tokens};
        if (is_long) return;
        readers.add(static_cast<Vertex>(j), static_cast<Vertex>(j), 1, end - static_cast<Vertex>(j));
      }
    }
  });
  if (is_long) return false;
  const std::vector<std::int64_t> count = std::move(readers).take();
  std::vector<bool> core(tokens, false);
  bool any = false;
  for (Vertex k = 0; k < tokens; ++k) {
    core[k] = count[k] >= static_cast<std::int64_t>(causal ? tokens - k : tokens);
    any = any || core[k];
  }
  if (!any) return false;
  // The first core token that reads j. What has one is stepped over, by a list of successors for each step.
  std::vector<Vertex> by(tokens, nobody);
  constexpr Threshold<std::size_t> most_steps{5, 1, "crossing steps"};
  std::vector<std::pair<Vertex, std::vector<Vertex>>> successors;
  const auto successors_of = [&](Vertex step) -> std::vector<Vertex>* {
    for (auto& [known, list] : successors) {
      if (known == step) return &list;
    }
    if (successors.size() == most_steps) return nullptr;
    std::vector<Vertex>& list = successors.emplace_back(step, tokens).second;
    for (Vertex j = 0; j < tokens; ++j) list[j] = std::min<Vertex>(tokens, j + std::min(step, tokens - j));
    return &list;
  };
  const auto find = [&](std::vector<Vertex>& next, Vertex j) {
    Vertex found = j;
    while (found < tokens && by[found] != nobody) found = next[found];
    while (j < found && j < tokens) j = std::exchange(next[j], found);
    return found;
  };
  for (const ReadGroup& group : earlier.groups) {
    budget.poll();
    for (Vertex k = group.begin; k < std::min(group.end, tokens); ++k) {
      if (!core[k]) continue;
      for (const ReadRange& range : earlier.row(group)) {
        // Causal: j <= k only, so that the first core token found is one that every i >= it reads.
        const Vertex last = causal ? std::min(range.last, k) : std::min(range.last, tokens - 1);
        if (range.first > last) continue;
        std::vector<Vertex>* const next = successors_of(range.step);
        if (next == nullptr) return false;
        for (Vertex j = find(*next, range.first); j <= last; j = find(*next, j)) by[j] = k;
      }
      if (by[k] == nobody) by[k] = k;
      if (!causal) break;  // readers of one group read the same
    }
  }
  if (!causal) {
    // A group is opened by its first core token only; the own token of the others was left out.
    for (Vertex j = question.wanted.ordinary_only ? 1 : 0; j < tokens; ++j) {
      if (by[j] == nobody && !core[j]) return false;
    }
    return true;
  }
  const std::optional<RowShape> shape = measure_rows(later, tokens, budget);
  if (!shape || !shape->monotone) return false;
  std::vector<Vertex> reads_on(tokens, nobody);  // first i > j whose interval around i does not hold j
  for (Vertex j = 0, i = 0; j < tokens; ++j) {
    i = std::max(i, j + 1);
    while (i < tokens && shape->from[i] <= j) ++i;
    reads_on[j] = i;
  }
  for (Vertex j = question.wanted.ordinary_only ? 1 : 0; j < tokens; ++j) {
    if (by[j] == j) continue;
    const Vertex known_from = by[j];
    if (known_from == nobody ? reads_on[j] < tokens : reads_on[j] < known_from) return false;
  }
  return true;
}

}  // namespace sightline::sight
