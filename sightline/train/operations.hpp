// The tokenwise parts of a model: linear maps, norms, pooling; each also in a form whose bits do not depend on the
// place of a token.
#pragma once

#include "sightline/architecture/architecture.hpp"
#include "sightline/train/torch.hpp"

namespace sightline::train {

using at::Tensor;

/// How a model is run.
struct Run {
  int threads = 1;
  /// f(sX) = s f(X) bit for bit (mixer.hpp, Execution::exact) for the whole model: linear maps go row by row, functions
  /// entry by entry without vector code, sums over tokens in the order of their values. No gradients.
  bool exact = false;
  /// Mixers as tensor operations instead of ours (a GPU; and an oracle for tests).
  bool dense_mixers = false;
};

/// For tensor operations and the BLAS behind them (OpenBLAS counts its own threads, whatever LibTorch is told).
void use_threads(int threads);
/// At least 1.
[[nodiscard]] int count_cores();
/// What to say of far more threads than cores; "" of others.
[[nodiscard]] std::string describe_threads(int threads);

/// x [.., in] -> [.., out], weight [out, in], bias [out] or undefined.
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Run& run);

/// LayerNorm (x - mean) / sqrt(variance + eps) * weight + bias, or RMSNorm x / sqrt(mean of squares + eps) * weight;
/// weight and bias undefined when not affine.
[[nodiscard]] Tensor normalise(const Tensor& x, const architecture::Norm& norm, const Tensor& weight,
                               const Tensor& bias, const Run& run);

/// x [batch, token, width] -> [batch, width]: mean over the first lengths[b] tokens (all when undefined), or the first
/// token.
[[nodiscard]] Tensor pool(const Tensor& x, const std::string& kind, const Tensor& lengths, const Run& run);

/// [batch, tokens, 1] of 0 and 1 in the type of `like`: token < lengths[b].
[[nodiscard]] Tensor make_presence(const Tensor& lengths, std::int64_t tokens, const Tensor& like);

} // namespace sightline::train
