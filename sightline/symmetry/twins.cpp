#include "sightline/symmetry/twins.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/even_steps.hpp"
#include "sightline/symmetry/stretch_groups.hpp"

namespace sightline::symmetry {

namespace {

/// With more inner colours than this in a relation, only "none" is tried.
constexpr Threshold<std::size_t> most_inner_colours{8, 1, "inner colours"};
/// With more kinds of spans (slope, step) than this, spans of further kinds are expanded.
constexpr Threshold<std::size_t> most_span_sums{8, 1, "twin sums"};

/// Spans with steps of at most this many members are gone through.
constexpr Threshold<Vertex> short_span{64, 1, "twin spans"};

using field::Element;

Element vertex_value(Vertex x) { return field::random(field::mix(0x7715, x)); }

/// Sums of v(x) g^(slope x) over spans of one slope and step, and what such spans add to the vertices they contain.
struct SpanSums {
  std::uint32_t slope_index;
  Vertex step;
  std::vector<Element> power, prefix, gain;

  SpanSums(const RunGraph& graph, std::uint32_t slope, Vertex with_step, const Budget& budget) : slope_index(slope), step(with_step) {
    const std::size_t n = graph.vertices;
    budget.ask(24 * (n + step));
    power.resize(n);
    prefix.assign(n + step, 0);  // prefix[x + step] = sum up to and including x over x's residue
    gain.assign(n + step, 0);
    const Element factor = slope == 0 ? 1 : field::power(field::colour_base, graph.slopes[slope - 1]);
    Element last = 1;
    for (Vertex x = 0; x < n; ++x, last = field::multiply(last, factor)) {
      power[x] = last;
      prefix[std::size_t{x} + step] = field::add(prefix[x], field::multiply(last, vertex_value(x)));
    }
  }
};

/// Fingerprints of what each vertex reads and is read by in one relation, loops left out.
class Fingerprints {
public:
  Fingerprints(const RunGraph& graph, const RunRelation& relation, const Budget& budget) : graph_(graph), relation_(relation), budget_(budget) {}

  std::vector<Element> compute() {
    const Vertex n = graph_.vertices;
    fingerprint_.assign(n, 0);
    values_.resize(n);
    for (Vertex x = 0; x < n; ++x) values_[x] = vertex_value(x);
    // A list that several readers share is gone through once, for all of them.
    constexpr std::uint32_t none = ~std::uint32_t{0};
    const SpanLists& rows = relation_.rows;
    budget_.ask(rows.spans.size() * 4);
    std::vector<std::uint32_t> list_at(rows.spans.size(), none), list_of(n, none);
    std::vector<Vertex> reader;
    std::vector<Element> value, sum;
    for (Vertex i = 0; i < n; ++i) {
      if (rows.begin[i] == rows.end[i]) continue;
      std::uint32_t& list = list_at[rows.begin[i]];
      if (list == none) {
        list = static_cast<std::uint32_t>(reader.size());
        reader.push_back(i);
        value.push_back(0);
      }
      list_of[i] = list;
      value[list] = field::add(value[list], field::multiply(field::backward_weight, values_[i]));
    }
    for (std::size_t list = 0; list < reader.size(); ++list) {
      budget_.poll();
      Element row = 0;
      for (const Span* span = rows.list_begin(reader[list]); span != rows.list_end(reader[list]); ++span) row = field::add(row, take(*span, value[list]));
      sum.push_back(row);
    }
    for (SpanSums& sums : sums_) {
      for (Vertex x = 0; x < n; ++x) {
        if (x >= sums.step) sums.gain[x] = field::add(sums.gain[x], sums.gain[x - sums.step]);
        if (sums.gain[x] != 0) fingerprint_[x] = field::add(fingerprint_[x], field::multiply(sums.gain[x], sums.power[x]));
      }
      budget_.give_back(24 * (std::uint64_t{n} + sums.step));
    }
    OwnSpans own_spans(relation_);
    for (Vertex i = 0; i < n; ++i) {
      if (list_of[i] == none) continue;
      fingerprint_[i] = field::add(fingerprint_[i], sum[list_of[i]]);
      const Span* const own = own_spans.find(i);
      if (own == nullptr) continue;
      const Element loop = field::multiply(field::multiply(own->weight, power_at(*own, i)), values_[i]);
      fingerprint_[i] = field::subtract(fingerprint_[i], field::add(loop, field::multiply(loop, field::backward_weight)));
    }
    budget_.give_back(rows.spans.size() * 4);
    return std::move(fingerprint_);
  }

private:
  /// g^(slope x).
  [[nodiscard]] Element power_at(const Span& span, Vertex x) const {
    if (span.slope == 0) return 1;
    const std::uint32_t slope = graph_.slope_index(span.slope);
    for (const SpanSums& sums : sums_) {
      if (sums.slope_index == slope) return sums.power[x];
    }
    return field::power(field::power(field::colour_base, span.slope), x);
  }

