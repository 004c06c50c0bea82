#pragma once

#include "sightline/attention_kernel/kernel.hpp"

inline constexpr auto yes = sightline::attention_kernel::Tri::yes;
inline constexpr auto no = sightline::attention_kernel::Tri::no;
inline constexpr auto open = sightline::attention_kernel::Tri::unknown;
