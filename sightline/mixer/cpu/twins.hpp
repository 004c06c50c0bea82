// Exact mode where vertices that may change places (twins) are ordered by content: the backward pass.
#pragma once

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/cpu/tiles.hpp"
#include "sightline/mixer/cpu_hooks.hpp"

namespace sightline::mixer::cpu {

/// After find_exact() that went by content. The backward pass on copies of the tokens, brought into the order of their
/// content inside every class: readers by query and output's gradient, reads by key and value. What then adds to one key
/// adds in an order that twins carry along, and classes that change places have tiles that begin alike. False where
/// sums over readers have no such order.
template <class Real>
[[nodiscard]] bool attend_twins_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                         const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                                         const AttentionGradients<Real>& gradients, const Execution& execution);

/// Positions 0 .. reads-1 with the members of every twin class sorted by content (key, then value, by bits).
template <class Real>
[[nodiscard]] std::vector<std::int32_t>
sort_by_content(const Plan& plan, View<const Real> key, std::int64_t width, View<const Real> value,
                std::int64_t value_width, std::int64_t batch, std::int64_t head, const Engine<Real>& engine);

/// to [token][width] = the rows of a head in the given order.
template <class Real>
void copy_rows(const View<const Real>& from, std::int64_t batch, std::int64_t head,
               const std::vector<std::int32_t>& order, std::int64_t width, Real* to);

} // namespace sightline::mixer::cpu
