// Layouts whose layers all have one pattern: how many layers it takes is a distance in one graph, and most distances need not be known. A vertex c
// whose distances are known bounds those of all in its component, which see, and are seen by, the same: dist(i, j) <= dist(i, c) + dist(c, j). Vertices in the middle and at the rim, in turn, leave few
// that have to be looked at by themselves (the bounds of Takes and Kosters, "Determining the diameter of small world networks", 2011, for arcs).
#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

constexpr Vertex no_bound = std::numeric_limits<Vertex>::max();

/// Arcs one way: those of vertex v are ends[begin[v]] .. ends[begin[v + 1] - 1].
struct Arcs {
  std::vector<std::uint32_t> begin;
  std::vector<Vertex> ends;
  [[nodiscard]] std::span<const Vertex> of(Vertex v) const { return std::span(ends).subspan(begin[v], begin[v + 1] - begin[v]); }
};

/// Vertices that all see each other in the end.
struct Component {
  std::vector<Vertex> vertices;  ///< ascending
  Vertex tokens = 0;
  Vertex seen[2] = {0, 0};  ///< tokens that they see in the end; vertices
  bool is_entered = false;  ///< somebody else reads one of them
};

/// The graph of a layout with one pattern, reader -> read, and what is known about its distances.
class PatternGraph {
public:
  /// Null where there are several patterns or many arcs, or many components that are not closed.
  static std::shared_ptr<PatternGraph> make(const Layout& layout, const Budget& budget) {
    const std::vector<LayerRun> period = make_period(layout, 0);
    if (period.size() != 1 || layout.tokens < 2) return nullptr;
    const auto layer = find_read_layer(layout, period.front().layer, budget);
    std::uint64_t arcs = 0;
    for (const ReadGroup& group : layer->groups) {
      std::uint64_t size = 0;
      for (const ReadRange& range : layer->row(group)) size += (range.last - range.first) / range.step + 1;
      arcs += (group.end - group.begin) * size;
      if (arcs > most_arcs) return nullptr;
    }
    std::shared_ptr<PatternGraph> graph(new PatternGraph(layout));
    const Booking while_making(budget, sizeof(Vertex) * (2 * arcs + 14 * std::uint64_t{layout.vertices()}));
    graph->list_arcs(*layer, arcs);
    return graph->find_components(budget) ? graph : nullptr;
  }

  std::optional<ReachAnswer> answer(const ReachQuestion& question, const Budget& budget) {
    const bool all = question.wanted.kind == ClassKind::all;
    const Vertex wanted = question.registers_too ? vertices_ : tokens_;
    ReachAnswer answer;
    if (question.find_layers) {
      Vertex i = 0;  // the first token that misses something
      while (all && i < tokens_ && count_seen(i, question.registers_too) == wanted) ++i;
      if (all && i < tokens_) {
        answer.reach = {std::nullopt, UnreachablePair{i, find_missing(i, budget)}};
      } else if (const Longest* const longest = find_longest(question.registers_too, budget)) {
        answer.reach = {longest->layers, longest->layers > 0 ? std::optional(longest->pair) : std::nullopt};
      } else {
        return std::nullopt;
      }
    }
    if (!question.count_unseen) return answer;
    auto beyond = count_beyond(question.depth, question.registers_too, budget);
    if (!beyond) return std::nullopt;
    answer.unseen = *std::move(beyond);
    for (Vertex i = 0; i < tokens_ && all; ++i) answer.unseen[i] += wanted - count_seen(i, question.registers_too);
    return answer;
  }

private:
  static constexpr std::uint64_t most_arcs = std::uint64_t{1} << 25;

  /// The greatest distance from a token to a wanted vertex that it ever sees.
  struct Longest {
    Vertex layers = 0;
    UnreachablePair pair;
  };

  explicit PatternGraph(const Layout& layout) : tokens_(layout.tokens), vertices_(layout.vertices()) {}

