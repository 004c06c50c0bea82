// Views that hold all rows of what they see, where rows tell what may not be exchanged, beside all isomorphisms: engine and checker (docs/theory.md 16.117).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "dropped_views.hpp"

namespace sightline::sight {

namespace {

/// Documents one behind another, in one or several layers: causal, read in full, with a prefix or with images that are; a few arcs to the documents before.
Layout draw_documents(std::mt19937_64& random) {
  const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
  const Vertex tokens = 5 + draw(7), registers = draw(5) == 0 ? 1 : 0, longest = 2 + draw(6);
  std::vector<Vertex> document(tokens), prefix(tokens, 0);
  for (Vertex i = 1, length = 1 + draw(longest); i < tokens; ++i) {
    document[i] = document[i - 1] + (--length == 0 ? 1 : 0);
    if (length == 0) length = 1 + draw(longest);
  }
  const auto draw_head = [&] {
    oracle::Head head;
    head.rows.resize(tokens + registers);
    const Vertex kind = draw(4), width = 1 + draw(tokens);
    for (Vertex i = 0; i < tokens; ++i) {
      for (Vertex j = 0; j < tokens; ++j) {
        const bool below = j <= i && i < j + width, is_prefix = j == 0 || document[j - 1] != document[j] || (kind == 1 && draw(3) == 0);
        const bool image = i / 3 == j / 3 && kind == 2;
        if (i == j || (document[i] == document[j] && (below || kind == 3 || image || (is_prefix && kind == 1))) || (document[j] < document[i] && draw(12) == 0)) head.rows[i].push_back(j);
      }
    }
    for (Vertex r = tokens; r < tokens + registers; ++r) {
      head.rows[r].push_back(draw(tokens));
      head.rows[draw(tokens)].push_back(r);
    }
    for (auto& row : head.rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
    }
    return head;
  };
  std::vector<std::vector<oracle::Head>> layers(1 + draw(4) / 3);
  for (auto& heads : layers) heads.assign(1, draw_head());
  if (draw(4) == 0) layers.front().push_back(draw_head());
  Layout layout = oracle::make_layout(tokens, registers, layers);
  if (draw(6) == 0) layout.vertex_colour[draw(tokens)] = 9;
  return layout;
}

}  // namespace

TEST_CASE("views that hold all rows of what they see, all of which is told by rows, have no isomorphisms but those of twins") {
  const auto drop = [](const Layout& layout, const group::Group& group, std::uint64_t depth, std::vector<Vertex>& roots) {
    return drop_told_by_rows(layout, number_symmetric_classes(group), depth, roots, unlimited);
  };
  const auto drop_there = [](const checker::Layout& layout, const group::Group& group, std::uint64_t depth, std::vector<Vertex>& roots) {
    checker::ReachMemory memory(layout);
    checker::drop_told_by_rows(layout, number_symmetric_classes(group), group.orbit, depth, roots, memory);
  };
  require_dropped(117, 5, draw_documents, drop, drop_there);
}

}  // namespace sightline::sight
