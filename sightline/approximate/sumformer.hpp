// A polynomial Sumformer: S(X)_i = psi(x_i, sum_j phi(x_j)).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sightline/approximate/basis.hpp"
#include "sightline/data/safetensors.hpp"
#include "sightline/linear_algebra/linear_algebra.hpp"

namespace sightline::approximate {

/// Exactly equivariant: the tokens of a sequence are sorted before phi is summed, so that the sums are the same bits for every
/// order, and psi performs the same operations for every token. Immutable.
class Sumformer {
public:
  /// coefficients: [columns of the basis][outputs].
  Sumformer(Basis basis, linear_algebra::Matrix coefficients) : basis_(std::move(basis)), coefficients_(std::move(coefficients)) {}

  [[nodiscard]] const Basis& basis() const { return basis_; }
  [[nodiscard]] const linear_algebra::Matrix& coefficients() const { return coefficients_; }
  [[nodiscard]] std::size_t outputs() const { return coefficients_.columns; }

  /// x [count][n][d] to out [count][n][outputs]. O(count * n * (latent + columns * outputs)).
  void evaluate(std::size_t count, const double* x, double* out) const;
  /// phi summed over the tokens of each sequence: out [count][latent].
  void sums(std::size_t count, const double* x, double* out) const;
  /// psi of given sums (of another mixer, say) for all tokens: sums [count][latent], or with `per_token` [count][n][latent]; out [count][n][outputs].
  void evaluate_with(std::size_t count, const double* x, const double* sums, bool per_token, double* out) const;
  /// phi of every token: out [count][n][latent].
  void phi(std::size_t count, const double* x, double* out) const;

  /// Tensors: phi.exponents [latent, d], phi.recurrence [d, 2, D], psi.own [columns, d] (exponents of x_i), psi.sums [columns, D]
  /// (numbers of the extended multi-indices from 1, 0: none), psi.scale [columns], psi.coefficients [outputs, columns]. Metadata: kind "sumformer", tokens, dim, degree, outputs.
  [[nodiscard]] data::TensorFile to_tensors() const;
  /// Throws InputError `FILE: NAME: expected ..., found ...`.
  [[nodiscard]] static Sumformer from_tensors(const data::TensorFile& content, const std::string& file);

private:
  Basis basis_;
  linear_algebra::Matrix coefficients_;
};

}  // namespace sightline::approximate
