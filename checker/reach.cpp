#include "reach.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>

#include "grid.hpp"
#include "stretches.hpp"

namespace checker {

namespace {

using Pair = std::pair<Vertex, Vertex>;
constexpr std::uint64_t never = ~std::uint64_t{0};

struct Range {
  Vertex step = 1, first = 0, last = 0;
  auto operator<=>(const Range&) const = default;
};

// A layer as reach sees it: the union over heads. Readers begin .. end-1 read the same ranges.
struct ReadLayer {
  struct Group {
    Vertex begin, end;
    std::vector<std::uint32_t> ranges;  // numbers into `ranges`
  };
  std::vector<Range> ranges;  // distinct, sorted
  std::vector<Group> groups;
};

ReadLayer make_read_layer(const Layout& layout, const std::vector<std::uint32_t>& relations) {
  std::vector<std::pair<Vertex, std::vector<Range>>> rows;  // from this reader on
  std::vector<Run> row;
  for (Vertex i = 0; i < layout.vertices(); ++i) {
    std::vector<Range> ranges, merged;
    for (const std::uint32_t r : relations) {
      layout.relations[r].pattern->row(i, row);
      for (const Run& run : row) ranges.push_back({run.first == run.last ? 1 : run.step, run.first, run.last});
    }
    std::sort(ranges.begin(), ranges.end());
    for (const Range& range : ranges) {
      if (!merged.empty() && range.step == 1 && merged.back().step == 1 && range.first <= std::uint64_t{merged.back().last} + 1) {
        merged.back().last = std::max(merged.back().last, range.last);
      } else if (merged.empty() || merged.back() != range) {
        merged.push_back(range);
      }
    }
    if (rows.empty() || rows.back().second != merged) rows.emplace_back(i, std::move(merged));
  }
  ReadLayer layer;
  for (const auto& [begin, ranges] : rows) layer.ranges.insert(layer.ranges.end(), ranges.begin(), ranges.end());
  std::sort(layer.ranges.begin(), layer.ranges.end());
  layer.ranges.erase(std::unique(layer.ranges.begin(), layer.ranges.end()), layer.ranges.end());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    layer.groups.push_back({rows[k].first, k + 1 < rows.size() ? rows[k + 1].first : layout.vertices(), {}});
    for (const Range& range : rows[k].second) {
      const auto at = std::lower_bound(layer.ranges.begin(), layer.ranges.end(), range);
      layer.groups.back().ranges.push_back(static_cast<std::uint32_t>(at - layer.ranges.begin()));
    }
  }
  return layer;
}

std::map<std::uint32_t, ReadLayer> make_read_layers(const Layout& layout) {
  std::map<std::uint32_t, ReadLayer> layers;
  for (const std::uint32_t l : layout.order) {
    if (!layers.contains(l)) layers.emplace(l, make_read_layer(layout, layout.layers[l]));
  }
  return layers;
}

// Up to 512 columns at once, one bit each.
constexpr std::size_t lane_bits = 512;
struct Lane {
  std::array<std::uint64_t, lane_bits / 64> word{};
  Lane& operator|=(const Lane& other) {
    for (std::size_t w = 0; w < word.size(); ++w) word[w] |= other.word[w];
    return *this;
  }
  void set(std::size_t bit) { word[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  friend bool operator==(const Lane&, const Lane&) = default;
};

class Strip {
public:
  Strip(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers, std::vector<Vertex> columns)
      : columns(std::move(columns)), layout_(layout), layers_(layers) {}

  // Calls visit(q) for q = 0 and after every layer that changes something, until it says false, nothing changes, or `depth`.
  template <class Visit>
  void run(std::uint64_t skip, std::uint64_t depth, const Visit& visit) {
    state.assign(layout_.vertices(), Lane{});
    for (std::size_t k = 0; k < columns.size(); ++k) state[columns[k]].set(k);
    if (!visit(std::uint64_t{0})) return;
    std::vector<bool> quiet(layout_.layers.size(), false);
    std::size_t idle = 0;
    for (std::uint64_t q = 1; q <= depth && idle < layout_.order.size(); ++q) {
      const std::uint32_t l = layout_.order[(skip + q - 1) % layout_.order.size()];
      if (quiet[l] || !apply(layers_.at(l))) {
        quiet[l] = true;
        ++idle;
        continue;
      }
      idle = 0;
      quiet.assign(quiet.size(), false);
      if (!visit(q)) return;
    }
  }

  std::vector<Vertex> columns;
  std::vector<Lane> state;  // by vertex: which of the columns it sees

private:
  bool apply(const ReadLayer& layer) {
    constexpr Vertex block = 64;
    blocks_.assign(state.size() / block + 1, Lane{});
    for (std::size_t j = 0; j < state.size(); ++j) blocks_[j / block] |= state[j];
    values_.resize(layer.ranges.size());
    for (std::size_t k = 0; k < layer.ranges.size(); ++k) {
      const auto [step, first, last] = layer.ranges[k];
      std::uint64_t j = first;
      values_[k] = Lane{};
      if (k > 0 && layer.ranges[k - 1].step == step && layer.ranges[k - 1].first == first) {  // the one before goes on
        values_[k] = values_[k - 1];
        j = std::uint64_t{layer.ranges[k - 1].last} + step;
      }
      while (j <= last) {
        const bool whole = step == 1 && j % block == 0 && j + block - 1 <= last;
        values_[k] |= whole ? blocks_[j / block] : state[j];
        j += whole ? block : step;
      }
    }
    bool changed = false;
    for (const ReadLayer::Group& group : layer.groups) {
      Lane sum{};
      for (const std::uint32_t k : group.ranges) sum |= values_[k];
      for (Vertex i = group.begin; i < group.end; ++i) {
        const Lane old = state[i];
        state[i] |= sum;  // values_ were taken before any of this
        changed = changed || state[i] != old;
      }
    }
    return changed;
  }

  const Layout& layout_;
  const std::map<std::uint32_t, ReadLayer>& layers_;
  std::vector<Lane> blocks_, values_;
};

class BitReach {
public:
  BitReach(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers, const ReachQuestion& question)
      : layout_(layout), layers_(layers), question_(question) {}

  Unseen unseen(std::optional<std::uint64_t> depth) {
    Unseen result{std::vector<Vertex>(layout_.tokens, 0), {}};
    for_each_strip([&](Strip& strip) {
      strip.run(question_.skip, depth.value_or(never), [](std::uint64_t) { return true; });
      for (Vertex i = 0; i < layout_.tokens; ++i) {
        const auto pair = missing(strip, i);
        if (pair && (!result.first || *pair < *result.first)) result.first = pair;
        const Lane lane = pair ? want(strip, i) : Lane{};
        for (std::size_t w = 0; w < lane.word.size(); ++w) {
          const std::uint64_t out = lane.word[w] & ~strip.state[i].word[w];
          if (question_.weight == nullptr) result.count[i] += static_cast<Vertex>(std::popcount(out));
          for (std::uint64_t rest = question_.weight == nullptr ? 0 : out; rest != 0; rest &= rest - 1)
            result.count[i] += (*question_.weight)[strip.columns[64 * w + static_cast<std::size_t>(std::countr_zero(rest))]];
        }
      }
      return true;
    });
    return result;
  }

  Reach layers(const std::vector<Vertex>* columns = nullptr) {
    Reach result{0, {}};
    for_each_strip([&](Strip& strip) {
      Vertex reader = 0;  // what has been seen stays seen
      std::optional<Pair> now, before;
      std::uint64_t last = 0;
      strip.run(question_.skip, never, [&](std::uint64_t q) {
        before = std::exchange(now, std::nullopt);
        for (; reader < layout_.tokens && !now; reader += now ? 0 : 1) now = missing(strip, reader);
        last = q;
        return now.has_value();
      });
      if (now) result = {std::nullopt, now};
      else if (last > *result.layers) result = {last, before};
      return result.layers.has_value();
    }, columns);
    return result;
  }

private:
  template <class Visit>
  void for_each_strip(const Visit& visit, const std::vector<Vertex>* columns = nullptr) {
    std::vector<Vertex> all(question_.registers_too ? layout_.vertices() : layout_.tokens);
    std::iota(all.begin(), all.end(), Vertex{0});
    if (columns != nullptr) all = *columns;
    for (std::size_t k = 0; k < all.size(); k += lane_bits) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(k);
      Strip strip(layout_, layers_, {begin, begin + static_cast<std::ptrdiff_t>(std::min(lane_bits, all.size() - k))});
      ever_.clear();
      if (question_.kind == ClassKind::seen && question_.sets == nullptr) {
        strip.run(question_.skip, never, [](std::uint64_t) { return true; });
        ever_ = strip.state;
      }
      common_ = Lane{};
      for (std::size_t c = 0; c < strip.columns.size(); ++c) {
        if (strip.columns[c] != 0 || !question_.ordinary_only) common_.set(c);
      }
      if (!visit(strip)) return;
    }
  }

  Lane want(const Strip& strip, Vertex i) const {
    Lane lane = common_;
    for (std::size_t w = 0; w < lane.word.size() && !ever_.empty(); ++w) lane.word[w] &= ever_[i].word[w];
    if (question_.sets == nullptr && (question_.kind != ClassKind::causal || i >= strip.columns.back())) return lane;
    for (std::size_t c = 0; c < strip.columns.size(); ++c) {
      const bool wanted = question_.sets != nullptr ? (*question_.sets)[i][strip.columns[c]] : strip.columns[c] <= i;
      if (!wanted) lane.word[c / 64] &= ~(std::uint64_t{1} << (c % 64));
    }
    return lane;
  }

  std::optional<Pair> missing(const Strip& strip, Vertex i) const {
    const Lane lane = want(strip, i);
    for (std::size_t w = 0; w < lane.word.size(); ++w) {
      if (const std::uint64_t rest = lane.word[w] & ~strip.state[i].word[w]) {
        return Pair{i, strip.columns[64 * w + static_cast<std::size_t>(std::countr_zero(rest))]};
      }
    }
    return std::nullopt;
  }

  const Layout& layout_;
  const std::map<std::uint32_t, ReadLayer>& layers_;
  const ReachQuestion& question_;
  std::vector<Lane> ever_;
  Lane common_;
};

// When every row, with its reader, is an interval with monotone ends: i -> [lo[i], hi[i]]. Views are again such intervals.
struct Intervals {
  std::vector<Vertex> lo, hi;
  friend bool operator==(const Intervals&, const Intervals&) = default;
};

// The view after `first` is read through the rows of `next`.
Intervals compose(const Intervals& first, Intervals next) {
  for (Vertex& v : next.lo) v = first.lo[v];
  for (Vertex& v : next.hi) v = first.hi[v];
  return next;
}

std::optional<Intervals> make_intervals(const ReadLayer& layer) {
  Intervals result;
  for (const ReadLayer::Group& group : layer.groups) {
    for (Vertex i = group.begin; i < group.end; ++i) {
      Vertex lo = i, hi = i;
      std::size_t used = 0;
      for (bool more = true; more && used < group.ranges.size();) {  // at most two ranges touch the reader, from below and above
        more = false;
        for (const std::uint32_t k : group.ranges) {
          const Range& range = layer.ranges[k];
          if (range.step != 1) return std::nullopt;
          if ((range.first >= lo && range.last <= hi) || range.first > std::uint64_t{hi} + 1 || std::uint64_t{range.last} + 1 < lo) continue;
          lo = std::min(lo, range.first);
          hi = std::max(hi, range.last);
          more = true;
        }
        ++used;
      }
      for (const std::uint32_t k : group.ranges) {
        if (layer.ranges[k].first < lo || layer.ranges[k].last > hi) return std::nullopt;
      }
      if (i > 0 && (lo < result.lo.back() || hi < result.hi.back())) return std::nullopt;
      result.lo.push_back(lo);
      result.hi.push_back(hi);
    }
  }
  return result;
}

class IntervalReach {
public:
  // Throws std::nullopt-like `false` by ok(): the caller falls back to bits.
  IntervalReach(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers, const ReachQuestion& question)
      : layout_(layout), question_(question) {
    if (question.sets != nullptr || (question.registers_too && layout.registers > 0)) return;
    for (const auto& [l, layer] : layers) {
      auto found = make_intervals(layer);
      if (!found) return;
      layers_.emplace(l, std::move(*found));
    }
    identity_.lo.resize(layout.vertices());
    std::iota(identity_.lo.begin(), identity_.lo.end(), Vertex{0});
    identity_.hi = identity_.lo;
    for (std::size_t q = 0; q < layout.order.size(); ++q) {
      const std::uint32_t l = layout.order[(question.skip + q) % layout.order.size()];
      if (runs_.empty() || runs_.back().first != l) runs_.emplace_back(l, 0);
      ++runs_.back().second;
    }
    period_ = identity_;
    for (const auto& [l, count] : runs_) period_ = compose(period_, power(layers_.at(l), count));
    ever_ = power(period_, never);
    ok_ = true;
  }

