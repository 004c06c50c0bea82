// The sum of a Sumformer computed by a token mixer (theory 14; sources 1.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/approximate/sumformer.hpp"

namespace sightline::approximate {

/// How sum_j phi(x_j) reaches every token. Queries and keys are 0, so every weight of an attention is 1/n and its output the mean;
/// psi multiplies by n.
enum class SumBy {
  linformer,  ///< one landmark F^T phi, F = 1/n, then softmax over that landmark
  performer,  ///< attention with one positive feature, which W_K = 0 makes constant
  reg         ///< a register that reads all tokens, then is read by all: 2n pairs
};
[[nodiscard]] std::optional<SumBy> parse_sum_by(std::string_view word);  ///< "linformer", "performer", "register"

/// The outputs of the model with the sum computed by the mixer, token by token: x [count][n][d], out [count][n][outputs].
void evaluate_by(const Sumformer& model, SumBy by, std::size_t count, const double* x, double* out);

/// The architecture of that network (x and phi in dim = d + latent channels) as a TOML file that `certify` reads.
[[nodiscard]] std::string to_architecture(const Sumformer& model, SumBy by);

}  // namespace sightline::approximate
