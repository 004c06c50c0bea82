// Training: from an architecture and a data set to a folder of weights, curves and figures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::train {

struct TrainRequest {
  architecture::Architecture architecture; ///< `train` absent: defaults
  std::string data;
  std::optional<std::string> targets; ///< y beside a .npy
  std::string out;
  bool resume = false;
  std::optional<std::string> init_from; ///< weights or a run's folder to start from
  std::vector<std::string> only; ///< train the tensors whose names begin with one of these; the others stay as they start
  std::optional<int> threads;     ///< default: as the run that is resumed, else all cores (one with several processes)
  double checkpoint_seconds = 10; ///< least time between two checkpoints on the way (0: after every step)
  double validation = 0.1;
  std::string device = "cpu"; ///< or "cuda"
};

/// What a listener learns. Only the first process of several speaks.
struct Progress {
  std::int64_t step = 0, steps = 0, first_step = 0;
  std::int64_t epoch = 0, epochs = 0; ///< from 1
  double loss = 0;                    ///< of the last step
  std::optional<double> validation_loss;
  double seconds_left = 0;
};
struct TrainListener {
  std::function<void(const std::string& line)> say;
  std::function<void(const Progress& progress)> show;
};

struct TrainResult {
  std::int64_t steps = 0, best_step = 0;
  double best_loss = 0; ///< on the validation part, or of training when there is none
  bool stopped_early = false;
  bool speaks = true; ///< false in all but the first process of several
};

/// "12 s", "3 min 5 s", "2 h 10 min".
[[nodiscard]] std::string print_duration(double seconds);

/// Trains. The same request gives the same weights, bit for bit, however often it was killed and resumed (same machine,
/// threads and instruction set). A step sees rows of a permutation by seed and epoch; a checkpoint holds everything
/// that the rest depends on. One row of metrics.csv per epoch, or 20 evenly spaced ones when there are fewer epochs.
/// best.safetensors has the least loss on the validation part; training stops when it has not improved for `patience`
/// epochs. Throws InputError: data that does not fit, a folder that exists, a disk that is full, a loss that is no
/// number (the last checkpoint stays), a lost process; Interrupted after Ctrl-C, with a checkpoint written.
TrainResult train(const TrainRequest& request, const TrainListener& listener, const Budget& budget);

} // namespace sightline::train
