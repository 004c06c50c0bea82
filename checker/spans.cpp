#include "spans.hpp"

#include <algorithm>
#include <bit>

#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

using Pair = std::pair<Vertex, Vertex>;
constexpr std::uint64_t most_seen_spans = 64, most_in_all = std::uint64_t{1} << 23, most_united = 1024;  // per vertex, in all, and of what is put together per vertex

/// Sorted, neither overlapping nor touching.
void unite_spans(std::vector<SeenSpan>& spans, Vertex vertices = 0) {
  if (spans.size() > vertices / 16 && vertices > 0) {  // so many that one pass over the vertices is cheaper than sorting
    std::vector<std::uint64_t> reach(vertices, 0);  // from here on up to this vertex, which is not part of it
    for (const SeenSpan& span : spans) reach[span.first] = std::max(reach[span.first], std::uint64_t{span.last} + 1);
    spans.clear();
    std::uint64_t covered = 0;
    for (Vertex v = 0; v < vertices; ++v) {
      if (reach[v] == 0) continue;
      if (!spans.empty() && v <= covered) covered = std::max(covered, reach[v]);
      else spans.push_back({v, v}), covered = reach[v];
      spans.back().last = static_cast<Vertex>(covered - 1);
    }
    return;
  }
  std::sort(spans.begin(), spans.end());
  std::vector<SeenSpan>::iterator end = spans.begin();
  for (const SeenSpan& span : spans) {
    if (end != spans.begin() && span.first <= std::uint64_t{(end - 1)->last} + 1) (end - 1)->last = std::max((end - 1)->last, span.last);
    else *end++ = span;
  }
  spans.erase(end, spans.end());
}

/// Writes down the sets of vertices 0, 1, ..: maximal intervals first, `near` once all are known.
class SpanWriter {
public:
  explicit SpanWriter(Vertex vertices) : vertices_(vertices) {}

  void add(const std::vector<SeenSpan>& set) {
    const auto i = static_cast<Vertex>(own_.size());
    spare_.clear();
    for (const SeenSpan& span : set) {
      if (span.first <= i && i <= span.last) own_.push_back(span);
      else spare_.push_back(span);
    }
    put(sets_, spare_);
    if (sets_.lists.size() > std::min(most_seen_spans * (own_.size() + vertices_ / 16 + 1), most_in_all)) throw TooManySpans{};
  }

  std::shared_ptr<const SpanSets> finish() {
    std::vector<SeenSpan> near = own_;
    for (std::size_t i = 1; i < near.size(); ++i) near[i].first = std::max(near[i].first, near[i - 1].first);
    for (std::size_t i = near.size(); i-- > 1;) near[i - 1].last = std::min(near[i - 1].last, near[i].last);
    if (near != own_) {
      SpanSets cut;
      for (std::size_t i = 0; i < near.size(); ++i) {
        spare_.assign(sets_.lists.begin() + static_cast<std::ptrdiff_t>(sets_.begin[sets_.far[i]]), sets_.lists.begin() + static_cast<std::ptrdiff_t>(sets_.begin[sets_.far[i] + 1]));
        if (near[i] != own_[i]) spare_.push_back(own_[i]);
        std::sort(spare_.begin(), spare_.end());
        put(cut, spare_);
      }
      sets_ = std::move(cut);
    }
    sets_.near = std::move(near);
    return std::make_shared<const SpanSets>(std::move(sets_));
  }

private:
  static void put(SpanSets& sets, const std::vector<SeenSpan>& list) {
    const bool known = !sets.far.empty() && std::equal(sets.lists.begin() + static_cast<std::ptrdiff_t>(sets.begin[sets.far.back()]), sets.lists.end(), list.begin(), list.end());
    if (!known) {
      sets.lists.insert(sets.lists.end(), list.begin(), list.end());
      sets.begin.push_back(sets.lists.size());
    }
    sets.far.push_back(static_cast<std::uint32_t>(sets.begin.size() - 2));
  }

  Vertex vertices_;
  std::vector<SeenSpan> own_, spare_;
  SpanSets sets_;
};

/// SpanUnions over neighbours of the sets of one family.
class SpanUnions {
public:
  explicit SpanUnions(const SpanSets& sets) : sets_(sets), least_(count() + 1, ~Vertex{0}), most_(count(), 0) {
    for (std::size_t k = count(); k-- > 0;) {
      least_[k] = least_[k + 1];
      if (sets.begin[k] < sets.begin[k + 1]) least_[k] = std::min(least_[k], sets.lists[sets.begin[k]].first);
    }
    for (std::size_t k = 0; k < count(); ++k) {
      if (sets.begin[k] < sets.begin[k + 1]) most_[k] = sets.lists[sets.begin[k + 1] - 1].last;
      if (k > 0) most_[k] = std::max(most_[k], most_[k - 1]);
    }
  }