  /// Adds a span of readers with this sum of values to the columns; returns what it adds to their rows.
  Element take(const Span& span, Element value) {
    const Element column = field::multiply(span.weight, value);
    if (span.first == span.last) {
      fingerprint_[span.first] = field::add(fingerprint_[span.first], column);
      return field::multiply(span.weight, values_[span.first]);
    }
    SpanSums* sums = find_sums(span);
    if (sums == nullptr) {
      Element row = 0;
      const Element factor = field::power(field::colour_base, span.slope);
      Element power = field::power(factor, span.first);
      const Element next = field::power(factor, span.step);
      for (std::uint64_t x = span.first; x <= span.last; x += span.step, power = field::multiply(power, next)) {
        row = field::add(row, field::multiply(field::multiply(span.weight, power), values_[x]));
        fingerprint_[x] = field::add(fingerprint_[x], field::multiply(column, power));
      }
      return row;
    }
    const Element row = field::multiply(span.weight, field::subtract(sums->prefix[std::size_t{span.last} + span.step], sums->prefix[span.first]));
    sums->gain[span.first] = field::add(sums->gain[span.first], column);
    const std::size_t after = std::size_t{span.last} + span.step;
    sums->gain[after] = field::subtract(sums->gain[after], column);
    return row;
  }

  SpanSums* find_sums(const Span& span) {
    const std::uint32_t slope = graph_.slope_index(span.slope);
    for (SpanSums& sums : sums_) {
      if (sums.slope_index == slope && sums.step == span.step) return &sums;
    }
    if (sums_.size() >= most_span_sums) return nullptr;
    sums_.emplace_back(graph_, slope, span.step, budget_);
    return &sums_.back();
  }

  const RunGraph& graph_;
  const RunRelation& relation_;
  const Budget& budget_;
  std::vector<Element> fingerprint_, values_;
  std::vector<SpanSums> sums_;
};

constexpr std::uint32_t alone = no_group;

/// The row of x with its own place coloured `inner` (-1: absent), canonical.
void replace_own(const RunRelation& relation, Vertex x, std::int64_t inner, std::vector<ColouredRun>& row) {
  row.clear();
  for (const Span* span = relation.rows.list_begin(x); span != relation.rows.list_end(x); ++span) row.push_back(to_run(*span));
  canonicalise(row);
  const std::int64_t own = find_colour(row, x);
  if (own == inner) return;
  std::vector<ColouredRun> changed;
  for (const ColouredRun& run : row) {
    if (x < run.first || x > run.last) {
      changed.push_back(run);
      continue;
    }
    if (run.first < x) changed.push_back({run.first, x - 1, 1, run.colour, run.colour_step});
    if (run.last > x) changed.push_back({x + 1, run.last, 1, run.colour + run.colour_step * std::int64_t{x + 1 - run.first}, run.colour_step});
  }
  if (inner >= 0) changed.push_back({x, x, 1, inner, 0});
  canonicalise(changed);
  row.swap(changed);
}

class TwinFinder {
public:
  TwinFinder(const RunGraph& graph, const Budget& budget) : graph_(graph), budget_(budget) {}

