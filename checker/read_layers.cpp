#include "read_layers.hpp"

#include <algorithm>
#include <numeric>

#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

/// Rows of one relation: the runs with steps that all readers of a segment have in common are listed once.
ReadLayer make_single_layer(const Pattern& pattern) {
  constexpr Threshold<Vertex> few_readers{8, 2, "read layers"};
  constexpr Threshold<std::size_t> few_runs{4, 1, "read layers"};
  ReadLayer layer;
  Row row, still;
  std::vector<MovingRun> moving;
  std::vector<Range> current, staying;
  const auto put = [&](Vertex begin, Vertex end, std::uint32_t common) {
    if (!std::is_sorted(current.begin(), current.end())) std::sort(current.begin(), current.end());
    std::size_t kept = 0;
    for (const Range& range : current) {
      if (kept > 0 && range.step == 1 && current[kept - 1].step == 1 && range.first <= std::uint64_t{current[kept - 1].last} + 1)
        current[kept - 1].last = std::max(current[kept - 1].last, range.last);
      else
        current[kept++] = range;
    }
    current.resize(kept);
    if (!layer.groups.empty() && layer.groups.back().common == common && std::ranges::equal(current, layer.own(layer.groups.back()))) {
      layer.groups.back().end = end;
      return;
    }
    layer.groups.push_back({begin, end, layer.ranges.size(), static_cast<std::uint32_t>(kept), common});
    layer.ranges.insert(layer.ranges.end(), current.begin(), current.end());
  };
  const auto to_range = [](const Run& run) { return Range{run.first == run.last ? 1 : run.step, run.first, run.last}; };
  for (const Pattern::Segment& segment : pattern.segments) {
    const Vertex end = segment.first + segment.count;
    pattern.split_row(segment, still, moving);
    const bool moves = !moving.empty();
    staying.clear();
    current.clear();
    for (const Run& run : still) (run.first < run.last && run.step > 1 ? current : staying).push_back(to_range(run));
    std::uint32_t common = 0;
    if (moves && segment.count >= few_readers && current.size() >= few_runs) {
      std::ranges::sort(current, {}, &Range::first);
      common = static_cast<std::uint32_t>(layer.common.size());
      layer.common.push_back({layer.ranges.size(), static_cast<std::uint32_t>(current.size())});
      layer.ranges.insert(layer.ranges.end(), current.begin(), current.end());
    } else {
      staying.insert(staying.end(), current.begin(), current.end());
    }
    for (Vertex i = segment.first; i < end; ++i) {
      poll();
      row.clear();
      append_runs(moving, i - segment.first, row);
      current = staying;
      for (const Run& run : row) current.push_back(to_range(run));
      put(i, moves ? i + 1 : end, common);
      if (!moves) break;
    }
  }
  return layer;
}

}  // namespace

ReadLayer make_read_layer(const Layout& layout, const std::vector<std::uint32_t>& relations) {
  if (relations.size() == 1) return make_single_layer(*layout.relations[relations.front()].pattern);
  ReadLayer layer;
  std::vector<Run> row;
  std::vector<Range> current;
  for (Vertex i = 0, end = 0; i < layout.vertices(); i = end) {
    current.clear();
    end = layout.vertices();
    for (const std::uint32_t r : relations) {
      end = std::min(end, layout.relations[r].pattern->same_row_until(i));
      layout.relations[r].pattern->row(i, row);
      for (const Run& run : row) current.push_back({run.first == run.last ? 1 : run.step, run.first, run.last});
    }
    if (!std::is_sorted(current.begin(), current.end())) std::sort(current.begin(), current.end());
    std::size_t kept = 0;
    for (const Range& range : current) {
      if (kept > 0 && range.step == 1 && current[kept - 1].step == 1 && range.first <= std::uint64_t{current[kept - 1].last} + 1) {
        current[kept - 1].last = std::max(current[kept - 1].last, range.last);
      } else if (kept == 0 || current[kept - 1] != range) {
        current[kept++] = range;
      }
    }
    current.resize(kept);
    if (!layer.groups.empty() && std::ranges::equal(current, layer.own(layer.groups.back()))) {
      layer.groups.back().end = end;
      continue;
    }
    layer.groups.push_back({i, end, layer.ranges.size(), static_cast<std::uint32_t>(kept), 0});
    layer.ranges.insert(layer.ranges.end(), current.begin(), current.end());
  }
  return layer;
}

std::vector<std::uint32_t> ReadLayer::groups_by_reader(Vertex tokens) const {
  std::vector<std::uint32_t> number(tokens, 0);
  for (std::size_t g = 0; g < groups.size(); ++g) std::fill(number.begin() + groups[g].begin, number.begin() + groups[g].end, static_cast<std::uint32_t>(g));
  return number;
}

