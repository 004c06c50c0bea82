#include "sightline/sight/span_views.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "sightline/base/threshold.hpp"

namespace sightline::sight {

namespace {

// Spans that are put together per vertex, on average.
constexpr std::uint64_t most_looks = 1024;
struct TooManySpans {};  // in the tables of unions: lists with nothing in common grow with every level

// Many spans of few vertices, put in order by counting instead of comparing.
class SpanCounter {
public:
  explicit SpanCounter(Vertex vertices) : vertices_(vertices) {}

  bool pays_for(const std::vector<Span>& spans) const { return spans.size() > vertices_ / 16; }

  // Sorted spans that neither overlap nor touch.
  void merge(std::vector<Span>& spans) {
    ends_.assign(std::size_t{vertices_} + 1, 0);
    for (const Span& span : spans) ends_[span.first] = std::max(ends_[span.first], span.last + 1);
    spans.clear();
    for (Vertex first = 0; first < vertices_; ++first) {
      if (ends_[first] == 0) continue;
      Vertex v = first, end = ends_[first];
      while (++v <= end) end = std::max(end, ends_[v]);  // the entry behind the last vertex stays 0
      spans.push_back({first, end - 1});
      first = end;  // nothing begins there
    }
  }

private:
  Vertex vertices_;
  std::vector<Vertex> ends_;  // by first vertex of a span: one more than the furthest last one, 0: none begins here
};

// Sorted spans that neither overlap nor touch.
void merge_spans(std::vector<Span>& spans, SpanCounter* counter = nullptr) {
  if (spans.size() < 2) return;
  if (counter && counter->pays_for(spans)) return counter->merge(spans);
  const auto before = [](const Span& a, const Span& b) { return a.first < b.first; };
  if (!std::is_sorted(spans.begin(), spans.end(), before)) std::sort(spans.begin(), spans.end(), before);
  std::size_t kept = 0;
  for (std::size_t k = 1; k < spans.size(); ++k) {
    if (spans[k].first <= std::uint64_t{spans[kept].last} + 1) {
      spans[kept].last = std::max(spans[kept].last, spans[k].last);
    } else {
      spans[++kept] = spans[k];
    }
  }
  spans.resize(kept + 1);
}

}  // namespace

/// Takes the sets of the vertices in order.
class SpanViews::Builder {
public:
  Builder(Vertex vertices, const Budget& budget) : views_(new SpanViews(budget)), vertices_(vertices) {
    views_->booking_.grow((2 * sizeof(Vertex) + sizeof(std::uint32_t)) * std::uint64_t{vertices});
    views_->lo_.reserve(vertices);
    views_->hi_.reserve(vertices);
    views_->list_.reserve(vertices);
    views_->begin_.assign(1, 0);
  }

  /// @param spans  what the next vertex sees, merged. False: too much.
  bool add(const std::vector<Span>& spans) {
    const auto i = static_cast<Vertex>(views_->lo_.size());
    const auto own = std::upper_bound(spans.begin(), spans.end(), i, [](Vertex v, const Span& span) { return v < span.first; }) - 1;
    views_->lo_.push_back(own->first);
    views_->hi_.push_back(own->last);
    outside_.assign(spans.begin(), own);
    outside_.insert(outside_.end(), own + 1, spans.end());
    return append(*views_);
  }