  void add(SeenSpan over, std::vector<SeenSpan>& out) {
    // The intervals around neighbours overlap or touch: one interval. Beyond it, only lists that reach there count; mostly those at the ends.
    const SeenSpan near{sets_.near[over.first].first, sets_.near[over.last].last};
    const std::size_t from = sets_.far[over.first], to = std::size_t{sets_.far[over.last]} + 1, kept = out.size();
    out.push_back(near);
    std::size_t low = from, high = to;
    while (low < high && least_[low] < near.first && low - from < few) take(sets_.lists, sets_.begin, low++, near, out);
    while (high > low && most_[high - 1] > near.last && to - high < few) take(sets_.lists, sets_.begin, --high, near, out);
    if (low == high || (least_[low] >= near.first && most_[high - 1] <= near.last)) return;
    // Two overlapping powers of two cover what is left.
    out.resize(kept + 1);
    const auto level = static_cast<std::size_t>(std::bit_width(to - from)) - 1;
    for (const std::size_t k : {from, to - (std::size_t{1} << level)}) {
      if (level == 0) take(sets_.lists, sets_.begin, k, near, out);
      else take(doubled(level).lists, doubled(level).begin, k, near, out);
    }
  }

private:
  static constexpr Threshold<std::size_t> few{8, 1, "span views"};
  struct Level {
    std::vector<SeenSpan> lists;
    std::vector<std::size_t> begin{0};
  };

  [[nodiscard]] std::size_t count() const { return sets_.begin.size() - 1; }

  static void take(const std::vector<SeenSpan>& lists, const std::vector<std::size_t>& begin, std::size_t k, SeenSpan but, std::vector<SeenSpan>& out) {
    for (std::size_t at = begin[k]; at < begin[k + 1]; ++at) {
      if (lists[at].first < but.first || lists[at].last > but.last) out.push_back(lists[at]);
    }
  }

  const Level& doubled(std::size_t level) {
    for (std::size_t made = levels_.size() + 1; made <= level; ++made) {
      const std::vector<SeenSpan>& lists = made == 1 ? sets_.lists : levels_.back().lists;
      const std::vector<std::size_t>& begin = made == 1 ? sets_.begin : levels_.back().begin;
      Level next;
      std::vector<SeenSpan> both;
      const std::size_t half = std::size_t{1} << (made - 1);
      for (std::size_t k = 0; k + 2 * half <= count(); ++k) {
        both.assign(lists.begin() + static_cast<std::ptrdiff_t>(begin[k]), lists.begin() + static_cast<std::ptrdiff_t>(begin[k + 1]));
        both.insert(both.end(), lists.begin() + static_cast<std::ptrdiff_t>(begin[k + half]), lists.begin() + static_cast<std::ptrdiff_t>(begin[k + half + 1]));
        unite_spans(both, static_cast<Vertex>(sets_.near.size()));
        next.lists.insert(next.lists.end(), both.begin(), both.end());
        next.begin.push_back(next.lists.size());
        if (next.lists.size() > most_seen_spans * sets_.near.size()) throw TooManySpans{};
      }
      levels_.push_back(std::move(next));
    }
    return levels_[level - 1];
  }

  const SpanSets& sets_;
  std::vector<Vertex> least_, most_;  // of this list and all later, earlier ones
  std::vector<Level> levels_;
};

}  // namespace

SpanViews::Sets SpanViews::rows_of(const ReadLayer& layer, Vertex vertices) {
  SpanWriter writer(vertices);
  std::vector<SeenSpan> row, set;
  std::uint64_t work = 0;
  for (const ReadLayer::Group& group : layer.groups) {
    poll();
    row.clear();
    for (const auto& [step, first, last] : layer.row(group)) {
      if (step == 1) row.push_back({first, last});
      if (step == 1) continue;
      if ((work += (last - first) / step) > most_seen_spans * vertices) throw TooManySpans{};
      for (std::uint64_t j = first; j <= last; j += step) row.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j)});
    }
    unite_spans(row);
    for (Vertex i = group.begin; i < group.end; ++i) {
      if ((work += row.size()) > most_seen_spans * vertices) throw TooManySpans{};
      set = row;
      set.push_back({i, i});
      unite_spans(set);
      writer.add(set);
    }
  }
  return writer.finish();
}

