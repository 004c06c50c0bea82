#include "centre.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

constexpr Vertex far = std::numeric_limits<Vertex>::max();

struct Arcs {  // those of v: ends[begin[v]] .. ends[begin[v + 1] - 1]
  std::vector<std::uint32_t> begin;
  std::vector<Vertex> ends;
  [[nodiscard]] std::span<const Vertex> of(Vertex v) const { return std::span(ends).subspan(begin[v], begin[v + 1] - begin[v]); }
  // Counts first, then puts each arc in its place.
  void count(Vertex v) { ++begin[v + 2]; }
  void make_room() {
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    ends.resize(begin.back());
  }
  void add(Vertex v, Vertex end) { ends[begin[v + 1]++] = end; }
};

struct Part {  // vertices that see each other in the end
  std::vector<Vertex> vertices;
  Vertex tokens = 0, seen[2] = {0, 0};  // what they see in the end: tokens; vertices
  bool is_read = false;  // by another part
};

}  // namespace

struct Centre::Graph {
  explicit Graph(const Layout& layout) : tokens(layout.tokens), vertices(layout.vertices()) {}

  Vertex tokens, vertices;
  Arcs reads, read_by;
  std::uint64_t arcs = 0, work = 0;
  std::vector<std::uint32_t> part_of;
  std::vector<Part> parts;
  std::vector<Vertex> to, from, queue;  // distances of one vertex to the others and from them; far where there is none so far
  std::vector<std::uint64_t> seen, front, fresh;  // of go_together
  std::vector<Vertex> in_most, in_least;  // bounds of the greatest distance from a token to the vertex
  std::vector<Vertex> out_most[2];  // from the vertex to a token; to any vertex
  struct Longest {
    Vertex layers = 0;
    std::pair<Vertex, Vertex> pair;
  };
  std::optional<Longest> longest[2];  // to tokens, to all vertices
  bool is_hopeless = false;

  bool list(const SharedLayer& layer) {
    constexpr std::uint64_t most = std::uint64_t{1} << 25;
    const auto each = [&](const auto& visit) {
      for (const ReadLayer::Group& group : layer.groups) {
        for (const std::uint32_t k : layer.row(group)) {
          if (!visit(group, layer.ranges[k])) return false;
        }
      }
      return true;
    };
    const auto count = [&](const ReadLayer::Group& group, const Range& range) {
      arcs += std::uint64_t{group.end - group.begin} * ((range.last - range.first) / range.step + 1);
      return arcs <= most;
    };
    if (!each(count)) return false;
    const auto each_arc = [&](const auto& visit) {
      each([&](const ReadLayer::Group& group, const Range& range) {
        poll();
        for (Vertex i = group.begin; i < group.end; ++i) {
          for (std::uint64_t j = range.first; j <= range.last; j += range.step) visit(i, static_cast<Vertex>(j));
        }
        return true;
      });
    };
    reads.begin.assign(std::size_t{vertices} + 2, 0);
    read_by.begin.assign(std::size_t{vertices} + 2, 0);
    each_arc([&](Vertex i, Vertex j) { reads.count(i), read_by.count(j); });
    reads.make_room();
    read_by.make_room();
    each_arc([&](Vertex i, Vertex j) { reads.add(i, j), read_by.add(j, i); });
    return true;
  }

  // Breadth first, up to a depth; `queue` holds what was met, which the caller resets in `distance`.
  void go(const Arcs& along, Vertex start, Vertex depth, std::vector<Vertex>& distance) {
    queue.assign(1, start);
    distance[start] = 0;
    for (std::size_t at = 0; at < queue.size() && distance[queue[at]] < depth; ++at) {
      poll();
      const Vertex v = queue[at];
      work += 1 + along.of(v).size();
      for (const Vertex w : along.of(v)) {
        if (distance[w] != far) continue;
        distance[w] = distance[v] + 1;
        queue.push_back(w);
      }
    }
  }

