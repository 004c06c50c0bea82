// A Sumformer whose phi and psi are perceptrons, as `approximate --method mlp` saves it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/data/safetensors.hpp"

namespace sightline::approximate {

/// How the architectures beside saved models begin, those of all kinds of Sumformers.
inline constexpr std::string_view architecture_comment =
    "# S(X)_i = psi(x_i, sum_j phi(x_j)): the embedding computes x and phi, the mixer the mean, the feedforward psi.\n";

/// y = weight x + bias, weight row by row [out][in].
struct LinearMap {
  std::size_t in = 0, out = 0;
  std::vector<double> weight, bias;
};

/// S(X)_i = psi(x_i, sum_j phi(x_j)); phi and psi are linear maps with gelu (the one with erf) between them. Exactly
/// equivariant: phi is summed over the sorted tokens of a sequence and every token goes through the same operations.
class MlpSumformer {
public:
  /// phi: dim -> .. -> latent; psi: dim + latent -> .. -> outputs. Throws ArgumentError when the sizes do not fit.
  MlpSumformer(std::size_t tokens, std::size_t dim, std::vector<LinearMap> phi, std::vector<LinearMap> psi);
  [[nodiscard]] std::size_t tokens() const { return tokens_; }
  [[nodiscard]] std::size_t dim() const { return dim_; }
  [[nodiscard]] std::size_t latent() const { return phi_.back().out; }
  [[nodiscard]] std::size_t outputs() const { return psi_.back().out; }
  [[nodiscard]] std::size_t parameters() const;

  /// x [count][n][d] to out [count][n][outputs].
  void evaluate(std::size_t count, const double* x, double* out) const;

  /// Tensors phi.L.weight, phi.L.bias, psi.L.weight, psi.L.bias (float64); metadata kind "sumformer", method "mlp", tokens, dim.
  [[nodiscard]] data::TensorFile to_tensors() const;
  /// Throws InputError `FILE: NAME: expected ..., found ...`.
  [[nodiscard]] static MlpSumformer from_tensors(const data::TensorFile& content, const std::string& file);
  /// The architecture of that network (x and phi in dim = d + latent channels, the mean as mixer) as a TOML file that `certify` reads.
  [[nodiscard]] std::string to_architecture() const;

private:
  std::size_t tokens_, dim_;
  std::vector<LinearMap> phi_, psi_;
};

}  // namespace sightline::approximate
