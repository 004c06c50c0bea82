#include "sightline/mixer/cpu/dispatch.hpp"

#include "sightline/base/error.hpp"

namespace sightline::mixer::cpu {

const Engine<float>* find_generic_float();
const Engine<double>* find_generic_double();
#ifdef SIGHTLINE_MIXER_X86
const Engine<float>* find_avx2_float();
const Engine<double>* find_avx2_double();
const Engine<float>* find_avx512_float();
const Engine<double>* find_avx512_double();
#endif

bool has_instructions(InstructionSet set) {
  switch (set) {
  case InstructionSet::best:
  case InstructionSet::generic:
    return true;
#ifdef SIGHTLINE_MIXER_X86
  case InstructionSet::avx2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  case InstructionSet::avx512:
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
#endif
  default:
    return false;
  }
}

template <class Real> const Engine<Real>& find_engine(InstructionSet set) {
  if (set == InstructionSet::best) {
    static const InstructionSet best = has_instructions(InstructionSet::avx512) ? InstructionSet::avx512
                                       : has_instructions(InstructionSet::avx2) ? InstructionSet::avx2
                                                                                : InstructionSet::generic;
    set = best;
  }
  if (!has_instructions(set))
    throw ArgumentError("mixer: this processor lacks the instruction set asked for");
  constexpr bool single = sizeof(Real) == 4;
#ifdef SIGHTLINE_MIXER_X86
  if (set == InstructionSet::avx512) {
    if constexpr (single)
      return *find_avx512_float();
    else
      return *find_avx512_double();
  }
  if (set == InstructionSet::avx2) {
    if constexpr (single)
      return *find_avx2_float();
    else
      return *find_avx2_double();
  }
#endif
  if constexpr (single)
    return *find_generic_float();
  else
    return *find_generic_double();
}

template const Engine<float>& find_engine(InstructionSet);
template const Engine<double>& find_engine(InstructionSet);

} // namespace sightline::mixer::cpu
