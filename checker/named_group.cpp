// Layouts whose group shows without refinement: rows that go down and name all tokens, strided rows both ways (docs/theory.md 16.34), circles (16.82), lines of
// intervals (16.102).
#include <algorithm>
#include <vector>

#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// Rows of one relation, readers in ascending order. Where all arcs have one colour, runs that are the same for the first and the last reader of a segment, from
/// one lower end on, and lie below all of them are summed up once, when the segment begins.
class SegmentRows {
public:
  explicit SegmentRows(const Relation& relation) : relation_(relation) {
    one_colour_ = relation.relative == RelativeKind::none && std::ranges::all_of(relation.pattern->lists, [](const auto& list) {
                    return std::ranges::all_of(list, [](const MovingRun& run) { return run.colour == 1; });
                  });
  }

  /// What is left to be looked at; `sum_of(run)` gives the sum over a run below i, or nothing where that takes long. `settled`: the sum over the others.
  template <class Sum>
  const std::vector<Run>& rows_at(Vertex i, Sum&& sum_of, std::uint64_t& settled) {
    if (i == end_) begin(i, sum_of);
    settled = settled_;
    if (!parts_) {
      relation_.row(i, row_);
      return row_;
    }
    poll();
    row_.clear();
    const Vertex k = i - first_;
    for (const MovingRun& run : open_) {
      const Vertex lo = run.lo + run.lo_slope * k, hi = run.hi + run.hi_slope * k;
      if (lo > hi) continue;
      const Vertex last = run.step == 1 ? hi : lo + (hi - lo) / run.step * run.step;
      row_.push_back({lo, last, lo == last ? 1 : run.step, colour_, 0});
    }
    return row_;
  }

private:
  template <class Sum>
  void begin(Vertex i, Sum&& sum_of) {
    constexpr Threshold<Vertex> few_readers{4, 2, "named readers"};
    const Pattern::Segment& segment = relation_.pattern->segments[segment_++];
    first_ = segment.first, end_ = segment.first + segment.count;
    settled_ = 0, parts_ = false;
    if (!one_colour_ || segment.count < few_readers) return;
    relation_.row(i, row_);
    if (row_.empty()) return;
    colour_ = row_.front().colour;  // of every arc of the relation: a colour that is alone is forgotten, or none is
    open_.clear();
    for (const std::uint32_t list : {segment.list, segment.tail}) {
      if (list == Pattern::none) continue;
      for (const MovingRun& run : relation_.pattern->lists[list]) {
        const auto last_below = [&run](Vertex hi) { return run.lo + (hi - run.lo) / run.step * run.step; };
        const Vertex last_hi = run.hi + run.hi_slope * (segment.count - 1);
        const bool stays = run.lo_slope == 0 && run.lo <= run.hi && last_below(run.hi) == last_below(last_hi);
        const Vertex last = stays ? last_below(run.hi) : i;
        std::optional<std::uint64_t> sum;
        if (last < i) sum = sum_of(Run{run.lo, last, run.lo == last ? 1 : run.step, colour_, 0});
        if (sum) settled_ += *sum, parts_ = true;
        else open_.push_back(run);
      }
    }
  }

  const Relation& relation_;
  bool one_colour_ = false, parts_ = false;
  std::size_t segment_ = 0;
  Vertex first_ = 0, end_ = 0;
  std::uint64_t settled_ = 0;
  std::int64_t colour_ = 0;
  std::vector<MovingRun> open_;
  std::vector<Run> row_;
};

}  // namespace

