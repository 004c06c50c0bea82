// Small id architectures as explicit rows, for the oracle, the random networks and the library alike.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/labels.hpp"

namespace sight_labels {

using sightline::layout::RelativeKind;
using sightline::layout::Vertex;
using sightline::sight::ClassKind;
using sightline::sight::RowRule;

struct Arc {
  Vertex read = 0;
  std::uint32_t matrix = 1;
};

struct Head {
  RowRule rule = RowRule::frequency;
  sightline::layout::Relative relative;
  std::vector<std::vector<Arc>> rows;
};

struct Model {
  Vertex tokens = 1;
  std::vector<std::uint64_t> registers;  ///< their colours
  std::uint32_t vocabulary = 2;
  bool bos = false, absolute = false;
  std::vector<Head> heads;
  std::vector<std::vector<std::uint32_t>> layers;
  ClassKind target_class = ClassKind::all;
  std::vector<std::vector<std::uint32_t>> generators;  ///< of the target group, as images

  [[nodiscard]] Vertex vertices() const { return tokens + static_cast<Vertex>(registers.size()); }
  [[nodiscard]] std::string describe() const;
};

/// The relative colour of the arc (i reads j) as theory.md 15.4 has it; -1 on arcs that touch a register or without one.
std::int64_t relative_colour(const Model& model, const Head& head, Vertex i, Vertex j);

sightline::layout::Layout to_layout(const Model& model);
sightline::sight::IdAnswer answer(const Model& model, std::optional<std::uint64_t> depth);

/// Rows from a predicate on (i, j), matrix colour 1.
template <typename Reads>
Head make_head(RowRule rule, RelativeKind kind, Vertex vertices, Reads reads) {
  Head head;
  head.rule = rule;
  head.relative.kind = kind;
  head.rows.resize(vertices);
  for (Vertex i = 0; i < vertices; ++i) {
    for (Vertex j = 0; j < vertices; ++j) {
      if (reads(i, j)) head.rows[i].push_back({j, 1});
    }
  }
  return head;
}

/// A random architecture with at most `labelled_inputs` labelled inputs. All rules, classes, registers, groups.
Model draw_model(std::mt19937_64& random, double labelled_inputs);

}  // namespace sight_labels