  void list_arcs(const ReadLayer& layer, std::uint64_t arcs) {
    const auto each = [&](const auto& visit) {
      for (const ReadGroup& group : layer.groups) {
        for (Vertex i = group.begin; i < group.end; ++i) {
          for (const ReadRange& range : layer.row(group)) {
            for (std::uint64_t j = range.first; j <= range.last; j += range.step) visit(i, static_cast<Vertex>(j));
          }
        }
      }
    };
    out_.begin.assign(std::size_t{vertices_} + 2, 0);
    in_.begin.assign(std::size_t{vertices_} + 2, 0);
    each([&](Vertex i, Vertex j) {
      ++out_.begin[i + 2];
      ++in_.begin[j + 2];
    });
    for (Arcs* side : {&out_, &in_}) {
      std::partial_sum(side->begin.begin(), side->begin.end(), side->begin.begin());
      side->ends.resize(arcs);
    }
    each([&](Vertex i, Vertex j) {
      out_.ends[out_.begin[i + 1]++] = j;
      in_.ends[in_.begin[j + 1]++] = i;
    });
  }

  /// False: too many components, and some of them read others.
  bool find_components(const Budget& budget) {
    const std::uint32_t count = number_components(budget);
    components_.resize(count);
    for (Vertex v = 0; v < vertices_; ++v) {
      Component& component = components_[component_[v]];
      component.vertices.push_back(v);
      component.tokens += v < tokens_ ? 1 : 0;
    }
    if (!count_seen_by_all(budget)) return false;
    // In the order of their first vertices.
    std::sort(components_.begin(), components_.end(), [](const Component& a, const Component& b) { return a.vertices.front() < b.vertices.front(); });
    for (std::uint32_t c = 0; c < count; ++c) {
      for (const Vertex v : components_[c].vertices) component_[v] = c;
    }
    forth_.assign(vertices_, no_bound);
    back_.assign(vertices_, no_bound);
    for (auto* bound : {&upper_in_, &upper_out_[0], &upper_out_[1]}) bound->assign(vertices_, no_bound);
    lower_in_.assign(vertices_, 0);
    return true;
  }

  /// Tarjan's depth-first search; a component has a higher number than those that it reads.
  std::uint32_t number_components(const Budget& budget) {
    component_.assign(vertices_, no_bound);
    std::vector<Vertex> number(vertices_, no_bound), low(vertices_, no_bound), path, open;
    std::vector<std::uint32_t> at(out_.begin.begin(), out_.begin.end() - 1);
    std::uint32_t count = 0;
    Vertex met = 0;
    const auto enter = [&](Vertex v) {
      number[v] = low[v] = met++;
      path.push_back(v);
      open.push_back(v);
    };
    for (Vertex start = 0; start < vertices_; ++start) {
      if (number[start] == no_bound) enter(start);
      while (!path.empty()) {
        budget.poll();
        const Vertex v = path.back();
        if (at[v] < out_.begin[v + 1]) {
          const Vertex w = out_.ends[at[v]++];
          if (number[w] == no_bound) enter(w);
          else if (component_[w] == no_bound) low[v] = std::min(low[v], number[w]);
          continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[v]);
        if (low[v] != number[v]) continue;
        for (Vertex w = no_bound; w != v; open.pop_back()) component_[w = open.back()] = count;
        ++count;
      }
    }
    return count;
  }