  // Depth first; a part has a higher number than those that it sees (Tarjan).
  void number() {
    part_of.assign(vertices, far);
    std::vector<Vertex> met(vertices, far), back(vertices, far), way, open;
    std::vector<std::uint32_t> at(reads.begin.begin(), reads.begin.end() - 1);
    std::uint32_t count = 0;
    Vertex clock = 0;
    for (Vertex v = 0; v < vertices; ++v) {
      if (met[v] == far) way.push_back(v);
      while (!way.empty()) {
        poll();
        const Vertex x = way.back();
        if (met[x] == far) {
          met[x] = back[x] = clock++;
          open.push_back(x);
        }
        if (at[x] < reads.begin[x + 1]) {
          const Vertex y = reads.ends[at[x]++];
          if (met[y] == far) way.push_back(y);
          else if (part_of[y] == far) back[x] = std::min(back[x], met[y]);
          continue;
        }
        way.pop_back();
        if (!way.empty()) back[way.back()] = std::min(back[way.back()], back[x]);
        if (back[x] != met[x]) continue;
        for (Vertex y = far; y != x; open.pop_back()) part_of[y = open.back()] = count;
        ++count;
      }
    }
    parts.resize(count);
  }

  // Each is looked at by itself: as many as worth() lets.
  [[nodiscard]] std::uint64_t most_parts() const { return 64 + vertices / 128; }

  // False: many parts, and some see others.
  bool divide() {
    number();
    for (Vertex v = 0; v < vertices; ++v) {
      parts[part_of[v]].vertices.push_back(v);
      if (v < tokens) ++parts[part_of[v]].tokens;
    }
    const std::size_t words = (parts.size() + 63) / 64;
    std::vector<std::uint64_t> sees;  // by part: the others
    for (std::uint32_t p = 0; p < parts.size(); ++p) {
      for (const Vertex v : parts[p].vertices) {
        poll();
        for (const Vertex w : reads.of(v)) {
          const std::uint32_t q = part_of[w];
          if (q == p) continue;
          if (parts.size() > most_parts()) return false;
          sees.resize(parts.size() * words, 0);
          if ((sees[p * words + q / 64] >> q % 64 & 1) != 0) continue;
          for (std::size_t k = 0; k < words; ++k) sees[p * words + k] |= sees[q * words + k];
          sees[p * words + q / 64] |= std::uint64_t{1} << q % 64;
          parts[q].is_read = true;
        }
      }
      parts[p].seen[0] = parts[p].tokens;
      parts[p].seen[1] = static_cast<Vertex>(parts[p].vertices.size());
      for (std::uint32_t q = 0; q < p && !sees.empty(); ++q) {
        if ((sees[p * words + q / 64] >> q % 64 & 1) == 0) continue;
        parts[p].seen[0] += parts[q].tokens;
        parts[p].seen[1] += static_cast<Vertex>(parts[q].vertices.size());
      }
    }
    to.assign(vertices, far);
    from.assign(vertices, far);
    in_most.assign(vertices, far);
    in_least.assign(vertices, 0);
    out_most[0] = out_most[1] = in_most;
    return true;
  }

  [[nodiscard]] Vertex seen_by(Vertex i, bool registers_too) const { return parts[part_of[i]].seen[registers_too ? 1 : 0]; }

  // What go() has just met is as if it had not been.
  void forget(std::vector<Vertex>& distance) {
    for (const Vertex v : queue) distance[v] = far;
  }

