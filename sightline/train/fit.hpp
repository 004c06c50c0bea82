// Fitting a network to samples in memory: for comparisons of many small networks (`train` makes the one that is kept).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/train/model.hpp"
#include "sightline/train/samples.hpp"

namespace sightline::train {

/// Anything with parameters and a forward pass.
struct Network {
  std::shared_ptr<torch::nn::Module> module; ///< owns the parameters
  std::vector<Weight> weights;
  std::function<Tensor(const Tensor& x, const Run& run)> forward;
  [[nodiscard]] std::int64_t count_parameters() const;
};
[[nodiscard]] Network make_network(std::shared_ptr<Model> model);

struct FitOptions {
  architecture::Train settings; ///< `steps` must be set; `seed` orders the samples
  int threads = 1;
  /// "" or a file that holds the state of a fit: read when it is there, written now and then, before a step that may
  /// outlast the time limit, and at the end. Whoever writes what the fit was for removes it then.
  std::string checkpoint;
  std::string fingerprint;       ///< what is being fitted; a checkpoint of anything else is refused
  double checkpoint_seconds = 5; ///< least time between two checkpoints
};

/// Options of a fit without weight decay; `rate` is the greatest learning rate.
[[nodiscard]] FitOptions make_fit_options(std::int64_t steps, std::int64_t batch, double rate, std::uint64_t seed,
                                          int threads);

struct FitResult {
  double loss = 0;             ///< mean over the last twentieth of the steps
  double seconds = 0;          ///< of the processor, of the steps done now
  std::int64_t first_step = 0; ///< where a checkpoint let it go on
};

/// Steps over random batches, a new permutation of the samples in every epoch; what a step does depends on (seed, step)
/// and the state alone, so a fit that goes on from its checkpoint ends with the same bits. Throws InputError when the
/// loss is no number or the checkpoint belongs to another fit; Interrupted, with the checkpoint written.
FitResult fit(const Network& network, const Batch& training, const FitOptions& options, const Budget& budget,
              const std::function<void(std::int64_t step, double loss)>& show = {});

/// The outputs for all of x, without gradients.
[[nodiscard]] Tensor run_network(const Network& network, const Tensor& x, std::int64_t batch, const Run& run);

/// Seconds of this process on the processors: what other processes do does not count.
[[nodiscard]] double processor_seconds();

} // namespace sightline::train
