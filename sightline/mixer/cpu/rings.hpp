// Exact mode, rings by tiles (rotations; rotations and reflections): the backward pass.
#pragma once

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/cpu/tiles.hpp"
#include "sightline/mixer/cpu_hooks.hpp"

namespace sightline::mixer::cpu {

/// After find_exact() that went by tiles, for kernels of x.y on queries and keys as they are. Every tile adds to the
/// gradients of its reads where the tile before it stopped, so that each of them is one chain over its readers; the tiles
/// begin behind the readers' widest gap as seen from the read, and what wraps comes last (Tile::again). Reflections: the
/// reads on one side of every reader, then, in a mirror, those on the other; what comes of both is added up, and a reader's
/// own pair and its antipode count half on either side. False where heads do not all go by tiles.
template <class Real>
[[nodiscard]] bool attend_rings_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                         const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                                         const AttentionGradients<Real>& gradients, const Execution& execution);

} // namespace sightline::mixer::cpu