/// Rows that go down only: c(i) = hash of i's colour, its loops and, per relation, of what it reads below (arc colour, c(j)). When every seen
/// row counts, an isomorphism of views maps what i reads to what its image reads, so it preserves c; when all c differ, it moves nothing.
bool do_rows_name_tokens(const Layout& layout) {
  if (has_equal_registers(layout)) return false;
  std::vector<const Relation*> relations;  // of some layer
  for (std::uint32_t r = 0; r < layout.relations.size(); ++r) {
    if (std::ranges::any_of(layout.order, [&](std::uint32_t l) { return std::ranges::find(layout.layers[l], r) != layout.layers[l].end(); })) relations.push_back(&layout.relations[r]);
  }
  const auto stir = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  std::vector<std::uint64_t> name(layout.vertices()), sum(std::size_t{layout.vertices()} + 1, 0);
  constexpr Threshold<std::size_t> most_steps{4, 1, "named runs"};
  constexpr Threshold<Vertex> long_run{8, 2, "named runs"};
  std::vector<std::pair<Vertex, std::vector<std::uint64_t>>> along;  // by step: the sum of the names of j, j - step, ..
  std::vector<SegmentRows> readers;
  for (const Relation* const relation : relations) readers.emplace_back(*relation);
  const auto sum_below = [&](const Run& run) -> std::optional<std::uint64_t> {
    const std::uint64_t weight = stir(static_cast<std::uint64_t>(run.colour) + 3);
    if (run.step == 1) return weight * (sum[std::size_t{run.last} + 1] - sum[run.first]);
    const auto at = std::ranges::find(along, run.step, &std::pair<Vertex, std::vector<std::uint64_t>>::first);
    if (at == along.end()) return std::nullopt;
    return weight * (at->second[run.last] - (run.first < run.step ? 0 : at->second[run.first - run.step]));
  };
  std::uint64_t coloured = 0;
  for (Vertex i = 0; i < layout.vertices(); ++i) {
    std::uint64_t value = stir(layout.vertex_colour[i] + 1);
    for (SegmentRows& reader : readers) {
      std::uint64_t below = 0, loop = 0;
      for (const Run& run : reader.rows_at(i, sum_below, below)) {
        if (run.last > i) return false;
        const std::uint64_t end = std::min<std::uint64_t>(i, std::uint64_t{run.last} + 1);
        if (run.last == i) loop = stir(static_cast<std::uint64_t>(run.colour + run.colour_step * std::int64_t{run.size() - 1}) + 7);
        if (run.step == 1 && run.colour_step == 0) {
          if (run.first < end) below += stir(static_cast<std::uint64_t>(run.colour) + 3) * (sum[end] - sum[run.first]);
          continue;
        }
        if (run.colour_step == 0 && run.size() >= long_run) {
          auto at = std::ranges::find(along, run.step, &std::pair<Vertex, std::vector<std::uint64_t>>::first);
          if (at == along.end() && along.size() < most_steps) {
            at = along.insert(at, {run.step, {name.begin(), name.begin() + i}});
            for (Vertex j = run.step; j < i; ++j) at->second[j] += at->second[j - run.step];
          }
          const std::uint64_t last = run.first + (end - 1 - run.first) / run.step * run.step;
          if (at != along.end()) {
            below += stir(static_cast<std::uint64_t>(run.colour) + 3) * (at->second[last] - (run.first < run.step ? 0 : at->second[run.first - run.step]));
            continue;
          }
        }
        // Rows of many colours are left to others: the library asks for no more of them than this.
        if (run.colour_step != 0 && (coloured += run.size()) > 512 * std::uint64_t{layout.vertices()}) return false;
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j < end; j += run.step, colour += run.colour_step) below += stir(static_cast<std::uint64_t>(colour) + 3) * name[j];
      }
      value = stir(value + stir(below + 11) + 13 * loop);
    }
    name[i] = value;
    sum[i + 1] = sum[i] + value;
    for (auto& [step, sums] : along) sums.push_back(value + (i < step ? 0 : sums[i - step]));
  }
  std::sort(name.begin(), name.end());
  return std::adjacent_find(name.begin(), name.end()) == name.end();
}

bool has_group_of_line(const Layout& layout, bool with_reflection) {
  const auto is_reflected = [&] {
    std::vector<std::pair<Vertex, Vertex>> moves(layout.tokens);
    for (Vertex x = 0; x < layout.tokens; ++x) moves[x] = {x, layout.tokens - 1 - x};
    const Structure structure = make_structure(layout);
    return is_isomorphism(structure, structure, Permutation(std::move(moves)));
  };
  if (with_reflection ? has_reflection_only(layout) : do_rows_name_tokens(layout)) return true;
  return has_line_of_intervals(layout) && is_reflected() == with_reflection;
}

std::optional<ConfirmedGroup> find_named_group(const Layout& layout, const Json& evidence) {
  const auto is_empty = [&](const char* key) { return evidence[key].size() == 0; };
  if (layout.order.empty() || !is_empty("failed") || !is_empty("twins")) return std::nullopt;
  if (std::optional<ConfirmedGroup> cross = confirm_cross_group(layout, evidence)) return cross;
  ConfirmedGroup found;
  found.group.degree = layout.tokens;
  const Vertex n = layout.tokens;
  if (is_empty("generators") && is_empty("path")) return has_group_of_line(layout, false) ? std::optional(found) : std::nullopt;
  const std::size_t count = evidence["generators"].size();
  if (evidence["path"].size() != count || count > 2 || evidence["path"][0].natural() != 0) return std::nullopt;
  const auto take = [&](std::size_t k, auto&& image_of) {
    Permutation given = Permutation::read(evidence["generators"][k], n);
    for (Vertex x = 0; x < n; ++x) {
      if (given(x) != image_of(x)) return false;
    }
    found.group.generators.push_back(std::move(given));
    return true;
  };
  if (count == 1 && has_group_of_line(layout, true)) {
    if (!take(0, [n](Vertex x) { return n - 1 - x; })) return std::nullopt;
    found.order->multiply(2);
    return found;
  }
  // Around a circle: reflections at 0 and between 0 and 1, or the rotation by one.
  const std::optional<Circle> circle = find_circle(layout);
  if (!circle || circle->reflected != (count == 2)) return std::nullopt;
  if (circle->reflected) {
    if (!take(0, [n](Vertex x) { return x == 0 ? 0 : n - x; }) || !take(1, [n](Vertex x) { return x <= 1 ? 1 - x : n + 1 - x; })) return std::nullopt;
    found.order->multiply(2);
  } else if (!take(0, [n](Vertex x) { return x + 1 < n ? x + 1 : 0; })) {
    return std::nullopt;
  }
  found.order->multiply(n);
  return found;
}

}  // namespace checker
