// The kernels compiled for any processor; flags in sources.cmake.
#include "sightline/mixer/cpu/kernels.hpp"
