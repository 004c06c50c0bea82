// The general way to who sees whom: columns by the hundreds, one bit each, layer after layer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "poll.hpp"
#include "read_layers.hpp"
#include "threshold.hpp"

namespace checker {

using SharedLayers = std::map<std::uint32_t, SharedLayer>;

// Up to 64 `words` columns at once, one bit each; a few columns need no more.
template <std::size_t words>
struct alignas(8 * words) Lane {  // in one line of the cache
  std::array<std::uint64_t, words> word{};
  Lane& operator|=(const Lane& other) {
#pragma GCC unroll 8
    for (std::size_t w = 0; w < word.size(); ++w) word[w] |= other.word[w];
    return *this;
  }
  [[nodiscard]] Lane both(const Lane& other) const {
    Lane common;
#pragma GCC unroll 8
    for (std::size_t w = 0; w < words; ++w) common.word[w] = word[w] & other.word[w];
    return common;
  }
  [[nodiscard]] Lane without(const Lane& other) const {
    Lane rest;
#pragma GCC unroll 8
    for (std::size_t w = 0; w < words; ++w) rest.word[w] = word[w] & ~other.word[w];
    return rest;
  }
  [[nodiscard]] bool get(std::size_t bit) const { return (word[bit / 64] >> (bit % 64) & 1) != 0; }
  void set(std::size_t bit) { word[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  friend bool operator==(const Lane& a, const Lane& b) {
    std::uint64_t differences = 0;
#pragma GCC unroll 8
    for (std::size_t w = 0; w < words; ++w) differences |= a.word[w] ^ b.word[w];
    return differences == 0;
  }
};

/// By vertex the groups of readers that read it, where rows are short: only those have something new to see that read what changed. And what
/// each group reads, vertex by vertex: in one place in memory, where ranges are not.
class Readers {
public:
  /// False: rows are long.
  bool list(const SharedLayer& layer, Vertex vertices) {
    constexpr Threshold<std::uint64_t> most_arcs{64, 1, "listed readers"};
    std::uint64_t arcs = 0;
    begin_.assign(std::size_t{vertices} + 2, 0);
    const auto each_arc = [&](const auto& visit) {
      for (std::size_t g = 0; g < layer.groups.size(); ++g) {
        for (const std::uint32_t k : layer.row(layer.groups[g])) {
          const auto [step, first, last] = layer.ranges[k];
          if ((arcs += (last - first) / step + 1) > most_arcs * vertices) return false;
          for (std::uint64_t j = first; j <= last; j += step) visit(static_cast<std::uint32_t>(g), static_cast<Vertex>(j));
        }
      }
      return true;
    };
    if (!each_arc([&](std::uint32_t, Vertex j) { ++begin_[j + 2]; })) return false;
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    row_begin_.assign(layer.groups.size() + 1, 0);
    rows_.reserve(arcs);
    groups_.resize(std::exchange(arcs, 0));
    each_arc([&](std::uint32_t g, Vertex j) {
      groups_[begin_[j + 1]++] = g;
      rows_.push_back(j);
      ++row_begin_[g + 1];
    });
    std::partial_sum(row_begin_.begin(), row_begin_.end(), row_begin_.begin());
    return true;
  }
  [[nodiscard]] std::span<const std::uint32_t> of(Vertex j) const { return std::span(groups_).subspan(begin_[j], begin_[j + 1] - begin_[j]); }
  [[nodiscard]] std::span<const Vertex> row(std::uint32_t g) const { return std::span(rows_).subspan(row_begin_[g], row_begin_[g + 1] - row_begin_[g]); }

private:
  std::vector<std::uint32_t> begin_, groups_, row_begin_;
  std::vector<Vertex> rows_;
};
using LayerReaders = std::map<std::uint32_t, Readers>;  ///< empty: layers are gone through whole

/// Applies the layers of the repeated list, from layer skip + 1 on, to something that only grows: apply(layer) says whether it did, and then visit(q) is called behind
/// layer q. Ends where that says false, or nothing changes any more; at `depth` layers returns false. What did nothing since the last change is passed over.
template <class Apply, class Visit>
bool go_through_layers(const Layout& layout, std::uint64_t skip, std::uint64_t depth, const Apply& apply, const Visit& visit) {
  std::vector<bool> quiet(layout.layers.size(), false);
  std::size_t idle = 0;
  for (std::uint64_t q = 1; q <= depth && idle < layout.order.size(); ++q) {
    const std::uint32_t l = layout.order[(skip + q - 1) % layout.order.size()];
    if (quiet[l] || !apply(l)) {
      quiet[l] = true;
      ++idle;
      continue;
    }
    idle = 0;
    quiet.assign(quiet.size(), false);
    if (!visit(q)) return true;
  }
  return idle >= layout.order.size();
}

template <std::size_t words>
class Strip {
public:
  using Lane = checker::Lane<words>;
  Strip(const Layout& layout, const SharedLayers& layers, const LayerReaders& readers, std::vector<Vertex> columns)
      : columns(std::move(columns)), layout_(layout), layers_(layers), readers_(readers) {}

  // Calls visit(q) for q = 0 and after every layer that changes something, until it says false, nothing changes, or `depth`: then returns false.
  template <class Visit>
  bool run(std::uint64_t skip, std::uint64_t depth, const Visit& visit) {
    state.assign(layout_.vertices(), Lane{});
    for (const auto& [l, readers] : readers_) waiting_[l] = {{}, std::vector<std::uint8_t>(layers_.at(l).groups.size(), 0)};
    full_ = Lane{};
    for (std::size_t k = 0; k < columns.size(); ++k) {
      state[columns[k]].set(k);
      full_.set(k);
      note(columns[k]);
    }
    if (!visit(std::uint64_t{0})) return true;
    return go_through_layers(layout_, skip, depth, [&](std::uint32_t l) { return readers_.empty() ? apply(layers_.at(l)) : apply_to_waiting(l); }, visit);
  }

  std::vector<Vertex> columns;
  std::vector<Lane> state;  // by vertex: which of the columns it sees

private:
  void note(Vertex j) {
    for (const auto& [l, readers] : readers_) {
      auto& [list, waits] = waiting_[l];
      for (const std::uint32_t g : readers.of(j)) {
        if (waits[g] == 0) list.push_back(g);
        waits[g] = 1;
      }
    }
  }

  // A group sees what it saw when the layer was last applied, unless a vertex that it reads has changed since.
  bool apply_to_waiting(std::uint32_t l) {
    const SharedLayer& layer = layers_.at(l);
    auto& [list, waits] = waiting_[l];
    std::vector<std::uint32_t> waiting = std::exchange(list, {});
    if (8 * waiting.size() > waits.size()) {  // in their order: rows that follow one another lie beside one another
      waiting.clear();
      for (std::uint32_t g = 0; g < waits.size(); ++g) {
        if (waits[g] != 0) waiting.push_back(g);
      }
    }
    const Readers& readers = readers_.at(l);
    changed_.clear();
    fresh_.clear();
    for (const std::uint32_t g : waiting) {
      poll();
      waits[g] = 0;
      const ReadLayer::Group& group = layer.groups[g];
      if (group.end == group.begin + 1 && state[group.begin] == full_) continue;  // nothing is new to it
      Lane sum{};
      unsigned read = 0;
      for (const Vertex j : readers.row(g)) {
        sum |= state[j];
        if (++read % 4 == 0 && sum == full_) break;
      }
      for (Vertex i = group.begin; i < group.end; ++i) {
        Lane more = state[i];
        more |= sum;
        if (more == state[i]) continue;
        changed_.push_back(i);
        fresh_.push_back(more);
      }
    }
    // Where most vertices change, most groups have something to read: they are told at once.
    const bool many = 4 * changed_.size() > layout_.vertices();
    for (std::size_t k = 0; k < changed_.size(); ++k) {
      state[changed_[k]] = fresh_[k];
      if (!many) note(changed_[k]);
    }
    if (many) note_all();
    return !changed_.empty();
  }

  void note_all() {
    for (auto& [l, entry] : waiting_) {
      auto& [list, waits] = entry;
      std::fill(waits.begin(), waits.end(), std::uint8_t{1});
      list.resize(waits.size());
      std::iota(list.begin(), list.end(), 0U);
    }
  }

  bool apply(const SharedLayer& layer) {
    constexpr Vertex block = 64;
    blocks_.assign(state.size() / block + 1, Lane{});
    for (std::size_t j = 0; j < state.size(); ++j) blocks_[j / block] |= state[j];
    values_.resize(layer.ranges.size());
    for (std::size_t k = 0; k < layer.ranges.size(); ++k) {
      poll();
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
    std::uint32_t known = 0;
    Lane common{};
    for (const ReadLayer::Group& group : layer.groups) {
      poll();
      if (group.common != known) {
        known = group.common;
        common = Lane{};
        for (const std::uint32_t k : layer.shared(group)) common |= values_[k];
      }
      Lane sum = common;
      for (const std::uint32_t k : layer.own(group)) sum |= values_[k];
      for (Vertex i = group.begin; i < group.end; ++i) {
        const Lane old = state[i];
        state[i] |= sum;  // values_ were taken before any of this
        changed = changed || state[i] != old;
      }
    }
    return changed;
  }

  const Layout& layout_;
  const SharedLayers& layers_;
  const LayerReaders& readers_;
  std::map<std::uint32_t, std::pair<std::vector<std::uint32_t>, std::vector<std::uint8_t>>> waiting_;  // by layer: which groups wait, and whether each does
  std::vector<Lane> blocks_, values_, fresh_;
  std::vector<Vertex> changed_;
  Lane full_{};  // all columns
};

template <std::size_t words = 8>
class BitReach {
public:
  static constexpr std::size_t lane_bits = 64 * words;
  using Lane = checker::Lane<words>;
  using Strip = checker::Strip<words>;
  BitReach(const Layout& layout, const SharedLayers& layers, const ReachQuestion& question)
      : layout_(layout), layers_(layers), question_(question) {}

  /// Of columns that are followed through many layers, however few they are.
  Unseen unseen_late(std::optional<std::uint64_t> depth, const std::vector<Vertex>& columns) {
    few_columns_ = 0;
    return unseen(depth, &columns);
  }

  Unseen unseen(std::optional<std::uint64_t> depth, const std::vector<Vertex>* columns = nullptr) {
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
    }, columns, depth.value_or(never));
    return result;
  }

  /// Not after more than `most` layers: then it gives up, and is of no use.
  /// @param late  by vertex, where all is seen in the end: after how many layers all see that column, or some more
  Reach layers(const std::vector<Vertex>* columns = nullptr, std::uint64_t most = never, std::vector<std::uint64_t>* late = nullptr) {
    Reach result{0, {}};
    most_ = most;
    for_each_strip([&](Strip& strip) {
      Vertex reader = 0;  // what has been seen stays seen
      std::optional<std::pair<Vertex, Vertex>> now, before;
      std::uint64_t last = 0;
      std::optional<Lane> open;  // what was not seen by all when the last layer that showed something came
      const bool ended = !gave_up_ && strip.run(question_.skip, most, [&](std::uint64_t q) {
        before = std::exchange(now, std::nullopt);
        for (; reader < layout_.tokens && !now; reader += now ? 0 : 1) now = missing(strip, reader);
        last = q;
        if (now) {
          const std::optional<Lane> earlier = std::exchange(open, late != nullptr && (exact_ || q + 1 >= *result.layers) ? std::optional(list_missing(strip, reader)) : std::nullopt);
          for (std::size_t c = 0; exact_ && c < strip.columns.size(); ++c) {
            if ((!earlier || earlier->get(c)) && !open->get(c)) (*late)[strip.columns[c]] = q;
          }
        }
        return now.has_value();
      });
      for (std::size_t c = 0; late != nullptr && c < strip.columns.size(); ++c) {
        if (!open || open->get(c)) (*late)[strip.columns[c]] = last;
        else if (!exact_) (*late)[strip.columns[c]] = last - 1;
      }
      gave_up_ = gave_up_ || !ended;
      if (now) result = {std::nullopt, now};
      else if (last > *result.layers) result = {last, before};
      return result.layers.has_value() && !gave_up_;
    }, columns);
    return result;
  }

  /// layers(), which says in `late`, too, after how many layers all see a column, or some more. Where one layer is listed over and over, what a vertex reads is seen by all one layer after
  /// the vertex is: a few columns from all over bound the others, and only those that may come later than they do are followed.
  Reach layers_and_late(std::vector<std::uint64_t>& late) {
    constexpr Threshold<std::size_t> fewest_strips{16, 2, "late columns"};
    const Vertex count = question_.registers_too ? layout_.vertices() : layout_.tokens;
    late.assign(layout_.vertices(), never);
    list_readers(never);
    if (count < fewest_strips * lane_bits || readers_.empty() || !repeats_one_layer(layout_)) return layers(nullptr, never, &late);
    const Readers& readers = readers_.begin()->second;
    std::vector<std::uint32_t> row_of(layout_.vertices(), none);
    const SharedLayer& layer = layers_.begin()->second;
    for (std::uint32_t g = 0; g < layer.groups.size(); ++g) std::fill(row_of.begin() + layer.groups[g].begin, row_of.begin() + layer.groups[g].end, g);
    std::vector<Vertex> columns(count), some;
    std::iota(columns.begin(), columns.end(), Vertex{0});
    gather_neighbours(columns);
    Reach result{0, {}};
    const auto follow = [&](const std::vector<Vertex>& list) {
      const Reach found = layers(&list, never, &late);
      if (!found.layers || *found.layers > *result.layers) result = found;
      return result.layers.has_value();
    };
    for (std::size_t before = 2 * columns.size() + 1; columns.size() > 4 * lane_bits && 2 * columns.size() < before;) {
      before = columns.size();
      some.clear();
      for (std::size_t k = 0; k < lane_bits; ++k) some.push_back(columns[k * (columns.size() - 1) / (lane_bits - 1)]);
      std::sort(some.begin(), some.end());
      exact_ = true;
      const bool seen = follow(some);
      exact_ = false;
      if (!seen) return result;
      std::map<std::uint64_t, std::vector<Vertex>> waiting;
      for (const Vertex j : some) waiting[late[j]].push_back(j);
      for (; !waiting.empty(); waiting.erase(waiting.begin())) {
        const auto& [q, vertices] = *waiting.begin();
        for (const Vertex j : vertices) {
          poll();
          if (late[j] != q || row_of[j] == none) continue;
          for (const Vertex i : readers.row(row_of[j])) {
            if (late[i] <= q + 1) continue;
            late[i] = q + 1;
            waiting[q + 1].push_back(i);
          }
        }
      }
      std::erase_if(columns, [&](Vertex j) { return late[j] <= *result.layers; });
    }
    follow(columns);
    return result;
  }

  [[nodiscard]] bool gave_up() const { return gave_up_; }

private:
  template <class Visit>
  void for_each_strip(const Visit& visit, const std::vector<Vertex>* columns = nullptr, std::uint64_t depth = never) {
    std::vector<Vertex> all(question_.registers_too ? layout_.vertices() : layout_.tokens);
    std::iota(all.begin(), all.end(), Vertex{0});
    if (columns != nullptr) all = *columns;
    if (columns == nullptr || columns->size() > few_columns_) list_readers(question_.kind == ClassKind::seen ? never : depth);
    if (columns == nullptr && !readers_.empty() && question_.kind != ClassKind::causal && question_.sets == nullptr) gather_neighbours(all);
    for (std::size_t k = 0; k < all.size(); k += lane_bits) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(k);
      Strip strip(layout_, layers_, readers_, {begin, begin + static_cast<std::ptrdiff_t>(std::min(lane_bits, all.size() - k))});
      ever_.clear();
      if (question_.kind == ClassKind::seen && question_.sets == nullptr) {
        if (!strip.run(question_.skip, most_, [](std::uint64_t) { return true; })) gave_up_ = true;
        ever_ = strip.state;
      }
      common_ = Lane{};
      for (std::size_t c = 0; c < strip.columns.size(); ++c) {
        if (strip.columns[c] != 0 || !question_.ordinary_only) common_.set(c);
      }
      if (!visit(strip)) return;
    }
  }