/// What is seen through the rows of a layer, or of several, by who has these views.
SpanViews::Sets SpanViews::follow(const SpanSets& rows, const SpanSets& views) {
  SpanUnions unions(views);
  SpanWriter writer(static_cast<Vertex>(rows.near.size()));
  std::vector<SeenSpan> set;
  std::uint64_t work = 0;
  for (std::size_t i = 0; i < rows.near.size(); ++i) {
    poll();
    set.clear();
    unions.add(rows.near[i], set);
    for (std::size_t k = rows.begin[rows.far[i]]; k < rows.begin[rows.far[i] + 1]; ++k) unions.add(rows.lists[k], set);
    if ((work += set.size()) > most_united * (rows.near.size() + 1024)) throw TooManySpans{};
    if (set.size() > 1) unite_spans(set, static_cast<Vertex>(rows.near.size()));
    writer.add(set);
  }
  return writer.finish();
}

SpanViews::SpanViews(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers)
    : tokens_(layout.tokens), vertices_(layout.vertices()), length_(find_period(layout.order)) {
  for (std::uint64_t q = 0; q < length_; ++q) {
    const std::uint32_t l = layout.order[q];
    if (runs_.empty() || runs_.back().first != l) runs_.emplace_back(l, 0);
    ++runs_.back().second;
    if (!rows_.contains(l)) rows_.emplace(l, rows_of(layers.at(l), vertices_));
  }
  SpanWriter alone(vertices_);
  for (Vertex i = 0; i < vertices_; ++i) alone.add({{i, i}});
  nothing_ = alone.finish();
  // Where dilations grow the gaps fill from the first layer on, where they fall from the last.
  try {
    doublings_.push_back(period_from(true));
  } catch (const TooManySpans&) {
    doublings_.push_back(period_from(false));
  }
}

SpanViews::Sets SpanViews::period_from(bool first) const {
  Sets views = nothing_;
  for (std::size_t k = 0; k < runs_.size(); ++k) {
    const auto& [l, count] = runs_[first ? k : runs_.size() - 1 - k];
    const Sets layer = repeat(l, count);
    views = k == 0 ? layer : first ? follow(*layer, *views) : follow(*views, *layer);
  }
  return views;
}

SpanViews::Sets SpanViews::repeat(std::uint32_t layer, std::uint64_t times) const {
  Sets result = nothing_, base = rows_.at(layer);
  for (; times > 0; times >>= 1) {
    if (times & 1) result = result == nothing_ ? base : follow(*base, *result);
    if (times == 1) break;
    Sets next = follow(*base, *base);
    if (*next == *base) return base;
    base = std::move(next);
  }
  return result;
}

SpanViews::Sets SpanViews::go_through(const Runs& runs, Sets views, std::uint64_t layers) const {
  for (const auto& [l, count] : runs) {
    if (layers == 0) break;
    const Sets rows = repeat(l, std::min(layers, count));
    views = views == nothing_ ? rows : follow(*rows, *views);
    layers -= std::min(layers, count);
  }
  return views;
}

SpanViews::Runs SpanViews::rest_of_period(std::uint64_t skip) const {
  Runs rest;
  std::uint64_t passed = length_ == 0 ? 0 : skip % length_;
  if (passed == 0) return rest;
  for (const auto& [l, count] : runs_) {
    if (passed < count) rest.emplace_back(l, count - passed);
    passed -= std::min(passed, count);
  }
  return rest;
}

/// Layer by layer backwards: intervals that follow only become longer.
SpanViews::Sets SpanViews::behind(const Runs& rest, Sets views) const {
  for (std::size_t k = rest.size(); k-- > 0;) views = follow(*views, *repeat(rest[k].first, rest[k].second));
  return views;
}

bool SpanViews::has(std::size_t k) {
  while (!ends_ && doublings_.size() <= k) {
    Sets next = follow(*doublings_.back(), *doublings_.back());
    ends_ = *next == *doublings_.back();
    if (!ends_) doublings_.push_back(std::move(next));
  }
  return k < doublings_.size();
}

/// From whichever layer on: whoever begins in the middle of a period sees no more than who begins a period earlier.
SpanViews::Sets SpanViews::ever() {
  while (has(doublings_.size())) continue;
  return doublings_.back();
}

SpanViews::Sets SpanViews::at(std::uint64_t skip, std::uint64_t depth) {
  const Runs rest = rest_of_period(skip);
  std::uint64_t first = 0;
  for (const auto& [l, count] : rest) first += count;
  if (length_ == 0 || depth <= first) return go_through(rest, nothing_, depth);
  const std::uint64_t periods = (depth - first) / length_;
  Sets views;
  for (std::size_t k = 0; k < 64 && periods >> k != 0; ++k) {
    if (!has(k)) return doublings_.back();
    if (periods >> k & 1) views = views ? follow(*doublings_[k], *views) : behind(rest, doublings_[k]);
  }
  if (!views) views = go_through(rest, nothing_, first);
  return go_through(runs_, std::move(views), (depth - first) % length_);
}