  [[nodiscard]] bool ok() const { return ok_; }

  [[nodiscard]] Unseen unseen(std::optional<std::uint64_t> depth) const {
    Unseen result{std::vector<Vertex>(layout_.tokens, 0), {}};
    const Intervals view = depth ? at(*depth) : ever_;
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

  [[nodiscard]] Reach layers() const {
    if (const auto pair = missing(ever_)) return {std::nullopt, pair};
    if (!missing(identity_)) return {0, {}};
    Intervals view = identity_;
    std::uint64_t layers = layout_.order.size() * advance(view, period_, never / 4);
    for (const auto& [l, count] : runs_) {
      const std::uint64_t done = advance(view, layers_.at(l), count);
      layers += done;
      if (done < count) break;
    }
    return {layers + 1, missing(view)};
  }

private:
  // base^exponent, or the idempotent power that all further ones equal.
  [[nodiscard]] Intervals power(Intervals base, std::uint64_t exponent) const {
    Intervals result = identity_;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) result = compose(result, base);
      Intervals next = compose(base, base);
      if (next == base) return exponent > 1 ? compose(result, base) : result;
      base = std::move(next);
    }
    return result;
  }

  [[nodiscard]] Intervals at(std::uint64_t depth) const {
    if (layout_.order.empty()) return identity_;
    Intervals view = power(period_, depth / layout_.order.size());
    std::uint64_t rest = depth % layout_.order.size();
    for (const auto& [l, count] : runs_) {
      view = compose(view, power(layers_.at(l), std::min(rest, count)));
      rest -= std::min(rest, count);
    }
    return view;
  }

