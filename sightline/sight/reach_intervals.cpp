#include <algorithm>
#include <numeric>
#include <type_traits>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

// i -> [lo[i], hi[i]], both monotone, i inside.
struct Intervals {
  std::vector<Vertex> lo, hi;
  friend bool operator==(const Intervals&, const Intervals&) = default;
};

// The views after `first` and then `next` are read through the rows of `next`: lo(i) = first.lo(next.lo(i)).
Intervals compose(const Intervals& first, const Intervals& next) {
  Intervals result{next.lo, next.hi};
  for (Vertex& v : result.lo) v = first.lo[v];
  for (Vertex& v : result.hi) v = first.hi[v];
  return result;
}

// i -> {lo[i], ..., hi[i]} mod n on a circle of n tokens: end points on the line that covers it, lo(i + n) = lo(i) + n, both
// monotone, i inside. An interval of n or more is everything.
struct CyclicIntervals {
  std::vector<std::int64_t> lo, hi;
  friend bool operator==(const CyclicIntervals&, const CyclicIntervals&) = default;
};

CyclicIntervals compose(const CyclicIntervals& first, const CyclicIntervals& next) {
  const auto n = static_cast<std::int64_t>(first.lo.size());
  CyclicIntervals result{next.lo, next.hi};
  const auto lift = [n](const std::vector<std::int64_t>& ends, std::int64_t x) {
    const std::int64_t turns = x < 0 ? -1 : x >= n ? 1 : 0;
    return ends[static_cast<std::size_t>(x - turns * n)] + turns * n;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    auto& low = result.lo[static_cast<std::size_t>(i)];
    auto& high = result.hi[static_cast<std::size_t>(i)];
    low = std::max(i - n, lift(first.lo, low));
    high = std::min(i + n, lift(first.hi, high));
  }
  return result;
}

// The parts of N(i) u {i}, as disjoint intervals that do not touch; false when a range has gaps.
bool merge_row(const ReadLayer& layer, const ReadGroup& group, Vertex i, std::vector<std::pair<Vertex, Vertex>>& out) {
  out.assign(1, {i, i});
  for (const ReadRange& range : layer.row(group)) {
    if (range.step != 1) return false;
    out.emplace_back(range.first, range.last);
  }
  std::sort(out.begin(), out.end());
  std::size_t kept = 0;
  for (std::size_t k = 1; k < out.size(); ++k) {
    if (out[k].first <= out[kept].second + 1) {
      out[kept].second = std::max(out[kept].second, out[k].second);
    } else {
      out[++kept] = out[k];
    }
  }
  out.resize(kept + 1);
  return true;
}

std::optional<Intervals> make_intervals(const ReadLayer& layer, Vertex vertices) {
  Intervals result;
  result.lo.reserve(vertices);
  result.hi.reserve(vertices);
  std::vector<std::pair<Vertex, Vertex>> parts;
  for (const ReadGroup& group : layer.groups) {
    const ReadRange* const only = group.count == 1 && group.shared == 0 ? &layer.ranges[group.own] : nullptr;
    for (Vertex i = group.begin; i < group.end; ++i) {
      Vertex low = 0, high = 0;
      if (only != nullptr && only->step == 1 && only->first <= std::uint64_t{i} + 1 && i <= std::uint64_t{only->last} + 1) {
        low = std::min(i, only->first);
        high = std::max(i, only->last);
      } else {
        if (!merge_row(layer, group, i, parts) || parts.size() != 1) return std::nullopt;
        low = parts[0].first;
        high = parts[0].second;
      }
      if (i > 0 && (low < result.lo.back() || high < result.hi.back())) return std::nullopt;
      result.lo.push_back(low);
      result.hi.push_back(high);
    }
  }
  return result;
}

