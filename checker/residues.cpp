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
      if (group.from == group.to) continue;
      if (group.end - group.begin > 1) return 1;  // neighbours with one row
      for (std::size_t k = group.from; k < group.to; ++k) {
        const auto [step, first, last] = layer.ranges[k];
        modulus = std::gcd(modulus, first > group.begin ? first - group.begin : group.begin - first);
        if (last > first) modulus = std::gcd(modulus, step);
      }
      if (modulus == 1) return 1;
    }
  }
  return modulus;
}

/// Row by row, a segment each.
std::vector<Pattern> split(const ReadLayer& layer, Vertex tokens, Vertex modulus) {
  std::vector<Pattern> parts(modulus);
  for (Vertex c = 0; c < modulus; ++c) parts[c].vertices = (tokens - c - 1) / modulus + 1;
  for (const ReadLayer::Group& group : layer.groups) {
    poll();
    for (Vertex i = group.begin; i < group.end; ++i) {
      Pattern& part = parts[i % modulus];
      part.segments.push_back({i / modulus, 1, static_cast<std::uint32_t>(part.lists.size()), Pattern::none});
      std::vector<MovingRun>& list = part.lists.emplace_back();
      for (std::size_t k = group.from; k < group.to; ++k) {
        const auto [step, first, last] = layer.ranges[k];
        list.push_back({first / modulus, last / modulus, first == last ? 1 : step / modulus, 1, 0, 0});
      }
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
  for (const auto& [l, layer] : layers) {
    std::vector<Pattern> patterns = split(layer, layout.tokens, modulus);
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