  [[nodiscard]] Pair wanted(Vertex i) const {
    Vertex from = 0, to = layout_.tokens - 1;
    if (question_.kind == ClassKind::causal) to = i;
    if (question_.kind == ClassKind::seen) {
      from = ever_.lo[i];
      to = std::min(to, ever_.hi[i]);
    }
    return {std::max<Vertex>(from, question_.ordinary_only ? 1 : 0), to};
  }

  [[nodiscard]] std::optional<Pair> missing(const Intervals& view) const {
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      const auto [from, to] = wanted(i);
      if (from <= to && view.lo[i] > from) return Pair{i, from};
      if (from <= to && view.hi[i] < to) return Pair{i, to};
    }
    return std::nullopt;
  }

  // The largest number of further applications of `base`, at most `limit`, after which something is missing; moves `view` there.
  std::uint64_t advance(Intervals& view, const Intervals& base, std::uint64_t limit) const {
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

  const Layout& layout_;
  const ReachQuestion& question_;
  std::map<std::uint32_t, Intervals> layers_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> runs_;  // the list, equal neighbours together
  Intervals identity_, period_, ever_;
  bool ok_ = false;
};

std::vector<Vertex> read_hints(const Layout& layout, const Json& hints) {
  std::vector<Vertex> columns;
  for (const Json& column : hints["columns"].array()) columns.push_back(static_cast<Vertex>(column.natural(layout.tokens - 1)));
  columns.push_back(static_cast<Vertex>(hints["hub"].natural(layout.vertices() - 1)));
  return columns;
}

// Hints name columns that bound the layers from below, and a hub that bounds them from above: it sees everything after t
// layers, and everybody sees it within the layers after that. Nothing when the two do not meet.
std::optional<Reach> reach_by_hub(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers, const ReachQuestion& question) {
  if ((question.hints == nullptr && question.columns == nullptr) || question.kind != ClassKind::all || question.sets != nullptr) return std::nullopt;
  std::vector<Vertex> columns = question.columns != nullptr ? *question.columns : read_hints(layout, *question.hints);
  const Vertex hub = columns.back();
  columns.pop_back();
  if (columns.size() > lane_bits) throw Malformed("evidence \"reach\": too many columns");
  const Reach below = BitReach(layout, layers, question).layers(&columns);
  if (!below.layers) return below;
  const Vertex end = question.registers_too ? layout.vertices() : layout.tokens;
  std::uint64_t gathered = 0;
  for (bool full = false; !full; gathered += full ? 0 : 1) {
    if (gathered >= *below.layers) return std::nullopt;
    const auto latest = compute_latest(layout, gathered, hub, question.skip);
    full = true;
    for (Vertex j = question.ordinary_only ? 1 : 0; j < end && full; ++j) full = latest[j] >= 0;
  }
  const std::vector<Vertex> only{hub};
  ReachQuestion spread;
  spread.skip = question.skip + gathered;
  const Reach after = BitReach(layout, layers, spread).layers(&only);
  if (after.layers && gathered + *after.layers <= *below.layers) return below;
  return std::nullopt;
}

// Every arc goes to the reader or down, and every token reads the one before it in some layer: token i comes to see exactly 0..i.
bool is_causal_chain(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers) {
  if (layout.registers > 0) return false;
  std::vector<bool> linked(layout.tokens, false);
  linked[0] = true;
  for (const auto& [l, layer] : layers) {
    for (const ReadLayer::Group& group : layer.groups) {
      for (const std::uint32_t k : group.ranges) {
        const auto [step, first, last] = layer.ranges[k];
        if (last > group.begin) return false;
        for (Vertex i = std::max<Vertex>(group.begin, 1); i < group.end; ++i) {
          if (first < i && i - 1 <= last && (i - 1 - first) % step == 0) linked[i] = true;
        }
      }
    }
  }
  return std::find(linked.begin(), linked.end(), false) == linked.end();
}

}  // namespace

