#include "sightline/train/predictor.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sightline/base/error.hpp"
#include "sightline/train/loss.hpp"

namespace sightline::train {

Evaluation evaluate(const Model& model, const Batch& samples, std::int64_t batch, const Run& run, at::Device device,
                    const Budget* budget) {
  const at::NoGradGuard no_gradients;
  Evaluation result;
  result.samples = samples.size();
  result.classes = !samples.y.is_floating_point();
  double loss = 0, weight = 0, correct = 0, squared = 0;
  for (std::int64_t begin = 0; begin < samples.size(); begin += batch) {
    if (budget)
      budget->poll_now();
    const Batch part = take_range(samples, begin, std::min(begin + batch, samples.size()), device);
    const Score score = compute_score(model.forward(part.x, part.lengths, run), part, 0);
    loss += score.loss.item<double>();
    weight += score.weight;
    correct += score.correct;
    squared += score.squared;
  }
  if (weight > 0) {
    result.loss = loss / weight;
    result.metric = result.classes ? correct / weight : std::sqrt(squared / weight);
  }
  return result;
}

std::map<std::string, data::Array> predict(const Model& model, const Batch& samples, std::int64_t batch,
                                           std::optional<std::uint64_t> attention_layer, const Run& run,
                                           at::Device device, const Budget& budget) {
  const at::NoGradGuard no_gradients;
  if (attention_layer && *attention_layer >= model.layer_count()) {
    throw InputError(
        fmt::format("--attention: expected a layer from 0 to {}, found {}", model.layer_count() - 1, *attention_layer));
  }
  if (attention_layer && !model.has_attention(*attention_layer)) {
    throw InputError(fmt::format("--attention: expected a layer with attention, found layer {} with another mixer",
                                 *attention_layer));
  }
  std::vector<Tensor> outputs, weights;
  for (std::int64_t begin = 0; begin < samples.size(); begin += batch) {
    budget.poll_now();
    const Batch part = take_range(samples, begin, std::min(begin + batch, samples.size()), device);
    Model::Probe probe;
    if (attention_layer)
      probe.layer = *attention_layer;
    outputs.push_back(model.forward(part.x, part.lengths, run, attention_layer ? &probe : nullptr).cpu());
    if (attention_layer)
      weights.push_back(probe.attention.cpu());
  }
  std::map<std::string, data::Array> result;
  result.emplace("y", to_array(at::cat(outputs, 0)));
  if (attention_layer)
    result.emplace("attention", to_array(at::cat(weights, 0)));
  return result;
}

} // namespace sightline::train
