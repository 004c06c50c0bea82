// Activations and expressions (architecture file, "Expressions") on tensors.
#pragma once

#include "sightline/attention_kernel/activation.hpp"
#include "sightline/train/operations.hpp"

namespace sightline::train {

/// A name or an expression in t, entrywise. leaky_relu has the slope 0.01, elu alpha 1, gelu is the exact one (erf),
/// step is 1 for t > 0 and else 0.
[[nodiscard]] Tensor apply_activation(const attention_kernel::Activation& activation, const Tensor& t, const Run& run);

/// A kernel expression on x [.., width] and y [.., width], which broadcast: the result lacks the last axis.
[[nodiscard]] Tensor evaluate_kernel(const attention_kernel::Expression& kernel, const Tensor& x, const Tensor& y);

} // namespace sightline::train