  /// Component::seen of components as number_components() has them.
  bool count_seen_by_all(const Budget& budget) {
    const std::size_t words = (components_.size() + 63) / 64;
    std::vector<std::uint64_t> sees;  // by component: those that it sees, by number
    const Booking while_counting(budget, sizeof(std::uint64_t) * words * std::min<std::uint64_t>(components_.size(), most_components()));
    for (std::uint32_t c = 0; c < components_.size(); ++c) {
      Component& component = components_[c];
      component.seen[0] = component.tokens;
      component.seen[1] = static_cast<Vertex>(component.vertices.size());
      for (const Vertex v : component.vertices) {
        budget.poll();
        for (const Vertex w : out_.of(v)) {
          const std::uint32_t other = component_[w];
          if (other == c) continue;
          if (components_.size() > most_components()) return false;
          sees.resize(components_.size() * words, 0);
          if ((sees[c * words + other / 64] >> other % 64 & 1) != 0) continue;
          components_[other].is_entered = true;
          for (std::size_t k = 0; k < words; ++k) sees[c * words + k] |= sees[other * words + k];
          sees[c * words + other / 64] |= std::uint64_t{1} << other % 64;
        }
      }
      for (std::size_t k = 0; k < words && !sees.empty(); ++k) {
        for (std::uint64_t rest = sees[c * words + k]; rest != 0; rest &= rest - 1) {
          const Component& other = components_[64 * k + static_cast<unsigned>(std::countr_zero(rest))];
          component.seen[0] += other.tokens;
          component.seen[1] += static_cast<Vertex>(other.vertices.size());
        }
      }
    }
    return true;
  }

  [[nodiscard]] Vertex count_seen(Vertex i, bool registers_too) const { return components_[component_[i]].seen[registers_too ? 1 : 0]; }

  /// The first vertex that i never sees.
  Vertex find_missing(Vertex i, const Budget& budget) {
    go(out_, i, forth_, budget);
    const auto missing = static_cast<Vertex>(std::find(forth_.begin(), forth_.end(), no_bound) - forth_.begin());
    forget(forth_);
    return missing;
  }

  /// What go() has just found.
  void forget(std::vector<Vertex>& distance) {
    for (const Vertex w : queue_) distance[w] = no_bound;
  }

