#include "sightline/train/loss.hpp"

#include "sightline/base/error.hpp"

namespace sightline::train {
namespace {

/// Which entries are scored, times the weights of their samples; the shape of the targets without the outputs.
Tensor make_entry_weights(const Batch& batch) {
  const Tensor& y = batch.y;
  const bool classes = !y.is_floating_point();
  Tensor weights = classes ? y.ne(-100).to(batch.type)
                           : at::ones(y.sizes().slice(0, static_cast<std::size_t>(y.dim()) - 1),
                                      at::TensorOptions().dtype(batch.type).device(y.device()));
  if (!classes && batch.lengths.defined() && y.dim() == 3)
    weights = weights * make_presence(batch.lengths, y.size(1), weights).squeeze(-1);
  if (batch.weights.defined())
    weights = weights * (weights.dim() == 2 ? batch.weights.unsqueeze(1) : batch.weights);
  return weights;
}

} // namespace

double count_weight(const Batch& batch) { return make_entry_weights(batch).to(at::kDouble).sum().item<double>(); }

Score compute_score(const Tensor& scores, const Batch& batch, double label_smoothing) {
  Score result;
  const Tensor weights = make_entry_weights(batch);
  result.weight = weights.to(at::kDouble).sum().item<double>();
  if (batch.y.is_floating_point()) {
    if (scores.sizes() != batch.y.sizes())
      throw InternalError("outputs and targets have different shapes");
    Tensor squared = at::square(scores - batch.y).mean(-1);
    // Beyond a sample's length outputs are nobody's business, NaN included.
    if (batch.lengths.defined())
      squared = at::where(weights.ne(0), squared, at::zeros({}, squared.options()));
    result.loss = (squared * weights).sum();
    result.squared = result.loss.detach().to(at::kDouble).item<double>();
    return result;
  }
  const std::int64_t classes = scores.size(-1);
  const Tensor flat = scores.reshape({-1, classes}), target = batch.y.reshape({-1}), weight = weights.reshape({-1});
  const Tensor scored = target.ge(0);
  const Tensor logarithms = at::log_softmax(flat, -1);
  const Tensor right = logarithms.gather(1, target.clamp_min(0).unsqueeze(1)).squeeze(1);
  Tensor loss = -(1 - label_smoothing) * right;
  if (label_smoothing > 0)
    loss = loss - label_smoothing * logarithms.mean(-1);
  loss = at::where(scored, loss, at::zeros({}, loss.options()));
  result.loss = (loss * weight).sum();
  result.correct =
      (flat.detach().argmax(-1).eq(target).to(weight.scalar_type()) * weight).to(at::kDouble).sum().item<double>();
  return result;
}

} // namespace sightline::train
