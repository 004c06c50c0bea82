// Layouts of one layer whose rows have runs with steps.
#pragma once

#include "sightline/layout/layout.hpp"
#include "sightline/layout/pattern_spec.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

/// Windows and strided attention by residues, and modules of seven tokens whose last one, or last two, all read.
inline layout::Layout make_stepped(layout::Vertex tokens, layout::PatternKind kind, std::int64_t summary = 1) {
  layout::PatternSpec spec;
  spec.kind = kind;
  spec.radius = 12;
  spec.dilation = 3;
  spec.stride = 7;
  spec.summary = summary;
  layout::Layout layout;
  layout.tokens = tokens;
  layout.vertex_colour.assign(tokens, 0);
  for (const layout::Pattern& pattern : layout::make_patterns(spec, {tokens, 0, 1}, unlimited)) {
    layout.relations.emplace_back(pattern, layout::Relative{}, layout::Cancels::single_colour, tokens);
  }
  layout.layers.push_back({{0}});
  layout.order.push_back(0);
  return layout;
}

}  // namespace sightline::sight