  // For all layers gone through or none.
  void list_readers(std::uint64_t depth) {
    constexpr Threshold<Vertex> small_layout{1024, 2, "small layouts"};
    if (layout_.vertices() <= small_layout) return;
    for (std::uint64_t q = 0; q < std::min<std::uint64_t>(depth, layout_.order.size()); ++q) {
      const std::uint32_t l = layout_.order[(question_.skip + q) % layout_.order.size()];
      if (readers_.contains(l) || readers_[l].list(layers_.at(l), layout_.vertices())) continue;
      readers_.clear();
      return;
    }
  }

  // Columns near each other come to a vertex within few layers of each other, so it changes in few: balls of one strip each.
  void gather_neighbours(std::vector<Vertex>& columns) const {
    const std::size_t count = columns.size();
    std::vector<bool> met(layout_.vertices(), false);
    std::vector<Vertex> queue;
    columns.clear();
    std::map<std::uint32_t, std::vector<std::uint32_t>> told;  // by layer and group: the last ball, from 1 on, that met all of it
    for (const auto& [l, readers] : readers_) told[l].assign(layers_.at(l).groups.size(), 0);
    std::uint32_t ball = 1;
    Vertex lowest = 0;
    for (std::size_t at = 0; columns.size() < count;) {
      if (at == queue.size()) {
        while (met[lowest]) ++lowest;
        met[lowest] = true;
        queue.push_back(lowest);
      }
      const Vertex j = queue[at++];
      if (j < count) columns.push_back(j);
      if (j < count && columns.size() % lane_bits == 0 && at < queue.size()) {  // the next ball begins where this one ends
        for (std::size_t k = at + 1; k < queue.size(); ++k) met[queue[k]] = false, lowest = std::min(lowest, queue[k]);
        queue.resize(at + 1);
        ++ball;
        continue;
      }
      poll();
      for (const auto& [l, readers] : readers_) {
        for (const std::uint32_t g : readers.of(j)) {
          if (std::exchange(told[l][g], ball) == ball) continue;
          for (Vertex i = layers_.at(l).groups[g].begin; i < layers_.at(l).groups[g].end; ++i) {
            if (!met[i]) queue.push_back(i);
            met[i] = true;
          }
        }
      }
    }
    for (std::size_t k = 0; k < count; k += lane_bits) {
      const auto begin = columns.begin() + static_cast<std::ptrdiff_t>(k);
      std::sort(begin, begin + static_cast<std::ptrdiff_t>(std::min(lane_bits, count - k)));
    }
  }