  std::shared_ptr<const SpanViews> take() {
    SpanViews& views = *views_;
    cut_cores();
    const std::size_t lists = views.begin_.size() - 1;
    views.lowest_.assign(lists, ~Vertex{0});
    views.highest_.assign(lists, 0);
    for (std::size_t k = 0; k < lists; ++k) {
      const auto list = views.list(static_cast<std::uint32_t>(k));
      if (!list.empty()) views.lowest_[k] = list.front().first, views.highest_[k] = list.back().last;
      if (k > 0) views.highest_[k] = std::max(views.highest_[k], views.highest_[k - 1]);
    }
    for (std::size_t k = lists; k-- > 1;) views.lowest_[k - 1] = std::min(views.lowest_[k - 1], views.lowest_[k]);
    views.booking_.grow(16 * lists);
    return std::shared_ptr<const SpanViews>(std::move(views_));
  }

private:
  /// The outside of the next vertex.
  bool append(SpanViews& views) {
    const bool same = !views.list_.empty() && std::ranges::equal(views.list(views.list_.back()), outside_);
    if (!same) {
      // Too much soon shows: no need to come to the last vertex.
      const std::uint64_t so_far = most_spans * (views.list_.size() + vertices_ / 16 + 1);
      if (is_limited_ && views.spans_.size() + outside_.size() > std::min(so_far, most_in_all)) return false;
      views.booking_.grow(sizeof(Span) * outside_.size());
      views.spans_.insert(views.spans_.end(), outside_.begin(), outside_.end());
      views.begin_.push_back(views.spans_.size());
    }
    views.list_.push_back(static_cast<std::uint32_t>(views.begin_.size() - 2));
    return true;
  }

  /// Components become cores whose ends do not fall.
  void cut_cores() {
    SpanViews& views = *views_;
    if (std::is_sorted(views.lo_.begin(), views.lo_.end()) && std::is_sorted(views.hi_.begin(), views.hi_.end())) return;
    const std::vector<Vertex> from = views.lo_, to = views.hi_;
    const std::vector<std::uint32_t> lists = std::move(views.list_);
    const std::vector<std::size_t> begin = std::move(views.begin_);
    const std::vector<Span> spans = std::move(views.spans_);
    const auto count = views.lo_.size();
    for (std::size_t i = 1; i < count; ++i) views.lo_[i] = std::max(views.lo_[i], views.lo_[i - 1]);
    for (std::size_t i = count; i-- > 1;) views.hi_[i - 1] = std::min(views.hi_[i - 1], views.hi_[i]);
    views.list_.clear();
    views.spans_.clear();
    views.begin_.assign(1, 0);
    is_limited_ = false;  // one more per vertex at most
    for (std::size_t i = 0; i < count; ++i) {
      const auto old = std::span(spans).subspan(begin[lists[i]], begin[lists[i] + 1] - begin[lists[i]]);
      outside_.assign(old.begin(), old.end());
      if (from[i] != views.lo_[i] || to[i] != views.hi_[i]) {
        const Span own{from[i], to[i]};
        outside_.insert(std::upper_bound(outside_.begin(), outside_.end(), own, [](const Span& a, const Span& b) { return a.first < b.first; }), own);
      }
      append(views);
    }
  }