  /// Proposes groups; inner colours by relation, -1 = none.
  bool propose(const std::vector<std::vector<std::int64_t>>& inner_colours) {
    const Vertex n = graph_.vertices;
    group_.assign(n, 0);
    std::vector<OwnSpans> own(graph_.relations.begin(), graph_.relations.end());
    regroup([&](Vertex x) {
      InitialKey key(graph_.vertex_colour[x]);
      for (std::size_t r = 0; r < own.size(); ++r) key.add(graph_.relations[r].visible[x] != 0, own[r].colour(x));
      return key.value();
    });
    inner_.assign(graph_.relations.size(), {});
    for (std::size_t r = 0; r < graph_.relations.size() && groups_ > 0; ++r) split_by_relation(r, inner_colours[r]);
    return groups_ > 0;
  }

  TwinClasses make_classes(bool trivial) const {
    const std::vector<std::uint32_t> nobody(trivial ? graph_.vertices : 0, alone);
    const std::vector<std::uint32_t>& group = trivial ? nobody : group_;
    return make_twin_classes(group, graph_.relations.size(),
                             [&](Vertex x, std::size_t r) { return group[x] == alone ? graph_.relations[r].colour(x, x) : inner_[r][x]; });
  }

  /// Is every class really one of twins?
  bool verify(const TwinClasses& classes) {
    const Vertex n = graph_.vertices;
    const std::size_t relations = graph_.relations.size();
    prepare_links(classes);
    LongSpans long_spans(*this, budget_);
    for (std::uint32_t k = 0; k < classes.size(); ++k) {
      const Vertex x = classes.members[classes.begin[k]];
      for (std::uint32_t m = classes.begin[k] + 1; m < classes.begin[k + 1]; ++m) {
        if (graph_.vertex_colour[x] != graph_.vertex_colour[classes.members[m]]) return false;
      }
    }
    std::vector<ColouredRun> row, other;
    RowColours colours(n);
    for (std::size_t r = 0; r < relations; ++r) {
      const RunRelation& relation = graph_.relations[r];
      OwnSpans own(relation);
      for (std::uint32_t k = 0; k < classes.size(); ++k) {
        budget_.poll();
        const Vertex x = classes.members[classes.begin[k]];
        const std::int64_t inner = classes.inner[k * relations + r];
        const std::int64_t colour = own.colour(x);
        // A hidden row says nothing, so it cannot contradict anything.
        bool is_written = false;  // row is that of x
        const auto write_row = [&] {
          if (!std::exchange(is_written, true)) replace_own(relation, x, inner, row);
        };
        if (relation.visible[x] && (colour != inner || !is_surely_constant(relation, x, long_spans))) {
          write_row();
          if (!is_constant_on_classes(row, colours)) return false;
        }
        for (std::uint32_t m = classes.begin[k] + 1; m < classes.begin[k + 1]; ++m) {
          budget_.poll();
          const Vertex y = classes.members[m];
          if (relation.visible[x] != relation.visible[y] || own.colour(y) != colour) return false;
          if (!relation.visible[x]) continue;
          const bool shared = relation.rows.begin[x] == relation.rows.begin[y] && relation.rows.end[x] == relation.rows.end[y];
          if (shared && colour == inner) continue;  // nothing is replaced in one list
          write_row();
          replace_own(relation, y, inner, other);
          if (row != other) return false;
        }
      }
    }
    return n > 0;
  }

private:
  /// Stretches of the vertices that are not alone, by key(x) and their present group.
  template <class Key>
  void collect_stretches(Key&& key, std::vector<Stretch>& stretches) const {
    stretches.clear();
    for (Vertex x = 0; x < graph_.vertices; ++x) {
      if (group_[x] == alone) continue;
      const std::uint64_t value = field::mix(key(x), group_[x]);
      if (!stretches.empty() && stretches.back().end == x && stretches.back().key == value) {
        ++stretches.back().end;
      } else {
        stretches.push_back({value, x, x + 1});
      }
    }
  }

  template <class Key>
  void regroup(Key&& key) {
    std::vector<Stretch> stretches;
    collect_stretches(key, stretches);
    std::vector<std::uint32_t> next(group_.size(), alone);
    groups_ = 0;
    for_each_group(stretches, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) std::fill(next.begin() + stretches[k].begin, next.begin() + stretches[k].end, groups_);
      ++groups_;
    });
    group_.swap(next);
  }

