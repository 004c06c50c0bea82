// The first stage of a twin tower on stretches: neighbours with one row everywhere, which every row reads alike.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sightline/base/mix.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/layout/stretches.hpp"
#include "sightline/symmetry/tower.hpp"

namespace sightline::symmetry {

namespace {

constexpr Threshold<Vertex> few_vertices{2048, 2, "stretches"}, share{16, 1, "stretches"};

/// Stretches of the structure: colours and visibility are the same within them as well. Nothing where they are short.
std::optional<layout::KeptVertices> keep_stretches(const Structure& structure, const Budget& budget) {
  const Vertex n = structure.vertices;
  if (n < few_vertices || structure.relations.empty() || structure.vertex_colour.size() != n) return std::nullopt;
  layout::StretchMarks marks(n, n / share);
  for (Vertex v = 1; v < structure.vertex_colour.size() && !marks.too_many(); ++v) {
    if (structure.vertex_colour[v] != structure.vertex_colour[v - 1]) marks.mark(v);
  }
  for (const VisibleRelation& relation : structure.relations) {
    if (relation.relation == nullptr || relation.relation->vertex_count() != n || relation.relation->relative().kind != layout::RelativeKind::none) return std::nullopt;
    if (!relation.visible.empty() && relation.visible.size() != n) return std::nullopt;
    for (Vertex v = 1; v < relation.visible.size() && !marks.too_many(); ++v) {
      if (relation.visible[v] != relation.visible[v - 1]) marks.mark(v);
    }
    if (marks.too_many() || !marks.mark_rows(relation.relation->pattern(), budget)) return std::nullopt;
  }
  return layout::keep_two(marks, n);
}

RunGraph make_kept_graph(const Structure& structure, const layout::KeptVertices& kept, const Budget& budget) {
  std::vector<std::uint64_t> colour;
  for (const Vertex x : kept.first) colour.push_back(structure.vertex_colour[x]);
  const auto count = static_cast<Vertex>(kept.first.size());
  RunGraphBuilder builder(count, std::move(colour), budget);
  std::vector<ColouredRun> row, mapped;
  std::vector<layout::WideRun> wide;
  layout::KeptRuns runs(kept, structure.vertices, budget);
  std::vector<layout::KeptRuns::Run> parts;
  for (const VisibleRelation& relation : structure.relations) {
    builder.begin_relation();
    for (Vertex k = 0; k < count; ++k) {
      budget.poll();
      if (kept.lead[k] != k) {
        builder.repeat_row(k - 1);
        continue;
      }
      const bool visible = relation.visible.empty() || relation.visible[kept.first[k]];
      mapped.clear();
      if (visible) relation.relation->row(kept.first[k], row);
      else row.clear();
      layout::widen(row, wide);
      for (const layout::WideRun& run : wide) {
        parts.clear();
        runs.append(run, parts);
        for (const auto& part : parts) mapped.push_back({part.first, part.last, part.step, run.colour, 0});
      }
      if (wide.size() > 1 && mapped.size() > wide.size()) std::sort(mapped.begin(), mapped.end(), [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; });
      builder.add_row(mapped, visible);
    }
  }
  return builder.take();
}

/// Colours of stretches that automorphisms keep, made of what vertices read and are read by, pass by pass over all rows. Members of a stretch have one colour
/// throughout; what stands for many counts so often.
class StretchColours {
public:
  StretchColours(const RunGraph& graph, const layout::KeptVertices& kept, const Budget& budget) : graph_(graph), kept_(kept), budget_(budget), colour_(graph.vertices) {
    for (Vertex k = 0; k < graph.vertices; ++k) {
      if (kept.lead[k] == k) leads_.push_back(k);
      colour_[k] = graph.vertex_colour[k];
      for (const RunRelation& relation : graph.relations) colour_[k] = mix(2 * colour_[k] + relation.visible[k]);
    }
  }

  /// Where a few passes tell all stretches apart but those that are twins: by kept vertex the first lead of its class. Then nothing moves but within classes
  /// (docs/theory.md 16.46). Nothing where that is not found out.
  std::optional<std::vector<std::uint32_t>> find_classes() {
    constexpr int most_rounds = 8;
    constexpr Threshold<std::size_t> few{64, 0, "nearly apart"};
    std::vector<std::pair<std::uint64_t, Vertex>> sorted;
    std::size_t known = 0;
    for (int round = 0; round < most_rounds; ++round) {
      refine();
      sorted.clear();
      for (const Vertex lead : leads_) sorted.emplace_back(colour_[lead], lead);
      std::sort(sorted.begin(), sorted.end());
      std::vector<std::uint32_t> first(graph_.vertices);
      std::size_t distinct = 0;
      for (std::size_t k = 0; k < sorted.size(); ++k) {
        const bool goes_on = k > 0 && sorted[k].first == sorted[k - 1].first;
        first[sorted[k].second] = goes_on ? first[sorted[k - 1].second] : sorted[k].second;
        distinct += goes_on ? 0 : 1;
      }
      for (Vertex k = 0; k < graph_.vertices; ++k) first[k] = first[kept_.lead[k]];
      const bool nearly = leads_.size() - distinct <= few;
      if (nearly && are_twins(first)) return first;
      if (distinct == known || (!nearly && distinct < 2 * known)) return std::nullopt;
      known = distinct;
    }
    return std::nullopt;
  }

private:
  void refine() {
    const Vertex n = graph_.vertices;
    std::vector<std::uint64_t> next = colour_, sums(std::size_t{n} + 1), told(std::size_t{n} + 1);
    for (Vertex k = 0; k < n; ++k) sums[k + 1] = sums[k] + kept_.count[k] * mix(colour_[k]);
    for (const RunRelation& relation : graph_.relations) {
      budget_.poll_now();
      std::fill(told.begin(), told.end(), 0);
      for (const Vertex lead : leads_) {
        std::uint64_t read = 0, size = 0;
        for (Vertex k = lead; k < n && kept_.lead[k] == lead; ++k) size += kept_.count[k];
        for (const Span* span = relation.rows.list_begin(lead); span != relation.rows.list_end(lead); ++span) {
          const std::uint64_t by_colour = mix(static_cast<std::uint64_t>(span->base)) | 1, given = by_colour * size * mix(colour_[lead] + 1);
          const Vertex length = span->step == 1 ? span->last - span->first + 1 : 1;
          for (std::uint64_t at = span->first; at <= span->last; at += length == 1 ? span->step : length) {
            read += by_colour * (sums[at + length] - sums[at]);
            told[at] += given;
            told[at + length] -= given;
          }
        }
        next[lead] = mix(next[lead] + 5 * mix(read));
      }
      for (Vertex k = 1; k < n; ++k) told[k] += told[k - 1];
      for (const Vertex lead : leads_) next[lead] = mix(next[lead] + 3 * mix(told[lead]));
    }
    for (Vertex k = 0; k < n; ++k) colour_[k] = next[kept_.lead[k]];
  }

