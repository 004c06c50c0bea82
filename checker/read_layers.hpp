// Inside of reach: layers as who-sees-whom needs them, without colours, the union over heads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "reach.hpp"

namespace checker {

inline constexpr std::uint64_t never = ~std::uint64_t{0};

/// first, first + step, .., last.
struct Range {
  Vertex step = 1, first = 0, last = 0;
  auto operator<=>(const Range&) const = default;
};

/// The members of one list, then those of another, which must not end where the first begins (lists that are shared are stored before those of their readers).
template <class Value>
class Joined {
public:
  class Iterator {
  public:
    Iterator(const Value* at, const Joined* lists) : at_(at), lists_(lists) {}
    const Value& operator*() const { return *at_; }
    Iterator& operator++() {
      if (++at_ == lists_->turn_) at_ = lists_->second_.data();
      return *this;
    }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return a.at_ != b.at_; }

  private:
    const Value* at_;
    const Joined* lists_;
  };
  Joined(std::span<const Value> first, std::span<const Value> second) : first_(first), second_(second), turn_(first.empty() ? nullptr : first.data() + first.size()) {}
  [[nodiscard]] Iterator begin() const { return {first_.empty() ? second_.data() : first_.data(), this}; }
  [[nodiscard]] Iterator end() const { return {second_.data() + second_.size(), this}; }
  [[nodiscard]] bool empty() const { return first_.empty() && second_.empty(); }

private:
  std::span<const Value> first_, second_;
  const Value* turn_;
};

/// Some of the ranges of a layer.
struct RangeList {
  std::size_t from = 0;
  std::uint32_t count = 0;
  template <class Value>
  [[nodiscard]] std::span<const Value> of(const std::vector<Value>& all) const {
    return std::span(all).subspan(from, count);
  }
};

/// Readers begin .. end-1 read the ranges of a list that many groups may have in common, each with a step, by first vertices, and some of their own, which are sorted.
struct ReadLayer {
  struct Group {
    Vertex begin, end;
    std::size_t from;
    std::uint32_t count, common;
    [[nodiscard]] RangeList own() const { return {from, count}; }
  };
  std::vector<Range> ranges;
  std::vector<Group> groups;
  std::vector<RangeList> common{RangeList{}};  ///< number 0: none

  [[nodiscard]] std::span<const Range> own(const Group& group) const { return group.own().of(ranges); }
  [[nodiscard]] std::span<const Range> shared(const Group& group) const { return common[group.common].of(ranges); }
  [[nodiscard]] Joined<Range> row(const Group& group) const { return {shared(group), own(group)}; }
  /// The number of the group that each token is in.
  [[nodiscard]] std::vector<std::uint32_t> groups_by_reader(Vertex tokens) const;

  /// visit(begin, end, ranges): readers begin .. end-1 read these ranges. Every list once, a common one for all groups in a row that have it.
  template <class Visit>
  void visit_lists(const Visit& visit) const {
    for (std::size_t g = 0, first = 0; g < groups.size(); ++g) {
      visit(groups[g].begin, groups[g].end, own(groups[g]));
      if (groups[g].common != groups[first].common) first = g;
      const bool is_last = g + 1 == groups.size() || groups[g + 1].common != groups[g].common;
      if (is_last && groups[g].common != 0) visit(groups[first].begin, groups[g].end, shared(groups[g]));
    }
  }
};
[[nodiscard]] ReadLayer make_read_layer(const Layout& layout, const std::vector<std::uint32_t>& relations);

/// Does every arc go to its reader or down, and does every token read the one before it in some layer? Token i then comes to see exactly 0..i.
[[nodiscard]] bool is_causal_chain(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers);

/// The same with every range once: lists are of numbers, of members of `ranges`.
struct SharedLayer {
  std::vector<Range> ranges;  ///< distinct, by first vertices, those of one sorted
  std::vector<std::uint32_t> numbers;
  std::vector<ReadLayer::Group> groups;
  std::vector<RangeList> common;

  [[nodiscard]] std::span<const std::uint32_t> own(const ReadLayer::Group& group) const { return group.own().of(numbers); }
  [[nodiscard]] std::span<const std::uint32_t> shared(const ReadLayer::Group& group) const { return common[group.common].of(numbers); }
  [[nodiscard]] Joined<std::uint32_t> row(const ReadLayer::Group& group) const { return {shared(group), own(group)}; }
};
[[nodiscard]] SharedLayer share_ranges(const ReadLayer& layer);

