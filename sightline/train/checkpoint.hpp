// Models on disk: safetensors with the architecture inside.
#pragma once

#include <memory>
#include <string>

#include "sightline/data/safetensors.hpp"
#include "sightline/train/model.hpp"

namespace sightline::train {

/// Weights by name; metadata `architecture` (canonical JSON, as given), `sha256` of it, `outputs`, `ids`.
[[nodiscard]] data::TensorFile to_file(const Model& model, const std::string& canonical);

/// Copies the tensors of a file into a model. Throws InputError `FILE: ...` naming the first tensor that is missing,
/// superfluous or of another shape or type.
void load_weights(Model& model, const data::TensorFile& content, const std::string& file);

/// A weights file, or the best.safetensors of a run's folder. Throws InputError for files that hold no architecture,
/// whose digest does not fit it, or that another architecture.json stands beside.
[[nodiscard]] std::unique_ptr<Model> load_model(const std::string& weights_or_folder, const Budget& budget);

/// What a training needs to go on, bit for bit: everything but what the architecture and the data say.
struct State {
  std::int64_t step = 0;                ///< steps done
  double loss_sum = 0, loss_weight = 0; ///< since the last row of metrics.csv
  double best_loss = 0;
  std::int64_t best_step = -1;  ///< -1: none yet
  std::string samples;          ///< what the training began with (compute_fingerprint); "": an older run does not say
  Tensor values, first, second; ///< flat; the last two undefined for SGD
};
[[nodiscard]] data::TensorFile to_file(const State& state, const std::string& canonical);
/// Throws InputError when the file is no such state, or belongs to another architecture or [train] table.
[[nodiscard]] State to_state(const data::TensorFile& content, const std::string& file, const std::string& canonical,
                             std::int64_t parameters);

} // namespace sightline::train