  Lane want(const Strip& strip, Vertex i) const {
    Lane lane = common_;
    for (std::size_t w = 0; w < lane.word.size() && !ever_.empty(); ++w) lane.word[w] &= ever_[i].word[w];
    if (question_.sets == nullptr && (question_.kind != ClassKind::causal || i >= strip.columns.back())) return lane;
    for (std::size_t c = 0; c < strip.columns.size(); ++c) {
      const bool wanted = question_.sets != nullptr ? question_.sets->may_hold(i, strip.columns[c]) : strip.columns[c] <= i;
      if (!wanted) lane.word[c / 64] &= ~(std::uint64_t{1} << (c % 64));
    }
    return lane;
  }

  std::optional<std::pair<Vertex, Vertex>> missing(const Strip& strip, Vertex i) const {
    const Lane lane = want(strip, i);
    for (std::size_t w = 0; w < lane.word.size(); ++w) {
      if (const std::uint64_t rest = lane.word[w] & ~strip.state[i].word[w]) {
        return std::pair<Vertex, Vertex>{i, strip.columns[64 * w + static_cast<std::size_t>(std::countr_zero(rest))]};
      }
    }
    return std::nullopt;
  }

  /// By readers from this one on.
  Lane list_missing(const Strip& strip, Vertex from) const {
    Lane missed{};
    for (Vertex i = from; i < layout_.tokens; ++i) missed |= want(strip, i).without(strip.state[i]);
    return missed;
  }

  const Layout& layout_;
  const SharedLayers& layers_;
  const ReachQuestion& question_;
  LayerReaders readers_;
  std::vector<Lane> ever_;
  Lane common_;
  std::uint64_t most_ = never;  ///< layers
  bool exact_ = false;  ///< what layers() says of late columns
  std::size_t few_columns_ = 64;  ///< alone not worth the lists
  bool gave_up_ = false;
};

/// BitReach::layers of some columns.
inline Reach reach_of_columns(const Layout& layout, const SharedLayers& layers, const ReachQuestion& question, const std::vector<Vertex>& columns) {
  if (columns.size() <= 64) return BitReach<1>(layout, layers, question).layers(&columns);
  if (columns.size() <= 128) return BitReach<2>(layout, layers, question).layers(&columns);
  return BitReach<>(layout, layers, question).layers(&columns);
}

}  // namespace checker