std::uint64_t ever_of(const Layout& layout) { return (std::uint64_t{layout.vertices()} + 1) * std::max<std::uint64_t>(1, layout.order.size()); }

namespace {

/// Automorphisms map receptive fields to receptive fields, so one reader per orbit tells all: the readers to follow, when they are few.
std::vector<Vertex> choose_readers(const Layout& layout, const ReachQuestion& question) {
  constexpr std::size_t few = 64;
  std::vector<Vertex> readers;
  if (question.orbit == nullptr || question.kind != ClassKind::all || question.sets != nullptr || question.ordinary_only) return readers;
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if ((*question.orbit)[a] != a) continue;
    if (readers.size() == few) return {};
    readers.push_back(a);
  }
  return readers;
}

/// One layer of one head, kinds all and causal: what is missing is what the row lacks, and its runs are disjoint.
Unseen unseen_by_rows(const Layout& layout, const ReachQuestion& question, const Pattern& pattern) {
  Unseen result{std::vector<Vertex>(layout.tokens, 0), {}};
  std::vector<Run> row;
  for (Vertex i = 0; i < layout.tokens; ++i) {
    pattern.row(i, row);
    const Vertex from = question.ordinary_only ? 1 : 0, to = question.kind == ClassKind::causal ? i : layout.tokens - 1;
    if (from > to) continue;
    std::int64_t missing = std::int64_t{to} - from + 1 - (i >= from ? 1 : 0);
    for (const Run& run : row) {
      const Vertex begin = run.first < from ? run.first + run.step : run.first, end = std::min(run.last, to);
      if (begin > run.last || begin > end) continue;
      missing -= (end - begin) / run.step + 1;
      if (i >= begin && i <= end && (i - begin) % run.step == 0) ++missing;  // it was counted already
    }
    result.count[i] = static_cast<Vertex>(missing);
    for (Vertex j = from; missing > 0 && !result.first; ++j) {
      const bool seen = j == i || std::any_of(row.begin(), row.end(), [j](const Run& run) { return j >= run.first && j <= run.last && (j - run.first) % run.step == 0; });
      if (!seen) result.first = Pair{i, j};
    }
  }
  return result;
}

