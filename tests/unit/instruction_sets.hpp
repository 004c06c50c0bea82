// What this processor can run: tests of the mixers go through all of it, so that a machine that has more tests more.
#pragma once

#include <random>
#include <vector>

#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/mixer/mixer.hpp"

namespace sightline::mixer {

/// The last one is what InstructionSet::best stands for.
[[nodiscard]] inline const std::vector<InstructionSet>& available_sets() {
  static const std::vector<InstructionSet> sets = [] {
    std::vector<InstructionSet> found;
    for (const InstructionSet set : {InstructionSet::generic, InstructionSet::avx2, InstructionSet::avx512}) {
      if (cpu::has_instructions(set))
        found.push_back(set);
    }
    return found;
  }();
  return sets;
}
template <class Random> [[nodiscard]] InstructionSet draw_set(Random& random) {
  return available_sets()[random() % available_sets().size()];
}

} // namespace sightline::mixer
