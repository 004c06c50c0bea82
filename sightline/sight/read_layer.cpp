#include <algorithm>
#include <numeric>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/steady_rows.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

// Runs of different colours that touch become one range again, and heads that overlap are merged where that is cheap.
void tidy(std::vector<ReadRange>& ranges) {
  for (ReadRange& range : ranges) {
    if (range.first == range.last) range.step = 1;
  }
  const auto before = [](const ReadRange& a, const ReadRange& b) {
    return a.first != b.first ? a.first < b.first : a.step != b.step ? a.step < b.step : a.last > b.last;
  };
  if (!std::is_sorted(ranges.begin(), ranges.end(), before)) std::sort(ranges.begin(), ranges.end(), before);
  std::size_t kept = 0;
  for (const ReadRange& range : ranges) {
    if (kept > 0 && ranges[kept - 1].step == 1 && range.step == 1 && range.first <= ranges[kept - 1].last + 1) {
      ranges[kept - 1].last = std::max(ranges[kept - 1].last, range.last);
    } else if (kept == 0 || !(ranges[kept - 1] == range)) {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

namespace {

/// The members of a range that are not in `by`, as ranges.
void subtract(const ReadRange& range, const ReadRange& by, std::vector<ReadRange>& out) {
  if (range.last < by.first || by.last < range.first) return void(out.push_back(range));
  if (range.first != range.last && range.step % by.step != 0) {
    for (std::uint64_t j = range.first; j <= range.last; j += range.step) {
      if (j < by.first || j > by.last || (j - by.first) % by.step != 0) out.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j), 1});
    }
    return;
  }
  if ((range.first > by.first ? range.first - by.first : by.first - range.first) % by.step != 0) return void(out.push_back(range));
  if (range.first < by.first) out.push_back({range.first, range.first + (by.first - 1 - range.first) / range.step * range.step, range.step});
  if (range.last > by.last) out.push_back({range.last - (range.last - by.last - 1) / range.step * range.step, range.last, range.step});
}

}  // namespace

void make_disjoint(std::vector<ReadRange>& ranges) {
  const auto may_meet = [](const ReadRange& a, const ReadRange& b) { return a.first <= b.last && b.first <= a.last && (b.first - a.first) % std::gcd(a.step, b.step) == 0; };
  bool meets = false;  // ranges are in order of their first members
  for (std::size_t x = 0; x < ranges.size() && !meets; ++x) {
    for (std::size_t y = x + 1; y < ranges.size() && ranges[y].first <= ranges[x].last && !meets; ++y) meets = may_meet(ranges[x], ranges[y]);
  }
  if (!meets) return;
  // What has the smaller step is kept whole.
  std::stable_sort(ranges.begin(), ranges.end(), [](const ReadRange& a, const ReadRange& b) { return a.step < b.step; });
  std::vector<ReadRange> kept, left, next;
  for (const ReadRange& range : ranges) {
    left = {range};
    for (const ReadRange& by : kept) {
      next.clear();
      for (const ReadRange& piece : left) subtract(piece, by, next);
      left.swap(next);
    }
    kept.insert(kept.end(), left.begin(), left.end());
  }
  ranges.swap(kept);
  tidy(ranges);
}