namespace {

void write_set(const SpanSets& sets, Vertex i, std::vector<SeenSpan>& out) {
  out.assign(1, sets.near[i]);
  out.insert(out.end(), sets.lists.begin() + static_cast<std::ptrdiff_t>(sets.begin[sets.far[i]]), sets.lists.begin() + static_cast<std::ptrdiff_t>(sets.begin[sets.far[i] + 1]));
  if (out.size() > 1) unite_spans(out);
}

}  // namespace

void SpanViews::wanted(const ReachQuestion& question, Vertex i, std::vector<SeenSpan>& out) {
  const Vertex from = question.ordinary_only ? 1 : 0;
  const Vertex to = question.kind == ClassKind::causal ? i : (question.registers_too ? vertices_ : tokens_) - 1;
  if (question.kind == ClassKind::seen) write_set(*doublings_.back(), i, out);
  else out.assign(1, {0, vertices_ - 1});
  std::erase_if(out, [&](SeenSpan& span) {
    span = {std::max(span.first, from), std::min(span.last, to)};
    return span.first > span.last;
  });
}

std::optional<Pair> SpanViews::missing(const ReachQuestion& question, const SpanSets& views, std::vector<Vertex>* count) {
  std::optional<Pair> first;
  if (question.kind == ClassKind::seen) (void)ever();
  std::vector<SeenSpan> asked, seen;
  for (Vertex i = 0; i < tokens_; ++i) {
    wanted(question, i, asked);
    write_set(views, i, seen);
    Vertex gap = 0;
    std::size_t at = 0;
    for (const SeenSpan& part : asked) {
      for (std::uint64_t j = part.first; j <= part.last;) {
        while (at < seen.size() && seen[at].last < j) ++at;
        const std::uint64_t next = at == seen.size() ? std::uint64_t{part.last} + 1 : std::min<std::uint64_t>(seen[at].first, std::uint64_t{part.last} + 1);
        if (next > j) {
          if (!first) first = Pair{i, static_cast<Vertex>(j)};
          gap += static_cast<Vertex>(next - j);
        }
        j = at == seen.size() ? next : std::max(next, std::uint64_t{seen[at].last} + 1);
      }
    }
    if (count != nullptr) (*count)[i] = gap;
    else if (first) return first;
  }
  return first;
}

Unseen SpanViews::unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) {
  Unseen result{std::vector<Vertex>(tokens_, 0), {}};
  result.first = missing(question, *(depth ? at(question.skip, *depth) : ever()), &result.count);
  return result;
}

std::optional<Reach> SpanViews::layers(const ReachQuestion& question) {
  if (missing(question, *ever())) return std::nullopt;
  auto missed = missing(question, *nothing_);
  if (!missed) return Reach{0, {}};
  const Runs rest = rest_of_period(question.skip);
  std::uint64_t first = 0, layers = 0;
  for (const auto& [l, count] : rest) first += count;
  Sets views = nothing_;
  const auto go_to = [&](Sets next, std::uint64_t depth) {
    const auto pair = missing(question, *next);
    if (!pair) return false;
    views = std::move(next), missed = pair, layers = depth;
    return true;
  };
  // False: with fewer of these layers nothing is missing.
  const auto go_on = [&](const Runs& runs) {
    for (const auto& [l, count] : runs) {
      std::uint64_t done = 0;
      for (auto k = static_cast<std::size_t>(std::bit_width(count)); k-- > 0;) {
        const std::uint64_t step = std::uint64_t{1} << k;
        if (done + step > count) continue;
        const Sets rows = repeat(l, step);
        if (go_to(views == nothing_ ? rows : follow(*rows, *views), layers + step)) done += step;
      }
      if (done < count) return false;
    }
    return true;
  };
  // Bit by bit the greatest number of periods that is too small, then of layers.
  std::size_t bits = 0;
  while (has(bits) && go_to(behind(rest, doublings_[bits]), first + (length_ << bits))) ++bits;
  const bool passed = bits > 0;
  while (bits > 1) --bits, (void)go_to(follow(*doublings_[bits - 1], *views), layers + (length_ << (bits - 1)));
  if (passed || go_on(rest)) (void)go_on(runs_);
  return Reach{layers + 1, missed};
}

}  // namespace checker