bool is_causal_chain(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers) {
  if (layout.registers > 0) return false;
  std::vector<bool> linked(layout.tokens, false);
  linked[0] = true;
  for (const auto& [l, layer] : layers) {
    bool down = true;
    layer.visit_lists([&](Vertex begin, Vertex end, std::span<const Range> ranges) {
      for (const auto& [step, first, last] : ranges) {
        down = down && last <= begin;
        for (std::uint64_t i = std::max<Vertex>(begin, 1); i < end && i <= std::uint64_t{last} + 1; ++i) {
          if (first < i && (i - 1 - first) % step == 0) linked[i] = true;
        }
      }
    });
    if (!down) return false;
  }
  return std::find(linked.begin(), linked.end(), false) == linked.end();
}

SharedLayer share_ranges(const ReadLayer& layer) {
  SharedLayer shared{std::vector<Range>(layer.ranges.size()), {}, layer.groups, layer.common};
  // Sorted by first vertices at once, and then those of one first vertex.
  const Vertex vertices = layer.groups.empty() ? 0 : layer.groups.back().end;
  std::vector<std::uint32_t> begin(std::size_t{vertices} + 2, 0);
  for (const Range& range : layer.ranges) ++begin[range.first + 2];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (const Range& range : layer.ranges) shared.ranges[begin[range.first + 1]++] = range;
  std::size_t kept = 0;
  for (Vertex x = 0; x < vertices; ++x) {
    const auto from = shared.ranges.begin() + begin[x], to = shared.ranges.begin() + begin[x + 1];
    begin[x] = static_cast<std::uint32_t>(kept);
    if (!std::is_sorted(from, to)) std::sort(from, to);
    for (auto range = from; range != to; ++range) {
      if (kept == begin[x] || shared.ranges[kept - 1] != *range) shared.ranges[kept++] = *range;
    }
  }
  begin[vertices] = static_cast<std::uint32_t>(kept);
  shared.ranges.resize(kept);
  shared.numbers.reserve(layer.ranges.size());
  for (const Range& range : layer.ranges) {
    const auto from = shared.ranges.begin() + begin[range.first], to = shared.ranges.begin() + begin[range.first + 1];
    shared.numbers.push_back(static_cast<std::uint32_t>(std::lower_bound(from, to, range) - shared.ranges.begin()));
  }
  return shared;
}

std::uint64_t find_period(const std::vector<std::uint32_t>& order) {
  for (std::size_t period = 1; period < order.size(); ++period) {
    if (order.size() % period == 0 && std::equal(order.begin() + static_cast<std::ptrdiff_t>(period), order.end(), order.begin())) return period;
  }
  return order.size();
}

std::optional<Intervals> make_intervals(const ReadLayer& layer) {
  Intervals result;
  for (const ReadLayer::Group& group : layer.groups) {
    if (group.common != 0) return std::nullopt;  // ranges with steps
    const std::span<const Range> row = layer.own(group);
    for (Vertex i = group.begin; i < group.end; ++i) {
      Vertex lo = i, hi = i;
      std::size_t used = 0;
      for (bool more = true; more && used < row.size();) {  // at most two ranges touch the reader, from below and above
        more = false;
        for (const Range& range : row) {
          if (range.step != 1) return std::nullopt;
          if ((range.first >= lo && range.last <= hi) || range.first > std::uint64_t{hi} + 1 || std::uint64_t{range.last} + 1 < lo) continue;
          lo = std::min(lo, range.first);
          hi = std::max(hi, range.last);
          more = true;
        }
        ++used;
      }
      for (const Range& range : row) {
        if (range.first < lo || range.last > hi) return std::nullopt;
      }
      if (i > 0 && (lo < result.lo.back() || hi < result.hi.back())) return std::nullopt;
      if (i == 0) {
        result.lo.reserve(layer.groups.back().end);
        result.hi.reserve(layer.groups.back().end);
      }
      result.lo.push_back(lo);
      result.hi.push_back(hi);
    }
  }
  return result;
}

namespace {

using Pair = std::pair<Vertex, Vertex>;

/// The view after `first` is read through the rows of `next`.
Intervals compose(const Intervals& first, Intervals next) {
  poll_now();
  for (Vertex& v : next.lo) v = first.lo[v];
  for (Vertex& v : next.hi) v = first.hi[v];
  return next;
}

}  // namespace

