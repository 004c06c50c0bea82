#include "sightline/symmetry/equal_components.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace sightline::symmetry {

namespace {

constexpr std::size_t most_different_steps = 8;

/// The components of a graph. Of spans that overlap no step is gone twice.
class Components {
public:
  Components(const RunGraph& graph, const Budget& budget) : graph_(graph), budget_(budget), sets_(graph.vertices), count_(graph.vertices) { budget_.ask(12 * std::uint64_t{graph.vertices}); }

  /// False where there is one component, or many different steps.
  bool find() {
    for (const RunRelation& relation : graph_.relations) {
      for (Vertex v = 0; v < graph_.vertices; ++v) {
        budget_.poll();
        const bool repeats = v > 0 && relation.rows.begin[v] == relation.rows.begin[v - 1] && relation.rows.end[v] == relation.rows.end[v - 1];
        for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) {
          join(v, span->first);
          if (!repeats && !join_all(*span)) return false;
        }
        if (count_ == 1) return false;
      }
    }
    return true;
  }
  [[nodiscard]] Vertex count() const { return count_; }
  /// The least vertex of the component.
  [[nodiscard]] Vertex find(Vertex v) const { return sets_.find(v); }

private:
  void join(Vertex a, Vertex b) {
    if (sets_.find(a) == sets_.find(b)) return;
    sets_.join(a, b);
    --count_;
  }

  /// False where there are too many different steps.
  bool join_all(const Span& span) {
    if (span.first == span.last) return true;
    if (!next_.contains(span.step)) {
      if (next_.size() == most_different_steps) return false;
      budget_.ask(4 * std::uint64_t{graph_.vertices});
      std::vector<Vertex>& next = next_[span.step];
      next.resize(graph_.vertices);
      std::iota(next.begin(), next.end(), Vertex{0});
    }
    std::vector<Vertex>& next = next_[span.step];
    for (Vertex v = span.first; v < span.last; v = next[v]) {
      if (next[v] == v) join(v, next[v] = v + span.step);
      else next[v] = next[next[v]];
    }
    return true;
  }

  const RunGraph& graph_;
  const Budget budget_;  // a copy: what it books is given back with it
  Orbits sets_;
  Vertex count_;
  /// By step, by vertex: one to which some steps lead that were all gone.
  std::map<Vertex, std::vector<Vertex>> next_;
};

/// Is the row of the vertex `shift` further on the same one, `shift` further on?
bool is_moved(const RunRelation& relation, Vertex v, Vertex shift) {
  const SpanLists& rows = relation.rows;
  const auto is_moved_span = [shift](const Span& a, const Span& b) {
    return b.first == a.first + shift && b.last == a.last + shift && b.step == a.step && b.slope == a.slope && b.base == a.base - std::int64_t{a.slope} * shift;
  };
  return relation.visible[v] == relation.visible[v + shift] && std::equal(rows.list_begin(v), rows.list_end(v), rows.list_begin(v + shift), rows.list_end(v + shift), is_moved_span);
}

}  // namespace

std::optional<EqualComponents> find_equal_components(const RunGraph& graph, const Budget& budget, Vertex least_vertices) {
  if (graph.vertices < least_vertices || !graph.initial_keys.empty()) return std::nullopt;
  Components components(graph, budget);
  if (!components.find() || graph.vertices % components.count() != 0) return std::nullopt;
  EqualComponents result;
  result.count = components.count();
  const Vertex size = graph.vertices / result.count;
  if (size == 1) return std::nullopt;
  const bool are_segments = components.find(1) == 0;
  result.stride = are_segments ? 1 : result.count;
  result.apart = are_segments ? size : 1;
  std::vector<std::uint64_t> colours;
  for (Vertex t = 0; t < size; ++t) {
    budget.poll();
    const Vertex v = t * result.stride;
    colours.push_back(graph.vertex_colour[v]);
    for (Vertex shift = 0, c = 0; c < result.count; ++c, shift += result.apart) {
      if (components.find(v + shift) != shift || graph.vertex_colour[v + shift] != colours.back()) return std::nullopt;
      if (!std::all_of(graph.relations.begin(), graph.relations.end(), [&](const RunRelation& relation) { return is_moved(relation, v, shift); })) return std::nullopt;
    }
  }
  RunGraphBuilder builder(size, std::move(colours), budget);
  std::vector<ColouredRun> row;
  for (const RunRelation& relation : graph.relations) {
    builder.begin_relation();
    for (Vertex t = 0; t < size; ++t) {
      const Vertex v = t * result.stride;
      row.clear();
      for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) {
        ColouredRun run = to_run(*span);
        run.first /= result.stride, run.last /= result.stride;
        run.step = std::max<Vertex>(run.step / result.stride, 1);  // of one vertex: 1
        row.push_back(run);
      }
      builder.add_row(row, relation.visible[v] != 0);
    }
  }
  result.first = builder.take();
  return result;
}

Automorphisms EqualComponents::make_whole(const Automorphisms& of_first, const Budget& budget) const {
  const Vertex size = first.vertices;
  Automorphisms whole;
  whole.order = of_first.order;
  whole.order.raise(count);
  whole.order.multiply_factorial(count);
  whole.is_tight = of_first.is_tight;
  // From the end of the path on, as a search finds them.
  for (Vertex c = count; c-- > 0;) {
    budget.poll();
    const Vertex shift = c * apart;
    const auto place = [&](Vertex t) { return t * stride + shift; };
    for (const MovedPairs& generator : of_first.generators) {
      MovedPairs& moved = whole.generators.emplace_back();
      moved.reserve(generator.size());
      for (const auto& [x, y] : generator) moved.emplace_back(place(x), place(y));
    }
    if (c == 0) break;
    MovedPairs& exchange = whole.generators.emplace_back();
    exchange.reserve(2 * std::size_t{size});
    for (Vertex t = 0; t < size; ++t) {
      exchange.emplace_back(place(t) - apart, place(t));
      exchange.emplace_back(place(t), place(t) - apart);
    }
    sort_moved(exchange, count * size);
  }
  for (Vertex c = 0; c < count; ++c) {
    for (const Vertex t : of_first.path) whole.path.push_back(t * stride + c * apart);
    if (of_first.path.empty() && c + 1 < count) whole.path.push_back(c * apart);
  }
  return whole;
}

}  // namespace sightline::symmetry
