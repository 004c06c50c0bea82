// Running a model on data: predictions, and how good they are.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sightline/train/model.hpp"
#include "sightline/train/samples.hpp"

namespace sightline::train {

/// Over all scored entries of `samples`, batch by batch. budget: null when Ctrl-C has to wait (a training that will
/// write a checkpoint first).
struct Evaluation {
  double loss = 0;
  double metric = 0; ///< classes: accuracy; numbers: root of the mean squared error
  bool classes = false;
  std::int64_t samples = 0;
};
[[nodiscard]] Evaluation evaluate(const Model& model, const Batch& samples, std::int64_t batch, const Run& run,
                                  at::Device device, const Budget* budget);

/// `y` (scores before softmax, or numbers) and, with a layer, `attention` [N, heads, vertices, vertices or landmarks].
/// Throws InputError when the layer does not exist or has no attention.
[[nodiscard]] std::map<std::string, data::Array> predict(const Model& model, const Batch& samples, std::int64_t batch,
                                                         std::optional<std::uint64_t> attention_layer, const Run& run,
                                                         at::Device device, const Budget& budget);

} // namespace sightline::train
