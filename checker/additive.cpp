// Sums of id + position at the first layer: which ids a root can work out from them (theory 15.4 Lemma S, 15.8 h, 16.22).
#include <algorithm>
#include <map>
#include <set>

#include "json.hpp"
#include "labels.hpp"
#include "poll.hpp"
#include "reach.hpp"

namespace checker {

namespace {

/// Time left at every vertex when `root` starts with m (2.4); -1: out of view. Vertices by falling time.
std::vector<std::int64_t> times(const Layout& layout, Vertex root, std::uint64_t m) {
  std::vector<std::int64_t> time(layout.vertices(), -1);
  std::set<std::pair<std::int64_t, Vertex>> open{{static_cast<std::int64_t>(m), root}};
  time[root] = static_cast<std::int64_t>(m);
  std::vector<Run> row;
  while (!open.empty()) {
    poll();
    const auto [left, i] = *open.rbegin();
    open.erase(std::prev(open.end()));
    for (std::int64_t q = 1; q <= left; ++q) {
      for (const std::uint32_t r : layout.layer(static_cast<std::uint64_t>(q))) {
        layout.relations[r].pattern->row(i, row);
        for (const Run& run : row) {
          for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
            if (time[j] >= q - 1) continue;
            if (time[j] >= 0) open.erase({time[j], static_cast<Vertex>(j)});
            time[j] = q - 1;
            open.insert({q - 1, static_cast<Vertex>(j)});
          }
        }
      }
    }
  }
  return time;
}

/// 'y': the root knows all it is asked for; 'n': two tokens that it is asked about stand in the same sums; else '?'.
char look(const FirstSums& q, Vertex root, std::uint64_t depth, bool trivial) {
  const Layout& layout = *q.seen;
  const std::vector<std::int64_t> time = times(layout, root, depth);
  std::vector<std::set<Vertex>> sums;
  std::vector<Run> row;
  for (Vertex u = 0; u < layout.vertices(); ++u) {
    if (time[u] < 1) continue;
    poll();
    for (const std::uint32_t r : layout.layer(1)) {
      std::map<std::int64_t, std::set<Vertex>> by_colour;
      layout.relations[r].raw_row(u, row);
      for (const Run& run : row) {
        for (Vertex k = 0; k < run.size(); ++k) {
          const Vertex j = run.first + k * run.step;
          if (j < layout.tokens && !(q.bos && j == 0) && time[j] == 0) by_colour[run.colour + run.colour_step * k].insert(j);
        }
      }
      for (auto& [colour, members] : by_colour) sums.push_back(std::move(members));
    }
  }
  const std::vector<std::set<Vertex>> whole = sums;
  for (bool again = true; again;) {  // a sum with one unknown token shows it
    again = false;
    std::set<Vertex> known;
    for (const auto& sum : sums) if (sum.size() == 1) known.insert(*sum.begin());
    for (auto& sum : sums) {
      poll();
      for (const Vertex v : known) again = sum.erase(v) > 0 || again;
    }
  }
  std::set<Vertex> rest;
  for (const auto& sum : sums) rest.insert(sum.begin(), sum.end());
  const auto wants = [&](Vertex v) { return q.kind != ClassKind::causal || v <= root; };
  if (std::none_of(rest.begin(), rest.end(), wants)) return 'y';
  if (!trivial) {
    if (std::none_of(sums.begin(), sums.end(), [&](const auto& sum) { return sum == rest; })) return '?';
    const Chain chain(*q.target);
    for (auto v = rest.begin(), w = std::next(v); w != rest.end(); ++v, ++w) {
      if (!chain.contains(Permutation({{*v, *w}, {*w, *v}}))) return '?';
    }
    return 'y';
  }
  std::map<std::vector<bool>, Vertex> alike;
  for (const Vertex v : rest) {
    poll();
    std::vector<bool> where;
    for (const auto& sum : whole) where.push_back(sum.count(v) > 0);
    const auto [place, fresh] = alike.emplace(where, v);
    if (!fresh && (wants(v) || wants(place->second))) return 'n';
  }
  return '?';
}

}  // namespace

std::uint64_t period_of(const Json& layers) {
  if (layers.size() == 1) return 1;
  std::vector<std::size_t> list;  // for each layer the first one like it
  for (const Json& layer : layers.array()) {
    std::size_t first = 0;
    const auto differs = [&](const Json& other) { return !(other["mixer"] == layer["mixer"] && other["feedforward"] == layer["feedforward"] && other["norm"] == layer["norm"]); };
    while (differs(layers[first])) ++first;
    list.insert(list.end(), layer["repeat"].natural(), first);
  }
  std::size_t period = 1;
  while (list.size() % period != 0 || !std::equal(list.begin() + static_cast<std::ptrdiff_t>(period), list.end(), list.begin())) ++period;
  return period;
}

std::pair<std::uint64_t, std::uint64_t> additive_layers(const FirstSums& question, std::uint64_t reach, bool proved) {
  const Vertex n = question.seen->tokens;
  const bool trivial = is_trivial(*question.target), every = n <= 400;
  const std::uint64_t high = reach + question.period;  // one period later everything in view is read behind layer 1
  std::uint64_t low = reach;
  for (std::uint64_t m = reach; m < high; ++m) {
    std::set<char> found;
    for (Vertex a = n; a-- > (every ? 0 : n - 1) && found.count('n') == 0;) found.insert(look(question, a, m, trivial));
    if (every && found == std::set{'y'}) return {low, m};
    if (found.count('n') > 0 && proved && low == m) low = m + 1;
  }
  return {low, high};
}

}  // namespace checker