/// What one reader misses: how many, and the first of them.
std::pair<Vertex, Vertex> count_missing(const Layout& layout, const ReachQuestion& question, Vertex reader, std::uint64_t depth) {
  const std::vector<std::int64_t> latest = compute_latest(layout, depth, reader, question.skip);
  std::pair<Vertex, Vertex> missing{0, 0};
  for (Vertex j = question.registers_too ? layout.vertices() : layout.tokens; j-- > 0;) {
    if (latest[j] < 0) missing = {missing.first + 1, j};
  }
  return missing;
}

Unseen unseen_by_orbits(const Layout& layout, const ReachQuestion& question, const std::vector<Vertex>& readers, std::uint64_t depth) {
  Unseen result{std::vector<Vertex>(layout.tokens, 0), {}};
  for (const Vertex a : readers) {
    const auto [count, first] = count_missing(layout, question, a, depth);
    result.count[a] = count;
    if (count > 0 && !result.first) result.first = Pair{a, first};
  }
  for (Vertex i = 0; i < layout.tokens; ++i) result.count[i] = result.count[(*question.orbit)[i]];
  return result;
}

Reach reach_by_orbits(const Layout& layout, const ReachQuestion& question, const std::vector<Vertex>& readers) {
  std::uint64_t low = 0, high = ever_of(layout);  // more layers never show less
  if (const auto missed = unseen_by_orbits(layout, question, readers, high).first) return {std::nullopt, missed};
  std::optional<Pair> before = unseen_by_orbits(layout, question, readers, 0).first;
  if (!before) return {0, {}};
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (const auto missed = unseen_by_orbits(layout, question, readers, middle).first) {
      low = middle;
      before = missed;
    } else {
      high = middle;
    }
  }
  return {high, before};
}

}  // namespace

