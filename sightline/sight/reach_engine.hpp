// Inside of reach.hpp: one question about receptive fields, and three ways to answer it. Not for other rooms.
//
// All of them compute R_0[i] = {i}, R_q[i] = R_{q-1}[i] u U_{j in N_q(i)} R_{q-1}[j] (theory.md 10), where N_q may start
// anywhere in the repeated list; they differ in how a receptive field is written down.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/reach.hpp"

namespace sightline::sight {

/// Memory asked of the budget, given back at the end of the scope.
class Booking {
public:
  explicit Booking(const Budget& budget, std::uint64_t bytes = 0) : budget_(&budget) { grow(bytes); }
  Booking(Booking&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  Booking& operator=(Booking&&) = delete;
  ~Booking() { budget_->give_back(bytes_); }
  void grow(std::uint64_t bytes) {
    budget_->ask(bytes);
    bytes_ += bytes;
  }

private:
  const Budget* budget_;
  std::uint64_t bytes_ = 0;
};

/// The vertices first, first+step, ..., last.
struct ReadRange {
  Vertex first = 0, last = 0, step = 1;
  friend bool operator==(const ReadRange&, const ReadRange&) = default;
};

/// Ranges of one row as layers have them: sorted, those that touch or are the same in one. In any order, of any heads.
void tidy(std::vector<ReadRange>& ranges);
/// Ranges that tidy() left, so that no vertex is in two of them: heads of one layer read the same vertices by different steps. Patterns are made of such ranges only.
void make_disjoint(std::vector<ReadRange>& ranges);

/// Readers begin .. end-1 read the same ranges: those of a stretch that the groups next to it may have as well, and `count` of their own.
struct ReadGroup {
  Vertex begin = 0, end = 0;
  std::uint64_t own = 0;  ///< where its own ranges begin
  std::uint32_t count = 0;
  std::uint32_t shared = 0;  ///< index into ReadLayer::shared
};

/// A layer as reach sees it: for every vertex the union over heads of what it reads (ranges may overlap).
struct ReadLayer {
  /// The ranges of a group: the shared ones, then its own, each sorted by first vertices.
  class Row {
  public:
    class Iterator {
    public:
      const ReadRange& operator*() const { return *at_; }
      Iterator& operator++() {
        if (++at_ == shared_end_) at_ = own_;
        return *this;
      }
      friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

    private:
      friend class Row;
      const ReadRange *at_, *shared_end_, *own_;
    };
    Row(std::span<const ReadRange> shared, std::span<const ReadRange> own) : shared_(shared), own_(own) {}
    [[nodiscard]] Iterator begin() const { return at(shared_.empty() ? own_.data() : shared_.data()); }
    [[nodiscard]] Iterator end() const { return at(own_.data() + own_.size()); }
    [[nodiscard]] bool empty() const { return shared_.empty() && own_.empty(); }
    [[nodiscard]] std::size_t size() const { return shared_.size() + own_.size(); }

  private:
    [[nodiscard]] Iterator at(const ReadRange* range) const {
      Iterator result;
      result.at_ = range;
      result.shared_end_ = shared_.empty() ? nullptr : shared_.data() + shared_.size();
      result.own_ = own_.data();
      return result;
    }
    std::span<const ReadRange> shared_, own_;
  };

  std::vector<ReadGroup> groups;  ///< consecutive, cover every vertex
  std::vector<ReadRange> ranges;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> shared{{0, 0}};  ///< stretches of ranges (begin, count), all with steps; the first is empty
  std::optional<Booking> booking;