  void split_by_relation(std::size_t r, const std::vector<std::int64_t>& colours) {
    const std::vector<Element> fingerprint = Fingerprints(graph_, graph_.relations[r], budget_).compute();
    const Element both_ways = field::add(1, field::backward_weight);
    const Element scale = field::multiply(both_ways, field::relation_weight(r));
    std::vector<std::int64_t>& inner = inner_[r];
    inner.assign(graph_.vertices, -1);
    std::vector<std::uint32_t> next(group_.size(), alone);
    std::uint32_t names = 0;
    std::vector<Stretch> stretches;
    for (std::size_t c = 0; c <= colours.size(); ++c) {
      budget_.poll();
      const Element inside = c == 0 ? 0 : field::multiply(scale, field::power(field::colour_base, colours[c - 1]));
      collect_stretches([&](Vertex x) { return inside == 0 ? fingerprint[x] : field::add(fingerprint[x], field::multiply(inside, vertex_value(x))); },
                        stretches);
      for_each_group(stretches, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          for (Vertex x = stretches[k].begin; x < stretches[k].end; ++x) {
            next[x] = names;
            inner[x] = c == 0 ? -1 : colours[c - 1];
            group_[x] = alone;
          }
        }
        ++names;
      });
    }
    group_.swap(next);
    groups_ = names;
  }

  void prepare_links(const TwinClasses& classes) {
    const Vertex n = graph_.vertices;
    next_.assign(n, alone);
    previous_.assign(n, alone);
    lowest_.resize(n);
    highest_.resize(n);
    scattered_after_.assign(std::size_t{n} + 1, n);
    twin_after_.assign(std::size_t{n} + 1, n);
    std::vector<std::uint8_t> scattered(n, 0), twin(n, 0);
    for (std::uint32_t k = 0; k < classes.size(); ++k) {
      const std::uint32_t begin = classes.begin[k], end = classes.begin[k + 1];
      const Vertex low = classes.members[begin], high = classes.members[end - 1];
      const bool contiguous = high - low + 1 == end - begin;
      for (std::uint32_t m = begin; m < end; ++m) {
        const Vertex x = classes.members[m];
        lowest_[x] = contiguous ? low : x;
        highest_[x] = contiguous ? high : x;
        scattered[x] = contiguous ? 0 : 1;
        twin[x] = end - begin > 1 ? 1 : 0;
        if (m > begin) previous_[x] = classes.members[m - 1];
        if (m + 1 < end) next_[x] = classes.members[m + 1];
      }
    }
    for (Vertex x = n; x-- > 0;) {
      scattered_after_[x] = scattered[x] != 0 ? x : scattered_after_[x + 1];
      twin_after_[x] = twin[x] != 0 ? x : twin_after_[x + 1];
    }
    last_scattered_ = 0;
    for (Vertex x = 0; x < n; ++x) last_scattered_ = scattered[x] != 0 ? x : last_scattered_;
  }

  /// Long spans with steps, as far as they can be judged without going through them.
  class LongSpans {
  public:
    LongSpans(const TwinFinder& finder, const Budget& budget)
        : finder_(finder), twins_(list(finder, [&](Vertex x) { return finder.twin_after_[x] == x; }), budget),
          cuts_(list(finder, [&](Vertex x) { return finder.lowest_[x] != x; }), budget) {}

    /// `width` spans, each one vertex behind the one before: do they hold no twins, or whole classes of neighbours?
    bool are_whole(const Span& span, Vertex width) {
      bool holds_twins = false;
      for (Vertex k = 0; k < width && !holds_twins; ++k) holds_twins = meets(twins_, span.first + k, span.last + k, span.step);
      if (!holds_twins) return true;
      return finder_.scattered_after_[span.first] >= span.last + width && !meets(cuts_, span.first, span.last, span.step) && !meets(cuts_, span.first + width, span.last + width, span.step);
    }

  private:
    template <class Keep>
    static std::vector<Vertex> list(const TwinFinder& finder, const Keep& keep) {
      std::vector<Vertex> number(std::size_t{finder.graph_.vertices} + 1, layout::EvenSteps::unnumbered);
      for (Vertex x = 0; x < finder.graph_.vertices; ++x) {
        if (keep(x)) number[x] = x;
      }
      return number;
    }
    /// Is one of first, first + step, .., last on the list? Said of all where the step is one too many.
    static bool meets(layout::EvenSteps& listed, Vertex first, Vertex last, Vertex step) {
      const std::vector<Vertex>* const along = listed.along(step);
      return along == nullptr || listed.is_numbered(first) || (*along)[first] <= last;
    }

    const TwinFinder& finder_;
    layout::EvenSteps twins_, cuts_;  ///< members of classes; where a class of neighbours goes on
  };

  /// Long spans of one step whose first vertices are neighbours: do they hold no twins, or whole classes? Some may be longer by a few vertices.
  bool are_whole(std::span<const Span> spans, LongSpans& long_spans) const {
    constexpr Threshold<Vertex> few{4, 1, "twin spans"};
    const Vertex step = spans.front().step, first = spans.front().first;
    Vertex shortest = spans.front().last, longest = shortest;  // where the copies of the first vertex end
    for (Vertex k = 0; k < spans.size(); ++k) {
      shortest = std::min(shortest, spans[k].last - k);
      longest = std::max(longest, spans[k].last - k);
    }
    if (shortest < first || (longest - shortest) / step > few) return false;
    Span common = spans.front();
    common.last = shortest;
    if (!long_spans.are_whole(common, static_cast<Vertex>(spans.size()))) return false;
    for (Vertex copy = shortest; copy < longest;) {
      copy += step;
      for (Vertex k = 0, stop = 0; k < spans.size(); k = stop + 1) {
        const auto reads = [&](Vertex at) { return at < spans.size() && spans[at].last - at >= copy; };
        for (stop = k; reads(stop); ++stop) {}
        if (stop > k && (scattered_after_[copy + k] < copy + stop || lowest_[copy + k] < copy + k || highest_[copy + stop - 1] >= copy + stop)) return false;
      }
    }
    return true;
  }

  /// Does every span of the row of x hold no twins, or whole classes of neighbours? Then it is constant on classes as it stands.
  bool is_surely_constant(const RunRelation& relation, Vertex x, LongSpans& long_spans) const {
    const Span* const end = relation.rows.list_end(x);
    for (const Span* span = relation.rows.list_begin(x); span != end; ++span) {
      if (twin_after_[span->first] > span->last) continue;
      const bool stepped = span->step > 1 && span->slope == 0, is_long = stepped && (span->last - span->first) / span->step >= short_span;
      if (is_long) {
        const Span* const side_by_side = span;
        const auto goes_on = [&](const Span& next) {
          return next.step == side_by_side->step && next.slope == 0 && next.base == side_by_side->base && next.first == span->first + 1 && next.first < side_by_side->first + next.step;
        };
        while (span + 1 != end && goes_on(span[1])) ++span;
        if (!are_whole(std::span(side_by_side, span + 1), long_spans)) return false;
      } else if (stepped) {
        Vertex y = span->first;
        if (previous_[y] != alone) return false;
        while (y < span->last && next_[y] == y + span->step) y += span->step;
        if (y != span->last || next_[y] != alone) return false;
      } else if (span->step != 1 || span->slope != 0 || scattered_after_[span->first] <= span->last || lowest_[span->first] < span->first || highest_[span->last] > span->last) {
        return false;
      }
    }
    return true;
  }

  /// Canonical row: is its colour (or absence) the same on all members of every class?
  bool is_constant_on_classes(const std::vector<ColouredRun>& row, RowColours& colours) const {
    colours.read(row);
    for (const ColouredRun& run : row) {
      const bool constant = run.colour_step == 0;
      if (constant && run.first <= scattered_after_[0] && run.last >= last_scattered_ && lowest_[run.first] >= run.first &&
          highest_[run.last] <= run.last) {
        continue;
      }
      const std::vector<Vertex>& after = constant ? scattered_after_ : twin_after_;
      for (Vertex x = after[run.first]; x <= run.last; x = after[x + 1]) {
        const std::int64_t colour = run.colour + run.colour_step * std::int64_t{x - run.first};
        if (next_[x] != alone && colours.of(next_[x]) != colour) return false;
        if (previous_[x] != alone && colours.of(previous_[x]) != colour) return false;
      }
      if (constant && (lowest_[run.first] < run.first || highest_[run.last] > run.last)) {
        // A contiguous class cut by the run: the rest of it must have the same colour in a neighbouring run.
        for (const Vertex edge : {run.first, run.last}) {
          for (Vertex x = lowest_[edge]; x <= highest_[edge]; ++x) {
            if (colours.of(x) != run.colour) return false;
          }
        }
      }
    }
    return true;
  }

  const RunGraph& graph_;
  const Budget& budget_;
  std::vector<std::uint32_t> group_;  ///< proposed class, or alone
  std::uint32_t groups_ = 0;
  std::vector<std::vector<std::int64_t>> inner_;  ///< [relation][vertex]
  std::vector<Vertex> next_, previous_, lowest_, highest_, scattered_after_, twin_after_;
  Vertex last_scattered_ = 0;
};

