// Layouts that a shift of the line keeps, but for what it pushes over an end: few columns tell all of them (docs/theory.md 16.98).
#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "sightline/sight/reach_planes.hpp"

namespace sightline::sight {

namespace {

/// Rows of a layer by reader, relative to it.
class Rows {
public:
  Rows(const ReadLayer& layer, Vertex vertices, const Budget& budget) : layer_(layer), budget_(budget), booking_(budget, vertices * sizeof(std::uint32_t)), group_of_(vertices) {
    for (std::size_t g = 0; g < layer.groups.size(); ++g) {
      for (Vertex i = layer.groups[g].begin; i < layer.groups[g].end; ++i) group_of_[i] = static_cast<std::uint32_t>(g);
    }
  }

  [[nodiscard]] bool go_down() const {
    for (const ReadGroup& group : layer_.groups) {
      budget_.poll();
      for (const ReadRange& range : layer_.row(group)) {
        if (range.last > group.begin) return false;
      }
    }
    return true;
  }

  /// What reader i reads within low .. high, each less `origin`, equal sets of the usual kinds written alike.
  void read(Vertex i, Vertex low, Vertex high, Vertex origin, std::vector<ReadRange>& out) const {
    out.clear();
    std::uint64_t stepped = 0;
    for (const ReadRange& range : row(i)) {
      const std::uint64_t first = range.first >= low ? range.first : range.first + std::uint64_t{(low - range.first - 1) / range.step + 1} * range.step;
      if (first > range.last || first > high) continue;
      const std::uint64_t last = range.last <= high ? range.last : first + (high - first) / range.step * range.step;
      if (range.step > 1) stepped += (last - first) / range.step + 1;
      out.push_back({static_cast<Vertex>(first) - origin, static_cast<Vertex>(last) - origin, range.step});
    }
    // Written one by one, few members are the same whichever runs they come from.
    constexpr Threshold<std::uint64_t> few{64, 1, "shifted rows"};
    for (std::size_t k = 0, runs = stepped <= few ? out.size() : 0; k < runs; ++k) {
      const ReadRange range = out[k];
      if (range.step == 1) continue;
      out[k] = {range.first, range.first, 1};
      for (std::uint64_t j = std::uint64_t{range.first} + range.step; j <= range.last; j += range.step) out.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j), 1});
    }
    tidy(out);
  }

  /// Does i + shift read j + shift just where i reads j, for all i and j from which that leads to tokens? `steps`: ranges that may be compared, less those that were;
  /// at 0 nothing is known.
  [[nodiscard]] bool move_by(Vertex shift, std::uint64_t& steps) const {
    const auto vertices = static_cast<Vertex>(group_of_.size());
    std::vector<ReadRange> here, there;
    // From the end on, where rows are long: what does not move along is soon found there.
    for (Vertex i = vertices - shift; i-- > 0;) {
      budget_.poll();
      if (i + shift + 1 < vertices && group_of_[i] == group_of_[i + 1] && group_of_[i + shift] == group_of_[i + shift + 1]) continue;
      const std::uint64_t work = 1 + size(i) + size(i + shift);
      steps -= std::min(steps, work);
      if (steps == 0) return false;
      if (is_moved(i, shift)) continue;
      read(i, 0, vertices - 1 - shift, 0, here);
      read(i + shift, shift, vertices - 1, shift, there);
      if (here != there) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t count_ranges() const { return layer_.ranges.size(); }

private:
  [[nodiscard]] ReadLayer::Row row(Vertex i) const { return layer_.row(layer_.groups[group_of_[i]]); }
  [[nodiscard]] std::size_t size(Vertex i) const { return row(i).size(); }

  /// Are the ranges of reader i + shift those of i, each so much further on? Then nothing was cut off.
  [[nodiscard]] bool is_moved(Vertex i, Vertex shift) const {
    const ReadLayer::Row here = row(i), there = row(i + shift);
    if (here.size() != there.size()) return false;
    auto at = here.begin();
    for (const ReadRange& range : there) {
      if (range != ReadRange{(*at).first + shift, (*at).last + shift, (*at).step}) return false;
      ++at;
    }
    return true;
  }

  const ReadLayer& layer_;
  const Budget& budget_;
  Booking booking_;
  std::vector<std::uint32_t> group_of_;
};

/// How far, below and above itself, each reader of a layer reads, as far as that leads to tokens.
struct Offsets {
  std::vector<ReadRange> down, up;
};

/// What is kept about a layout.
struct Shift {
  Vertex by = 0;  ///< that so many tokens further on everything is as here; 0: not found
  std::vector<Offsets> offsets;  ///< by layer, where it is one token
  bool in_any_order = true;      ///< may the steps of a path be put in an order that stays on the line? Else both signs have to reach what they reach together
  mutable Refusals mixes_signs;  ///< questions where they do not
  std::shared_ptr<const Plane> plane;  ///< of rows of `by` tokens, where all is the same a column further on, too
  mutable Refusals takes_many_layers;  ///< questions about columns
};

/// All that a list of layers shows, as the set of i - j for readers i of j. Paths along steps of one sign stay between their ends; where one layer is applied
/// again and again, its steps may be taken in an order that stays on the line (docs/theory.md 16.98); elsewhere steps of one sign have to reach all that steps of
/// both do, which is looked at layer by layer (16.101).
class OffsetReach {
public:
  OffsetReach(const ReachQuestion& question, const Shift& shift, const Budget& budget)
      : question_(question), shift_(shift), layers_(shift.offsets), budget_(budget), tokens_(question.layout->tokens), from_(question.wanted.ordinary_only ? 1 : 0), walk_(*question.layout, question.skip) {
    const bool reads_up = std::any_of(layers_.begin(), layers_.end(), [](const Offsets& layer) { return !layer.up.empty(); });
    base_ = reads_up ? tokens_ - 1 : 0;
    size_ = std::size_t{base_} + tokens_;
    for (const Offsets& layer : layers_) {
      Vertex most = 0;
      for (const auto* ranges : {&layer.down, &layer.up}) {
        for (const ReadRange& range : *ranges) most = std::max(most, range.last);
      }
      reach_.push_back(most / 64 + 1);
    }
    budget_.ask(bytes());
  }
  OffsetReach(const OffsetReach&) = delete;
  OffsetReach& operator=(const OffsetReach&) = delete;
  ~OffsetReach() { budget_.give_back(bytes()); }

  /// Nothing where that takes too long.
  std::optional<ReachAnswer> answer() {
    ReachAnswer answer;
    const bool seen = question_.wanted.kind == ClassKind::seen;
    Set ever;
    if (seen) {
      if (!(question_.find_layers || question_.depth ? follow_to_end(answer.reach) : true)) return std::nullopt;
      ever = state_;
    } else if (question_.find_layers && !find_layers(answer.reach)) {
      return std::nullopt;
    }
    if (!question_.count_unseen) return answer;
    answer.unseen.assign(tokens_, 0);
    if (seen && !question_.depth) return answer;
    start();
    std::uint64_t q = 0;
    while (next_change(q, question_.depth)) continue;
    if (gave_up()) return std::nullopt;
    count(ever, answer.unseen);
    return answer;
  }

private:
  using Set = std::vector<std::uint64_t>;

  [[nodiscard]] std::uint64_t bytes() const { return 4 * (size_ / 8 + 8) + 4 * size_; }
  [[nodiscard]] bool has(std::size_t at) const { return (state_[at / 64] >> (at % 64)) & 1; }

  [[nodiscard]] bool gave_up() const { return is_too_much_ || mixes_signs_; }

  void start() {
    state_.assign(size_ / 64 + 1, 0);
    state_[base_ / 64] |= std::uint64_t{1} << (base_ % 64);
    used_low_ = used_high_ = base_ / 64;
    whole_low_ = 1;
    whole_high_ = 0;
    above_ = 1;
    below_ = 0;
    walk_.start();
  }

  /// out |= in, each member moved `by` places up or down as far as the words go; both may be one.
  void unite_moved(Set& out, const Set& in, std::uint64_t by, bool up) {
    const std::size_t words = by / 64, bits = by % 64;
    work_ += out.size();
    if (words >= out.size()) return;
    if (up) {
      for (std::size_t w = out.size(); w-- > words;) {
        std::uint64_t word = in[w - words] << bits;
        if (bits > 0 && w > words) word |= in[w - words - 1] >> (64 - bits);
        out[w] |= word;
      }
    } else {
      for (std::size_t w = 0; w + words < out.size(); ++w) {
        std::uint64_t word = in[w + words] >> bits;
        if (bits > 0 && w + words + 1 < in.size()) word |= in[w + words + 1] << (64 - bits);
        out[w] |= word;
      }
    }
  }

  /// Adds what the members of `from` are moved to.
  void add(const Set& from, const std::vector<ReadRange>& ranges, bool up) {
    for (const ReadRange& range : ranges) {
      moved_.assign(from.size(), 0);
      unite_moved(moved_, from, range.first, up);
      const std::uint64_t members = (range.last - range.first) / range.step + 1;
      for (std::uint64_t have = 1; have < members;) {
        const std::uint64_t more = std::min(have, members - have);
        unite_moved(moved_, moved_, more * range.step, up);
        have += more;
      }
      for (std::size_t w = 0; w < next_.size(); ++w) next_[w] |= moved_[w];
    }
  }

  /// The members of `window_`, whose first word is `first`, from the own token's on: what lies below readers, or above.
  [[nodiscard]] Set part(std::size_t first, bool below) const {
    Set part(window_.size(), 0);
    for (std::size_t w = 0; w < part.size(); ++w) {
      const std::uint64_t own = std::uint64_t{1} << (base_ % 64), at_least = ~(own - 1), at_most = own | (own - 1);
      const std::size_t at = first + w, own_word = base_ / 64;
      if (at == own_word) part[w] = window_[w] & (below ? at_least : at_most);
      else if ((at > own_word) == below) part[w] = window_[w];
    }
    return part;
  }

  /// Words first .. last, from which nothing outside of them that matters is reached.
  bool apply_within(const Offsets& offsets, std::size_t first, std::size_t last) {
    window_.assign(state_.begin() + static_cast<std::ptrdiff_t>(first), state_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    next_ = window_;
    if (shift_.in_any_order) {
      add(window_, offsets.down, true);
      add(window_, offsets.up, false);
    } else {
      const Set below = part(first, true), above = part(first, false);
      add(below, offsets.down, true);
      add(above, offsets.up, false);
      const Set one_sign = next_;
      add(below, offsets.up, false);
      add(above, offsets.down, true);
      if (next_ != one_sign) {
        mixes_signs_ = true;
        shift_.mixes_signs.add(question_);
      }
    }
    if (last + 1 == state_.size()) next_.back() &= (std::uint64_t{1} << (size_ % 64)) - 1;
    if (next_ == window_) return false;
    std::copy(next_.begin(), next_.end(), state_.begin() + static_cast<std::ptrdiff_t>(first));
    return true;
  }

  /// Of a set that is whole around its middle, only the two ends change.
  bool apply(std::uint32_t layer) {
    budget_.poll();
    const std::size_t words = reach_[layer], end = state_.size() - 1;
    const std::size_t low = used_low_ > words ? used_low_ - words : 0, high = std::min(end, used_high_ + words);
    bool changed = false;
    if (whole_low_ > whole_high_ || whole_high_ - whole_low_ <= 2 * words) {
      changed = apply_within(layers_[layer], low, high);
    } else {
      if (whole_high_ < end) changed = apply_within(layers_[layer], whole_high_ - words, high);
      if (whole_low_ > 0) changed = apply_within(layers_[layer], low, whole_low_ + words) || changed;
    }
    while (used_low_ > low && has_any(low, used_low_ - 1)) --used_low_;
    while (used_high_ < high && has_any(used_high_ + 1, high)) ++used_high_;
    if (whole_low_ > whole_high_ && ~state_[base_ / 64] == 0) whole_low_ = whole_high_ = base_ / 64;
    if (whole_low_ <= whole_high_) {
      while (whole_low_ > 0 && ~state_[whole_low_ - 1] == 0) --whole_low_;
      while (whole_high_ < end && ~state_[whole_high_ + 1] == 0) ++whole_high_;
    }
    return changed;
  }

  [[nodiscard]] bool has_any(std::size_t first, std::size_t last) const {
    return std::any_of(state_.begin() + static_cast<std::ptrdiff_t>(first), state_.begin() + static_cast<std::ptrdiff_t>(last) + 1, [](std::uint64_t word) { return word != 0; });
  }

  bool next_change(std::uint64_t& q, std::optional<std::uint64_t> limit) {
    return walk_.next_change(q, limit, [this](std::uint32_t l) {
      is_too_much_ = is_too_much_ || work_ > most_work;
      return !gave_up() && apply(l);
    });
  }

  /// The least reader that misses a token, and the least that it misses (kinds all and causal).
  [[nodiscard]] std::optional<UnreachablePair> find_missing() {
    if (question_.wanted.kind == ClassKind::all) {
      for (; above_ < tokens_; ++above_) {
        if (above_ > base_ || !has(base_ - above_)) return UnreachablePair{0, above_};
      }
    }
    for (; below_ + from_ < tokens_; ++below_) {
      if (!has(base_ + below_)) return UnreachablePair{below_ + from_, from_};
    }
    return std::nullopt;
  }

  bool find_layers(Connected& reach) {
    if (question_.wanted.kind == ClassKind::all && base_ == 0) {
      reach = {std::nullopt, UnreachablePair{0, 1}};
      return true;
    }
    start();
    std::uint64_t q = 0;
    std::optional<UnreachablePair> before;
    for (auto missing = find_missing(); missing; missing = find_missing()) {
      before = missing;
      if (next_change(q, std::nullopt)) continue;
      reach = {std::nullopt, missing};
      return !gave_up();
    }
    reach = {q, before};
    return !gave_up();
  }

  /// A token that came to be seen in the last layer, and by whom.
  [[nodiscard]] std::optional<UnreachablePair> find_change(const Set& old) const {
    std::optional<UnreachablePair> found;
    for (std::size_t w = old.size(); w-- > 0;) {
      for (std::uint64_t fresh = state_[w] & ~old[w]; fresh != 0; fresh &= fresh - 1) {
        const std::size_t at = 64 * w + static_cast<std::size_t>(std::countr_zero(fresh));
        if (at < base_) return found ? found : UnreachablePair{0, static_cast<Vertex>(base_ - at)};
        const auto offset = static_cast<Vertex>(at - base_);
        if (offset + from_ < tokens_) found = UnreachablePair{offset + from_, from_};
      }
    }
    return found;
  }

  bool follow_to_end(Connected& reach) {
    start();
    reach.layers = 0;
    std::uint64_t q = 0;
    for (Set old = state_; next_change(q, std::nullopt); old = state_) {
      if (const auto pair = find_change(old)) reach = {q, pair};
    }
    return !gave_up();
  }

  /// @param ever  what is wanted of kind `seen`
  void count(const Set& ever, std::vector<Vertex>& unseen) const {
    std::vector<Vertex> before(size_ + 1, 0);
    for (std::size_t at = 0; at < size_; ++at) {
      const bool counts = ever.empty() ? has(at) : ((ever[at / 64] & ~state_[at / 64]) >> (at % 64) & 1) != 0;
      before[at + 1] = before[at] + (counts ? 1 : 0);
    }
    for (Vertex i = 0; i < tokens_; ++i) {
      const Vertex to = question_.wanted.kind == ClassKind::causal ? i : tokens_ - 1;
      if (from_ > to) continue;
      // i - j for j from `from` to `to`, as far as the set goes.
      const std::int64_t low = std::max<std::int64_t>(std::int64_t{base_} + i - to, 0), high = std::int64_t{base_} + i - from_;
      const Vertex counted = high < low ? 0 : before[static_cast<std::size_t>(high) + 1] - before[static_cast<std::size_t>(low)];
      unseen[i] = ever.empty() ? to - from_ + 1 - counted : counted;
    }
  }

  static constexpr std::uint64_t most_work = std::uint64_t{1} << 31;

  const ReachQuestion& question_;
  const Shift& shift_;
  const std::vector<Offsets>& layers_;
  const Budget& budget_;
  Vertex tokens_, from_, base_ = 0;
  std::size_t size_ = 0;
  LayerWalk walk_;
  Set state_, window_, next_, moved_;
  std::vector<std::size_t> reach_;  ///< by layer: how many words further a member can be moved, at most
  std::size_t used_low_ = 0, used_high_ = 0, whole_low_ = 1, whole_high_ = 0;  ///< words with members, and around the own token words of members only
  Vertex above_ = 1, below_ = 0;  ///< all nearer to the own token is seen
  std::uint64_t work_ = 0;
  bool is_too_much_ = false, mixes_signs_ = false;
};

/// The least shift up to `most` that all layers follow; 0: none, or what is against them stands so far down that it takes long.
Vertex find_period_of_rows(const std::vector<Rows>& layers, Vertex tokens, Vertex most) {
  std::uint64_t steps = 8 * std::uint64_t{tokens};
  for (const Rows& rows : layers) steps += 8 * (std::uint64_t{tokens} + rows.count_ranges());
  for (Vertex by = 1; by <= most && steps > 0; ++by) {
    if (std::all_of(layers.begin(), layers.end(), [&](const Rows& rows) { return rows.move_by(by, steps); })) return by;
  }
  return 0;
}

Shift find_shift(const Layout& layout, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty()) return {};
  const Vertex tokens = layout.tokens;
  std::vector<Rows> layers;
  std::vector<std::size_t> numbers;
  const std::vector<bool> used = layout.used_layers();
  const ReadLayers read = find_read_layers(layout, budget);
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) continue;
    layers.emplace_back(*read[l], tokens, budget);
    numbers.push_back(l);
  }
  const bool go_down = std::all_of(layers.begin(), layers.end(), [](const Rows& rows) { return rows.go_down(); });
  constexpr Threshold<Vertex> fewest_periods{8, 2, "periods"};
  const Vertex by = find_period_of_rows(layers, tokens, go_down ? std::max<Vertex>(1, tokens / fewest_periods) : 1);
  if (by != 1) {
    Shift shift{by, {}};
    if (by != 0) shift.plane = find_plane(layout, by, budget);
    return shift;
  }
  Shift shift{1, std::vector<Offsets>(used.size())};
  std::vector<ReadRange> row;
  Vertex longest_down = 0, longest_up = 0;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    Offsets& offsets = shift.offsets[numbers[k]];
    layers[k].read(tokens - 1, 0, tokens - 1, 0, row);
    for (const ReadRange& range : row) {
      offsets.down.push_back({tokens - 1 - range.last, tokens - 1 - range.first, range.step});
      longest_down = std::max(longest_down, offsets.down.back().last);
    }
    layers[k].read(0, 1, tokens - 1, 0, offsets.up);
    for (const ReadRange& range : offsets.up) longest_up = std::max(longest_up, range.last);
  }
  // Steps of both signs, all of one layer, can be put in order on the line where it is as long as both.
  shift.in_any_order = go_down || (layers.size() == 1 && std::uint64_t{longest_down} + longest_up <= tokens);
  return shift;
}

