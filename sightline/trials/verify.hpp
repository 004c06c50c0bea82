// `rate --verify`: the predicted error of a head dimension against trained heads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/rate/rate.hpp"

namespace sightline::trials {

struct VerifyOptions {
  std::vector<std::int64_t> heads = {1, 2, 4, 8, 16};
  std::int64_t tokens = 16, samples = 4096, test = 1000, steps = 2000, batch = 64, width = 64;
  double rate = 3e-3;
  double frequency = 0; ///< 0: f has gelu; else sines (train::HeadShape)
  std::uint64_t seed = 0;
  int threads = 1;
};

/// One head dimension. `score`: a head trained to be the score itself; the theory says that its mean square error at
/// two independent tokens is at least the tail (Eckart and Young), and reaches it when f is rich enough. `attention`: a
/// head trained to be H_t = sum_s softmax_s(rho(x_t, x_s)) x_s; what the truncated score costs there, no theorem states
/// with its constant.
struct VerifyRow {
  std::int64_t heads = 0;
  double predicted = 0;                      ///< sum over k > heads of sigma_k^2
  double score = 0, score_error = 0;         ///< mean e^2 at different tokens, and its standard error over sequences
  double attention = 0, attention_error = 0; ///< mean e^2 of H per number
};

struct Verification {
  rate::Result rate;
  VerifyOptions options;
  double score_variance = 0, target_variance = 0; ///< mean square of rho and variance of H: what head dimension 0 costs
  std::vector<VerifyRow> rows;
  std::vector<std::string> notes; ///< head dimensions whose measurement is below or far above the prediction
};

/// Trains two heads per dimension on sequences of independent tokens from the measure. Throws InputError, Interrupted.
[[nodiscard]] Verification verify(const rate::Score& score, const rate::Measure& measure, rate::Result rate,
                                  const VerifyOptions& options, const Budget& budget,
                                  const std::function<void(const std::string& stage, double share)>& show = {});

[[nodiscard]] std::string to_text(const Verification& verification);
[[nodiscard]] std::string to_json(const Verification& verification);
[[nodiscard]] std::string
to_svg(const Verification& verification); ///< mean e^2 against the head dimension, both logarithmic

} // namespace sightline::trials
