// Who sees whom where views are a few intervals each: windows beside sinks, dilations without a common divisor, segments.
#include <algorithm>
#include <bit>
#include <map>

#include "sightline/base/error.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "sightline/sight/span_views.hpp"

namespace sightline::sight {

namespace {

using Views = std::shared_ptr<const SpanViews>;

// Some product has too many spans.
struct TooMany {};

Views exists(Views views) {
  if (!views) throw TooMany{};
  return views;
}

// The views of a whole period and its powers, from which those of all depths are composed, wherever the list begins. Kept for the questions about one layout.
class SpanPowers {
public:
  SpanPowers(const Layout& layout, const Budget& budget) : budget_(budget), period_(make_period(layout, 0)) {
    // It may outlive who asks first.
    budget_.abandoned = nullptr;
    budget_.listener = nullptr;
    budget_.crew = nullptr;
    identity_ = SpanViews::make_identity(layout.vertices(), budget_);
    for (const LayerRun& run : period_) {
      length_ += run.count;
      if (!rows_.contains(run.layer)) rows_[run.layer] = exists(SpanViews::make(*find_read_layer(layout, run.layer, budget_), layout.vertices(), budget_));
    }
    powers_.push_back(make_whole_period());
  }

  [[nodiscard]] std::uint64_t length() const { return length_; }
  [[nodiscard]] const Views& identity() const { return identity_; }
  [[nodiscard]] const Views& rows(std::uint32_t layer) const { return rows_.at(layer); }
  [[nodiscard]] const std::vector<LayerRun>& period() const { return period_; }

  static Views compose(const Views& later, const Views& earlier, const Budget& budget) { return exists(SpanViews::compose(*later, *earlier, budget)); }

  [[nodiscard]] Views repeat(std::uint32_t layer, std::uint64_t times, const Budget& budget) const {
    Views result, square = rows(layer);
    for (; times > 0; times >>= 1) {
      if (times & 1) result = result ? compose(square, result, budget) : square;
      if (times == 1) break;
      Views next = compose(square, square, budget);
      if (*next == *square) return square;
      square = std::move(next);
    }
    return result ? result : identity_;
  }

  // 2^k whole periods; nothing once more of them change nothing.
  Views power(std::size_t k) {
    while (!settled_ && powers_.size() <= k) {
      if (is_too_much_) throw TooMany{};
      is_too_much_ = true;
      Views next = compose(powers_.back(), powers_.back(), budget_);
      is_too_much_ = false;
      if (*next == *powers_.back()) settled_ = true;
      else powers_.push_back(std::move(next));
    }
    return k < powers_.size() ? powers_[k] : nullptr;
  }

  // What is ever seen, from whichever layer on: a list that begins in the middle of a period sees no more than one that begins a period earlier.
  Views ever() {
    while (power(powers_.size())) continue;
    return powers_.back();
  }

private:
  // Growing dilations fill up from the first layer on, falling ones from the last.
  Views make_whole_period() const {
    const auto piece = [&](std::size_t k) { return repeat(period_[k].layer, period_[k].count, budget_); };
    try {
      Views views = piece(0);
      for (std::size_t k = 1; k < period_.size(); ++k) views = compose(piece(k), views, budget_);
      return views;
    } catch (const TooMany&) {
      if (period_.size() < 3) throw;
    }
    Views views = piece(period_.size() - 1);
    for (std::size_t k = period_.size() - 1; k-- > 0;) views = compose(views, piece(k), budget_);
    return views;
  }

