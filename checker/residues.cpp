#include "residues.hpp"

#include <algorithm>
#include <numeric>

#include "poll.hpp"

namespace checker {

namespace {

/// Of all differences between readers and what they read; 0 without arcs but loops.
Vertex find_modulus(const std::map<std::uint32_t, ReadLayer>& layers) {
  Vertex modulus = 0;
  for (const auto& [l, layer] : layers) {
    for (const ReadLayer::Group& group : layer.groups) {
      if (layer.row(group).empty()) continue;
      if (group.end - group.begin > 1) return 1;  // neighbours with one row
      for (const auto& [step, first, last] : layer.row(group)) {
        modulus = std::gcd(modulus, first > group.begin ? first - group.begin : group.begin - first);
        if (last > first) modulus = std::gcd(modulus, step);
      }
      if (modulus == 1) return 1;
    }
  }
  return modulus;
}

/// Heads of one layer may read the same vertices: counts go by runs, so none may be in two of them.
void make_disjoint(std::vector<MovingRun>& list, const MovingRun& like, std::uint64_t& written) {
  const auto may_meet = [](const MovingRun& a, const MovingRun& b) {
    return a.lo <= b.hi && b.lo <= a.hi && (a.lo > b.lo ? a.lo - b.lo : b.lo - a.lo) % std::gcd(a.step, b.step) == 0;
  };
  bool disjoint = true;
  for (std::size_t x = 0; x < list.size() && disjoint; ++x) {
    for (std::size_t y = x + 1; y < list.size() && disjoint; ++y) disjoint = !may_meet(list[x], list[y]);
  }
  if (disjoint) return;
  std::vector<std::int64_t> members;
  for (const MovingRun& run : list) {
    for (std::int64_t j = run.lo; j <= static_cast<std::int64_t>(run.hi); j += run.step) members.push_back(j);
  }
  written += members.size();
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  list.clear();
  for (const std::int64_t j : members) {
    if (!list.empty() && static_cast<std::int64_t>(list.back().hi) + 1 == j) {
      ++list.back().hi;
      continue;
    }
    MovingRun& run = list.emplace_back(like);
    run.lo = run.hi = static_cast<decltype(run.lo)>(j);
    run.step = 1;
  }
}

/// Row by row, a segment each.
std::vector<Pattern> split(const ReadLayer& layer, Vertex tokens, Vertex modulus, std::uint64_t& written) {
  std::vector<Pattern> parts(modulus);
  for (Vertex c = 0; c < modulus; ++c) parts[c].vertices = (tokens - c - 1) / modulus + 1;
  for (const ReadLayer::Group& group : layer.groups) {
    poll();
    for (Vertex i = group.begin; i < group.end; ++i) {
      Pattern& part = parts[i % modulus];
      part.segments.push_back({i / modulus, 1, static_cast<std::uint32_t>(part.lists.size()), Pattern::none});
      std::vector<MovingRun>& list = part.lists.emplace_back();
      for (const auto& [step, first, last] : layer.row(group)) {
        list.push_back({first / modulus, last / modulus, first == last ? 1 : step / modulus, 1, 0, 0});
      }
      if (list.size() > 1) make_disjoint(list, MovingRun(list.front()), written);
    }
  }
  return parts;
}

bool are_alike(const Layout& a, const Layout& b) {
  return a.tokens == b.tokens && std::ranges::equal(a.relations, b.relations, [](const Relation& x, const Relation& y) { return x.pattern->lists == y.pattern->lists; });
}

}  // namespace

std::unique_ptr<Residues> find_residues(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers) {
  if (layout.registers > 0 || layout.tokens < 3 || layers.empty()) return nullptr;
  const Vertex modulus = find_modulus(layers);
  if (modulus < 2) return nullptr;
  std::vector<Layout> all(modulus);
  for (Vertex c = 0; c < modulus; ++c) {
    all[c].tokens = (layout.tokens - c - 1) / modulus + 1;
    all[c].vertex_colour.assign(all[c].tokens, 0);
    all[c].layers.resize(layout.layers.size());
    all[c].order = layout.order;
  }
  constexpr std::uint64_t most_written = std::uint64_t{1} << 26;
  std::uint64_t written = 0;
  for (const auto& [l, layer] : layers) {
    std::vector<Pattern> patterns = split(layer, layout.tokens, modulus, written);
    if (written > most_written) return nullptr;
    for (Vertex c = 0; c < modulus; ++c) {
      all[c].layers[l] = {static_cast<std::uint32_t>(all[c].relations.size())};
      Relation& relation = all[c].relations.emplace_back();
      relation.pattern = std::make_shared<Pattern>(std::move(patterns[c]));
      relation.tokens = all[c].tokens;
    }
  }
  auto result = std::make_unique<Residues>();
  result->modulus = modulus;
  for (Layout& part : all) {
    if (result->parts.empty() || !are_alike(result->parts.back(), part)) result->parts.push_back(std::move(part));
    result->part_of.push_back(result->parts.size() - 1);
  }
  return result;
}

}  // namespace checker
