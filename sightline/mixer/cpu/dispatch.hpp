// Which kernels run.
#pragma once

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/mixer.hpp"

namespace sightline::mixer::cpu {

/// The kernels of the set; `best`: of the newest set that the processor has. A set that the processor lacks:
/// ArgumentError.
template <class Real> [[nodiscard]] const Engine<Real>& find_engine(InstructionSet set);
[[nodiscard]] bool has_instructions(InstructionSet set);

} // namespace sightline::mixer::cpu