std::shared_ptr<const Shift> recall_shift(const Layout& layout, const Budget& budget) {
  ReachMemory::Entry* memory = ReachMemory::find(layout);
  if (memory == nullptr) return std::make_shared<const Shift>(find_shift(layout, budget));
  if (!memory->shift) {
    auto found = std::make_shared<const Shift>(find_shift(layout, budget));
    memory = ReachMemory::find(layout);
    memory->shift = found;
  }
  return std::static_pointer_cast<const Shift>(memory->shift);
}

/// Arcs go down, and are the same `by` tokens further on: i sees j as i - by sees j - by, since no path leaves what lies between. The first columns tell all.
/// @param most_layers  nothing where more layers have to be gone through
std::optional<ReachAnswer> answer_by_first_columns(const ReachQuestion& question, const Shift& shift, std::optional<std::uint64_t> most_layers, const Budget& budget) {
  const Vertex tokens = question.layout->tokens, by = shift.by;
  const bool all = question.wanted.kind == ClassKind::all;
  ReachAnswer answer;
  if (!all || question.count_unseen) {
    ReachQuestion below = question;
    if (all) {
      below.wanted.kind = ClassKind::causal;
      below.find_layers = false;
    }
    std::vector<Vertex> columns(by);
    std::iota(columns.begin(), columns.end(), question.wanted.ordinary_only ? Vertex{1} : Vertex{0});
    if (most_layers) {
      // What kind `seen` counts is bounded by what is ever seen.
      const bool counts_beyond = below.count_unseen && (!below.depth || *below.depth > *most_layers || below.wanted.kind == ClassKind::seen);
      if (below.find_layers || counts_beyond) {
        ReachQuestion asked = below;
        asked.count_unseen = false;
        asked.find_layers = true;
        std::optional<ReachAnswer> layers;
        if (!shift.takes_many_layers.hold(asked)) layers = find_layers_of_columns(asked, &columns, *most_layers, budget);
        if (!layers) {
          shift.takes_many_layers.add(asked);
          return std::nullopt;
        }
        answer = *std::move(layers);
        below.find_layers = false;
      }
    }
    if (below.count_unseen && answer.reach.layers && (!below.depth || *below.depth >= *answer.reach.layers)) {
      answer.unseen.assign(tokens, 0);
    } else if (below.find_layers || below.count_unseen) {
      ReachAnswer found = answer_by_bits(below, budget, &columns);
      answer.unseen = std::move(found.unseen);
      if (below.find_layers) answer.reach = found.reach;
      for (Vertex i = by; i < tokens && below.count_unseen; ++i) answer.unseen[i] += answer.unseen[i - by];
    }
  }
  if (!all) return answer;
  answer.reach = {};
  for (Vertex i = 0; i < tokens && question.count_unseen; ++i) answer.unseen[i] += tokens - 1 - i;
  if (question.find_layers) answer.reach = {std::nullopt, UnreachablePair{0, 1}};
  return answer;
}