  /// Do stretches of one class have one row, and does every row read all of a class with one colour or nothing of it?
  [[nodiscard]] bool are_twins(const std::vector<std::uint32_t>& first) const {
    const Vertex n = graph_.vertices;
    std::vector<Vertex> size(n, 0), next(std::size_t{n} + 1, n), read;  // next: the first vertex from each on whose class has several stretches
    std::vector<std::pair<Vertex, std::int64_t>> met(n, {0, 0});  // by class: how many members a row reads, with which colour
    std::vector<bool> several(n, false);
    for (Vertex k = 0; k < n; ++k) {
      ++size[first[k]];
      if (first[k] == kept_.lead[k]) continue;
      several[first[k]] = true;
      if (kept_.lead[k] != k) continue;
      if (graph_.vertex_colour[k] != graph_.vertex_colour[first[k]]) return false;
      for (const RunRelation& relation : graph_.relations) {
        const bool same = std::equal(relation.rows.list_begin(k), relation.rows.list_end(k), relation.rows.list_begin(first[k]), relation.rows.list_end(first[k]));
        if (!same || relation.visible[k] != relation.visible[first[k]]) return false;
      }
    }
    for (Vertex k = n; k-- > 0;) next[k] = several[first[k]] ? k : next[k + 1];
    for (const RunRelation& relation : graph_.relations) {
      for (const Vertex lead : leads_) {
        budget_.poll();
        read.clear();
        for (const Span* span = relation.rows.list_begin(lead); span != relation.rows.list_end(lead); ++span) {
          for (Vertex k = next[span->first]; k <= span->last; k = next[k + 1]) {
            if (!span->contains(k)) continue;
            auto& [count, colour] = met[first[k]];
            if (count > 0 && colour != span->base) return false;
            if (count++ == 0) read.push_back(first[k]);
            colour = span->base;
          }
        }
        for (const Vertex c : read) {
          if (std::exchange(met[c].first, 0) != size[c]) return false;
        }
      }
    }
    return true;
  }

  const RunGraph& graph_;
  const layout::KeptVertices& kept_;
  const Budget& budget_;
  std::vector<Vertex> leads_;
  std::vector<std::uint64_t> colour_;
};

}  // namespace

TwinTower::TwinTower(RunGraph graph, const std::vector<Vertex>& first, Vertex vertices) : graph_(std::move(graph)), begin_(first), fibre_(vertices) {
  begin_.push_back(vertices);
  std::iota(fibre_.begin(), fibre_.end(), Vertex{0});
}

// Twins among the two vertices of each stretch are twins altogether: every other vertex is read, and reads, as one of the two that is not swapped.
std::optional<TwinTower> TwinTower::start_short(const Structure& structure, bool may_be_rigid, ColourNames& names, const Budget& budget) {
  const std::optional<layout::KeptVertices> kept = keep_stretches(structure, budget);
  if (!kept) return std::nullopt;
  TwinTower tower(make_kept_graph(structure, *kept, budget), kept->first, structure.vertices);
  const std::vector<const RunGraph*> graphs{&tower.graph_};
  std::vector<std::vector<std::int64_t>> inner = list_inner_colours(graphs);
  // Where there are too many colours none is tried, and what reads itself is no class.
  for (std::size_t r = 0; r < inner.size(); ++r) may_be_rigid = may_be_rigid && (!inner[r].empty() || tower.graph_.relations[r].rows.spans.empty());
  if (const auto found = may_be_rigid ? StretchColours(tower.graph_, *kept, budget).find_classes() : std::nullopt) {
    tower.inner_colours_.push_back(std::move(inner));
    static_cast<void>(tower.join(make_twin_classes(*found, 0, [](Vertex, std::size_t) { return std::int64_t{-1}; })));
    tower.graph_ = {};  // not divided: nobody reads it
    tower.is_rigid_ = true;
    return tower;
  }
  const auto classes = find_twins(graphs, budget);
  if (!classes) return std::nullopt;
  const std::vector<std::uint32_t>& class_of = classes->front().class_of;
  for (std::size_t k = 0; k < class_of.size(); ++k) {
    if (class_of[k] != class_of[kept->lead[k]]) return std::nullopt;
  }
  tower.inner_colours_.push_back(std::move(inner));
  tower.apply(classes->front(), names, budget);
  return tower;
}

}  // namespace sightline::symmetry
