#include "shifts.hpp"

#include <algorithm>
#include <array>

#include "threshold.hpp"

namespace checker {

namespace {

using Pair = std::pair<Vertex, Vertex>;

/// The members of a row from `from` to `to`, counted from `from`; the same members in the same words, but for mixed steps.
std::vector<Range> cut_row(const ReadLayer& layer, const ReadLayer::Group& group, Vertex from, Vertex to) {
  constexpr Threshold<std::uint64_t> few{64, 1, "shifted rows"};
  std::vector<Range> row;
  std::uint64_t stepped = 0;
  for (const Range& range : layer.row(group)) {
    std::uint64_t first = range.first;
    if (first < from) first += (from - first + range.step - 1) / range.step * std::uint64_t{range.step};
    const Vertex end = std::min(range.last, to);
    if (first > end) continue;
    const auto steps = static_cast<Vertex>((end - first) / range.step), start = static_cast<Vertex>(first) - from;
    if (range.step > 1) stepped += steps + 1;
    row.push_back({steps == 0 ? 1 : range.step, start, start + steps * range.step});
  }
  if (stepped <= few) {  // one by one, whichever runs they come from
    std::vector<Range> single;
    for (const Range& range : row) {
      if (range.step == 1) single.push_back(range);
      else for (std::uint64_t j = range.first; j <= range.last; j += range.step) single.push_back({1, static_cast<Vertex>(j), static_cast<Vertex>(j)});
    }
    row = std::move(single);
  }
  std::sort(row.begin(), row.end());
  std::size_t kept = 0;
  for (const Range& range : row) {
    if (kept > 0 && range.step == 1 && row[kept - 1].step == 1 && range.first <= std::uint64_t{row[kept - 1].last} + 1) row[kept - 1].last = std::max(row[kept - 1].last, range.last);
    else if (kept == 0 || row[kept - 1] != range) row[kept++] = range;
  }
  row.resize(kept);
  return row;
}

/// Are the ranges of one row those of the other, each so much further on? Then nothing of them was cut off.
bool is_moved(const Joined<Range>& low, const Joined<Range>& high, Vertex by) {
  auto at = low.begin();
  for (const Range& range : high) {
    if (!(at != low.end())) return false;
    const Range& below = *at;
    if (range.step != below.step || range.first != below.first + by || range.last != below.last + by) return false;
    ++at;
  }
  return !(at != low.end());
}

/// Does i read j exactly where i + by reads j + by, for all such tokens? False as well where more than `left` ranges had to be compared; they are counted down.
bool repeats(const ReadLayer& layer, const std::vector<std::uint32_t>& group, Vertex by, std::uint64_t& left) {
  const auto tokens = static_cast<Vertex>(group.size());
  for (Vertex high = tokens; high-- > by;) {
    poll();
    const Vertex low = high - by;
    if (high + 1 < tokens && group[high] == group[high + 1] && group[low] == group[low + 1]) continue;
    const auto ranges_of = [&](std::uint32_t g) { return layer.shared(layer.groups[g]).size() + layer.own(layer.groups[g]).size(); };
    left -= std::min<std::uint64_t>(left, 1 + ranges_of(group[low]) + ranges_of(group[high]));
    if (left == 0) return false;
    if (is_moved(layer.row(layer.groups[group[low]]), layer.row(layer.groups[group[high]]), by)) continue;
    if (cut_row(layer, layer.groups[group[low]], 0, tokens - 1 - by) != cut_row(layer, layer.groups[group[high]], by, tokens - 1)) return false;
  }
  return true;
}

bool goes_down(const ReadLayer& layer) {
  return std::all_of(layer.groups.begin(), layer.groups.end(), [&](const ReadLayer::Group& group) {
    bool down = true;
    for (const Range& range : layer.row(group)) down = down && range.last <= group.begin;
    return down;
  });
}

}  // namespace

std::unique_ptr<Shifts> Shifts::find(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers) {
  const Vertex tokens = layout.tokens;
  const bool down = std::all_of(layers.begin(), layers.end(), [](const auto& entry) { return goes_down(entry.second); });
  std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
  for (const auto& [l, layer] : layers) groups.emplace(l, layer.groups_by_reader(tokens));
  std::unique_ptr<Shifts> shifts(new Shifts(layout));
  constexpr Threshold<Vertex> fewest_periods{8, 2, "periods"};
  const Vertex most = down ? std::max<Vertex>(1, tokens / fewest_periods) : 1;
  std::uint64_t left = 8 * std::uint64_t{tokens};
  for (const auto& [l, layer] : layers) left += 8 * (std::uint64_t{tokens} + layer.ranges.size());
  const auto all_repeat = [&](Vertex by) { return std::all_of(layers.begin(), layers.end(), [&](const auto& entry) { return repeats(entry.second, groups.at(entry.first), by, left); }); };
  for (Vertex by = 1; by <= most && shifts->by_ == 0 && left > 0; ++by) shifts->by_ = all_repeat(by) ? by : 0;
  if (shifts->by_ == 0) return nullptr;
  if (shifts->by_ > 1) {
    shifts->plane_ = Plane::find(layout, layers, shifts->by_);
    return shifts;
  }
  // The last token reads all that lies below readers, the first all above.
  std::uint64_t farthest[2] = {0, 0};
  for (const auto& [l, layer] : layers) {
    std::vector<Steps>& steps = shifts->steps_[l];
    const auto add = [&](Vertex start, Vertex end, Vertex step, bool below) {
      steps.push_back({start, step, (end - start) / step + 1, below});
      farthest[below ? 1 : 0] = std::max<std::uint64_t>(farthest[below ? 1 : 0], end);
    };
    for (const Range& range : cut_row(layer, layer.groups[groups.at(l).back()], 0, tokens - 1)) add(tokens - 1 - range.last, tokens - 1 - range.first, range.step, true);
    for (const Range& range : cut_row(layer, layer.groups[groups.at(l).front()], 1, tokens - 1)) add(range.first + 1, range.last + 1, range.step, false);
  }
  shifts->looks_up_ = !down;
  shifts->has_free_order_ = down || (layers.size() == 1 && farthest[0] + farthest[1] <= tokens);
  return shifts;
}

/// What readers see, layer by layer, by how far below them it lies (above: negative); one bit each, the reader's own token at `zero`.
class Shifts::Walk {
public:
  const Vertex zero;
  std::vector<std::uint64_t> seen;

