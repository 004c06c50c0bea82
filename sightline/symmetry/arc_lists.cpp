#include "sightline/symmetry/arc_lists.hpp"

#include <algorithm>
#include <limits>

#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

namespace {

/// Arcs are walked through one by one when there are at most this many per span (a span costs about as much as some arcs) ..
constexpr Threshold<std::uint64_t> arcs_per_span{6, 1, "arc lists"};
/// .. or few in all.
constexpr Threshold<std::uint64_t> few_arcs{std::uint64_t{1} << 15, 0, "arc lists"};

/// A matrix of bytes is kept for graphs of at most this many vertices ..
constexpr Threshold<Vertex> most_matrix_vertices{1024, 0, "arc matrix"};
/// .. where at least one pair in this many is an arc.
constexpr std::uint64_t least_density = 20;

/// One relation as lists of heads, ascending; colours parallel to heads, or empty when there is one colour at most.
struct FlatLists {
  std::vector<std::uint32_t> begin;
  std::vector<Vertex> heads;
  std::vector<std::int64_t> colours;
  friend bool operator==(const FlatLists&, const FlatLists&) = default;
};

struct ColouredArc {
  std::int64_t colour;
  Vertex vertex;
};

std::uint64_t count_members(const Span& span) {
  // Most spans have step 1, and a division costs more than all the rest here.
  return span.step == 1 ? std::uint64_t{span.last} - span.first + 1 : (span.last - span.first) / span.step + std::uint64_t{1};
}

FlatLists flatten(const SpanLists& lists, Vertex n, const Budget& budget) {
  FlatLists flat;
  const auto& spans = lists.spans;
  const bool one_colour = std::all_of(spans.begin(), spans.end(), [&](const Span& span) { return span.slope == 0 && span.base == spans.front().base; });
  flat.begin.reserve(std::size_t{n} + 1);
  flat.begin.push_back(0);
  std::uint64_t arcs = 0;
  for (Vertex v = 0; v < n; ++v) {
    for (const Span* span = lists.list_begin(v); span != lists.list_end(v); ++span) arcs += count_members(*span);
  }
  flat.heads.resize(arcs);
  Vertex* out = flat.heads.data();
  std::vector<ColouredArc> sorted;
  for (Vertex v = 0; v < n; ++v) {
    budget.poll();
    const Span* const begin = lists.list_begin(v);
    const Span* const end = lists.list_end(v);
    const auto from = out - flat.heads.data();
    bool ascending = true;
    std::uint64_t reached = 0;
    for (const Span* span = begin; span != end; ++span) {
      ascending = ascending && span->first >= reached;
      reached = std::uint64_t{span->last} + 1;
      for (std::uint64_t x = span->first; x <= span->last; x += span->step) *out++ = static_cast<Vertex>(x);
    }
    const auto stop = out - flat.heads.data();
    if (one_colour) {
      if (!ascending) std::sort(flat.heads.begin() + from, flat.heads.begin() + stop);
    } else {
      for (const Span* span = begin; span != end; ++span) {
        for (std::uint64_t x = span->first; x <= span->last; x += span->step) flat.colours.push_back(span->colour(static_cast<Vertex>(x)));
      }
      if (!ascending) {
        sorted.clear();
        for (std::size_t k = static_cast<std::size_t>(from); k < static_cast<std::size_t>(stop); ++k) sorted.push_back({flat.colours[k], flat.heads[k]});
        std::sort(sorted.begin(), sorted.end(), [](const ColouredArc& a, const ColouredArc& b) { return a.vertex < b.vertex; });
        for (std::size_t k = 0; k < sorted.size(); ++k) {
          flat.heads[static_cast<std::size_t>(from) + k] = sorted[k].vertex;
          flat.colours[static_cast<std::size_t>(from) + k] = sorted[k].colour;
        }
      }
    }
    flat.begin.push_back(static_cast<std::uint32_t>(stop));
  }
  return flat;
}

FlatLists transpose(const FlatLists& rows, Vertex n) {
  FlatLists columns;
  columns.begin.assign(std::size_t{n} + 1, 0);
  for (const Vertex x : rows.heads) ++columns.begin[x + 1];
  for (Vertex v = 0; v < n; ++v) columns.begin[v + 1] += columns.begin[v];
  columns.heads.resize(rows.heads.size());
  columns.colours.resize(rows.colours.size());
  std::vector<std::uint32_t> place(columns.begin.begin(), columns.begin.end() - 1);
  for (Vertex v = 0; v < n; ++v) {
    for (std::uint32_t k = rows.begin[v]; k < rows.begin[v + 1]; ++k) {
      const std::uint32_t to = place[rows.heads[k]]++;
      columns.heads[to] = v;
      if (!rows.colours.empty()) columns.colours[to] = rows.colours[k];
    }
  }
  return columns;
}

class ArcWriter {
public:
  explicit ArcWriter(ArcLists& lists) : lists_(lists) {}

  void begin_vertex() { lists_.first_bundle.push_back(static_cast<std::uint32_t>(lists_.bundles.size())); }