namespace {

/// A large block mask as a question about two vertices per stretch: members of a stretch see, and are seen, alike.
struct Short {
  Stretches stretches;
  Layout layout;
  std::vector<Vertex> columns;
  ReachQuestion question;

  [[nodiscard]] std::optional<Pair> restore(const std::optional<Pair>& pair) const {
    return pair ? std::optional(Pair{stretches.first[pair->first], stretches.first[pair->second]}) : pair;
  }
};

std::unique_ptr<Short> shorten(const Layout& layout, const ReachQuestion& question) {
  if (question.sets != nullptr || question.weight != nullptr || question.kind == ClassKind::causal) return nullptr;
  if (!choose_readers(layout, question).empty()) return nullptr;  // a few readers tell all
  std::vector<const Relation*> relations;
  for (const Relation& relation : layout.relations) relations.push_back(&relation);
  auto found = find_stretches(layout.vertices(), layout.tokens, relations, nullptr);
  if (!found) return nullptr;
  auto out = std::make_unique<Short>(Short{std::move(*found), {}, {}, question});
  out->layout.registers = layout.registers;
  out->layout.tokens = static_cast<Vertex>(out->stretches.first.size()) - layout.registers;
  out->layout.vertex_colour.resize(out->stretches.first.size());
  out->layout.relations = out->stretches.relations;
  out->layout.layers = layout.layers;
  out->layout.order = layout.order;
  out->question.orbit = nullptr;
  out->question.hints = nullptr;
  out->question.weight = &out->stretches.count;
  if (question.hints == nullptr) return out;
  for (const Vertex column : read_hints(layout, *question.hints)) out->columns.push_back(out->stretches.place_of(column));
  std::sort(out->columns.begin(), out->columns.end() - 1);
  out->columns.erase(std::unique(out->columns.begin(), out->columns.end() - 1), out->columns.end() - 1);
  out->question.columns = &out->columns;
  return out;
}

}  // namespace