  Walk(const Shifts& shifts, const ReachQuestion& question)
      : zero(shifts.looks_up_ ? shifts.layout_.tokens - 1 : 0), shifts_(shifts), question_(question), tokens_(shifts.layout_.tokens), from_(question.ordinary_only ? 1 : 0), size_(std::size_t{zero} + tokens_) {
    seen.assign(size_ / 64 + 1, 0);
    seen[zero / 64] |= std::uint64_t{1} << (zero % 64);
    used_ = whole_ = {zero / 64, zero / 64};
  }

  /// Calls visit(q) after every layer that shows more, until it says false, nothing changes any more, or `depth`. False: given up.
  template <class Visit>
  bool run(std::uint64_t depth, const Visit& visit) {
    bool gave_up = false;
    go_through_layers(shifts_.layout_, question_.skip, depth, [&](std::uint32_t l) {
      gave_up = gave_up || work_ > most_work;
      return !gave_up && !shifts_.needs_both_signs_ && add_layer(l);
    }, visit);
    return !gave_up && !shifts_.needs_both_signs_;
  }

  [[nodiscard]] bool has(std::size_t at) const { return (seen[at / 64] >> (at % 64) & 1) != 0; }

  /// The first token j, at least `from`, that i is to see (kinds all and causal) and does not: of the least such i.
  [[nodiscard]] std::optional<Pair> missing() {
    for (; above_ < tokens_ && question_.kind == ClassKind::all; ++above_) {
      if (above_ > zero || !has(zero - above_)) return Pair{0, above_};
    }
    for (; below_ + from_ < tokens_; ++below_) {
      if (!has(zero + below_)) return Pair{below_ + from_, from_};
    }
    return std::nullopt;
  }

  /// Of the tokens that each is to see, how many are not seen; `ever` bounds them where that is what counts.
  [[nodiscard]] Unseen count(const std::vector<std::uint64_t>* ever) const {
    Unseen result{std::vector<Vertex>(tokens_, 0), {}};
    std::vector<Vertex> before(size_ + 1, 0);  // of the places in front of each: seen, or of those ever seen the others
    for (std::size_t at = 0; at < size_; ++at) before[at + 1] = before[at] + (ever == nullptr ? has(at) : !has(at) && ((*ever)[at / 64] >> (at % 64) & 1) != 0);
    for (Vertex i = 0; i < tokens_; ++i) {
      const Vertex to = question_.kind == ClassKind::causal ? i : tokens_ - 1;
      if (from_ > to) continue;
      const std::size_t high = std::size_t{zero} + i + 1 - from_, low = zero + i < to ? 0 : std::size_t{zero} + i - to;
      const Vertex found = before[high] - before[low];
      result.count[i] = ever == nullptr ? to - from_ + 1 - found : found;
      if (result.count[i] == 0 || result.first) continue;
      for (Vertex j = from_; !result.first; ++j) {
        const bool known = zero + i >= j && has(std::size_t{zero} + i - j);
        const bool wanted = ever == nullptr || (zero + i >= j && ((*ever)[(zero + i - j) / 64] >> ((zero + i - j) % 64) & 1) != 0);
        if (wanted && !known) result.first = Pair{i, j};
      }
    }
    return result;
  }

private:
  static constexpr std::uint64_t most_work = std::uint64_t{1} << 31;

