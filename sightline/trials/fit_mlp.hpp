// `approximate --method mlp`: an MLP Sumformer, trained.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sightline/approximate/mlp_sumformer.hpp"
#include "sightline/train/fit.hpp"
#include "sightline/trials/samples.hpp"

namespace sightline::trials {

struct MlpOptions {
  std::int64_t latent = 16, width = 64; ///< phi: dim, width, width, latent; psi: dim + latent, width, width, outputs
  std::int64_t steps = 4000, batch = 64;
  double rate = 3e-3;
  double error = 0.01; ///< wanted L2 error, relative to the target's
  std::uint64_t seed = 0;
  int threads = 1;
  std::string checkpoint; ///< FitOptions::checkpoint
  double checkpoint_seconds = train::FitOptions{}.checkpoint_seconds;
};

struct MlpResult {
  std::string target;
  std::int64_t tokens = 0, dim = 0, outputs = 0, latent = 0, width = 0, steps = 0, first_step = 0, rows = 0;
  std::size_t parameters = 0;
  double l2 = 0, relative_l2 = 0, sup = 0, relative_sup = 0; ///< of the saved model, on the test
  double train = 0;                                          ///< relative, over the fitted sequences
  double before = 0;       ///< relative, over the steps shortly before the learning rate fell to half
  double equivariance = 0; ///< largest |S(sX) - sS(X)|
  double seconds = 0;      ///< of the processor
  double wanted = 0;
  std::vector<std::string> notes, blame;
  std::optional<approximate::MlpSumformer> model;
};

/// Trains in double precision; scales of tokens and targets are folded into the first and last maps, so that the model
/// is S(X)_i = psi(x_i, sum_j phi(x_j)) as it stands. Throws InputError, Interrupted (with the checkpoint written). The
/// checkpoint stays: the caller removes it when the model is kept.
[[nodiscard]] MlpResult fit_mlp(const TaskData& data, const MlpOptions& options, const Budget& budget,
                                const std::function<void(const std::string& stage, double share)>& show = {});

[[nodiscard]] std::string to_json(const MlpResult& result, const std::string& saved, const std::string& architecture);
[[nodiscard]] std::string to_text(const MlpResult& result, const std::string& saved, const std::string& architecture);

} // namespace sightline::trials