namespace {

std::optional<Grid> find_grid_for(const Layout& layout, const ReachQuestion& question) {
  if (question.kind == ClassKind::causal || question.ordinary_only || question.sets != nullptr || question.weight != nullptr) return std::nullopt;
  return find_grid(layout);
}

ReachQuestion ask_factor(const ReachQuestion& question) {
  ReachQuestion asked;
  asked.kind = question.kind;
  asked.skip = question.skip;
  return asked;
}

Unseen unseen_on_grid(const Layout& layout, const Grid& grid, const ReachQuestion& question, std::optional<std::uint64_t> depth) {
  const Unseen down = compute_unseen(grid.down, ask_factor(question), depth), across = compute_unseen(grid.across, ask_factor(question), depth);
  Unseen result{std::vector<Vertex>(layout.tokens), {}};
  for (Vertex i = 0; i < layout.tokens; ++i) {
    const Vertex seen = (grid.down.tokens - down.count[i / grid.width]) * (grid.width - across.count[i % grid.width]);
    result.count[i] = layout.tokens - seen;
    if (seen == layout.tokens || result.first) continue;
    result.first = Pair{i, count_missing(layout, question, i, depth.value_or(ever_of(layout))).second};
  }
  return result;
}

/// The factor that takes longer, or never gets there, decides, and what it misses is missed on the grid.
Reach reach_on_grid(const Grid& grid, const ReachQuestion& question) {
  Reach down = compute_reach(grid.down, ask_factor(question)), across = compute_reach(grid.across, ask_factor(question));
  if (down.layers && (!across.layers || *across.layers > *down.layers)) return across;
  if (down.missed) down.missed = Pair{down.missed->first * grid.width, down.missed->second * grid.width};
  return down;
}

}  // namespace