  using Words = std::vector<std::uint64_t>;

  /// The members of `in`, each so many places further (or before), joined to `out`, as far as that goes.
  void join_moved(Words& out, const Words& in, std::uint64_t places, bool further) {
    work_ += out.size();
    const std::size_t words = places / 64;
    const unsigned bits = places % 64;
    const auto word_of = [&](std::size_t w) { return w < in.size() ? in[w] : 0; };  // indices below 0 are large
    for (std::size_t k = words; k < out.size(); ++k) {
      const std::size_t w = further ? out.size() - 1 - (k - words) : k - words;
      const std::size_t near = further ? w - words : w + words, next = further ? near - 1 : near + 1;
      std::uint64_t word = word_of(near);
      if (bits > 0) word = further ? word << bits | word_of(next) >> (64 - bits) : word >> bits | word_of(next) << (64 - bits);
      out[w] |= word;
    }
  }

  /// Of words from `from` on, the places at the own token and below it, or at it and above.
  [[nodiscard]] Words side_of(const Words& words, std::size_t from, bool below) const {
    Words side = words;
    for (std::size_t w = 0; w < side.size(); ++w) {
      const std::size_t at = from + w;
      const std::uint64_t low_bits = (std::uint64_t{1} << (zero % 64)) - 1, own = low_bits + 1;
      if (at < zero / 64) side[w] = below ? 0 : side[w];
      else if (at > zero / 64) side[w] = below ? side[w] : 0;
      else side[w] &= below ? ~low_bits : low_bits | own;
    }
    return side;
  }

