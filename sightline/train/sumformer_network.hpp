// Sumformers whose psi (and phi) are perceptrons that are trained.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/train/fit.hpp"

namespace sightline::train {

struct SumformerShape {
  std::int64_t tokens = 0, dim = 0, outputs = 0;
  /// Widths of phi's layers, the last one the latent dimension; empty: phi is `monomials`.
  std::vector<std::int64_t> phi;
  /// phi of the polynomial Sumformer: the exponents of each monomial, every one after the one that lacks its last
  /// factor. Not trained.
  std::vector<std::vector<std::uint32_t>> monomials;
  std::vector<std::int64_t> psi; ///< widths of the hidden layers of psi
  [[nodiscard]] std::int64_t latent() const;
};

/// All exponents a with 1 <= |a| <= degree, by degree: C(degree + dim, dim) - 1.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> list_monomials(std::int64_t dim, std::int64_t degree);

/// S(X)_i = psi(x_i, mean_j phi(x_j)) with gelu between the maps of phi and of psi; tokens are scaled to (x - centre) /
/// half first. Monomials' means are scaled to mean 0 and deviation 1 on the data that `standardise` sees.
class SumformerNetwork : public torch::nn::Module {
public:
  SumformerNetwork(const SumformerShape& shape, std::vector<double> centre, std::vector<double> half,
                   at::ScalarType type, std::uint64_t seed);
  /// x [batch, tokens, dim] -> [batch, tokens, outputs]
  [[nodiscard]] Tensor forward(const Tensor& x, const Run& run) const;
  void standardise(const Tensor& x);
  [[nodiscard]] const std::vector<Weight>& weights() const { return weights_; }
  [[nodiscard]] const SumformerShape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<Linear>& phi() const { return phi_; }
  [[nodiscard]] const std::vector<Linear>& psi() const { return psi_; }

private:
  [[nodiscard]] Tensor average_monomials(const Tensor& x) const;

  SumformerShape shape_;
  std::vector<Linear> phi_, psi_;
  std::vector<Weight> weights_;
  std::vector<std::pair<std::int64_t, std::int64_t>> products_; ///< monomial = that monomial (-1: 1) * that coordinate
  Tensor centre_, half_, mean_, deviation_;
};
[[nodiscard]] Network make_network(std::shared_ptr<SumformerNetwork> network);

} // namespace sightline::train