std::optional<CyclicIntervals> make_cyclic(const ReadLayer& layer, Vertex tokens) {
  CyclicIntervals result;
  std::vector<std::pair<Vertex, Vertex>> parts;
  const auto n = static_cast<std::int64_t>(tokens);
  for (const ReadGroup& group : layer.groups) {
    for (Vertex i = group.begin; i < group.end; ++i) {
      if (!merge_row(layer, group, i, parts)) return std::nullopt;
      std::int64_t low = parts[0].first, high = parts[0].second;
      if (parts.size() == 2 && low == 0 && parts[1].second == tokens - 1) {
        if (i <= parts[0].second) low = std::int64_t{parts[1].first} - n;
        else low = parts[1].first, high += n;
      } else if (parts.size() > 1) {
        return std::nullopt;
      } else if (low == 0 && high == n - 1) {
        low = std::int64_t{i} - n;
        high = std::int64_t{i} + n;
      }
      if (i > 0 && (low < result.lo.back() || high < result.hi.back())) return std::nullopt;
      result.lo.push_back(low);
      result.hi.push_back(high);
    }
  }
  if (result.lo.back() > result.lo.front() + n || result.hi.back() > result.hi.front() + n) return std::nullopt;
  return result;
}

template <class Views>
class IntervalReach {
public:
  IntervalReach(const ReachQuestion& question, const std::vector<LayerRun>& period, const std::vector<Views>& layers, const Budget& budget)
      : question_(question), period_(period), layers_(layers), budget_(budget) {}

  ReachAnswer answer() {
    const Vertex tokens = question_.layout->tokens;
    identity_.lo.resize(question_.layout->vertices());
    std::iota(identity_.lo.begin(), identity_.lo.end(), 0);
    identity_.hi = identity_.lo;
    whole_period_ = identity_;
    for (const LayerRun& run : period_) whole_period_ = compose(whole_period_, power(layers_[run.layer], run.count));
    if (question_.wanted.kind == ClassKind::seen) ever_ = limit();
    ReachAnswer answer;
    if (question_.find_layers) answer.reach = find_layers();
    if (question_.count_unseen) {
      const Views view = question_.depth ? at(*question_.depth) : limit();
      answer.unseen.resize(tokens);
      for (Vertex i = 0; i < tokens; ++i) answer.unseen[i] = missing(view, i);
    }
    return answer;
  }

private:
  static constexpr bool is_cyclic = std::is_same_v<Views, CyclicIntervals>;

  Views power(const Views& base, std::uint64_t exponent) const {
    Views result = identity_, square = base;
    while (exponent > 0) {
      budget_.poll();
      if (exponent & 1) result = compose(result, square);
      exponent >>= 1;
      if (exponent == 0) break;
      Views next = compose(square, square);
      if (next == square) return square;  // an idempotent: every further power is the same
      square = std::move(next);
    }
    return result;
  }

  Views limit() const {
    Views view = whole_period_;
    for (;;) {
      budget_.poll();
      Views next = compose(view, view);
      if (next == view) return view;
      view = std::move(next);
    }
  }

  Views at(std::uint64_t depth) const {
    std::uint64_t length = 0;
    for (const LayerRun& run : period_) length += run.count;
    if (length == 0) return identity_;
    Views view = power(whole_period_, depth / length);
    std::uint64_t rest = depth % length;
    for (const LayerRun& run : period_) {
      const std::uint64_t count = std::min(rest, run.count);
      if (count == 0) break;
      view = compose(view, power(layers_[run.layer], count));
      rest -= count;
    }
    return view;
  }

  Vertex size(const Views& view, Vertex i) const {
    return static_cast<Vertex>(std::min<std::int64_t>(question_.layout->tokens, static_cast<std::int64_t>(view.hi[i]) - static_cast<std::int64_t>(view.lo[i]) + 1));
  }

