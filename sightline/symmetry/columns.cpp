// Columns from rows: successive readers are compared, and only vertices where they differ cost anything.
#include <algorithm>
#include <limits>
#include <map>

#include "sightline/base/error.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

namespace {

constexpr std::uint32_t closed = std::numeric_limits<std::uint32_t>::max();

/// Are rows without steps their own columns, span by span? Neighbouring readers are compared, and a column span is looked up in the row it should
/// stand in as soon as it ends: nothing is stored, and the first difference is the last. Answers no where it does not know.
class MirrorTest {
public:
  MirrorTest(const SpanLists& rows, Vertex vertices, const Budget& budget) : rows_(rows), vertices_(vertices), budget_(budget) {}

  bool operator()() {
    if (std::any_of(rows_.spans.begin(), rows_.spans.end(), [](const Span& span) { return span.step != 1 || span.slope != 0; })) return false;
    opened_.resize(vertices_);
    next_ = rows_.begin;
    const Span* before = nullptr;
    const Span* before_end = nullptr;
    for (Vertex i = 0; i <= vertices_; ++i) {
      if (i % 64 == 0) budget_.poll();
      const Span* const after = i < vertices_ ? rows_.list_begin(i) : nullptr;
      const Span* const after_end = i < vertices_ ? rows_.list_end(i) : nullptr;
      if ((after != before || after_end != before_end) && !advance(before, before_end, after, after_end, i)) return false;
      before = after;
      before_end = after_end;
    }
    return next_ == rows_.end;
  }

private:
  /// From reader i on; both lists are sorted and disjoint.
  bool advance(const Span* a, const Span* a_end, const Span* b, const Span* b_end, Vertex i) {
    Vertex x = 0;
    while (a != a_end || b != b_end) {
      const Vertex a_from = a != a_end ? std::max(a->first, x) : closed, b_from = b != b_end ? std::max(b->first, x) : closed;
      const Vertex from = std::min(a_from, b_from);
      const bool in_a = a_from == from, in_b = b_from == from;
      // One past the part that has the same span before, and the same after.
      Vertex stop = std::min(in_a ? a->last + 1 : a_from, in_b ? b->last + 1 : b_from);
      if (!(in_a && in_b && a->base == b->base)) {
        for (Vertex j = from; j < stop; ++j) {
          if (in_a && !close(j, i, a->base)) return false;
          if (in_b) opened_[j] = i;
        }
      }
      x = stop;
      if (in_a && a->last < x) ++a;
      if (in_b && b->last < x) ++b;
    }
    return true;
  }

  bool close(Vertex j, Vertex i, std::int64_t base) {
    if (next_[j] == rows_.end[j]) return false;
    const Span& expected = rows_.spans[next_[j]++];
    return expected.first == opened_[j] && expected.last == i - 1 && expected.base == base;
  }

  const SpanLists& rows_;
  Vertex vertices_;
  const Budget& budget_;
  std::vector<Vertex> opened_;       ///< the reader with whom the present span of column j began
  std::vector<std::uint32_t> next_;  ///< of row j: the first span that no span of column j has met
};

/// Turns the rows of one relation into columns.
class Transposer {
public:
  Transposer(RunGraph& graph, RunRelation& relation, std::uint64_t relation_index, const Budget& budget)
      : graph_(graph), relation_(relation), scale_(field::relation_weight(relation_index)), budget_(budget) {
    budget.ask(std::uint64_t{graph.vertices} * 12);
  }

  void run() {
    if (MirrorTest(relation_.rows, graph_.vertices, budget_)()) {
      relation_.symmetric = true;
      return;
    }
    open_.assign(graph_.vertices, closed);
    open_span_.assign(graph_.vertices, nullptr);
    choose_slopes();
    transpose_steps();
    transpose_plain();
    store();
  }

private:
  /// A column of a run with slope q over its row has slopes over readers too: -q where colours depend on j - i, 0 where
  /// they depend on j alone. The first two neighbouring readers decide; others are cut where they do not follow.
  void choose_slopes() {
    const SpanLists& rows = relation_.rows;
    for (Vertex i = 0; i + 1 < graph_.vertices; ++i) {
      for (const Span* a = rows.list_begin(i); a != rows.list_end(i); ++a) {
        if (a->slope == 0 || along_.count(a->slope) != 0) continue;
        for (const Span* b = rows.list_begin(i + 1); b != rows.list_end(i + 1); ++b) {
          if (b->slope != a->slope) continue;
          const std::int64_t difference = b->base - a->base;
          along_[a->slope] = keep_slope(difference) ? static_cast<std::int32_t>(difference) : 0;
          break;
        }
      }
    }
  }

  bool keep_slope(std::int64_t slope) {
    if (slope > std::numeric_limits<std::int32_t>::max() || slope < std::numeric_limits<std::int32_t>::min()) return false;
    const auto value = static_cast<std::int32_t>(slope);
    if (value == 0 || graph_.slope_index(value) != 0) return true;
    if (graph_.slopes.size() >= 12) return false;
    graph_.slopes.push_back(value);
    return true;
  }