  // All that the distances of c say; the token farthest from it.
  Vertex look_from(Vertex c, const Part& part) {
    Vertex farthest = c, in = 0, out[2] = {0, 0};
    go(read_by, c, far, from);
    for (const Vertex v : queue) {
      if (v < tokens && (from[v] > in || (in > 0 && from[v] == in && v < farthest))) in = from[farthest = v];
    }
    const std::vector<Vertex> readers = queue;
    go(reads, c, far, to);
    for (const Vertex v : queue) {
      out[1] = std::max(out[1], to[v]);
      if (v < tokens) out[0] = std::max(out[0], to[v]);
    }
    for (const Vertex v : part.vertices) {
      in_most[v] = std::min(in_most[v], in + to[v]);
      if (c < tokens) in_least[v] = std::max(in_least[v], to[v]);
      for (int k = 0; k < 2; ++k) out_most[k][v] = std::min(out_most[k][v], from[v] + out[k]);
    }
    in_least[c] = in_most[c] = in;
    forget(to);
    for (const Vertex v : readers) from[v] = far;
    return farthest;
  }

  // Which of up to 64 tokens see a vertex up to a depth, one bit each; `seen` is 0 before.
  void go_together(std::span<const Vertex> starts, Vertex depth) {
    std::vector<Vertex> now(starts.begin(), starts.end()), next;
    for (std::size_t k = 0; k < starts.size(); ++k) seen[starts[k]] = front[starts[k]] = std::uint64_t{1} << k;
    for (Vertex q = 0; q < depth && !now.empty(); ++q, now.swap(next), next.clear()) {
      for (const Vertex v : now) {
        poll();
        for (const Vertex w : reads.of(v)) {
          const std::uint64_t more = front[v] & ~seen[w];
          if (more != 0 && fresh[w] == 0) next.push_back(w);
          fresh[w] |= more;
        }
      }
      for (const Vertex v : now) front[v] = 0;
      for (const Vertex w : next) seen[w] |= front[w] = std::exchange(fresh[w], 0);
    }
    for (const Vertex v : now) front[v] = 0;
  }

  // Distances that are worth as much work as columns of bits.
  [[nodiscard]] std::uint64_t worth() const { return most_parts() * (vertices + arcs); }

  const Longest* find_longest(bool registers_too) {
    std::optional<Longest>& known = longest[registers_too ? 1 : 0];
    if (known || is_hopeless) return known ? &*known : nullptr;
    Longest found;
    const std::uint64_t end = work + worth();
    for (const Part& part : parts) {
      if (!part.is_read && (part.tokens == 0 || part.vertices.size() == 1)) continue;
      for (std::size_t k = 0;; ++k) {
        std::vector<Vertex> open;
        for (const Vertex v : part.vertices) {
          if ((registers_too || v < tokens) && in_most[v] > found.layers) open.push_back(v);
        }
        if (open.empty()) break;
        if (work > end || (k == 16 && 2 * open.size() > part.vertices.size())) {
          is_hopeless = true;
          return nullptr;
        }
        // First any, then what is far from it, then what is near to all so far and what may be far from some, in turn.
        Vertex c = k == 0 ? part.vertices.front()
                   : k > 1 && k % 2 == 0
                       ? *std::min_element(part.vertices.begin(), part.vertices.end(), [&](Vertex a, Vertex b) { return std::pair(in_least[a], ~in_most[a]) < std::pair(in_least[b], ~in_most[b]); })
                       : *std::max_element(open.begin(), open.end(), [&](Vertex a, Vertex b) { return std::pair(in_most[a], in_least[a]) < std::pair(in_most[b], in_least[b]); });
        if (k > 0 && in_most[c] == in_least[c] && in_most[c] <= found.layers) c = open.front();
        const Vertex farthest = look_from(c, part);
        if ((registers_too || c < tokens) && in_most[c] > found.layers) found = {in_most[c], {farthest, c}};
      }
    }
    known = found;
    return &*known;
  }
};

Centre::Centre(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}
Centre::~Centre() = default;

std::unique_ptr<Centre> Centre::make(const Layout& layout, const SharedLayer& layer) {
  if (layout.tokens < 2) return nullptr;
  auto graph = std::make_unique<Graph>(layout);
  if (!graph->list(layer) || !graph->divide()) return nullptr;
  return std::unique_ptr<Centre>(new Centre(std::move(graph)));
}