  Budget budget_;  // of its own: what is kept counts as long as it is
  std::vector<LayerRun> period_;
  std::uint64_t length_ = 0;
  std::map<std::uint32_t, Views> rows_;
  Views identity_;
  std::vector<Views> powers_;
  bool settled_ = false, is_too_much_ = false;
};

// Null where views are too much, now and later.
std::shared_ptr<SpanPowers> find_powers(const Layout& layout, const Budget& budget) {
  struct Kept {
    std::shared_ptr<SpanPowers> powers;
  };
  ReachMemory::Entry* memory = ReachMemory::find(layout);
  if (memory != nullptr && memory->spans) return static_cast<const Kept*>(memory->spans.get())->powers;
  auto kept = std::make_shared<Kept>();
  try {
    kept->powers = std::make_shared<SpanPowers>(layout, budget);
  } catch (const TooMany&) {
  }
  if (memory != nullptr) memory->spans = kept;
  return kept->powers;
}

class SpanReach {
public:
  SpanReach(const ReachQuestion& question, SpanPowers& powers, const Budget& budget) : question_(question), layout_(*question.layout), powers_(powers), budget_(budget) {
    // The layers up to the end of a period, which the list begins with.
    std::uint64_t passed = question.skip % powers_.length();
    for (const LayerRun& run : powers_.period()) {
      const std::uint64_t skipped = std::min(passed, run.count);
      passed -= skipped;
      if (question.skip % powers_.length() != 0 && skipped < run.count) head_.push_back({run.layer, run.count - skipped});
    }
    for (const LayerRun& run : head_) head_length_ += run.count;
  }

  // Nothing where some token never sees what it is to see: who that is, is left to the columns.
  std::optional<ReachAnswer> answer() {
    if (question_.wanted.kind == ClassKind::seen) {
      ever_ = limit();
      count_ever();
    }
    ReachAnswer answer;
    if (question_.find_layers) {
      if (find_missing(*limit())) return std::nullopt;
      answer.reach = find_layers();
    }
    if (question_.count_unseen) {
      const Views view = question_.depth ? at(*question_.depth) : limit();
      answer.unseen.resize(layout_.tokens);
      std::vector<Span> spans;
      for (Vertex i = 0; i < layout_.tokens; ++i) answer.unseen[i] = wanted_of(i) - count(*view, i, spans);
    }
    return answer;
  }

private:
  Views compose(const Views& later, const Views& earlier) const { return SpanPowers::compose(later, earlier, budget_); }
  Views limit() const { return powers_.ever(); }

  // What is seen through `views` when the list begins before a period: from its last layer to its first, so that intervals stay intervals.
  Views begin_with_head(Views views) const {
    for (std::size_t k = head_.size(); k-- > 0;) views = compose(views, powers_.repeat(head_[k].layer, head_[k].count, budget_));
    return views;
  }

  Views follow(Views views, const std::vector<LayerRun>& runs, std::uint64_t layers) const {
    for (const LayerRun& run : runs) {
      const std::uint64_t count = std::min(layers, run.count);
      if (count == 0) break;
      const Views by = powers_.repeat(run.layer, count, budget_);
      views = views == powers_.identity() ? by : compose(by, views);
      layers -= count;
    }
    return views;
  }

  Views at(std::uint64_t depth) const {
    if (depth <= head_length_) return follow(powers_.identity(), head_, depth);
    const std::uint64_t periods = (depth - head_length_) / powers_.length();
    Views views;
    for (std::size_t k = 0; k < 64 && periods >> k != 0; ++k) {
      const Views power = powers_.power(k);
      if (!power) return limit();
      if (periods >> k & 1) views = views ? compose(power, views) : begin_with_head(power);
    }
    if (!views) views = follow(powers_.identity(), head_, head_length_);
    return follow(std::move(views), powers_.period(), (depth - head_length_) % powers_.length());
  }

  // first > last: nothing is wanted.
  Span wanted(Vertex i) const {
    Span span{question_.wanted.ordinary_only ? Vertex{1} : Vertex{0}, (question_.registers_too ? layout_.vertices() : layout_.tokens) - 1};
    if (question_.wanted.kind == ClassKind::causal) span.last = i;
    return span;
  }

  static Vertex common(const Span& a, const Span& b) {
    const Vertex first = std::max(a.first, b.first), last = std::min(a.last, b.last);
    return first > last ? 0 : last - first + 1;
  }

  // How many of those that i is to see (of class `seen`: may see) are in view.
  Vertex count(const SpanViews& view, Vertex i, std::vector<Span>& spans) const {
    const Span all = wanted(i);
    if (view.outside(i).empty()) return common(view.core(i), all);
    view.spans(i, spans);
    Vertex sum = 0;
    for (const Span& span : spans) sum += common(span, all);
    return sum;
  }