  /// What vertex v has in `flat`, all of one colour when flat has no colours.
  void append(const FlatLists& flat, Vertex v, std::int64_t one_colour, std::uint32_t kind, field::Element factor) {
    const std::uint32_t begin = flat.begin[v], end = flat.begin[v + 1];
    if (begin == end) return;
    if (flat.colours.empty()) {
      lists_.neighbours.insert(lists_.neighbours.end(), flat.heads.begin() + begin, flat.heads.begin() + end);
      close(one_colour, kind, factor);
      return;
    }
    arcs_.clear();
    for (std::uint32_t k = begin; k < end; ++k) arcs_.push_back({flat.colours[k], flat.heads[k]});
    std::stable_sort(arcs_.begin(), arcs_.end(), [](const ColouredArc& a, const ColouredArc& b) { return a.colour < b.colour; });
    for (std::size_t k = 0; k < arcs_.size(); ++k) {
      lists_.neighbours.push_back(arcs_[k].vertex);
      if (k + 1 == arcs_.size() || arcs_[k + 1].colour != arcs_[k].colour) close(arcs_[k].colour, kind, factor);
    }
  }

private:
  void close(std::int64_t colour, std::uint32_t kind, field::Element factor) {
    if (colour != last_colour_ || kind != last_kind_) {
      last_colour_ = colour;
      last_kind_ = kind;
      last_weight_ = field::multiply(factor, arc_weight(kind / 3, colour));
    }
    lists_.bundles.push_back({colour, last_weight_, kind, static_cast<std::uint32_t>(lists_.neighbours.size())});
  }

  ArcLists& lists_;
  std::vector<ColouredArc> arcs_;
  std::int64_t last_colour_ = 0;
  std::uint32_t last_kind_ = ~std::uint32_t{0};
  field::Element last_weight_ = 0;
};

}  // namespace

void add_matrix(ArcLists& lists, Vertex n) {
  if (n > most_matrix_vertices || lists.neighbours.size() * least_density < std::uint64_t{n} * n || lists.bundles.empty()) return;
  const auto& bundles = lists.bundles;
  if (!std::all_of(bundles.begin(), bundles.end(), [&](const ArcLists::Bundle& b) { return b.weight == bundles.front().weight; })) return;
  lists.stride = (std::size_t{n} + 63) / 64 * 64;
  lists.matrix.assign(lists.stride * n, 0);
  for (Vertex v = 0; v < n; ++v) {
    const std::uint32_t end = lists.begin_of(lists.first_bundle[v + 1]);
    for (std::uint32_t k = lists.begin_of(lists.first_bundle[v]); k < end; ++k) ++lists.matrix[v * lists.stride + lists.neighbours[k]];
  }
}

field::Element arc_weight(std::uint32_t relation, std::int64_t colour) {
  return field::multiply(field::relation_weight(relation), field::power(field::colour_base, colour));
}

bool arcs_are_cheaper(std::uint64_t arcs, std::uint64_t spans) {
  return arcs <= std::max<std::uint64_t>(few_arcs, arcs_per_span * spans) && arcs < std::numeric_limits<std::uint32_t>::max() / 2;
}

bool prefers_arcs(const RunGraph& graph) {
  std::uint64_t arcs = 0, spans = 0;
  for (const RunRelation& relation : graph.relations) {
    for (Vertex v = 0; v < graph.vertices; ++v) {
      spans += relation.rows.end[v] - relation.rows.begin[v];
      for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) {
        arcs += count_members(*span);
      }
    }
  }
  return arcs_are_cheaper(arcs, spans);
}

void add_arcs(RunGraph& graph, const Budget& budget) {
  std::vector<FlatLists> rows, columns;
  std::uint64_t arcs = 0;
  for (RunRelation& relation : graph.relations) {
    rows.push_back(flatten(relation.rows, graph.vertices, budget));
    budget.ask(rows.back().heads.size() * 8 + rows.back().colours.size() * 16 + std::uint64_t{graph.vertices} * 8);
    columns.push_back(transpose(rows.back(), graph.vertices));
    relation.symmetric = rows.back() == columns.back();
    arcs += rows.back().heads.size() * (relation.symmetric ? 1 : 2);
  }
  ArcLists lists;
  const std::uint64_t bytes = arcs * sizeof(Vertex) + std::uint64_t{graph.vertices} * (graph.relations.size() * 2 * sizeof(ArcLists::Bundle) + 4);
  budget.ask(bytes);
  lists.first_bundle.reserve(std::size_t{graph.vertices} + 1);
  lists.neighbours.reserve(arcs);
  ArcWriter writer(lists);
  for (Vertex v = 0; v < graph.vertices; ++v) {
    budget.poll();
    writer.begin_vertex();
    for (std::uint32_t r = 0; r < graph.relations.size(); ++r) {
      const RunRelation& relation = graph.relations[r];
      const std::int64_t colour = relation.rows.spans.empty() ? 0 : relation.rows.spans.front().base;
      if (relation.symmetric) {
        writer.append(rows[r], v, colour, 3 * r + ArcLists::both, field::add(1, field::backward_weight));
        continue;
      }
      writer.append(columns[r], v, colour, 3 * r + ArcLists::reader, 1);
      writer.append(rows[r], v, colour, 3 * r + ArcLists::read, field::backward_weight);
    }
  }
  writer.begin_vertex();
  for (const FlatLists& flat : rows) budget.give_back(flat.heads.size() * 8 + flat.colours.size() * 16 + std::uint64_t{graph.vertices} * 8);
  add_matrix(lists, graph.vertices);
  graph.arcs = std::move(lists);
}

}  // namespace sightline::symmetry