  /// Words from .. to: what readers in there show of places in there.
  void add_within(std::uint32_t l, std::size_t from, std::size_t to, bool& changed) {
    const Words here(seen.begin() + static_cast<std::ptrdiff_t>(from), seen.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    Words next = here, moved;
    const auto join_steps = [&](const Words& readers, const Steps& steps) {
      moved.assign(here.size(), 0);
      join_moved(moved, readers, steps.start, steps.below);
      for (std::uint64_t have = 1; have < steps.count; have *= 2) join_moved(moved, moved, std::min<std::uint64_t>(have, steps.count - have) * steps.step, steps.below);
      for (std::size_t w = 0; w < next.size(); ++w) next[w] |= moved[w];
    };
    if (shifts_.has_free_order_) {
      for (const Steps& steps : shifts_.steps_.at(l)) join_steps(here, steps);
    } else {
      // Places on one side of the own token, itself among them, go on to that side; the other way they may only come to what is seen by then.
      const std::array<Words, 2> side{side_of(here, from, false), side_of(here, from, true)};
      for (const Steps& steps : shifts_.steps_.at(l)) join_steps(side[steps.below ? 1 : 0], steps);
      const Words straight = next;
      for (const Steps& steps : shifts_.steps_.at(l)) join_steps(side[steps.below ? 0 : 1], steps);
      if (next != straight) shifts_.needs_both_signs_ = true;
    }
    if (to + 1 == seen.size()) next.back() &= (std::uint64_t{1} << (size_ % 64)) - 1;
    changed = changed || next != here;
    std::copy(next.begin(), next.end(), seen.begin() + static_cast<std::ptrdiff_t>(from));
  }

  /// Where all words around the own token's are whole, only what lies beyond them and comes from near their ends can be new.
  bool add_layer(std::uint32_t l) {
    poll();
    std::uint64_t longest = 0;
    for (const Steps& steps : shifts_.steps_.at(l)) longest = std::max(longest, steps.start + std::uint64_t{steps.count - 1} * steps.step);
    const std::size_t words = longest / 64 + 1, last = seen.size() - 1;
    const std::size_t from = used_.first - std::min(used_.first, words), to = std::min(last, used_.second + words);
    bool changed = false;
    if (~seen[zero / 64] != 0 || whole_.second - whole_.first <= 2 * words) {
      add_within(l, from, to, changed);
    } else {
      if (whole_.second < last) add_within(l, whole_.second - words, to, changed);
      if (whole_.first > 0) add_within(l, from, whole_.first + words, changed);
    }
    used_ = {from, to};
    while (used_.first < zero / 64 && seen[used_.first] == 0) ++used_.first;
    while (used_.second > zero / 64 && seen[used_.second] == 0) --used_.second;
    while (whole_.first > 0 && ~seen[whole_.first] == 0 && ~seen[whole_.first - 1] == 0) --whole_.first;
    while (whole_.second < last && ~seen[whole_.second] == 0 && ~seen[whole_.second + 1] == 0) ++whole_.second;
    return changed;
  }

  const Shifts& shifts_;
  const ReachQuestion& question_;
  Vertex tokens_, from_;
  std::size_t size_;
  std::pair<std::size_t, std::size_t> used_, whole_;  ///< words: all others are empty; and around the own token's, all of these are whole where that one is
  Vertex above_ = 1, below_ = 0;                      ///< all that is nearer is seen
  std::uint64_t work_ = 0;
};

std::vector<Vertex> Shifts::first_columns(const ReachQuestion& question) const {
  std::vector<Vertex> columns(by_);
  std::iota(columns.begin(), columns.end(), question.ordinary_only ? Vertex{1} : Vertex{0});
  return columns;
}

std::optional<Reach> Shifts::layers(const ReachQuestion& question, const SharedLayers& shared, bool soon) const {
  if (needs_both_signs_) return std::nullopt;
  if (plane_) {
    if (auto reach = plane_->layers(question)) return reach;
  }
  if (question.kind == ClassKind::all && !looks_up_) return Reach{std::nullopt, Pair{0, 1}};
  if (by_ > 1) {
    const std::vector<Vertex> columns = first_columns(question);
    if (!soon) return BitReach<>(layout_, shared, question).layers(&columns);
    if (takes_long_) return std::nullopt;
    BitReach<> bits(layout_, shared, question);
    const Reach reach = bits.layers(&columns, few_layers);
    takes_long_ = bits.gave_up();
    return takes_long_ ? std::nullopt : std::optional(reach);
  }
  Walk walk(*this, question);
  Reach result{0, {}};
  if (question.kind == ClassKind::seen) {
    const Vertex from = question.ordinary_only ? 1 : 0;
    std::vector<std::uint64_t> before = walk.seen;
    const bool ended = walk.run(never, [&](std::uint64_t q) {
      // Some reader has the place in view: the least, which is 0 for places above. Token 0 alone need not count.
      for (std::size_t w = 0; w < before.size(); ++w) {
        for (std::uint64_t fresh = walk.seen[w] & ~before[w]; fresh != 0 && (result.layers != q || !result.missed); fresh &= fresh - 1) {
          const std::size_t at = 64 * w + static_cast<std::size_t>(std::countr_zero(fresh));
          if (at >= walk.zero && at - walk.zero + from >= layout_.tokens) continue;
          result = {q, at < walk.zero ? Pair{0, static_cast<Vertex>(walk.zero - at)} : Pair{static_cast<Vertex>(at - walk.zero) + from, from}};
        }
      }
      before = walk.seen;
      return true;
    });
    return ended ? std::optional(result) : std::nullopt;
  }
  std::optional<Pair> missed = walk.missing();
  if (!missed) return result;
  const bool ended = walk.run(never, [&](std::uint64_t q) {
    result = {q, missed};
    missed = walk.missing();
    return missed.has_value();
  });
  if (!ended) return std::nullopt;
  if (missed) return Reach{std::nullopt, missed};
  return result;
}

std::optional<Unseen> Shifts::unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth, const SharedLayers& shared, bool soon) const {
  if (needs_both_signs_) return std::nullopt;
  if (plane_) {
    if (auto unseen = plane_->unseen(question, depth)) return unseen;
  }
  const auto go_on = [](std::uint64_t) { return true; };
  if (by_ == 1) {
    Walk walk(*this, question);
    if (!walk.run(depth.value_or(never), go_on)) return std::nullopt;
    if (question.kind != ClassKind::seen) return walk.count(nullptr);
    Walk ever(*this, question);
    if (!ever.run(never, go_on)) return std::nullopt;
    return walk.count(&ever.seen);
  }
  // i sees j as i - by sees j - by: no path from one to the other leaves what lies between.
  ReachQuestion below = question;
  if (question.kind == ClassKind::all) below.kind = ClassKind::causal;
  const std::vector<Vertex> columns = first_columns(question);
  Unseen result{std::vector<Vertex>(layout_.tokens, 0), {}};
  bool all_seen = false;
  if (soon && (depth.value_or(never) > few_layers || question.kind == ClassKind::seen)) {
    const auto reach = layers(below, shared, true);
    if (!reach) return std::nullopt;
    all_seen = reach->layers && *reach->layers <= depth.value_or(never);
  }
  if (!all_seen) {
    result = BitReach<>(layout_, shared, below).unseen(depth, &columns);
    for (Vertex i = by_; i < layout_.tokens; ++i) result.count[i] += result.count[i - by_];
  }
  if (question.kind != ClassKind::all) return result;
  for (Vertex i = 0; i < layout_.tokens; ++i) result.count[i] += layout_.tokens - 1 - i;
  result.first = Pair{0, 1};
  return result;
}

}  // namespace checker