/// Appends what stays of a span of one colour, in runs evenly spaced. False beyond the first few steps.
/// @param staying  vertices that stay, by how many stay below
bool append_staying(const Span& span, layout::EvenSteps& staying, std::vector<ColouredRun>& mapped) {
  const std::vector<Vertex>* const along = staying.along(span.step);
  if (along == nullptr) return false;
  for (std::uint64_t x = span.first; x <= span.last;) {
    const auto from = static_cast<Vertex>(x);
    if (!staying.is_numbered(from)) {
      x = (*along)[from];
      continue;
    }
    const Vertex to = std::min(span.last, (*along)[from]), gap = to > from ? staying.number(from + span.step) - staying.number(from) : 1;
    mapped.push_back({staying.number(from), staying.number(to), gap, span.base, 0});
    x = std::uint64_t{to} + span.step;
  }
  return true;
}

/// The row of x in the quotient, span by span: nothing is replaced in it, and long spans with positions, or with steps that are rare, lose no vertex. False elsewhere.
/// @param rank  of every vertex, and the end: how many vertices below stay
bool map_whole(const RunRelation& relation, Vertex x, std::int64_t inner, const std::vector<std::uint32_t>& rank, layout::EvenSteps& staying, std::vector<ColouredRun>& mapped) {
  mapped.clear();
  if (relation.colour(x, x) != inner) return false;
  for (const Span* span = relation.rows.list_begin(x); span != relation.rows.list_end(x); ++span) {
    const std::uint32_t first = rank[span->first], end = rank[std::size_t{span->last} + 1];
    const bool plain = span->step == 1 && span->slope == 0;
    if (first == end) continue;
    if (!plain && end - first != span->last - span->first + 1) {
      if ((span->last - span->first) / span->step >= short_span) {
        if (span->slope != 0 || !append_staying(*span, staying, mapped)) return false;
        continue;
      }
      for (std::uint64_t y = span->first; y <= span->last; y += span->step) {
        if (rank[y + 1] > rank[y]) mapped.push_back({rank[y], rank[y], 1, span->colour(static_cast<Vertex>(y)), 0});
      }
      continue;
    }
    const ColouredRun run = to_run(*span);
    mapped.push_back({first, end - 1, plain ? 1 : span->step, run.colour, end - first > 1 ? run.colour_step : 0});
  }
  const auto by_first = [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; };
  if (!std::is_sorted(mapped.begin(), mapped.end(), by_first)) std::sort(mapped.begin(), mapped.end(), by_first);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < mapped.size(); ++k) {
    const ColouredRun& run = mapped[k];
    ColouredRun* const tail = kept == 0 ? nullptr : &mapped[kept - 1];
    const bool joins = tail != nullptr && tail->last + 1 == run.first && tail->step == 1 && run.step == 1 && tail->colour_step == 0 && run.colour_step == 0 && tail->colour == run.colour;
    if (joins) tail->last = run.last;
    else mapped[kept++] = run;
  }
  mapped.resize(kept);
  compress(mapped);
  return true;
}

}  // namespace