namespace {

/// Rows of one relation: runs with steps that stay the same from reader to reader are written down once for all of them.
ReadLayer make_plain_layer(const layout::Pattern& pattern, const Budget& budget) {
  ReadLayer result;
  result.booking.emplace(budget);
  constexpr Threshold<std::size_t> fewest_runs{4, 1, "read layers"};
  layout::SteadyRows rows(pattern, fewest_runs);
  std::vector<ReadRange> previous, current, kept;
  std::vector<layout::Run> row;
  std::uint32_t shared = 0;
  Vertex end = 0;
  for (Vertex i = 0; i < pattern.vertex_count(); i = end) {
    budget.poll();
    bool fresh = rows.go_to(i);
    if (fresh) {
      current.clear();
      kept.clear();
      for (const layout::Run& run : rows.steady()) (run.step > 1 && !rows.is_whole() ? current : kept).push_back({run.first, run.last, run.step});
      if (current.empty()) {
        fresh = shared != 0;
        shared = 0;
      } else {
        tidy(current);
        result.booking->grow(current.size() * sizeof(ReadRange));
        shared = static_cast<std::uint32_t>(result.shared.size());
        result.shared.emplace_back(result.ranges.size(), static_cast<std::uint32_t>(current.size()));
        result.ranges.insert(result.ranges.end(), current.begin(), current.end());
      }
    }
    end = rows.is_whole() ? rows.end() : rows.steady().empty() ? rows.same_row_until(i) : i + 1;
    rows.rest(i, row);
    current = kept;
    for (const layout::Run& run : row) current.push_back({run.first, run.last, run.step});
    tidy(current);
    if (!fresh && !result.groups.empty() && current == previous) {
      result.groups.back().end = end;
      continue;
    }
    result.booking->grow((current.size() * sizeof(ReadRange)) + sizeof(ReadGroup));
    result.groups.push_back({i, end, result.ranges.size(), static_cast<std::uint32_t>(current.size()), shared});
    result.ranges.insert(result.ranges.end(), current.begin(), current.end());
    previous.swap(current);
  }
  return result;
}

}  // namespace

ReadLayer make_read_layer(const Layout& layout, const layout::Layer& layer, const Budget& budget) {
  if (layer.relations.size() == 1) return make_plain_layer(layout.relations[layer.relations.front()].pattern(), budget);
  ReadLayer result;
  result.booking.emplace(budget);
  const Vertex vertices = layout.vertices();
  std::vector<ReadRange> previous, current;
  std::vector<layout::Run> row;
  Vertex end = 0;
  for (Vertex i = 0; i < vertices; i = end) {
    budget.poll();
    current.clear();
    end = vertices;
    for (const std::uint32_t r : layer.relations) end = std::min(end, layout.relations[r].pattern().same_row_until(i));
    for (const std::uint32_t r : layer.relations) {
      layout.relations[r].pattern().row(i, row);
      for (const layout::Run& run : row) current.push_back({run.first, run.last, run.step});
    }
    tidy(current);
    if (!result.groups.empty() && current == previous) {
      result.groups.back().end = end;
      continue;
    }
    result.booking->grow((current.size() * sizeof(ReadRange)) + sizeof(ReadGroup));
    result.groups.push_back({i, end, result.ranges.size(), static_cast<std::uint32_t>(current.size()), 0});
    result.ranges.insert(result.ranges.end(), current.begin(), current.end());
    previous.swap(current);
  }
  return result;
}

std::vector<LayerRun> make_period(const Layout& layout, std::uint64_t skip) {
  const std::vector<std::uint32_t>& order = layout.order;
  const std::size_t length = order.size();
  if (length == 0) return {};
  // The shortest period of the list, by the border table of the list.
  std::vector<std::size_t> border(length + 1, 0);
  for (std::size_t k = 1, b = 0; k < length; ++k) {
    while (b > 0 && order[k] != order[b]) b = border[b];
    if (order[k] == order[b]) ++b;
    border[k + 1] = b;
  }
  std::size_t period = length - border[length];
  if (length % period != 0) period = length;
  std::vector<LayerRun> runs;
  for (std::size_t k = 0; k < period; ++k) {
    const std::uint32_t layer = order[(skip + k) % period];
    if (!runs.empty() && runs.back().layer == layer) {
      ++runs.back().count;
    } else {
      runs.push_back({layer, 1});
    }
  }
  return runs;
}

bool is_wanted(const ReachQuestion& question, Vertex i, Vertex j) {
  const Vertex tokens = question.layout->tokens;
  if (j >= tokens) return question.registers_too;
  if (j == 0 && question.wanted.ordinary_only) return false;
  return question.wanted.kind != ClassKind::causal || j <= i;
}

}  // namespace sightline::sight
