// Random block masks for tests.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "sightline/layout/layout.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/reach.hpp"

namespace sightline::sight::oracle {

/// Blocks of random lengths; every row is a union of blocks, some rows leave out the reader's own, and a few differ inside of a block. In some
/// layers blocks have one length, and their tokens read what is in front of them and the same few places of all blocks, in runs with steps.
inline Layout make_blocks(std::mt19937& random, Vertex tokens, std::uint32_t blocks) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const Budget no_limit;
  Layout layout;
  layout.tokens = tokens;
  layout.registers = draw(2);
  layout.vertex_colour.assign(layout.vertices(), 0);
  if (layout.registers > 0) layout.vertex_colour.back() = 1;
  std::vector<Vertex> begins{0};
  for (std::uint32_t k = 1; k < blocks; ++k) begins.push_back(draw(tokens));
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  begins.push_back(tokens);
  const std::uint32_t layers = 1 + draw(2), dense = 1 + draw(4);
  for (std::uint32_t q = 0; q < layers; ++q) {
    layout::PatternBuilder builder(layout.vertices(), no_limit);
    if (const Vertex length = 4 + draw(4); draw(4) == 0 && 2 * length <= tokens) {
      for (Vertex begin = 0; begin < tokens; begin += length) {
        const Vertex place = 1 + draw(length - 2), width = 1 + draw(length - place - 1);
        std::vector<layout::AffineRun> runs{layout::make_constant_run(begin, std::min(begin + place, tokens) - 1)};
        for (Vertex j = place; j < place + width; ++j) runs.push_back(layout::AffineRun{j, std::int64_t{tokens} - 1 - draw(2), tokens, length});
        builder.add_segment(begin, builder.add_list(runs));
      }
      if (layout.registers > 0) builder.add_segment(tokens, builder.add_list(std::vector{layout::make_constant_run(draw(tokens), tokens)}));
      layout.relations.emplace_back(builder.build(), layout::Relative{}, layout::Cancels::nothing, tokens);
      layout.layers.push_back({{q}});
      layout.order.push_back(q);
      continue;
    }
    for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
      std::vector<layout::AffineRun> runs;
      const bool own = draw(3) > 0;
      for (std::size_t c = 0; c + 1 < begins.size(); ++c) {
        if (c == b ? own : draw(static_cast<std::uint32_t>(begins.size())) < dense) runs.push_back(layout::make_constant_run(begins[c], begins[c + 1] - 1));
      }
      if (layout.registers > 0 && draw(2) == 0) runs.push_back(layout::make_constant_run(tokens, tokens));
      builder.add_segment(begins[b], builder.add_list(runs));
      if (draw(8) == 0 && begins[b] + 1 < begins[b + 1]) builder.add_segment(begins[b] + 1, builder.add_list(std::vector{layout::make_constant_run(0, draw(tokens))}));
    }
    if (layout.registers > 0) builder.add_segment(tokens, builder.add_list(std::vector{layout::make_constant_run(draw(tokens), tokens)}));
    layout.relations.emplace_back(builder.build(), layout::Relative{}, layout::Cancels::nothing, tokens);
    layout.layers.push_back({{q}});
    layout.order.push_back(q);
  }
  return layout;
}

}  // namespace sightline::sight::oracle