std::optional<Reach> Centre::layers(const ReachQuestion& question) {
  Graph& graph = *graph_;
  const Vertex wanted = question.registers_too ? graph.vertices : graph.tokens;
  for (Vertex i = 0; i < graph.tokens && question.kind == ClassKind::all; ++i) {
    if (graph.seen_by(i, question.registers_too) == wanted) continue;
    graph.go(graph.reads, i, far, graph.to);
    const auto missed = static_cast<Vertex>(std::find(graph.to.begin(), graph.to.end(), far) - graph.to.begin());
    graph.forget(graph.to);
    return Reach{std::nullopt, std::pair<Vertex, Vertex>{i, missed}};
  }
  const Graph::Longest* const longest = graph.find_longest(question.registers_too);
  if (longest == nullptr) return std::nullopt;
  if (longest->layers == 0) return Reach{0, {}};
  return Reach{longest->layers, longest->pair};
}

std::optional<Unseen> Centre::unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) {
  Graph& graph = *graph_;
  const bool all = question.kind == ClassKind::all, registers_too = question.registers_too;
  const Vertex wanted = registers_too ? graph.vertices : graph.tokens;
  const Graph::Longest* const longest = depth ? graph.find_longest(registers_too) : nullptr;
  if (depth && longest == nullptr) return std::nullopt;
  const Vertex reach = !depth || *depth >= longest->layers ? far : static_cast<Vertex>(*depth);  // far: all that is ever seen
  // Only tokens whose view may not have ended by then are gone through, those near each other together, unless they are many.
  const auto is_open = [&](Vertex i) { return i < graph.tokens && reach != far && graph.seen_by(i, true) > 1 && graph.out_most[registers_too ? 1 : 0][i] > reach; };
  Vertex open = 0;
  for (Vertex i = 0; i < graph.tokens; ++i) open += is_open(i) ? 1 : 0;
  constexpr Threshold<Vertex> few_open{64, 0, "open tokens"};
  if (open > std::max<Vertex>(few_open, graph.tokens / 4)) return std::nullopt;
  Unseen result{std::vector<Vertex>(graph.tokens, 0), {}};
  for (Vertex i = 0; i < graph.tokens && all; ++i) result.count[i] = wanted - graph.seen_by(i, registers_too);
  for (auto* bits : {&graph.seen, &graph.front, &graph.fresh}) bits->assign(open == 0 ? 0 : graph.vertices, 0);
  for (const Part& part : graph.parts) {
    const auto first = std::find_if(part.vertices.begin(), part.vertices.end(), is_open);
    if (first == part.vertices.end()) continue;
    graph.go(graph.reads, *first, far, graph.to);
    const std::vector<Vertex> near = graph.queue;  // all that this part ever sees
    graph.forget(graph.to);
    std::vector<Vertex> starts;
    for (std::size_t at = 0; at < near.size(); ++at) {
      if (is_open(near[at]) && graph.part_of[near[at]] == graph.part_of[*first]) starts.push_back(near[at]);
      if (starts.empty() || (starts.size() < 64 && at + 1 < near.size())) continue;
      graph.go_together(starts, reach);
      for (const Vertex v : near) {
        const std::uint64_t sees = std::exchange(graph.seen[v], 0);
        for (std::size_t k = 0; k < starts.size() && (registers_too || v < graph.tokens); ++k) result.count[starts[k]] += (sees >> k & 1) == 0 ? 1 : 0;
      }
      starts.clear();
    }
  }
  const auto reader = std::find_if(result.count.begin(), result.count.end(), [](Vertex count) { return count > 0; });
  if (reader == result.count.end()) return result;
  const auto i = static_cast<Vertex>(reader - result.count.begin());
  graph.go(graph.reads, i, far, graph.to);
  for (Vertex j = 0; !result.first; ++j) {
    if (graph.to[j] == far ? all : graph.to[j] > reach && (registers_too || j < graph.tokens)) result.first = std::pair<Vertex, Vertex>{i, j};
  }
  graph.forget(graph.to);
  return result;
}

}  // namespace checker
