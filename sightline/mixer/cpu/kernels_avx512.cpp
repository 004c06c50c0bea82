// The kernels compiled for AVX512; flags in sources.cmake.
#define SIGHTLINE_USE_AVX512
#include "sightline/mixer/cpu/kernels.hpp"