  std::int64_t along(const Span& span) const {
    if (span.slope == 0) return 0;
    const auto found = along_.find(span.slope);
    return found == along_.end() ? 0 : found->second;
  }

  /// What stays equal along a column as long as one column span can go on.
  bool continues(const Span& old_span, Vertex old_reader, const Span& new_span, Vertex new_reader) const {
    return old_span.slope == new_span.slope &&
           old_span.base - along(old_span) * old_reader == new_span.base - along(new_span) * new_reader;
  }

  void open(Vertex j, std::uint32_t time, const Span* span) {
    open_[j] = time;
    open_span_[j] = span;
  }

  /// Readers number open_[j] .. time-1 of the current list read j with the colours that open_span_[j] began.
  void close(Vertex j, std::uint32_t time) {
    const std::uint32_t from = open_[j];
    open_[j] = closed;
    const Span& row = *open_span_[j];
    const std::int64_t slope = along(row);
    const std::int64_t base = row.colour(j) - slope * readers_[from];
    for (std::uint32_t t = from; t < time;) {
      const std::uint32_t stop = std::min(gap_end_[t], time - 1);
      const Vertex first = readers_[t], last = readers_[stop];
      Span span{first, last, stop > t ? readers_[t + 1] - first : 1, static_cast<std::int32_t>(slope), base, 0};
      if (stop == t) {
        span.base = span.colour(first);
        span.slope = 0;
      }
      budget_.poll();
      out_.push_back({j, span});
      t = stop + 1;
    }
  }

  /// Steps through two sorted lists of spans of one step and residue, closing and opening where they differ.
  void advance(const std::vector<const Span*>& before, const std::vector<const Span*>& after, Vertex old_reader, Vertex reader,
               std::uint32_t time, Vertex step) {
    std::size_t a = 0, b = 0;
    std::uint64_t x = 0;
    while (a < before.size() || b < after.size()) {
      const std::uint64_t start_a = a < before.size() ? std::max<std::uint64_t>(before[a]->first, x) : ~std::uint64_t{0};
      const std::uint64_t start_b = b < after.size() ? std::max<std::uint64_t>(after[b]->first, x) : ~std::uint64_t{0};
      const std::uint64_t start = std::min(start_a, start_b);
      const bool in_a = start_a == start, in_b = start_b == start;
      std::uint64_t stop = ~std::uint64_t{0};
      if (in_a) stop = std::min<std::uint64_t>(stop, before[a]->last);
      if (in_b) stop = std::min<std::uint64_t>(stop, after[b]->last);
      if (!in_a) stop = std::min(stop, start_a - step);
      if (!in_b) stop = std::min(stop, start_b - step);
      if (!(in_a && in_b && continues(*before[a], old_reader, *after[b], reader))) {
        for (std::uint64_t j = start; j <= stop; j += step) {
          if (in_a) close(static_cast<Vertex>(j), time);
          if (in_b) open(static_cast<Vertex>(j), time, after[b]);
        }
      }
      x = stop + step;
      if (in_a && before[a]->last < x) ++a;
      if (in_b && after[b]->last < x) ++b;
    }
  }

  void prepare_gaps() {
    const std::size_t count = readers_.size();
    gap_end_.resize(count);
    for (std::size_t t = count; t-- > 0;) {
      if (t + 2 < count && readers_[t + 2] - readers_[t + 1] == readers_[t + 1] - readers_[t]) {
        gap_end_[t] = gap_end_[t + 1];
      } else {
        gap_end_[t] = static_cast<std::uint32_t>(std::min(t + 1, count - 1));
      }
    }
  }

  void transpose_plain() {
    const SpanLists& rows = relation_.rows;
    readers_.clear();
    for (Vertex i = 0; i < graph_.vertices; ++i) {
      if (relation_.visible[i] && std::any_of(rows.list_begin(i), rows.list_end(i), [](const Span& s) { return s.step == 1; })) readers_.push_back(i);
    }
    prepare_gaps();
    std::vector<const Span*> before, after;
    for (std::uint32_t t = 0; t < readers_.size(); ++t) {
      budget_.poll();
      const Vertex i = readers_[t];
      const bool shared = t > 0 && rows.begin[i] == rows.begin[readers_[t - 1]] && all_constant(i);
      if (shared) continue;
      after.clear();
      for (const Span* span = rows.list_begin(i); span != rows.list_end(i); ++span) {
        if (span->step == 1) after.push_back(span);
      }
      advance(before, after, t > 0 ? readers_[t - 1] : i, i, t, 1);
      before.swap(after);
    }
    after.clear();
    advance(before, after, 0, 0, static_cast<std::uint32_t>(readers_.size()), 1);
  }

  /// A shared list may be skipped only when its columns go on with it: colours that do not change from reader to reader.
  bool all_constant(Vertex i) const {
    return std::all_of(relation_.rows.list_begin(i), relation_.rows.list_end(i), [this](const Span& s) { return along(s) == 0; });
  }

