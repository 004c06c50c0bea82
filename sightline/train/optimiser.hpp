// Optimisers on one flat vector of parameters.
#pragma once

#include "sightline/architecture/architecture.hpp"
#include "sightline/train/parameters.hpp"

namespace sightline::train {

/// All trained tensors of a model, and their gradients, as stretches of two flat tensors: one call updates them, one
/// adds up the gradients of several processes, one stores them.
class FlatParameters {
public:
  /// From now on the weights' numbers live in the flat tensor.
  explicit FlatParameters(const std::vector<Weight>& weights);
  [[nodiscard]] const Tensor& values() const { return values_; }
  /// [count + 1]: backward adds here; the last entry is free for the loss.
  [[nodiscard]] const Tensor& gradients() const { return gradients_; }
  [[nodiscard]] Tensor gradient() const { return gradients_.narrow(0, 0, values_.numel()); }
  void clear_gradients() const { gradients_.zero_(); }

private:
  Tensor values_, gradients_;
};

/// lr of step s (from 0) of `steps`: rises linearly over the first warmup share of the steps, then constant or half a
/// cosine to 0.
[[nodiscard]] double compute_rate(const architecture::Train& train, std::int64_t step, std::int64_t steps);

/// Scales the gradient to the norm `clip` when it is longer (PyTorch's clip_grad_norm_).
void clip_gradient(const Tensor& gradient, double clip);

/// AdamW (decoupled decay), Adam (decay added to the gradient), both with 0.9, 0.999, 1e-8; SGD without momentum.
class Optimiser {
public:
  Optimiser(const architecture::Train& train, const Tensor& like);
  /// The (step + 1)-th update.
  void update(const Tensor& values, const Tensor& gradient, std::int64_t step, double rate);
  Tensor first, second; ///< Adam's means of gradients and of their squares

private:
  architecture::Optimiser kind_;
  double decay_;
};

} // namespace sightline::train
