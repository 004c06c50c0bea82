// The library's layouts and structures as the checker's, for tests of single slices.
#pragma once

#include <deque>

#include "checker/structure.hpp"
#include "sightline/symmetry/structure.hpp"

namespace convert {

inline checker::Relation to_checker(const sightline::layout::Relation& relation) {
  using sightline::layout::Vertex;
  auto pattern = std::make_shared<checker::Pattern>();
  pattern->vertices = relation.vertex_count();
  std::vector<sightline::layout::Run> row, last;
  for (Vertex i = 0; i < relation.vertex_count(); ++i) {
    relation.pattern().row(i, row);
    if (i > 0 && row == last) {
      ++pattern->segments.back().count;
      continue;
    }
    std::vector<checker::MovingRun> list;
    for (const auto& run : row) list.push_back({run.first, run.last, run.step, run.colour, 0, 0});
    pattern->segments.push_back({i, 1, static_cast<std::uint32_t>(pattern->lists.size()), checker::Pattern::none});
    pattern->lists.push_back(std::move(list));
    last = row;
  }
  checker::Relation result;
  result.pattern = pattern;
  result.relative = static_cast<checker::RelativeKind>(relation.relative().kind);
  result.buckets = relation.relative().buckets;
  result.max_distance = relation.relative().max_distance;
  result.grid_width = relation.relative().grid_width;
  result.bidirectional = relation.relative().bidirectional;
  result.cancels = static_cast<checker::Cancels>(relation.cancels());
  result.tokens = relation.tokens();
  if (result.relative == checker::RelativeKind::bucket) result.set_buckets();
  return result;
}

/// A structure of the checker that owns its relations.
struct Owned {
  std::deque<checker::Relation> relations;
  checker::Structure structure;

  Owned(const Owned&) = delete;
  explicit Owned(const sightline::symmetry::Structure& from) {
    structure.vertices = from.vertices;
    structure.colour = from.vertex_colour;
    for (const auto& shown : from.relations) {
      relations.push_back(to_checker(*shown.relation));
      structure.relations.push_back({&relations.back(), shown.visible});
    }
  }
};

}  // namespace convert