  // Wanted tokens of i outside [lo, hi].
  Vertex missing(const Views& view, Vertex i) const {
    if constexpr (is_cyclic) {
      return (question_.wanted.kind == ClassKind::seen ? size(ever_, i) : question_.layout->tokens) - size(view, i);
    } else {
    const auto [from, to] = wanted(i);
    if (from > to) return 0;
    const Vertex low = std::max(from, view.lo[i]), high = std::min(to, view.hi[i]);
    return to - from + 1 - (low <= high ? high - low + 1 : 0);
    }
  }

  std::pair<Vertex, Vertex> wanted(Vertex i) const {
    Vertex from = 0, to = question_.layout->tokens - 1;
    if (question_.wanted.kind == ClassKind::causal) to = i;
    if (question_.wanted.kind == ClassKind::seen) {
      from = static_cast<Vertex>(ever_.lo[i]);
      to = std::min(to, static_cast<Vertex>(ever_.hi[i]));
    }
    if (question_.wanted.ordinary_only) from = std::max(from, Vertex{1});
    return {from, to};
  }

  std::optional<UnreachablePair> find_missing(const Views& view) const {
    if constexpr (is_cyclic) {
      for (Vertex i = 0; i < question_.layout->tokens; ++i) {
        if (missing(view, i) == 0) continue;
        const std::int64_t n = question_.layout->tokens;
        const bool above = question_.wanted.kind != ClassKind::seen || view.hi[i] < ever_.hi[i];
        return UnreachablePair{i, static_cast<Vertex>(((above ? view.hi[i] + 1 : view.lo[i] - 1) % n + n) % n)};
      }
    } else {
    for (Vertex i = 0; i < question_.layout->tokens; ++i) {
      const auto [from, to] = wanted(i);
      if (from > to) continue;
      if (view.lo[i] > from) return UnreachablePair{i, from};
      if (view.hi[i] < to) return UnreachablePair{i, to};
    }
    }
    return std::nullopt;
  }

  // The largest number c <= limit of further applications of `base` after which something is still missing; updates `view`.
  std::uint64_t skip_incomplete(Views& view, const Views& base, std::uint64_t limit) const {
    std::vector<Views> powers{base};
    while ((std::uint64_t{2} << (powers.size() - 1)) <= limit) {
      budget_.poll();
      if (!find_missing(compose(view, powers.back()))) break;
      Booking growth(budget_, 2 * sizeof(Vertex) * base.lo.size() * (powers.size() + 1));
      powers.push_back(compose(powers.back(), powers.back()));
    }
    std::uint64_t done = 0;
    for (std::size_t k = powers.size(); k-- > 0;) {
      const std::uint64_t step = std::uint64_t{1} << k;
      if (done + step > limit) continue;
      Views next = compose(view, powers[k]);
      if (find_missing(next)) {
        view = std::move(next);
        done += step;
      }
    }
    return done;
  }

  Connected find_layers() const {
    Connected result;
    if (const auto pair = find_missing(limit())) {
      result.witness = pair;
      return result;
    }
    if (!find_missing(identity_)) {
      result.layers = 0;
      return result;
    }
    std::uint64_t length = 0;
    for (const LayerRun& run : period_) length += run.count;
    Views view = identity_;
    std::uint64_t layers = length * skip_incomplete(view, whole_period_, ~std::uint64_t{0} / 4);
    for (const LayerRun& run : period_) {
      const std::uint64_t done = skip_incomplete(view, layers_[run.layer], run.count);
      layers += done;
      if (done < run.count) break;
    }
    result.witness = find_missing(view);
    result.layers = layers + 1;
    return result;
  }

  const ReachQuestion& question_;
  const std::vector<LayerRun>& period_;
  const std::vector<Views>& layers_;  // by distinct layer
  const Budget& budget_;
  Views identity_, whole_period_, ever_;
};

// N(i) u {i} = {i-back, ..., i+forth} mod n for every token i.
struct Arc {
  std::uint64_t back = 0, forth = 0;
};

