// Our mixers inside autograd: forward and backward of mixer.hpp as differentiable functions of tensors.
#pragma once

#include "sightline/train/mixer_plan.hpp"
#include "sightline/train/operations.hpp"

namespace sightline::train {

/// mixer::attend. q [batch, readers, heads, width], k and v [batch, reads, heads, width]; bias [heads, colours of the
/// plan], sink [heads], lengths [batch] may be undefined. Result [batch, readers, heads, width]. `attention`, when
/// given, receives the weights [batch, heads, readers, reads] (no gradients then). The plan must outlive the graph of
/// the result. On another device than the CPU: tensor_attend.
[[nodiscard]] Tensor attend(const LayerPlan& plan, const Tensor& q, const Tensor& k, const Tensor& v,
                            const Tensor& bias, const Tensor& sink, const Tensor& lengths, const Run& run,
                            Tensor* attention = nullptr);

/// mixer::aggregate with `rows` (the plan's own or its landmarks). v [batch, reads, heads or 1, width] (1: shared by
/// all heads), weight [heads, colours of the plan] or undefined.
[[nodiscard]] Tensor aggregate(const LayerPlan& plan, const mixer::Plan& rows, mixer::Aggregation aggregation,
                               std::int64_t heads, const Tensor& v, const Tensor& weight, const Tensor& lengths,
                               const Run& run);

/// mixer::rotate on x [batch, tokens, heads, width].
[[nodiscard]] Tensor rotate(const LayerPlan& plan, const Tensor& x, const Run& run);

} // namespace sightline::train