  /// Distances from v into `distance`, where no_bound stands so far; queue_: the vertices met, by distance.
  void go(const Arcs& arcs, Vertex v, std::vector<Vertex>& distance, const Budget& budget) {
    queue_.assign(1, v);
    distance[v] = 0;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      budget.poll();
      const Vertex from = queue_[at];
      work_ += 1 + arcs.of(from).size();
      for (const Vertex to : arcs.of(from)) {
        if (distance[to] != no_bound) continue;
        distance[to] = distance[from] + 1;
        queue_.push_back(to);
      }
    }
  }

  /// Distances from and to c, and what they say of the others'. Returns the tokens' greatest distance to c, `farthest` the least token that has it.
  Vertex land(Vertex c, const Component& component, Vertex& farthest, const Budget& budget) {
    Vertex in = 0, out[2] = {0, 0};  // out: to tokens, to all vertices
    farthest = c;
    go(in_, c, back_, budget);
    for (const Vertex v : queue_) {
      if (v < tokens_ && (back_[v] > in || (back_[v] == in && v < farthest && in > 0))) {
        in = back_[v];
        farthest = v;
      }
    }
    const std::vector<Vertex> who_sees_it = queue_;
    go(out_, c, forth_, budget);
    for (const Vertex v : queue_) {
      out[1] = std::max(out[1], forth_[v]);
      if (v < tokens_) out[0] = std::max(out[0], forth_[v]);
    }
    for (const Vertex v : component.vertices) {
      upper_in_[v] = std::min(upper_in_[v], in + forth_[v]);
      if (c < tokens_) lower_in_[v] = std::max(lower_in_[v], forth_[v]);
      for (int k = 0; k < 2; ++k) upper_out_[k][v] = std::min(upper_out_[k][v], back_[v] + out[k]);
    }
    upper_in_[c] = lower_in_[c] = in;
    forget(forth_);
    for (const Vertex v : who_sees_it) back_[v] = no_bound;
    return in;
  }

  /// nullptr: too many vertices have to be looked at.
  const Longest* find_longest(bool registers_too, const Budget& budget) {
    if (gave_up_) return nullptr;
    std::optional<Longest>& longest = longest_[registers_too ? 1 : 0];
    if (longest) return &*longest;
    Longest found;
    const std::uint64_t end = work_ + allowance();
    for (const Component& component : components_) {
      if (!component.is_entered && (component.tokens == 0 || component.vertices.size() == 1)) continue;
      const auto is_open = [&](Vertex v) { return (registers_too || v < tokens_) && upper_in_[v] > found.layers; };
      for (std::size_t k = 0;; ++k) {
        // Middle and rim in turn, after one vertex and the one that is farthest from it.
        Vertex next = no_bound;
        std::size_t open = 0;
        for (const Vertex v : component.vertices) {
          if (is_open(v)) ++open;
          const bool better = next == no_bound                 ? true
                              : k == 0                         ? false
                              : k > 1 && k % 2 == 0            ? lower_in_[v] < lower_in_[next] || (lower_in_[v] == lower_in_[next] && upper_in_[v] > upper_in_[next])
                              : is_open(v) != is_open(next)    ? is_open(v)
                              : upper_in_[v] != upper_in_[next] ? upper_in_[v] > upper_in_[next]
                                                               : lower_in_[v] > lower_in_[next];
          if (better) next = v;
        }
        if (open == 0) break;
        if (work_ > end || (k == patience && 2 * open > component.vertices.size())) {
          gave_up_ = true;
          return nullptr;
        }
        if (upper_in_[next] == lower_in_[next] && !is_open(next)) {  // a middle that is known: the rim
          next = *std::find_if(component.vertices.begin(), component.vertices.end(), is_open);
        }
        Vertex farthest = 0;
        const Vertex in = land(next, component, farthest, budget);
        if ((registers_too || next < tokens_) && in > found.layers) found = {in, {farthest, next}};
      }
    }
    longest = found;
    return &*longest;
  }

  /// How many wanted vertices that it ever sees lie farther from a token than `depth`.
  std::optional<std::vector<Vertex>> count_beyond(const std::optional<std::uint64_t>& depth, bool registers_too, const Budget& budget) {
    std::vector<Vertex> beyond(tokens_, 0);
    const Longest* const longest = depth ? find_longest(registers_too, budget) : nullptr;
    if (!depth || (longest != nullptr && longest->layers <= *depth)) return beyond;
    if (longest == nullptr) return std::nullopt;
    const auto near = static_cast<Vertex>(*depth);
    const std::vector<Vertex>& upper = upper_out_[registers_too ? 1 : 0];
    const auto is_open = [&](Vertex i) { return i < tokens_ && upper[i] > near && count_seen(i, true) > 1; };
    Vertex count = 0;
    for (Vertex i = 0; i < tokens_; ++i) count += is_open(i) ? 1 : 0;
    if (count > std::max<Vertex>(few_open, tokens_ / most_open)) return std::nullopt;
    const Booking while_counting(budget, 3 * sizeof(std::uint64_t) * std::uint64_t{vertices_});
    fresh_.assign(vertices_, 0);
    front_.assign(vertices_, 0);
    seen_.assign(vertices_, 0);
    for (const Component& component : components_) {
      const auto first = std::find_if(component.vertices.begin(), component.vertices.end(), is_open);
      if (first == component.vertices.end()) continue;
      // Tokens that are near each other come to the others at nearly the same time: in the order of a walk from one of them.
      go(out_, *first, forth_, budget);
      forget(forth_);
      const std::vector<Vertex> ever = queue_;
      std::vector<Vertex> open;
      std::copy_if(ever.begin(), ever.end(), std::back_inserter(open), [&](Vertex v) { return is_open(v) && component_[v] == component_[*first]; });
      for (std::size_t at = 0; at < open.size(); at += 64) {
        const auto strip = std::span(open).subspan(at, std::min<std::size_t>(64, open.size() - at));
        go_together(strip, near, budget);
        const std::uint64_t all = strip.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << strip.size()) - 1;
        for (const Vertex v : ever) {
          if (!registers_too && v >= tokens_) continue;
          for (std::uint64_t rest = all & ~seen_[v]; rest != 0; rest &= rest - 1) ++beyond[strip[static_cast<std::size_t>(std::countr_zero(rest))]];
        }
        for (const Vertex v : ever) seen_[v] = 0;
      }
    }
    return beyond;
  }

  /// Which of up to 64 tokens, one bit each, see a vertex up to `depth`, into seen_, 0 so far.
  void go_together(std::span<const Vertex> tokens, Vertex depth, const Budget& budget) {
    std::vector<Vertex> met(tokens.begin(), tokens.end());
    for (std::size_t k = 0; k < tokens.size(); ++k) seen_[tokens[k]] = front_[tokens[k]] = std::uint64_t{1} << k;
    for (Vertex q = 0; q < depth && !met.empty(); ++q) {
      queue_.clear();
      for (const Vertex v : met) {
        budget.poll();
        for (const Vertex w : out_.of(v)) {
          const std::uint64_t more = front_[v] & ~seen_[w];
          if (more == 0) continue;
          if (fresh_[w] == 0) queue_.push_back(w);
          fresh_[w] |= more;
        }
      }
      for (const Vertex v : met) front_[v] = 0;
      for (const Vertex w : queue_) {
        seen_[w] |= front_[w] = fresh_[w];
        fresh_[w] = 0;
      }
      met.swap(queue_);
    }
    for (const Vertex v : met) front_[v] = 0;
  }

  /// Each is looked at by itself: as many as allowance() lets.
  [[nodiscard]] std::size_t most_components() const { return 64 + vertices_ / 128; }
  /// About what columns of bits would do.
  [[nodiscard]] std::uint64_t allowance() const { return most_components() * (vertices_ + out_.ends.size()); }

  static constexpr Vertex most_open = 4;       ///< tokens that miss something at a depth: at most one in so many
  static constexpr Threshold<Vertex> few_open{64, 0, "open tokens"};
  static constexpr Threshold<std::size_t> patience{16, 2, "centre"};  ///< by then half of a component is settled, or it never will be

  Vertex tokens_, vertices_;
  Arcs out_, in_;
  std::vector<std::uint32_t> component_;
  std::vector<Component> components_;
  std::vector<Vertex> forth_, back_, queue_;
  std::vector<std::uint64_t> seen_, front_, fresh_;  ///< of go_together
  std::vector<Vertex> upper_in_, lower_in_;  ///< of the greatest distance from a token
  std::vector<Vertex> upper_out_[2];         ///< of the greatest distance to a token, to a vertex
  std::optional<Longest> longest_[2];        ///< by whether registers are wanted too
  std::uint64_t work_ = 0;
  bool gave_up_ = false;
};

std::shared_ptr<PatternGraph> find_graph(const Layout& layout, const Budget& budget) {
  ReachMemory::Entry* memory = ReachMemory::find(layout);
  if (memory != nullptr && memory->has_centre) return std::static_pointer_cast<PatternGraph>(memory->centre);
  auto graph = PatternGraph::make(layout, budget);
  memory = ReachMemory::find(layout);
  if (memory != nullptr) {
    memory->has_centre = true;
    memory->centre = graph;
  }
  return graph;
}

}  // namespace

std::optional<ReachAnswer> answer_by_centre(const ReachQuestion& question, const Budget& budget) {
  if (question.wanted.kind == ClassKind::causal || question.wanted.ordinary_only || question.weight != nullptr) return std::nullopt;
  return recall(question, ReachMemory::Way::centre, [&]() -> std::optional<ReachAnswer> {
    const auto graph = find_graph(*question.layout, budget);
    return graph ? graph->answer(question, budget) : std::nullopt;
  });
}

}  // namespace sightline::sight