std::optional<Arc> make_arc(const ReadLayer& layer, Vertex tokens) {
  std::optional<Arc> arc;
  std::vector<std::pair<Vertex, Vertex>> parts;
  for (const ReadGroup& group : layer.groups) {
    for (Vertex i = group.begin; i < group.end; ++i) {
      if (!merge_row(layer, group, i, parts)) return std::nullopt;
      Arc mine;
      if (i >= tokens) {
        if (parts.size() != 1 || parts[0].first != parts[0].second) return std::nullopt;
        continue;
      }
      if (parts.size() == 1) {
        mine = {i - parts[0].first, parts[0].second - i};
      } else if (parts.size() == 2 && parts[0].first == 0 && parts[1].second == tokens - 1) {
        const Vertex end = parts[0].second, start = parts[1].first;
        mine = i <= end ? Arc{std::uint64_t{i} + tokens - start, std::uint64_t{end} - i}
                        : Arc{std::uint64_t{i} - start, std::uint64_t{end} + tokens - i};
      } else {
        return std::nullopt;
      }
      if (mine.back + mine.forth + 1 >= tokens) mine = {tokens, tokens};
      if (parts.back().second >= tokens || (arc && (arc->back != mine.back || arc->forth != mine.forth))) return std::nullopt;
      arc = mine;
    }
  }
  return arc;
}

class ArcReach {
public:
  ArcReach(const ReachQuestion& question, const std::vector<LayerRun>& period, const std::vector<Arc>& layers)
      : question_(question), period_(period), layers_(layers), tokens_(question.layout->tokens) {}

  ReachAnswer answer() const {
    ReachAnswer answer;
    const std::uint64_t never = ~std::uint64_t{0};
    if (question_.find_layers) {
      // The width of the view grows with every layer, so the least depth that suffices can be bisected.
      std::uint64_t low = 0, high = 1;
      while (high < never / 4 && width(high) < tokens_) high *= 2;
      if (width(0) >= tokens_) {
        answer.reach.layers = 0;
      } else {
        const bool moves = width(high) > width(0);
        while (moves && high - low > 1) {
          const std::uint64_t middle = low + (high - low) / 2;
          (width(middle) < tokens_ ? low : high) = middle;
        }
        if (moves) answer.reach.layers = high;
        if (question_.wanted.kind == ClassKind::seen && !moves) {
          answer.reach.layers = 0;
        } else {
          const Arc arc = view(moves ? high - 1 : 0);
          answer.reach.witness = UnreachablePair{0, static_cast<Vertex>((arc.forth + 1) % tokens_)};
        }
      }
    }
    if (question_.count_unseen) {
      const std::uint64_t depth = question_.depth.value_or(never);
      std::uint64_t seen = width(depth);
      if (question_.wanted.kind == ClassKind::seen && width(never) <= 1) seen = tokens_;
      answer.unseen.assign(tokens_, static_cast<Vertex>(tokens_ - seen));
    }
    return answer;
  }

private:
  static std::uint64_t add(std::uint64_t sum, std::uint64_t value, std::uint64_t count) {
    constexpr std::uint64_t cap = std::uint64_t{1} << 33;
    if (value == 0 || count == 0) return sum;
    return count >= cap / value + 1 ? cap : std::min(cap, sum + value * count);
  }

  Arc view(std::uint64_t depth) const {
    std::uint64_t length = 0;
    for (const LayerRun& run : period_) length += run.count;
    if (length == 0) return {};
    Arc period, rest;
    std::uint64_t left = depth % length;
    for (const LayerRun& run : period_) {
      const Arc& arc = layers_[run.layer];
      const std::uint64_t count = std::min(left, run.count);
      left -= count;
      period = {add(period.back, arc.back, run.count), add(period.forth, arc.forth, run.count)};
      rest = {add(rest.back, arc.back, count), add(rest.forth, arc.forth, count)};
    }
    return {add(rest.back, period.back, depth / length), add(rest.forth, period.forth, depth / length)};
  }

  std::uint64_t width(std::uint64_t depth) const {
    const Arc arc = view(depth);
    return std::min<std::uint64_t>(tokens_, arc.back + arc.forth + 1);
  }

