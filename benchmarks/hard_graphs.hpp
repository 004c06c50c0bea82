// Token graphs that are hard for everybody: strongly regular, cages, Paley, Hadamard, Cai-Fuerer-Immerman.
#pragma once

#include <string>
#include <vector>

#include "sightline/layout/layout.hpp"

namespace bench {

struct HardGraph {
  std::string name;
  std::vector<std::vector<sightline::layout::Vertex>> rows;
};

/// All of them, up to 500 vertices, vertices renumbered at random.
[[nodiscard]] std::vector<HardGraph> list_hard_graphs();
[[nodiscard]] sightline::layout::Layout make_layout(const HardGraph& graph);

}  // namespace bench
