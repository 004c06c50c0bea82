// Mixers as plain tensor operations on dense n x n masks: the route on a GPU, and what the tests hold our own against.
#pragma once

#include "sightline/train/mixer_plan.hpp"
#include "sightline/train/operations.hpp"

namespace sightline::train {

/// Colours of a plan's arcs as int32 [heads or 1, readers, reads] on the CPU, -1 where there is no arc. O(n^2) memory, by
/// nature.
[[nodiscard]] Tensor make_colours(const mixer::Plan& rows);

/// mixer::attend on q [batch, readers, heads, width], k, v [batch, reads, heads, width]; bias [heads, colours], sink
/// [heads] and lengths [batch] may be undefined; `attention`, when given, receives the weights [batch, heads, readers,
/// reads]. What a row does not read cannot change it or its gradients: where a query, key or value is not finite, every
/// pair is computed by itself, in memory width times that of the masks.
[[nodiscard]] Tensor tensor_attend(const LayerPlan& plan, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& bias, const Tensor& sink, const Tensor& lengths, Tensor* attention);
/// mixer::aggregate on v [batch, tokens, heads or 1, width], weight [heads, colours] or undefined.
[[nodiscard]] Tensor tensor_aggregate(const LayerPlan& plan, const mixer::Plan& rows, mixer::Aggregation aggregation,
                                      std::int64_t heads, const Tensor& v, const Tensor& weight, const Tensor& lengths);
/// mixer::rotate on x [batch, tokens, heads, width].
[[nodiscard]] Tensor tensor_rotate(const LayerPlan& plan, const Tensor& x);

} // namespace sightline::train