  const ReachQuestion& question_;
  const std::vector<LayerRun>& period_;
  const std::vector<Arc>& layers_;
  std::uint64_t tokens_;
};

/// By distinct layer; the first of arcs, straight and circles that holds for all used layers is there.
struct IntervalLayers {
  bool cyclic = false, straight = false, circular = false;
  std::vector<Arc> arcs;
  std::vector<Intervals> intervals;
  std::vector<CyclicIntervals> circles;
};

IntervalLayers make_interval_layers(const Layout& layout, bool may_wrap, const Budget& budget) {
  const std::vector<bool> used = layout.used_layers();
  Booking booking(budget);
  IntervalLayers result;
  result.straight = true;
  result.cyclic = may_wrap;
  result.arcs.resize(layout.layers.size());
  result.intervals.resize(layout.layers.size());
  for (std::uint32_t l = 0; l < layout.layers.size() && (result.straight || result.cyclic); ++l) {
    if (!used[l]) continue;
    const std::shared_ptr<const ReadLayer> read = find_read_layer(layout, l, budget);
    const ReadLayer& layer = *read;
    if (result.straight) {
      auto found = make_intervals(layer, layout.vertices());
      result.straight = found.has_value();
      if (found) {
        booking.grow(2 * sizeof(Vertex) * static_cast<std::uint64_t>(layout.vertices()));
        result.intervals[l] = std::move(*found);
      }
    }
    if (result.cyclic) {
      const auto found = make_arc(layer, layout.tokens);
      result.cyclic = found.has_value();
      if (found) result.arcs[l] = *found;
    }
  }
  if (result.cyclic || !result.straight) result.intervals.clear();
  if (result.cyclic || result.straight || !may_wrap || layout.registers > 0) return result;
  result.circular = true;
  result.circles.resize(layout.layers.size());
  for (std::uint32_t l = 0; l < layout.layers.size() && result.circular; ++l) {
    if (!used[l]) continue;
    auto found = make_cyclic(*find_read_layer(layout, l, budget), layout.tokens);
    result.circular = found.has_value();
    if (!found) continue;
    booking.grow(2 * sizeof(std::int64_t) * static_cast<std::uint64_t>(layout.tokens));
    result.circles[l] = std::move(*found);
  }
  if (!result.circular) result.circles.clear();
  return result;
}

}  // namespace

std::optional<ReachAnswer> answer_by_intervals(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (layout.tokens == 0 || (question.registers_too && layout.registers > 0)) return std::nullopt;
  const std::vector<LayerRun> period = make_period(layout, question.skip);
  const Booking booking(budget, 8 * sizeof(Vertex) * static_cast<std::uint64_t>(layout.vertices()));
  const bool may_wrap = question.wanted.kind != ClassKind::causal && !question.wanted.ordinary_only;
  std::shared_ptr<const IntervalLayers> layers;
  ReachMemory::Entry* const memory = ReachMemory::find(layout);
  if (memory != nullptr) layers = std::static_pointer_cast<const IntervalLayers>(memory->intervals[may_wrap]);
  if (!layers) {
    layers = std::make_shared<IntervalLayers>(make_interval_layers(layout, may_wrap, budget));
    if (memory != nullptr) {
      memory->intervals[may_wrap] = layers;
      if (layers->cyclic || layers->straight || layers->circular) memory->read_layers.clear();  // nothing else will ask for them
      if (may_wrap && layers->straight && !layers->cyclic) memory->intervals[!may_wrap] = layers;
    }
  }
  if (layers->cyclic) return ArcReach(question, period, layers->arcs).answer();
  if (layers->straight) return IntervalReach<Intervals>(question, period, layers->intervals, budget).answer();
  if (layers->circular) return IntervalReach<CyclicIntervals>(question, period, layers->circles, budget).answer();
  return std::nullopt;
}

}  // namespace sightline::sight