  std::unique_ptr<SpanViews> views_;
  std::uint64_t vertices_;
  bool is_limited_ = true;
  std::vector<Span> outside_;
};

void SpanViews::spans(Vertex i, std::vector<Span>& out) const {
  const auto others = outside(i);
  out.assign(others.begin(), others.end());
  out.push_back(core(i));
  merge_spans(out);
}

void SpanViews::collect(Vertex first, Vertex last, std::vector<Span>& out) const {
  // Cores of neighbours overlap, and their ends do not fall: together they are one interval.
  const Span middle{lo_[first], hi_[last]};
  out.push_back(middle);
  const std::uint32_t from = list_[first], to = list_[last];
  constexpr Threshold<std::uint32_t> few{8, 1, "span views"};
  const std::size_t kept = out.size();
  // Lists that reach beyond the interval: from both ends, until none further in does.
  std::uint32_t low = from, high = to;
  for (; low <= to && lowest_[low] < middle.first; ++low) {
    if (low - from == few) {
      out.resize(kept);
      return collect_table(from, to, out);
    }
    for (const Span& span : list(low)) {
      if (span.first < middle.first || span.last > middle.last) out.push_back(span);
    }
  }
  for (; high + 1 > low && highest_[high] > middle.last; --high) {
    if (to - high == few) {
      out.resize(kept);
      return collect_table(from, to, out);
    }
    for (const Span& span : list(high)) {
      if (span.first < middle.first || span.last > middle.last) out.push_back(span);
    }
    if (high == 0) break;
  }
}

void SpanViews::collect_table(std::uint32_t from, std::uint32_t to, std::vector<Span>& out) const {
  const std::size_t lists = begin_.size() - 1;
  const auto level = static_cast<std::size_t>(std::bit_width(std::uint32_t{to - from + 1})) - 1;
  while (levels_.size() < level) {
    const std::size_t half = std::size_t{1} << levels_.size();
    const bool lowest = levels_.empty();
    Level next;
    next.begin.assign(1, 0);
    std::vector<Span> sum;
    SpanCounter counter(vertices());
    for (std::size_t k = 0; k + 2 * half <= lists; ++k) {
      sum.clear();
      for (const std::size_t part : {k, k + half}) {
        const auto add = lowest ? list(static_cast<std::uint32_t>(part))
                                : std::span(std::as_const(levels_.back().spans)).subspan(levels_.back().begin[part], levels_.back().begin[part + 1] - levels_.back().begin[part]);
        sum.insert(sum.end(), add.begin(), add.end());
      }
      merge_spans(sum, &counter);
      if (next.spans.size() + sum.size() > 2 * spans_.size() + most_in_all) throw TooManySpans{};
      next.spans.insert(next.spans.end(), sum.begin(), sum.end());
      next.begin.push_back(next.spans.size());
    }
    booking_.grow(sizeof(Span) * next.spans.size() + sizeof(std::size_t) * next.begin.size());
    levels_.push_back(std::move(next));
  }
  for (const std::size_t k : {std::size_t{from}, std::size_t{to} + 1 - (std::size_t{1} << level)}) {
    const auto add = level == 0 ? list(static_cast<std::uint32_t>(k))
                                : std::span(std::as_const(levels_[level - 1].spans)).subspan(levels_[level - 1].begin[k], levels_[level - 1].begin[k + 1] - levels_[level - 1].begin[k]);
    out.insert(out.end(), add.begin(), add.end());
  }
}

std::shared_ptr<const SpanViews> SpanViews::make_identity(Vertex vertices, const Budget& budget) {
  Builder builder(vertices, budget);
  std::vector<Span> own(1);
  for (Vertex i = 0; i < vertices; ++i) {
    own[0] = {i, i};
    builder.add(own);
  }
  return builder.take();
}

std::shared_ptr<const SpanViews> SpanViews::make(const ReadLayer& layer, Vertex vertices, const Budget& budget) {
  Builder builder(vertices, budget);
  std::vector<Span> row, with_reader;
  std::uint64_t work = 0;
  for (const ReadGroup& group : layer.groups) {
    budget.poll();
    row.clear();
    for (const ReadRange& range : layer.row(group)) {
      if (range.step == 1) {
        row.push_back({range.first, range.last});
        continue;
      }
      work += (range.last - range.first) / range.step;
      if (work > most_spans * vertices) return nullptr;
      for (std::uint64_t j = range.first; j <= range.last; j += range.step) row.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j)});
    }
    merge_spans(row);
    for (Vertex i = group.begin; i < group.end; ++i) {
      work += row.size();
      if (work > most_spans * vertices) return nullptr;
      with_reader = row;
      with_reader.push_back({i, i});
      merge_spans(with_reader);
      if (!builder.add(with_reader)) return nullptr;
    }
  }
  return builder.take();
}

std::shared_ptr<const SpanViews> SpanViews::compose(const SpanViews& later, const SpanViews& earlier, const Budget& budget) {
  Builder builder(later.vertices(), budget);
  SpanCounter counter(later.vertices());
  std::vector<Span> seen;
  std::uint64_t work = 0;
  try {
    for (Vertex i = 0; i < later.vertices(); ++i) {
      budget.poll();
      seen.clear();
      earlier.collect(later.lo_[i], later.hi_[i], seen);
      for (const Span& span : later.outside(i)) earlier.collect(span.first, span.last, seen);
      work += seen.size();
      if (work > most_looks * (std::uint64_t{later.vertices()} + 1024)) return nullptr;
      merge_spans(seen, &counter);
      if (!builder.add(seen)) return nullptr;
    }
  } catch (const TooManySpans&) {
    return nullptr;
  }
  return builder.take();
}

}  // namespace sightline::sight
