// Views in which most vertices have a name, beside all isomorphisms of these views: engine and checker (docs/theory.md 16.115).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "dropped_views.hpp"

namespace sightline::sight {

namespace {

/// One layer of one or two heads: a ring or a path, tokens with leaves, a few arcs from anywhere to anywhere; tokens that read and are read alike; registers of colours of their own.
Layout draw_irregular(std::mt19937_64& random) {
  const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
  const Vertex tokens = 4 + draw(8), registers = draw(4) == 0 ? 1 + draw(2) : 0, vertices = tokens + registers, twins = draw(3);
  const bool both_ways = draw(2) == 0, loops = draw(2) == 0, wraps = draw(2) == 0;
  std::vector<std::vector<oracle::Head>> layers(1, std::vector<oracle::Head>(1 + draw(3) / 2));
  for (oracle::Head& head : layers[0]) {
    std::vector<std::vector<bool>> reads(vertices, std::vector<bool>(vertices, false));
    const auto link = [&](Vertex i, Vertex j) {
      reads[i][j] = true;
      if (both_ways) reads[j][i] = true;
    };
    for (Vertex i = 0; i + 1 < tokens; ++i) link(draw(5) == 0 ? draw(i + 1) : i, i + 1), link(i + 1, i);
    if (wraps) link(tokens - 1, 0);
    for (Vertex more = draw(4); more > 0; --more) link(draw(vertices), draw(vertices));
    for (Vertex r = tokens; r < vertices; ++r) link(draw(tokens), r), link(r, draw(tokens));
    for (Vertex i = 0; loops && i < vertices; ++i) reads[i][i] = true;
    for (Vertex k = 0; k < twins; ++k) {  // token 2 k + 1 becomes what token 2 k is
      const Vertex x = 2 * k, y = 2 * k + 1;
      if (y >= tokens) break;
      for (Vertex j = 0; j < vertices; ++j) {
        if (j != x && j != y) reads[y][j] = reads[x][j], reads[j][y] = reads[j][x];
      }
      reads[y][y] = reads[x][x];
      reads[y][x] = reads[x][y];
    }
    head.rows.resize(vertices);
    for (Vertex i = 0; i < vertices; ++i) {
      for (Vertex j = 0; j < vertices; ++j) {
        if (reads[i][j]) head.rows[i].push_back(j);
      }
    }
  }
  Layout layout = oracle::make_layout(tokens, registers, layers);
  if (draw(4) == 0) layout.vertex_colour[draw(tokens)] = 9;
  return layout;
}

Layout make_one_layer(const std::vector<std::vector<bool>>& reads) {
  std::vector<std::vector<oracle::Head>> layers(1, std::vector<oracle::Head>(1));
  for (const auto& row : reads) {
    layers[0][0].rows.emplace_back();
    for (Vertex j = 0; j < reads.size(); ++j) {
      if (row[j]) layers[0][0].rows.back().push_back(j);
    }
  }
  return oracle::make_layout(static_cast<Vertex>(reads.size()), 0, layers);
}

/// The same few tokens two or three times, with twins among them; an arc or two that only one of the copies has, and tokens that see themselves.
Layout draw_copies(std::mt19937_64& random) {
  const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
  const Vertex size = 3 + draw(2), copies = 2 + draw(2) / (size - 2), alone = draw(3), tokens = size * copies + alone;
  std::vector<std::vector<bool>> reads(tokens, std::vector<bool>(tokens, false));
  const Vertex twins = 1 + draw(2), pairs = 1 + draw(2 * size);
  const auto link = [&](Vertex x, Vertex y) {  // x, y < size; tokens below 2 twins stand for their class
    for (Vertex c = 0; c < copies; ++c) {
      const auto list = [&](Vertex t) { return t < 2 * twins && t / 2 * 2 + 1 < size ? std::vector<Vertex>{t / 2 * 2, t / 2 * 2 + 1} : std::vector<Vertex>{t}; };
      for (const Vertex i : list(x)) {
        for (const Vertex j : list(y)) reads[c * size + i][c * size + j] = reads[c * size + j][c * size + i] = true;
      }
    }
  };
  for (Vertex k = 0; k < pairs; ++k) link(draw(size), draw(size));
  for (Vertex more = 1 + draw(4); more > 0; --more) {
    const Vertex i = draw(size), j = draw(size), c = draw(copies);
    reads[c * size + i][c * size + j] = true;
  }
  for (Vertex i = size * copies; i < tokens; ++i) reads[i][draw(2) == 0 ? i : draw(tokens)] = true;
  return make_one_layer(reads);
}

/// Links from anywhere to anywhere, or twice the same links but for a few; sometimes two tokens are alike.
Layout draw_links(std::mt19937_64& random) {
  const auto draw = [&](std::uint64_t limit) { return static_cast<Vertex>(random() % limit); };
  const Vertex copies = 1 + draw(2), size = copies == 1 ? 6 + draw(6) : 4 + draw(3), tokens = copies * size, degree = 1 + draw(4);
  std::vector<std::vector<bool>> reads(tokens, std::vector<bool>(tokens, false));
  for (Vertex i = 0; i < size; ++i) {
    for (Vertex k = 0; k < degree; ++k) {
      const Vertex j = draw(size);
      for (Vertex c = 0; c < copies; ++c) reads[c * size + i][c * size + j] = true;
    }
  }
  for (Vertex more = draw(4); more > 0; --more) reads[draw(tokens)][draw(tokens)].flip();
  if (draw(3) == 0) {
    for (Vertex j = 2; j < tokens; ++j) reads[1][j] = reads[0][j], reads[j][1] = reads[j][0];
    reads[1][1] = reads[0][0];
    reads[1][0] = reads[0][1];
  }
  return make_one_layer(reads);
}

}  // namespace

TEST_CASE("views in which names fix what is read have no isomorphisms but those of twins") {
  const auto drop = [](const Layout& layout, const group::Group& group, std::uint64_t depth, std::vector<Vertex>& roots) { return drop_named(layout, group, depth, roots, unlimited, 1); };
  const auto drop_there = [](const checker::Layout& layout, const group::Group& group, std::uint64_t depth, std::vector<Vertex>& roots) {
    checker::drop_named(layout, convert::to_checker(group).group, depth, roots, 1);
  };
  require_dropped(115, 6, draw_irregular, drop, drop_there);
  require_dropped(1150, 4, draw_copies, drop, drop_there);
  require_dropped(1190, 4, draw_links, drop, drop_there);
}

}  // namespace sightline::sight