  [[nodiscard]] std::span<const ReadRange> own_ranges(const ReadGroup& group) const { return std::span(ranges).subspan(group.own, group.count); }
  [[nodiscard]] std::span<const ReadRange> shared_ranges(std::uint32_t number) const { return std::span(ranges).subspan(shared[number].first, shared[number].second); }
  [[nodiscard]] Row row(const ReadGroup& group) const { return {shared_ranges(group.shared), own_ranges(group)}; }
};

/// Calls visit(begin, end, ranges) for what single groups have of their own, and for what neighbouring ones share: all arcs of the layer, each time readers begin .. end-1
/// who read the ranges.
template <class Visit>
void for_each_stretch(const ReadLayer& layer, const Visit& visit) {
  for (std::size_t g = 0; g < layer.groups.size(); ++g) {
    const ReadGroup& group = layer.groups[g];
    visit(group.begin, group.end, layer.own_ranges(group));
    if (group.shared == 0 || (g > 0 && layer.groups[g - 1].shared == group.shared)) continue;
    std::size_t last = g;
    while (last + 1 < layer.groups.size() && layer.groups[last + 1].shared == group.shared) ++last;
    visit(group.begin, layer.groups[last].end, layer.shared_ranges(group.shared));
  }
}

[[nodiscard]] ReadLayer make_read_layer(const Layout& layout, const layout::Layer& layer, const Budget& budget);

/// Layers of a layout by number, from the memory (reach_memory.hpp) where there is one: every way to an answer begins with them. Those that
/// the list does not name are without readers.
using ReadLayers = std::vector<std::shared_ptr<const ReadLayer>>;
[[nodiscard]] std::shared_ptr<const ReadLayer> find_read_layer(const Layout& layout, std::size_t l, const Budget& budget);
[[nodiscard]] ReadLayers find_read_layers(const Layout& layout, const Budget& budget);

/// `count` applications of one distinct layer in a row.
struct LayerRun {
  std::uint32_t layer = 0;
  std::uint64_t count = 0;
};

/// The shortest list whose repetition is layout.order after its first `skip` layers, as runs of equal layers.
/// Empty when the layout has no layers.
[[nodiscard]] std::vector<LayerRun> make_period(const Layout& layout, std::uint64_t skip);
/// Is the list one layer over and over?
[[nodiscard]] inline bool repeats_one_layer(const Layout& layout) { return !layout.order.empty() && std::all_of(layout.order.begin(), layout.order.end(), [&](std::uint32_t l) { return l == layout.order.front(); }); }

/// The layers of a repeated list one after the other, for what only grows: those that did nothing since the last change are passed over.
class LayerWalk {
public:
  LayerWalk(const Layout& layout, std::uint64_t skip) : period_(make_period(layout, skip)), quiet_(layout.layers.size(), false) {
    const std::vector<bool> used = layout.used_layers();
    for (std::uint32_t l = 0; l < used.size(); ++l) {
      if (used[l]) used_.push_back(l);
    }
  }

  void start() {
    run_ = 0;
    in_run_ = 0;
    std::fill(quiet_.begin(), quiet_.end(), false);
  }