  void count_ever() {
    std::vector<Span> spans;
    for (Vertex i = 0; i < layout_.tokens; ++i) most_.push_back(count(*ever_, i, spans));
  }

  Vertex wanted_of(Vertex i) const {
    if (ever_) return most_[i];
    const Span all = wanted(i);
    return all.first > all.last ? 0 : all.last - all.first + 1;
  }

  std::optional<UnreachablePair> find_missing(const SpanViews& view) const {
    std::vector<Span> spans, whole;
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      if (count(view, i, spans) == wanted_of(i)) continue;
      view.spans(i, spans);
      const Span all = wanted(i);
      whole.assign(1, all);
      if (ever_) ever_->spans(i, whole);
      for (const Span& part : whole) {
        std::uint64_t j = std::max(part.first, all.first);
        for (const Span& span : spans) {
          if (span.last < j) continue;
          if (span.first > j) break;
          j = std::uint64_t{span.last} + 1;
        }
        if (j <= std::min(part.last, all.last)) return UnreachablePair{i, static_cast<Vertex>(j)};
      }
    }
    return std::nullopt;
  }

  // Whole periods, then runs of one layer, each as often as something is still missing.
  Connected find_layers() const {
    Connected result;
    Views views = powers_.identity();
    std::optional<UnreachablePair> missing = find_missing(*views);
    std::uint64_t layers = 0;
    if (!missing) {
      result.layers = 0;
      return result;
    }
    const auto go_on = [&](Views next, std::uint64_t by) {
      const auto pair = find_missing(*next);
      if (!pair) return false;
      views = std::move(next);
      missing = pair;
      layers += by;
      return true;
    };
    std::size_t bits = 0;
    for (Views power; (power = powers_.power(bits)) && go_on(begin_with_head(power), (powers_.length() << bits) + head_length_ - layers);) ++bits;
    const bool passed_head = bits > 0;
    for (; bits > 1; --bits) go_on(compose(powers_.power(bits - 2), views), powers_.length() << (bits - 2));
    // All that the head shows is known to be too little, or it is gone through.
    if (passed_head || follow_runs(head_, go_on, views)) follow_runs(powers_.period(), go_on, views);
    result.layers = layers + 1;
    result.witness = missing;
    return result;
  }

  // False: somewhere in between nothing was missing.
  template <class GoOn>
  bool follow_runs(const std::vector<LayerRun>& runs, const GoOn& go_on, const Views& views) const {
    for (const LayerRun& run : runs) {
      std::uint64_t done = 0;
      for (auto k = static_cast<std::size_t>(std::bit_width(run.count)); k-- > 0;) {
        const std::uint64_t step = std::uint64_t{1} << k;
        if (done + step > run.count) continue;
        const Views by = powers_.repeat(run.layer, step, budget_);
        if (go_on(views == powers_.identity() ? by : compose(by, views), step)) done += step;
      }
      if (done < run.count) return false;
    }
    return true;
  }

  const ReachQuestion& question_;
  const Layout& layout_;
  SpanPowers& powers_;
  const Budget& budget_;
  std::vector<LayerRun> head_;
  std::uint64_t head_length_ = 0;
  Views ever_;
  std::vector<Vertex> most_;  // by token: how many it ever sees
};

std::optional<ReachAnswer> find_by_spans(const ReachQuestion& question, const Budget& budget) {
  if (question.weight != nullptr || question.layout->order.empty()) return std::nullopt;
  try {
    const std::shared_ptr<SpanPowers> powers = find_powers(*question.layout, budget);
    return powers ? SpanReach(question, *powers, budget).answer() : std::nullopt;
  } catch (const TooMany&) {
    return std::nullopt;
  } catch (const BudgetExhausted&) {
    if (budget.is_late()) throw;
    if (ReachMemory::Entry* const memory = ReachMemory::find(*question.layout)) memory->spans.reset();
    return std::nullopt;  // columns need less memory
  }
}

}  // namespace

std::optional<ReachAnswer> answer_by_spans(const ReachQuestion& question, const Budget& budget) {
  return recall(question, ReachMemory::Way::spans, [&] { return find_by_spans(question, budget); });
}

}  // namespace sightline::sight