bool may_shift(const ReachQuestion& question) { return question.weight == nullptr && question.layout->registers == 0 && question.layout->tokens > 1; }

}  // namespace

std::shared_ptr<const Plane> recall_plane(const Layout& layout, const Budget& budget) {
  return layout.registers == 0 && layout.tokens > 1 ? recall_shift(layout, budget)->plane : nullptr;
}

bool do_offsets_answer(const ReachQuestion& question, const Budget& budget) {
  if (!may_shift(question)) return false;
  const std::shared_ptr<const Shift> shift = recall_shift(*question.layout, budget);
  return (!shift->offsets.empty() && !shift->mixes_signs.hold_like(question)) || (shift->plane && !shift->plane->mixes_signs.hold_like(question));
}

std::optional<ReachAnswer> answer_by_shifts(const ReachQuestion& question, const Budget& budget, bool cheaply) {
  if (!may_shift(question)) return std::nullopt;
  const std::shared_ptr<const Shift> shift = recall_shift(*question.layout, budget);
  if (shift->by == 0 || shift->mixes_signs.hold(question)) return std::nullopt;
  if (shift->plane) {
    if (auto answer = answer_by_plane(question, *shift->plane, budget)) return answer;
  }
  constexpr Threshold<std::uint64_t> few_layers{64, 1, "shifted layers"};
  return shift->offsets.empty() ? answer_by_first_columns(question, *shift, cheaply ? std::optional(few_layers) : std::nullopt, budget) : OffsetReach(question, *shift, budget).answer();
}

}  // namespace sightline::sight