  /// Goes on until a layer changes something, as apply(layer) says; q counts the layers gone through. False: nothing ever changes again (or not up to `limit`, at which q
  /// then stands).
  template <class Apply>
  bool next_change(std::uint64_t& q, std::optional<std::uint64_t> limit, const Apply& apply) {
    if (period_.empty()) return false;
    for (;;) {
      if (limit && q >= *limit) return false;
      if (in_run_ == period_[run_].count) {
        in_run_ = 0;
        run_ = (run_ + 1) % period_.size();
      }
      const std::uint32_t l = period_[run_].layer;
      if (quiet_[l]) {
        // The state is what it was when this layer last did nothing.
        q += period_[run_].count - in_run_;
        in_run_ = period_[run_].count;
        continue;
      }
      ++q;
      ++in_run_;
      if (apply(l)) {
        std::fill(quiet_.begin(), quiet_.end(), false);
        return true;
      }
      quiet_[l] = true;
      if (std::all_of(used_.begin(), used_.end(), [&](std::uint32_t k) { return quiet_[k]; })) return false;
    }
  }

private:
  std::vector<LayerRun> period_;
  std::vector<std::uint32_t> used_;
  std::vector<bool> quiet_;  ///< by layer: did it do nothing since the last change?
  std::size_t run_ = 0;
  std::uint64_t in_run_ = 0;
};

struct ReachQuestion {
  const Layout* layout = nullptr;
  std::uint64_t skip = 0;             ///< the first layer applied is layer skip+1 of the repeated list
  std::optional<std::uint64_t> depth; ///< for `unseen`; absent: any number of layers
  Wanted wanted;
  bool registers_too = false;         ///< registers are to be seen as well (kinds all and seen)
  bool count_unseen = false;          ///< fill ReachAnswer::unseen
  bool find_layers = false;           ///< fill ReachAnswer::reach
  const std::vector<Vertex>* weight = nullptr;  ///< what a vertex counts in `unseen`; absent: 1 (kinds all and seen)
};

struct ReachAnswer {
  std::vector<Vertex> unseen;  ///< per token, at `depth`
  Connected reach;             ///< the list repeated
};

/// Is column j wanted by reader i (kinds all and causal)?
[[nodiscard]] bool is_wanted(const ReachQuestion& question, Vertex i, Vertex j);

/// When every row, with the own token, is one interval with monotone end points (windows, blocks, causal), or every row is
/// the same cyclic interval around its reader. Nothing otherwise. O(n log(layers)).
[[nodiscard]] std::optional<ReachAnswer> answer_by_intervals(const ReachQuestion& question, const Budget& budget);

/// A grid of some width on which every row of every layer, with the own token, is a product: of what the grid row reads and of what the column reads.
struct GridFactors {
  Vertex width = 0;
  Layout down, across;
};
/// Null where there is none, and with registers; from the memory where there is one. O(ranges).
[[nodiscard]] std::shared_ptr<const GridFactors> find_grid_factors(const Layout& layout, const Budget& budget);
/// Does the memory have one already?
[[nodiscard]] bool knows_grid(const Layout& layout);

/// Kind `all`: the token is a pair (r, c) on a grid of some width, and every row is a product of what r reads and what c reads
/// (windows on grids, shifted blocks, rows and columns, dilated windows, butterflies). Nothing otherwise. O(ranges).
[[nodiscard]] std::optional<ReachAnswer> answer_by_grid(const ReachQuestion& question, const Budget& budget);

/// Kinds `all` and `seen`: on a grid of some width every relation's rows are a few boxes, sets of grid rows that go by the reader's grid row times sets of columns that go by its column (rows
/// and columns in one layer, beside windows; docs/theory.md 16.108). Nothing otherwise, and where views are too many boxes. O(runs), and products of bit matrices of the grid's sides.
[[nodiscard]] std::optional<ReachAnswer> answer_by_boxes(const ReachQuestion& question, const Budget& budget);

/// Does every arc go to the reader itself or down, and does every token read the one before it in some layer? Token i then sees exactly 0..i in
/// the end, because a path from i to i-1 cannot go round. O(n + runs); remembered.
[[nodiscard]] bool is_causal_chain(const Layout& layout, const Budget& budget);

/// `unseen` when views at the depth are small, each by itself. Nothing when that takes long. O(sum of the views' rows).
[[nodiscard]] std::optional<std::vector<Vertex>> count_near(const ReachQuestion& question, const Budget& budget);

/// Kinds `all` and `causal`, find_layers only: two layers that suffice (reach_crossing.cpp), or a token that soon sees everything and that everybody soon reads bounds the answer from above, a sample
/// of columns bounds it from below. Nothing when the two do not meet. O(runs * layers).
[[nodiscard]] std::optional<ReachAnswer> answer_by_hubs(const ReachQuestion& question, const Budget& budget);

/// `unseen` after one layer of one pattern, kind `all`: how long rows are. Nothing otherwise. O(n + runs of rows that are no one's translate).
[[nodiscard]] std::optional<ReachAnswer> answer_by_rows(const ReachQuestion& question, const Budget& budget);

/// Kind `all`: a few vertices that every token reads in the second layer and that together read everything in the first, where one layer is too few.
/// Nothing otherwise. O(segments and runs of these layers).
[[nodiscard]] std::optional<ReachAnswer> answer_by_core(const ReachQuestion& question, const Budget& budget);

/// Do two layers suffice, `earlier` applied first? Sufficient conditions for kinds `all` and `causal`, among tokens: rows of the later
/// layer whose gaps are no longer than the intervals in which each column of the earlier one is read (strided, axial); or
/// tokens that everybody reads in the later layer and that together read everything in the earlier one (fixed). O(ranges).
[[nodiscard]] bool do_rows_cross(const ReachQuestion& question, const ReadLayer& earlier, const ReadLayer& later, const Budget& budget);
/// The same where the earlier layer's rows are classes (columns of a grid, blocks), all of which the interval around each reader of the later one meets; kind `all`.
[[nodiscard]] bool do_rows_meet_classes(const ReachQuestion& question, const ReadLayer& earlier, const ReadLayer& later, const Budget& budget);
[[nodiscard]] bool does_core_suffice(const ReachQuestion& question, const ReadLayer& earlier, const ReadLayer& later, const Budget& budget);

/// Views that are a few intervals each, at every depth (docs/theory.md 16.48). Nothing where there are more, with weights, and for find_layers where some
/// token never sees what it is to see. O(spans log(layers)).
[[nodiscard]] std::optional<ReachAnswer> answer_by_spans(const ReachQuestion& question, const Budget& budget);

/// Layouts that are the same so many tokens further on, as far as that leads to tokens (docs/theory.md 16.98): one layer of steps of any sign, or layers that
/// all lead down. Nothing otherwise, with registers and weights. A step of one token: O(runs of a row * n / 64) a layer; of p: p / 512 passes over the rows.
/// `cheaply`: not where that takes more than a few layers.
[[nodiscard]] std::optional<ReachAnswer> answer_by_shifts(const ReachQuestion& question, const Budget& budget, bool cheaply);
/// Is it a step of one token, where it is quick unless layers are very many?
[[nodiscard]] bool do_offsets_answer(const ReachQuestion& question, const Budget& budget);

/// Blocks whose members read the same outside of their block, all of them below, and inside of it all up to themselves or nobody (docs/theory.md 16.100): columns
/// of blocks. Nothing otherwise, with registers and weights, and where that takes many layers. O(runs), and columns of a sixteenth of the tokens at most.
[[nodiscard]] std::optional<ReachAnswer> answer_by_triangles(const ReachQuestion& question, const Budget& budget);

/// Kinds all and seen where all layers have one pattern, whose arcs are listed: by distances from and to a few vertices. Nothing where these leave many
/// others open (expanders, rings), where many tokens miss something at the depth, or where somebody sees what does not see them in the end.
/// O(arcs) for each vertex that is looked at.
[[nodiscard]] std::optional<ReachAnswer> answer_by_centre(const ReachQuestion& question, const Budget& budget);

/// The general way: 512 columns at a time, one bit each. O(n^2 / 512 * runs per row * layers), memory O(n).
/// `columns`, when given, restricts the question to those columns.
[[nodiscard]] ReachAnswer answer_by_bits(const ReachQuestion& question, const Budget& budget,
                                         const std::vector<Vertex>* columns = nullptr);

/// How much is unseen after a depth (kind all), where it was asked before after how many layers all is seen, columns were followed for it, and few of them come later than that.
[[nodiscard]] std::optional<ReachAnswer> answer_by_late(const ReachQuestion& question, const Budget& budget);

/// A share of the vertices: so few orbits are followed sooner than views are composed.
inline constexpr Threshold<double> few_orbits{1.0 / 64, 1.0, "few orbits"};
/// For answer_by_orbits; nullptr where they are not known, are more than this share of the tokens, or do not answer the question, and for few vertices.
[[nodiscard]] const std::vector<Vertex>* find_orbits_for(const ReachQuestion& question, double most_share);

/// What answer_by_bits says, for kinds all and seen without ordinary_only, from one column of each orbit. O(n orbits / 512 * runs per row * layers).
/// @param orbit  the least token of each token's orbit under permutations that, with some permutation of registers, keep every pattern
[[nodiscard]] ReachAnswer answer_by_orbits(const ReachQuestion& question, const std::vector<Vertex>& orbit, const Budget& budget);

/// The same for find_layers only, `columns` absent: all; nothing where more layers than this are needed, and perhaps where none suffice.
[[nodiscard]] std::optional<ReachAnswer> find_layers_of_columns(const ReachQuestion& question, const std::vector<Vertex>* columns, std::uint64_t most_layers, const Budget& budget);

/// A layout on two vertices per stretch of neighbours that read the same and that every row reads alike. All members of a stretch but one see, and
/// are seen, as its second does. Colours play no part in reach and are left out.
struct Shortened {
  Layout layout;
  std::vector<Vertex> first, count;  ///< vertex k stands for first[k] .. first[k] + count[k] - 1
  std::vector<Vertex> lead;          ///< the first of its stretch
  std::optional<Booking> booking;
};
inline constexpr Threshold<Vertex> usual_few{8192, 2, "stretches of views"}, usual_share{16, 1, "stretches of views"};
/// Nothing for less than `few` vertices, or when there are more stretches than a `share`-th of them. O(vertices + segments and runs of the patterns).
[[nodiscard]] std::optional<Shortened> shorten(const Layout& layout, const Budget& budget, Vertex few = usual_few, Vertex share = usual_share);

/// The same with the usual bounds, from the memory where there is one; null for nothing.
[[nodiscard]] std::shared_ptr<const Shortened> find_shorter(const Layout& layout, const Budget& budget);

/// Large block masks (kinds all and seen): the question for the shortened layout. @param cheaply  not by bits
[[nodiscard]] std::optional<ReachAnswer> answer_by_stretches(const ReachQuestion& question, const Budget& budget, bool cheaply, Vertex few = usual_few, Vertex share = usual_share);

/// compute_latest with the list starting after its first `skip` layers.
[[nodiscard]] std::vector<std::int64_t> compute_latest_after(const Layout& layout, std::uint64_t skip, std::uint64_t depth, Vertex root,
                                                             const Budget& budget);

/// A vertex from which rows are followed when so many layers are left.
struct LateSource {
  Vertex vertex = 0;
  std::int64_t time = 0;
};
/// The longest time left at each vertex when paths begin at any of the sources, -1 where none leads. @param sources  by falling time
[[nodiscard]] std::vector<std::int64_t> compute_latest_from(const Layout& layout, std::uint64_t skip, const std::vector<LateSource>& sources, const Budget& budget);

/// All but bits, nothing when none of these applies; layouts of few vertices are left to bits.
[[nodiscard]] std::optional<ReachAnswer> answer_cheaply(const ReachQuestion& question, const Budget& budget);

/// Intervals, stretches, grids, near views, hubs, then bits.
[[nodiscard]] ReachAnswer answer_reach(const ReachQuestion& question, const Budget& budget);

/// Layers until no token's view grows any more (registers included), counted from layer skip+1, and whether each token then sees all vertices.
struct Settling {
  std::uint64_t layers = 0;
  bool everything = false;
};
[[nodiscard]] Settling compute_settling(const Layout& layout, std::uint64_t skip, const Budget& budget);

}  // namespace sightline::sight