std::vector<std::vector<std::int64_t>> list_inner_colours(const std::vector<const RunGraph*>& graphs) {
  std::vector<std::vector<std::int64_t>> lists;
  for (std::size_t r = 0; r < graphs.front()->relations.size(); ++r) {
    std::set<std::int64_t> colours;
    for (const RunGraph* graph : graphs) {
      for (const Span& span : graph->relations[r].rows.spans) {
        if (span.slope == 0) colours.insert(span.base);
        if (colours.size() > most_inner_colours) break;
      }
    }
    if (colours.size() > most_inner_colours) colours.clear();
    lists.emplace_back(colours.begin(), colours.end());
  }
  return lists;
}

std::optional<std::vector<TwinClasses>> find_twins(const std::vector<const RunGraph*>& graphs, const Budget& budget) {
  const std::vector<std::vector<std::int64_t>> inner_colours = list_inner_colours(graphs);
  std::vector<TwinFinder> finders;
  std::vector<bool> found;
  for (const RunGraph* graph : graphs) {
    budget.ask(std::uint64_t{graph->vertices} * 72);
    found.push_back(finders.emplace_back(*graph, budget).propose(inner_colours));
  }
  const bool any = std::find(found.begin(), found.end(), true) != found.end();
  std::vector<TwinClasses> all;
  for (std::size_t k = 0; any && k < graphs.size(); ++k) {
    all.push_back(finders[k].make_classes(!found[k]));
    // A collision of fingerprints: without a quotient everything is still right.
    if (found[k] && !finders[k].verify(all.back())) return std::nullopt;
  }
  for (const RunGraph* graph : graphs) budget.give_back(std::uint64_t{graph->vertices} * 72);
  if (!any) return std::nullopt;
  return all;
}

