// Blocks of reads that all readers of a tile read: sums of features need not meet them one by one (linear_blocks.hpp).
#pragma once

#include "sightline/mixer/cpu/tiles.hpp"

namespace sightline::mixer::cpu {

/// compiled.whole and compiled.rest, of every relation. O(tiles and their segments, pairs of tiles and blocks), once per plan.
void find_whole_reads(const Plan& plan, const CompiledPlan& compiled);

} // namespace sightline::mixer::cpu
