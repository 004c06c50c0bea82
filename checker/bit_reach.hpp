// The general way to who sees whom: columns by the hundreds, one bit each, layer after layer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "poll.hpp"
#include "read_layers.hpp"

namespace checker {

using SharedLayers = std::map<std::uint32_t, SharedLayer>;
inline constexpr std::uint64_t never = ~std::uint64_t{0};

// Up to 64 `words` columns at once, one bit each; a few columns need no more.
template <std::size_t words>
struct Lane {
  std::array<std::uint64_t, words> word{};
  Lane& operator|=(const Lane& other) {
    for (std::size_t w = 0; w < word.size(); ++w) word[w] |= other.word[w];
    return *this;
  }
  void set(std::size_t bit) { word[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  friend bool operator==(const Lane&, const Lane&) = default;
};

template <std::size_t words>
class Strip {
public:
  using Lane = checker::Lane<words>;
  Strip(const Layout& layout, const SharedLayers& layers, std::vector<Vertex> columns)
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
    for (const ReadLayer::Group& group : layer.groups) {
      poll();
      Lane sum{};
      for (std::size_t k = group.from; k < group.to; ++k) sum |= values_[layer.numbers[k]];
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
  std::vector<Lane> blocks_, values_;
};

template <std::size_t words = 8>
class BitReach {
public:
  static constexpr std::size_t lane_bits = 64 * words;
  using Lane = checker::Lane<words>;
  using Strip = checker::Strip<words>;
  BitReach(const Layout& layout, const SharedLayers& layers, const ReachQuestion& question)
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
      std::optional<std::pair<Vertex, Vertex>> now, before;
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

  std::optional<std::pair<Vertex, Vertex>> missing(const Strip& strip, Vertex i) const {
    const Lane lane = want(strip, i);
    for (std::size_t w = 0; w < lane.word.size(); ++w) {
      if (const std::uint64_t rest = lane.word[w] & ~strip.state[i].word[w]) {
        return std::pair<Vertex, Vertex>{i, strip.columns[64 * w + static_cast<std::size_t>(std::countr_zero(rest))]};
      }
    }
    return std::nullopt;
  }

  const Layout& layout_;
  const SharedLayers& layers_;
  const ReachQuestion& question_;
  std::vector<Lane> ever_;
  Lane common_;
};

/// BitReach::layers of some columns.
inline Reach reach_of_columns(const Layout& layout, const SharedLayers& layers, const ReachQuestion& question, const std::vector<Vertex>& columns) {
  if (columns.size() <= 64) return BitReach<1>(layout, layers, question).layers(&columns);
  if (columns.size() <= 128) return BitReach<2>(layout, layers, question).layers(&columns);
  return BitReach<>(layout, layers, question).layers(&columns);
}

}  // namespace checker