RunGraph make_quotient(const RunGraph& graph, const TwinClasses& classes, const std::vector<std::uint32_t>& sizes, ColourNames& names, const Budget& budget) {
  const std::size_t relations = graph.relations.size();
  const std::uint32_t count = classes.size();
  std::vector<std::uint64_t> colours = name_classes(classes, graph.vertex_colour, sizes, relations, names, [&graph](Vertex x, std::size_t r) { return graph.relations[r].colour(x, x); });
  // rank[x] = number of representatives below x; runs of step 1 stay runs.
  std::vector<std::uint32_t> rank(std::size_t{graph.vertices} + 1, 0);
  for (Vertex x = 0; x < graph.vertices; ++x) rank[x + 1] = rank[x] + (classes.members[classes.begin[classes.class_of[x]]] == x ? 1 : 0);
  std::vector<Vertex> number(graph.vertices, layout::EvenSteps::unnumbered);
  for (Vertex x = 0; x < graph.vertices; ++x) {
    if (rank[x + 1] > rank[x]) number[x] = rank[x];
  }
  layout::EvenSteps staying(std::move(number), budget);
  RunGraphBuilder builder(count, std::move(colours), budget);
  std::vector<ColouredRun> row, mapped;
  for (std::size_t r = 0; r < relations; ++r) {
    builder.begin_relation();
    for (std::uint32_t k = 0; k < count; ++k) {
      budget.poll();
      const Vertex x = classes.members[classes.begin[k]];
      mapped.clear();
      if (graph.relations[r].visible[x] && !map_whole(graph.relations[r], x, classes.inner[k * relations + r], rank, staying, mapped)) {
        replace_own(graph.relations[r], x, classes.inner[k * relations + r], row);
        mapped.clear();  // of what map_whole wrote until it gave up
        for (const ColouredRun& run : row) {
          if (rank[run.last + 1] == rank[run.first]) continue;
          if (run.colour_step == 0) {
            mapped.push_back({rank[run.first], rank[run.last + 1] - 1, 1, run.colour, 0});
            continue;
          }
          for (Vertex y = run.first; y <= run.last; ++y) {
            if (rank[y + 1] > rank[y]) mapped.push_back({rank[y], rank[y], 1, run.colour + run.colour_step * std::int64_t{y - run.first}, 0});
          }
        }
        canonicalise(mapped);
        compress(mapped);
      }
      builder.add_row(mapped, graph.relations[r].visible[x]);
    }
  }
  return builder.take();
}

}  // namespace sightline::symmetry
