// The kernels compiled for AVX2; flags in sources.cmake.
#define SIGHTLINE_USE_AVX2
#include "sightline/mixer/cpu/kernels.hpp"