  void transpose_steps() {
    struct Entry {
      Vertex step, residue, reader;
      const Span* span;
    };
    std::vector<Entry> entries;
    const SpanLists& rows = relation_.rows;
    for (Vertex i = 0; i < graph_.vertices; ++i) {
      for (const Span* span = rows.list_begin(i); span != rows.list_end(i); ++span) {
        if (span->step > 1) entries.push_back({span->step, span->first % span->step, i, span});
      }
    }
    budget_.ask(entries.size() * sizeof(Entry));
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.step != b.step ? a.step < b.step : a.residue < b.residue;
    });
    std::vector<const Span*> before, after;
    for (std::size_t begin = 0; begin < entries.size();) {
      std::size_t end = begin;
      readers_.clear();
      while (end < entries.size() && entries[end].step == entries[begin].step && entries[end].residue == entries[begin].residue) {
        if (readers_.empty() || readers_.back() != entries[end].reader) readers_.push_back(entries[end].reader);
        ++end;
      }
      prepare_gaps();
      before.clear();
      std::uint32_t time = 0;
      for (std::size_t k = begin; k < end; ++time) {
        budget_.poll();
        after.clear();
        const Vertex reader = entries[k].reader;
        for (; k < end && entries[k].reader == reader; ++k) after.push_back(entries[k].span);
        advance(before, after, time > 0 ? readers_[time - 1] : reader, reader, time, entries[begin].step);
        before.swap(after);
      }
      after.clear();
      advance(before, after, 0, 0, time, entries[begin].step);
      begin = end;
    }
    budget_.give_back(entries.size() * sizeof(Entry));
  }

  void store() {
    SpanLists& columns = relation_.columns;
    if (out_.size() > std::numeric_limits<std::uint32_t>::max()) throw OutOfReach("a relation of more than 2^32 runs is out of reach");
    budget_.ask(out_.size() * (sizeof(Span) + sizeof(out_[0])) + std::uint64_t{graph_.vertices} * 8);
    std::vector<std::uint32_t> begin(std::size_t{graph_.vertices} + 1, 0);
    for (const auto& [j, span] : out_) ++begin[j + 1];
    for (Vertex j = 0; j < graph_.vertices; ++j) begin[j + 1] += begin[j];
    columns.begin.assign(begin.begin(), begin.end() - 1);
    columns.spans.resize(out_.size());
    std::int64_t last_base = 0;
    field::Element last_weight = scale_;
    for (auto& [j, span] : out_) {
      if (span.base != last_base) {
        last_base = span.base;
        last_weight = field::multiply(scale_, field::power(field::colour_base, span.base));
      }
      span.weight = last_weight;
      columns.spans[begin[j]++] = span;
    }
    columns.end.assign(begin.begin(), begin.end() - 1);
    budget_.give_back(out_.size() * sizeof(out_[0]));
    std::vector<std::pair<Vertex, Span>>().swap(out_);
    drop_if_symmetric();
  }

  /// Most patterns are symmetric, and their columns come out as the same spans; then one of the two is enough.
  void drop_if_symmetric() {
    SpanLists& columns = relation_.columns;
    const auto by_first = [](const Span& a, const Span& b) { return a.first < b.first; };
    for (Vertex v = 0; v < graph_.vertices; ++v) {
      std::sort(columns.spans.begin() + columns.begin[v], columns.spans.begin() + columns.end[v], by_first);
      if (!std::equal(columns.list_begin(v), columns.list_end(v), relation_.rows.list_begin(v), relation_.rows.list_end(v))) return;
    }
    relation_.symmetric = true;
    budget_.give_back(columns.spans.size() * sizeof(Span) + std::uint64_t{graph_.vertices} * 8);
    columns = {};
  }

  RunGraph& graph_;
  RunRelation& relation_;
  field::Element scale_;
  const Budget& budget_;
  std::map<std::int32_t, std::int32_t> along_;  ///< slope over a row -> slope over readers
  std::vector<std::uint32_t> open_;             ///< number of the reader that opened the column span of j
  std::vector<const Span*> open_span_;
  std::vector<Vertex> readers_;
  std::vector<std::uint32_t> gap_end_;  ///< last reader number up to which gaps are equal
  std::vector<std::pair<Vertex, Span>> out_;
};

}  // namespace

void complete(RunGraph& graph, const Budget& budget, Walk walk) {
  if (graph.arcs) return;
  if (walk == Walk::arcs || (walk == Walk::cheaper && prefers_arcs(graph))) {
    add_arcs(graph, budget);
    return;
  }
  for (std::size_t r = 0; r < graph.relations.size(); ++r) {
    if (!graph.relations[r].symmetric && graph.relations[r].columns.begin.size() != graph.vertices) Transposer(graph, graph.relations[r], r, budget).run();
  }
  graph.powers.clear();
  for (const std::int32_t slope : graph.slopes) {
    budget.ask(std::uint64_t{graph.vertices} * sizeof(field::Element));
    std::vector<field::Element> powers(graph.vertices, 1);
    const field::Element factor = field::power(field::colour_base, slope);
    for (Vertex x = 1; x < graph.vertices; ++x) powers[x] = field::multiply(powers[x - 1], factor);
    graph.powers.push_back(std::move(powers));
  }
}

}  // namespace sightline::symmetry
