#include "sightline/train/optimiser.hpp"

#include <cmath>
#include <numbers>

namespace sightline::train {

FlatParameters::FlatParameters(const std::vector<Weight>& weights) {
  const at::NoGradGuard no_gradients;
  std::int64_t count = 0;
  at::TensorOptions options;
  for (const Weight& weight : weights) {
    if (!weight.trained)
      continue;
    count += weight.tensor.numel();
    options = weight.tensor.options();
  }
  values_ = at::empty({count}, options.requires_grad(false));
  gradients_ = at::zeros({count + 1}, options.requires_grad(false));
  std::int64_t at = 0;
  for (const Weight& weight : weights) {
    if (!weight.trained)
      continue;
    Tensor tensor = weight.tensor;
    const std::int64_t size = tensor.numel();
    const Tensor room = values_.narrow(0, at, size).view(tensor.sizes());
    room.copy_(tensor);
    tensor.set_data(room);
    tensor.mutable_grad() = gradients_.narrow(0, at, size).view(tensor.sizes());
    at += size;
  }
}

double compute_rate(const architecture::Train& train, std::int64_t step, std::int64_t steps) {
  const auto warmup = static_cast<std::int64_t>(std::ceil(train.warmup * static_cast<double>(steps)));
  if (step < warmup)
    return train.lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (train.schedule == architecture::Schedule::constant)
    return train.lr;
  const double share =
      static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, steps - warmup));
  return train.lr * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

void clip_gradient(const Tensor& gradient, double clip) {
  const double norm = gradient.to(at::kDouble).norm().item<double>();
  if (norm > clip)
    gradient.mul_(clip / (norm + 1e-6));
}

Optimiser::Optimiser(const architecture::Train& train, const Tensor& like)
    : kind_(train.optimiser), decay_(train.weight_decay) {
  if (kind_ != architecture::Optimiser::sgd) {
    first = at::zeros_like(like);
    second = at::zeros_like(like);
  }
}

void Optimiser::update(const Tensor& values, const Tensor& gradient, std::int64_t step, double rate) {
  const at::NoGradGuard no_gradients;
  if (kind_ == architecture::Optimiser::adamw)
    values.mul_(1 - rate * decay_);
  else if (decay_ > 0)
    gradient.add_(values, decay_);
  if (kind_ == architecture::Optimiser::sgd) {
    values.add_(gradient, -rate);
    return;
  }
  const double near = 0.9, far = 0.999, eps = 1e-8, t = static_cast<double>(step + 1);
  first.mul_(near).add_(gradient, 1 - near);
  second.mul_(far).addcmul_(gradient, gradient, 1 - far);
  const Tensor scale = (second / (1 - std::pow(far, t))).sqrt_().add_(eps);
  values.addcdiv_(first, scale, -rate / (1 - std::pow(near, t)));
}

} // namespace sightline::train
