#include "sightline/symmetry/run_graph.hpp"

#include <algorithm>
#include <limits>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

namespace {

/// More slopes than this are not worth a table of powers each; their runs are expanded.
constexpr Threshold<std::size_t> most_slopes{6, 1, "slopes"};
/// After so many different rows with steps, no more of them are looked for unless most of those before were met again.
constexpr Threshold<std::size_t> many_rows{4096, 2, "many rows"};

bool has_same_arcs(const Span& a, const Span& b) { return a.first == b.first && a.last == b.last && a.step == b.step && a.slope == b.slope && a.base == b.base; }

}  // namespace

const Span* RunRelation::find(Vertex i, Vertex j) const {
  const Span* const begin = rows.list_begin(i);
  const Span* const end = rows.list_end(i);
  if (end - begin == 1) return begin->contains(j) ? begin : nullptr;
  if (rows.stepped) {
    for (const Span* span = begin; span != end && span->first <= j; ++span) {
      if (span->contains(j)) return span;
    }
    return nullptr;
  }
  const Span* const after = std::upper_bound(begin, end, j, [](Vertex v, const Span& span) { return v < span.first; });
  return after != begin && after[-1].last >= j ? after - 1 : nullptr;
}

std::int64_t RunRelation::colour(Vertex i, Vertex j) const {
  const Span* const span = find(i, j);
  return span == nullptr ? -1 : span->colour(j);
}

const Span* OwnSpans::find_in_long_list(Vertex v) {
  const SpanLists& rows = relation_.rows;
  const std::uint32_t begin = rows.begin[v], end = rows.end[v];
  if (passed_.empty()) passed_.resize(rows.spans.size(), 0);
  // From where the last reader was found, in growing strides: relabelled block masks have long lists, and each reader has another than the one before, so
  // that looking into the middle of its list is slow.
  const Span* const spans = rows.spans.data();
  std::uint32_t from = begin + passed_[begin], stride = 1;
  if (from > begin && spans[from - 1].last >= v) from = begin;
  for (; from + stride < end && spans[from + stride - 1].last < v; stride *= 2) from += stride;
  const Span* const span = std::lower_bound(spans + from, spans + std::min(from + stride, end), v, [](const Span& s, Vertex x) { return s.last < x; });
  passed_[begin] = static_cast<std::uint32_t>(span - spans) - begin;
  return span != spans + end && span->first <= v ? span : nullptr;
}

RunGraphBuilder::RunGraphBuilder(Vertex vertices, std::vector<std::uint64_t> vertex_colour, const Budget& budget) : budget_(budget) {
  graph_.vertices = vertices;
  graph_.vertex_colour = std::move(vertex_colour);
  if (graph_.vertex_colour.empty()) graph_.vertex_colour.assign(vertices, 0);
  if (graph_.vertex_colour.size() != vertices) throw ArgumentError("one colour per vertex is needed");
}

void RunGraphBuilder::begin_relation() {
  graph_.relations.emplace_back();
  first_reader_.clear();
  rows_met_ = 0;
  RunRelation& relation = graph_.relations.back();
  budget_.ask(std::uint64_t{graph_.vertices} * 9);
  relation.rows.begin.reserve(graph_.vertices);
  relation.rows.end.reserve(graph_.vertices);
  relation.visible.reserve(graph_.vertices);
}

void RunGraphBuilder::expect_spans(std::uint64_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) return;
  budget_.ask(count * sizeof(Span));
  graph_.relations.back().rows.spans.reserve(count);
}

bool RunGraphBuilder::keep_slope(std::int64_t slope) {
  if (slope > std::numeric_limits<std::int32_t>::max() || slope < std::numeric_limits<std::int32_t>::min()) return false;
  if (graph_.slope_index(static_cast<std::int32_t>(slope)) != 0) return true;
  if (graph_.slopes.size() >= most_slopes) return false;
  graph_.slopes.push_back(static_cast<std::int32_t>(slope));
  return true;
}