/// The length of the shortest list whose repetition is the layers' order (0 without layers).
[[nodiscard]] std::uint64_t find_period(const std::vector<std::uint32_t>& order);

/// Of every row, its own token included: the interval around the reader; and of all rows together how far apart members are.
struct RowShape {
  std::vector<Vertex> from, to;
  Vertex gap = 1;  ///< next members of a row differ by at most this
  Vertex latest_first = 0, earliest_last = ~Vertex{0};
};
/// At most how many vertices one reader of the layer has in view, itself among them. O(ranges).
[[nodiscard]] std::uint64_t count_widest(const ReadLayer& layer);
/// Nothing when rows are so long that this is no shortcut (crossing.cpp). O(ranges log of those in a row).
[[nodiscard]] std::optional<RowShape> measure_rows(const ReadLayer& layer, Vertex tokens);

/// Does every token see every token (causal: every one up to itself) after the two layers, the earlier one of the first shape? Registers apart;
/// false may mean: not found out.
[[nodiscard]] bool do_two_layers_suffice(const std::optional<RowShape>& readers, const std::optional<RowShape>& rows, Vertex tokens, bool causal);

/// The same, all tokens wanted, where the earlier layer's rows are classes (columns of a grid, blocks) and `rows` are those of the later one. O(ranges).
[[nodiscard]] bool do_rows_meet_classes(const ReadLayer& earlier, const std::optional<RowShape>& rows, Vertex tokens);

/// The same shown by tokens that all (causal: all from them on) read in the later layer, and that read everything in the earlier one
/// (gathering.cpp). The ranges of a row of the later layer must be disjoint. O(ranges + tokens * steps).
[[nodiscard]] bool do_gatherers_suffice(const ReadLayer& earlier, const ReadLayer& later, Vertex tokens, bool causal);

/// Does every token see everything after the first `depth` layers, each because its row holds everything or a vertex that has seen everything? False may mean:
/// not found out (everything.cpp). O(ranges) a layer, where few of them have steps.
[[nodiscard]] bool do_all_see_everything(const Layout& layout, const std::map<std::uint32_t, SharedLayer>& layers, const ReachQuestion& question, std::uint64_t depth);

/// When every row, with its reader, is an interval with monotone ends: i -> [lo[i], hi[i]]. Views are again such intervals.
struct Intervals {
  std::vector<Vertex> lo, hi;
  friend bool operator==(const Intervals&, const Intervals&) = default;
};
[[nodiscard]] std::optional<Intervals> make_intervals(const ReadLayer& layer);

/// What the views of all depths are composed of, for lists that begin behind their first `skip` layers.
struct IntervalViews {
  IntervalViews(const Layout& layout, const std::map<std::uint32_t, Intervals>& layers, std::uint64_t skip);
  const std::map<std::uint32_t, Intervals>& layers;
  std::uint64_t length = 0;                                   ///< of one period
  std::vector<std::pair<std::uint32_t, std::uint64_t>> runs;  ///< one period, equal neighbours together
  Intervals identity, period, ever;

  /// base^exponent, or the idempotent power that all further ones equal.
  [[nodiscard]] Intervals power(Intervals base, std::uint64_t exponent) const;
  [[nodiscard]] Intervals at(std::uint64_t depth) const;
};

/// A question without sets, and without registers to be seen where there are some.
class IntervalReach {
public:
  IntervalReach(const Layout& layout, const IntervalViews& views, const ReachQuestion& question) : layout_(layout), views_(views), question_(question) {}
  [[nodiscard]] Unseen unseen(std::optional<std::uint64_t> depth) const;
  [[nodiscard]] Reach layers() const;

private:
  [[nodiscard]] std::pair<Vertex, Vertex> wanted(Vertex i) const;
  [[nodiscard]] std::optional<std::pair<Vertex, Vertex>> missing(const Intervals& view) const;
  std::uint64_t advance(Intervals& view, const Intervals& base, std::uint64_t limit) const;

  const Layout& layout_;
  const IntervalViews& views_;
  const ReachQuestion& question_;
};

}  // namespace checker