Unseen compute_unseen(const Layout& layout, const ReachQuestion& question, std::optional<std::uint64_t> depth) {
  if (const auto shorter = shorten(layout, question)) {
    const Unseen found = compute_unseen(shorter->layout, shorter->question, depth);
    Unseen result{std::vector<Vertex>(layout.tokens), shorter->restore(found.first)};
    // What the second of a stretch sees of itself is not what the others see of it: the first one speaks for all.
    const Stretches& stretches = shorter->stretches;
    for (Vertex k = 0; k < shorter->layout.tokens; ++k) std::fill_n(result.count.begin() + stretches.first[k], stretches.count[k], found.count[stretches.lead[k]]);
    return result;
  }
  const bool by_rows = depth == 1 && !layout.order.empty() && question.kind != ClassKind::seen && question.sets == nullptr && question.weight == nullptr && !(question.registers_too && layout.registers > 0);
  if (by_rows && layout.layer(question.skip + 1).size() == 1) return unseen_by_rows(layout, question, *layout.relations[layout.layer(question.skip + 1).front()].pattern);
  const auto layers = make_read_layers(layout);
  if (const IntervalReach intervals(layout, layers, question); intervals.ok()) return intervals.unseen(depth);
  Unseen none{std::vector<Vertex>(layout.tokens, 0), {}};
  if (!depth && question.kind == ClassKind::seen && question.sets == nullptr) return none;
  if (const auto reach = reach_by_hub(layout, layers, question); reach && reach->layers && depth.value_or(never) >= *reach->layers) return none;
  if (!depth && question.sets == nullptr && !question.registers_too && question.weight == nullptr && is_causal_chain(layout, layers)) {
    for (Vertex i = 0; i < layout.tokens && question.kind == ClassKind::all; ++i) none.count[i] = layout.tokens - 1 - i;
    if (question.kind == ClassKind::all && layout.tokens > 1) none.first = Pair{0, 1};
    return none;
  }
  if (const auto grid = question.kind == ClassKind::all ? find_grid_for(layout, question) : std::nullopt) return unseen_on_grid(layout, *grid, question, depth);
  if (const auto readers = choose_readers(layout, question); !readers.empty()) return unseen_by_orbits(layout, question, readers, depth.value_or(ever_of(layout)));
  return BitReach(layout, layers, question).unseen(depth);
}

Reach compute_reach(const Layout& layout, const ReachQuestion& question) {
  if (const auto shorter = shorten(layout, question)) {
    Reach found = compute_reach(shorter->layout, shorter->question);
    found.missed = shorter->restore(found.missed);
    return found;
  }
  const auto layers = make_read_layers(layout);
  if (const IntervalReach intervals(layout, layers, question); intervals.ok()) return intervals.layers();
  if (const auto reach = reach_by_hub(layout, layers, question)) return *reach;
  if (const auto grid = find_grid_for(layout, question)) return reach_on_grid(*grid, question);
  if (const auto readers = choose_readers(layout, question); !readers.empty()) return reach_by_orbits(layout, question, readers);
  return BitReach(layout, layers, question).layers();
}

std::vector<std::int64_t> compute_latest(const Layout& layout, std::uint64_t depth, Vertex root, std::uint64_t skip) {
  std::vector<std::int64_t> latest(layout.vertices(), -1);
  latest[root] = static_cast<std::int64_t>(depth);
  std::vector<Vertex> seen{root}, next(std::size_t{layout.vertices()} + 1);
  if (layout.order.empty()) return latest;
  std::iota(next.begin(), next.end(), Vertex{0});
  const auto unseen_from = [&](Vertex j) {  // the next vertex >= j that is not yet seen
    while (next[j] != j) j = next[j] = next[next[j]];
    return j;
  };
  next[root] = root + 1;
  // Going down in q, a vertex hands on its time once per distinct layer: an earlier layer of the same kind has nothing better.
  std::vector<std::size_t> expanded(layout.layers.size(), 0);
  std::vector<Run> row;
  std::size_t idle = 0;
  for (std::uint64_t q = depth; q >= 1 && idle < layout.order.size() && seen.size() < layout.vertices(); --q) {
    const std::uint32_t l = layout.order[(skip + q - 1) % layout.order.size()];
    const std::size_t end = seen.size();
    for (; expanded[l] < end; ++expanded[l]) {
      for (const std::uint32_t r : layout.layers[l]) {
        layout.relations[r].pattern->row(seen[expanded[l]], row);
        for (const Run& run : row) {
          for (std::uint64_t j = run.step == 1 ? unseen_from(run.first) : run.first; j <= run.last;
               j = run.step == 1 ? unseen_from(static_cast<Vertex>(j)) : j + run.step) {
            if (latest[j] >= 0) continue;
            latest[j] = static_cast<std::int64_t>(q - 1);
            next[j] = static_cast<Vertex>(j + 1);
            seen.push_back(static_cast<Vertex>(j));
          }
        }
      }
    }
    idle = seen.size() == end ? idle + 1 : 0;
  }
  return latest;
}

}  // namespace checker