IntervalViews::IntervalViews(const Layout& layout, const std::map<std::uint32_t, Intervals>& layers_, std::uint64_t skip) : layers(layers_), length(find_period(layout.order)) {
  identity.lo.resize(layout.vertices());
  std::iota(identity.lo.begin(), identity.lo.end(), Vertex{0});
  identity.hi = identity.lo;
  for (std::size_t q = 0; q < length; ++q) {
    const std::uint32_t l = layout.order[(skip + q) % length];
    if (runs.empty() || runs.back().first != l) runs.emplace_back(l, 0);
    ++runs.back().second;
  }
  period = identity;
  for (const auto& [l, count] : runs) period = compose(period, power(layers.at(l), count));
  ever = power(period, never);
}

Intervals IntervalViews::power(Intervals base, std::uint64_t exponent) const {
  if (exponent == 1) return base;
  Intervals result = identity;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = compose(result, base);
    Intervals next = compose(base, base);
    if (next == base) return exponent > 1 ? compose(result, base) : result;
    base = std::move(next);
  }
  return result;
}

Intervals IntervalViews::at(std::uint64_t depth) const {
  if (length == 0) return identity;
  Intervals view = power(period, depth / length);
  std::uint64_t rest = depth % length;
  for (const auto& [l, count] : runs) {
    if (rest == 0) break;
    view = compose(view, power(layers.at(l), std::min(rest, count)));
    rest -= std::min(rest, count);
  }
  return view;
}

Unseen IntervalReach::unseen(std::optional<std::uint64_t> depth) const {
  Unseen result{std::vector<Vertex>(layout_.tokens, 0), {}};
  const Intervals at_depth = depth ? views_.at(*depth) : Intervals{};
  const Intervals& view = depth ? at_depth : views_.ever;
  std::vector<Vertex> below(std::size_t{layout_.tokens} + 1, 0);  // what the tokens below count
  for (Vertex j = 0; j < layout_.tokens; ++j) below[j + 1] = below[j] + (question_.weight == nullptr ? 1 : (*question_.weight)[j]);
  for (Vertex i = 0; i < layout_.tokens; ++i) {
    const auto [from, to] = wanted(i);
    if (from > to) continue;
    const Vertex low = std::max(from, view.lo[i]), high = std::min(to, view.hi[i]);
    result.count[i] = below[to + 1] - below[from] - (low <= high ? below[high + 1] - below[low] : 0);
    if (result.count[i] > 0 && !result.first) result.first = Pair{i, view.lo[i] > from ? from : std::max(from, view.hi[i] + 1)};
  }
  return result;
}

Reach IntervalReach::layers() const {
  if (const auto pair = missing(views_.ever)) return {std::nullopt, pair};
  if (!missing(views_.identity)) return {0, {}};
  Intervals view = views_.identity;
  std::uint64_t layers = views_.length * advance(view, views_.period, never / 4);
  for (const auto& [l, count] : views_.runs) {
    const std::uint64_t done = advance(view, views_.layers.at(l), count);
    layers += done;
    if (done < count) break;
  }
  return {layers + 1, missing(view)};
}

Pair IntervalReach::wanted(Vertex i) const {
  Vertex from = 0, to = layout_.tokens - 1;
  if (question_.kind == ClassKind::causal) to = i;
  if (question_.kind == ClassKind::seen) {
    from = views_.ever.lo[i];
    to = std::min(to, views_.ever.hi[i]);
  }
  return {std::max<Vertex>(from, question_.ordinary_only ? 1 : 0), to};
}

std::optional<Pair> IntervalReach::missing(const Intervals& view) const {
  for (Vertex i = 0; i < layout_.tokens; ++i) {
    const auto [from, to] = wanted(i);
    if (from <= to && view.lo[i] > from) return Pair{i, from};
    if (from <= to && view.hi[i] < to) return Pair{i, to};
  }
  return std::nullopt;
}

/// The largest number of further applications of `base`, at most `limit`, after which something is missing; moves `view` there.
std::uint64_t IntervalReach::advance(Intervals& view, const Intervals& base, std::uint64_t limit) const {
  std::vector<Intervals> powers{base};
  while (std::uint64_t{1} << powers.size() <= limit && missing(compose(view, powers.back()))) {
    powers.push_back(compose(powers.back(), powers.back()));
  }
  std::uint64_t done = 0;
  for (std::size_t k = powers.size(); k-- > 0;) {
    if (done + (std::uint64_t{1} << k) > limit) continue;
    Intervals next = compose(view, powers[k]);
    if (!missing(next)) continue;
    view = std::move(next);
    done += std::uint64_t{1} << k;
  }
  return done;
}

}  // namespace checker