void RunGraphBuilder::add_row(const std::vector<ColouredRun>& runs, bool visible) {
  RunRelation& relation = graph_.relations.back();
  SpanLists& rows = relation.rows;
  const field::Element scale = field::relation_weight(graph_.relations.size() - 1);
  const Vertex reader = static_cast<Vertex>(rows.begin.size());
  relation.visible.push_back(visible ? 1 : 0);
  row_.clear();
  const auto single = [this](std::uint64_t x, std::int64_t colour) {
    row_.push_back({static_cast<Vertex>(x), static_cast<Vertex>(x), 1, 0, colour, 0});
  };
  if (visible && std::all_of(runs.begin(), runs.end(), [](const ColouredRun& run) { return run.colour_step == 0 && (run.step == 1 || run.first != run.last); })) {
    row_.resize(runs.size());
    for (std::size_t k = 0; k < runs.size(); ++k) row_[k] = {runs[k].first, runs[k].last, runs[k].step, 0, runs[k].colour, 0};
  } else if (visible) {
    for (const ColouredRun& run : runs) {
      if (run.first == run.last) {
        single(run.first, run.colour);
      } else if (run.colour_step == 0) {
        row_.push_back({run.first, run.last, run.step, 0, run.colour, 0});
      } else if (run.colour_step % run.step == 0 && keep_slope(run.colour_step / run.step)) {
        const std::int64_t slope = run.colour_step / run.step;
        row_.push_back({run.first, run.last, run.step, static_cast<std::int32_t>(slope), run.colour - slope * run.first, 0});
      } else {
        budget_.ask(std::uint64_t{run.size()} * sizeof(Span));
        std::int64_t colour = run.colour;
        for (std::uint64_t x = run.first; x <= run.last; x += run.step, colour += run.colour_step) single(x, colour);
      }
    }
  }
  const auto by_first = [](const Span& a, const Span& b) { return a.first < b.first; };
  if (!std::is_sorted(row_.begin(), row_.end(), by_first)) std::sort(row_.begin(), row_.end(), by_first);
  if (reader > 0) {
    const Span* previous = rows.list_begin(reader - 1);
    if (std::equal(previous, static_cast<const Span*>(rows.list_end(reader - 1)), row_.data(), row_.data() + row_.size(), has_same_arcs)) {
      rows.begin.push_back(rows.begin.back());
      rows.end.push_back(rows.end.back());
      return;
    }
  }
  if (const std::optional<Vertex> equal = find_equal_row()) {
    rows.begin.push_back(rows.begin[*equal]);
    rows.end.push_back(rows.end[*equal]);
    return;
  }
  if (rows.spans.size() + row_.size() > rows.spans.capacity()) {
    const std::size_t grown = std::max(rows.spans.size() + row_.size(), rows.spans.capacity() * 2);
    budget_.ask((grown - rows.spans.capacity()) * sizeof(Span));
    rows.spans.reserve(grown);
  }
  std::int64_t last_base = 0;
  field::Element last_weight = field::multiply(scale, 1);
  for (Span& span : row_) {
    rows.stepped = rows.stepped || span.step > 1;
    if (span.base != last_base) {
      last_base = span.base;
      last_weight = field::multiply(scale, field::power(field::colour_base, span.base));
    }
    span.weight = last_weight;
  }
  if (rows.spans.size() + row_.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw OutOfReach("a relation of more than 2^32 runs is out of reach");
  }
  rows.begin.push_back(static_cast<std::uint32_t>(rows.spans.size()));
  rows.spans.insert(rows.spans.end(), row_.begin(), row_.end());
  rows.end.push_back(static_cast<std::uint32_t>(rows.spans.size()));
}

// Columns of a grid, or members of a residue class, have the same row far apart.
std::optional<Vertex> RunGraphBuilder::find_equal_row() {
  if (std::none_of(row_.begin(), row_.end(), [](const Span& span) { return span.step > 1; })) return std::nullopt;
  if (first_reader_.size() >= many_rows && rows_met_ < first_reader_.size()) return std::nullopt;
  std::uint64_t hash = 0;
  for (const Span& span : row_) hash = field::mix(field::mix(hash + span.first, span.last), (std::uint64_t{span.step} << 32) + static_cast<std::uint64_t>(span.base));
  const SpanLists& rows = graph_.relations.back().rows;
  const auto [at, fresh] = first_reader_.emplace(hash, static_cast<Vertex>(rows.begin.size()));
  if (fresh) return std::nullopt;
  ++rows_met_;
  const Vertex known = at->second;
  if (!std::equal(rows.list_begin(known), rows.list_end(known), row_.data(), row_.data() + row_.size(), has_same_arcs)) return std::nullopt;
  return known;
}

void RunGraphBuilder::repeat_row(Vertex earlier) {
  RunRelation& relation = graph_.relations.back();
  relation.visible.push_back(relation.visible[earlier]);
  relation.rows.begin.push_back(relation.rows.begin[earlier]);
  relation.rows.end.push_back(relation.rows.end[earlier]);
}

RunGraph make_run_graph(const Structure& structure, const Budget& budget) {
  const Vertex n = structure.vertices;
  RunGraphBuilder builder(n, structure.vertex_colour, budget);
  std::vector<ColouredRun> row;
  for (const VisibleRelation& relation : structure.relations) {
    if (relation.relation == nullptr || relation.relation->vertex_count() != n) {
      throw ArgumentError("a relation of the structure has another number of vertices");
    }
    if (!relation.visible.empty() && relation.visible.size() != n) throw ArgumentError("one visibility per row is needed");
    builder.begin_relation();
    // Rows that were listed one by one are as many spans again.
    const layout::Pattern& pattern = relation.relation->pattern();
    if (pattern.lists().size() * 2 > n) builder.expect_spans(pattern.affine_runs().size() + pattern.written_vertices().size());
    // Readers of one list that does not move have one row, wherever they stand.
    constexpr Vertex nobody = ~Vertex{0};
    const bool shares = relation.relation->relative().kind == layout::RelativeKind::none;
    std::vector<Vertex> first_reader(shares ? pattern.lists().size() : 0, nobody);
    for (Vertex i = 0; i < n; ++i) {
      budget.poll();
      const bool visible = relation.visible.empty() || relation.visible[i];
      const std::uint32_t list = shares && visible ? pattern.list_of(i) : 0;
      if (shares && visible && first_reader[list] != nobody) {
        builder.repeat_row(first_reader[list]);
        continue;
      }
      row.clear();
      if (visible) relation.relation->row(i, row);
      builder.add_row(row, visible);
      if (shares && visible && pattern.is_constant(list)) first_reader[list] = i;
    }
  }
  return builder.take();
}

}  // namespace sightline::symmetry
