// The library's layouts and groups as the checker's, value by value.
#pragma once

#include <map>
#include <memory>

#include "checker/structure.hpp"
#include "checker/layout.hpp"
#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::convert {

inline checker::Layout to_checker(const layout::Layout& layout) {
  checker::Layout result;
  result.tokens = layout.tokens;
  result.registers = layout.registers;
  result.vertex_colour = layout.vertex_colour;
  for (const layout::Relation& relation : layout.relations) {
    auto pattern = std::make_shared<checker::Pattern>();
    pattern->vertices = layout.vertices();
    std::vector<layout::Run> row, previous;
    for (layout::Vertex i = 0; i < layout.vertices(); ++i) {
      relation.pattern().row(i, row);
      if (i > 0 && row == previous) {
        ++pattern->segments.back().count;
        continue;
      }
      pattern->segments.push_back({i, 1, static_cast<std::uint32_t>(pattern->lists.size()), checker::Pattern::none});
      auto& list = pattern->lists.emplace_back();
      for (const layout::Run& run : row) list.push_back({run.first, run.last, run.step, run.colour, 0, 0});
      previous = row;
    }
    checker::Relation copy;
    copy.pattern = std::move(pattern);
    copy.relative = static_cast<checker::RelativeKind>(relation.relative().kind);
    copy.buckets = relation.relative().buckets;
    copy.max_distance = relation.relative().max_distance;
    copy.grid_width = relation.relative().grid_width;
    copy.bidirectional = relation.relative().bidirectional;
    copy.cancels = static_cast<checker::Cancels>(relation.cancels());
    copy.tokens = relation.tokens();
    copy.set_buckets();
    result.relations.push_back(std::move(copy));
  }
  for (const layout::Layer& layer : layout.layers) result.layers.push_back(layer.relations);
  result.order = layout.order;
  return result;
}

inline checker::Permutation to_checker(const group::Permutation& permutation) {
  std::vector<std::pair<checker::Vertex, checker::Vertex>> moves;
  for (std::size_t k = 0; k < permutation.moved().size(); ++k) moves.emplace_back(permutation.moved()[k], permutation.image()[k]);
  return checker::Permutation(std::move(moves));
}

inline checker::ConfirmedGroup to_checker(const group::Group& group) {
  checker::ConfirmedGroup result;
  result.group.degree = group.degree;
  result.group.classes = group.symmetric_classes;
  for (const group::Permutation& g : group.generators) result.group.generators.push_back(to_checker(g));
  for (const auto& [k, exponent] : group.order.factorials()) result.order->multiply_factorial(k, exponent);
  result.order->multiply(checker::Natural::from_decimal(group.order.rest().get_str()));
  return result;
}

}  // namespace sightline::convert
