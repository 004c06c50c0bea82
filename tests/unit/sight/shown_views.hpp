// Layouts on a line, and whether what is said of many of their views at once is true of each.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/view_colours.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

// Windows of small radius with a few arcs more or less, so that most roots have surroundings of their own; sometimes tokens at the far end
// that only their own rows tell apart.
inline Layout make_local(std::mt19937& random) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  Layout layout;
  layout.tokens = 24 + draw(30);
  layout.vertex_colour.assign(layout.tokens, 0);
  const Vertex n = layout.tokens;
  const std::uint32_t changes = draw(6), layers = 1 + draw(2), step = 1 + draw(2);
  const bool open_end = draw(2) == 0;
  for (std::uint32_t q = 0; q < layers; ++q) {
    const Vertex radius = (1 + draw(3)) * step;
    std::vector<std::vector<bool>> reads(n, std::vector<bool>(n, false));
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        const Vertex distance = i < j ? j - i : i - j;
        reads[i][j] = distance <= radius && (distance % step == 0 || distance == 1);
      }
    }
    for (std::uint32_t k = 0; k < changes; ++k) {
      const Vertex i = draw(n);
      reads[i][std::min<Vertex>(n - 1, i + draw(4))].flip();
    }
    if (open_end) {
      for (Vertex i = 0; i + 2 < n; ++i) reads[i][n - 1] = reads[i][n - 2];
    }
    std::vector<std::vector<Vertex>> rows(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (reads[i][j]) rows[i].push_back(j);
      }
    }
    layout.relations.emplace_back(layout::make_pattern_from_rows(n, rows), layout::Relative{}, layout::Cancels::nothing, n);
    layout.layers.push_back({{q}});
    layout.order.push_back(q);
  }
  return layout;
}

// Windows whose ends are rows of many lengths; sometimes with a token that all read, a row more or less, a second end that is the mirror of the first.
inline Layout make_window(std::mt19937& random) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  Layout layout;
  layout.tokens = 24 + draw(40);
  const Vertex n = layout.tokens;
  layout.vertex_colour.assign(n, 0);
  if (draw(4) == 0) layout.vertex_colour[draw(n)] = 1;
  const std::uint32_t layers = 1 + draw(2);
  for (std::uint32_t q = 0; q < layers; ++q) {
    const Vertex before = draw(4) == 0 ? 0 : 3 + draw(8), after = draw(3) == 0 ? 3 + draw(8) : std::max<Vertex>(before, 1);
    const Vertex global = draw(4) == 0 ? draw(n) : n;
    std::vector<std::vector<Vertex>> rows(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if ((j <= i ? i - j <= before : j - i <= after) || j == global) rows[i].push_back(j);
      }
    }
    for (std::uint32_t change = draw(3); change > 0; --change) {
      std::vector<Vertex>& row = rows[draw(n)];
      if (row.size() > 1) row.erase(row.begin() + draw(static_cast<std::uint32_t>(row.size())));
    }
    layout.relations.emplace_back(layout::make_pattern_from_rows(n, rows), layout::Relative{}, layout::Cancels::nothing, n);
    layout.layers.push_back({{q}});
    layout.order.push_back(q);
  }
  return layout;
}

/// Draws layouts, and checks that views are told apart where explains(layout, group, depth, roots, number) says so.
template <class Make, class Explains>
void check_what_is_shown(std::uint32_t seed, int tries, const Make& make, const Explains& explains) {
  std::mt19937 random(seed);
  int shown = 0, open = 0;
  for (int k = 0; k < tries; ++k) {
    const Layout layout = make(random);
    const group::Group group = symmetry::compute_layout_group(layout, unlimited);
    const Connected connected = compute_connected(layout, unlimited);
    // Fewer layers leave views that are alike.
    const std::uint64_t most = connected.layers.value_or(6), depth = std::max<std::uint64_t>(1, random() % 2 == 0 ? most + random() % 2 : most - random() % (most / 2 + 1));
    const std::vector<bool> complete = find_complete_roots(layout, depth, unlimited);
    std::vector<Vertex> roots, number(layout.tokens);
    std::iota(number.begin(), number.end(), Vertex{0});
    for (Vertex a = 0; a < layout.tokens; ++a) {
      if (group.orbit[a] == a && !complete[a]) roots.push_back(a);
    }
    // A few of many: where all are asked about, two are mostly too alike.
    if (random() % 2 == 0) {
      std::shuffle(roots.begin(), roots.end(), random);
      roots.resize(std::min<std::size_t>(roots.size(), 1 + random() % 4));
    }
    const auto views = ViewColours::make(layout, group, depth, unlimited);
    if (roots.empty() || views->vertices().size() < layout.tokens) continue;
    if (!explains(layout, group, depth, roots, number)) {
      ++open;
      continue;
    }
    ++shown;
    const auto maker = make_plain_roots(layout, depth);
    for (const Vertex a : roots) {
      const Rooted first = maker->make(a, unlimited);
      const group::Group own = symmetry::compute_automorphisms(first.structure, unlimited);
      for (const group::Permutation& g : group::list_generators(own, ~std::size_t{0})) {
        for (const Vertex x : g.moved()) REQUIRE_FALSE(first.seen[x]);
      }
      for (const Vertex b : roots) {
        if (b > a) REQUIRE_FALSE(symmetry::find_isomorphism(first.structure, maker->make(b, unlimited).structure, unlimited));
      }
    }
  }
  CHECK(shown >= 20);
  CHECK(open >= 20);
}

}  // namespace sightline::sight
