// The columns of a polynomial Sumformer: products of multisymmetric power sums and of the own token (theory 14; sources 1.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sightline::approximate {

/// Orthonormal polynomials of one coordinate by their recurrence: p_0 = 1, b_{k+1} p_{k+1}(t) = (t - a_k) p_k(t) - b_k p_{k-1}(t).
struct Recurrence {
  std::vector<double> a, b;  ///< a_0 .. a_{D-1}; b_1 .. b_D
};
[[nodiscard]] Recurrence legendre(double low, double high, std::size_t degree);   ///< uniform law
[[nodiscard]] Recurrence hermite(std::size_t degree);                              ///< standard normal law
/// Of the sample's own law (Stieltjes), as far as it has enough different values; then as for Legendre on its range.
[[nodiscard]] Recurrence of_sample(const std::vector<double>& values, std::size_t degree);

using MultiIndex = std::vector<std::uint8_t>;

/// Sizes as floating-point numbers, because they are asked for before anyone knows whether they fit.
struct Sizes {
  double latent = 0;        ///< d' = C(min(D,n) + d, d) - 1 power sums
  double columns = 0;       ///< products of power sums (|a| <= min(D, n)) and powers of the own token, weighted degree <= D
  double independent = 0;   ///< dimension of their span: all equivariant polynomials of degree <= D with one output
};
[[nodiscard]] Sizes count_sizes(std::size_t tokens, std::size_t dim, std::size_t degree);
/// Of the independent columns, how many are odd in w given coordinates and even in the other `mirrored` - w of the first `mirrored` ones, for w = 0 .. mirrored.
[[nodiscard]] std::vector<double> count_parities(std::size_t tokens, std::size_t dim, std::size_t degree, std::size_t mirrored);

/// An orthogonal basis of the span, and the arithmetic that gets its values from power sums.
///
/// phi(x) = (phi_a(x)) over 1 <= |a| <= m = min(D, n), phi_a the product of p_{a_c}(x_c); Sigma = sum_j phi(x_j).
/// psi(x_i, Sigma) first takes the own token out, T = Sigma - phi(x_i); what is left are the power sums of the N = n - 1 other tokens.
/// Power sums of degree above m (only when D > n) follow from those below it, because N tokens have no n-th elementary
/// function: sum over set partitions of n parts of a of prod (-1)^(|B|-1) (|B|-1)! S_B = 0. Column (b, {a_1..a_k}), k <= N, is
///   phi_b(x_i) * sum over distinct j_1..j_k, none of them i, of phi_{a_1}(x_{j_1}) ... phi_{a_k}(x_{j_k})  /  norm,
/// by the recursion M(L + a) = T_a M(L) - sum_t M(L with a_t replaced by the product phi_a phi_{a_t}). For independent tokens with the law of
/// the recurrences the columns are orthonormal exactly; for every law they span all equivariant polynomials of degree <= D.
class Basis {
public:
  /// Throws ArgumentError when the sizes are beyond what numbers of columns may be (2^31).
  Basis(std::size_t tokens, std::size_t dim, std::size_t degree, std::vector<Recurrence> recurrences);

  struct Column {
    std::uint32_t own = 0;       ///< number of the own token's multi-index (0: the constant)
    std::uint32_t product = 0;   ///< number of the symmetric function
    double scale = 1;            ///< 1 / norm
    std::uint8_t degree = 0;
  };

  [[nodiscard]] std::size_t tokens() const { return tokens_; }
  [[nodiscard]] std::size_t dim() const { return dim_; }
  [[nodiscard]] std::size_t degree() const { return degree_; }
  [[nodiscard]] std::size_t latent() const { return latent_; }
  /// By degree: the columns of a smaller degree come first.
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] std::size_t columns_up_to(std::size_t degree) const;
  /// Multi-indices by degree; number 0 is zero; the first 1 + latent are those of phi.
  [[nodiscard]] const std::vector<MultiIndex>& indices() const { return indices_; }
  /// The multiset of multi-indices (by number) of each symmetric function.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& products() const { return products_; }
  [[nodiscard]] const std::vector<Recurrence>& recurrences() const { return recurrences_; }
  [[nodiscard]] std::string name(const Column& column) const;

  /// Memory of one evaluation. `rows` at once.
  struct Workspace {
    std::size_t rows = 0;
    std::vector<double> powers, own, sums, products, monomial;
  };
  /// phi_a(x) for a = 1..latent, added to `sums` [latent][rows]; x [dim][rows], one token of each row's sequence.
  void add_phi(std::size_t rows, const double* x, double* sums, Workspace& work) const;
  /// Columns 0 .. count-1 of psi at own tokens x [dim][rows] and sums Sigma [latent][rows], column k at out + k * stride.
  void evaluate(std::size_t rows, const double* x, const double* sums, std::size_t count, double* out, std::size_t stride, Workspace& work) const;
  /// The chosen columns alone.
  void evaluate(std::size_t rows, const double* x, const double* sums, const std::vector<std::uint32_t>& chosen, double* out, std::size_t stride, Workspace& work) const;
  /// Bit c: the column is odd in coordinate c of all tokens together (c < mirrored), when the law of that coordinate is symmetric: p_k is then even or odd with k.
  [[nodiscard]] std::uint32_t parity(const Column& column, std::size_t mirrored) const;

private:
  struct Term { std::uint32_t product; double factor; };
  struct Step {                  // M = T_sum * M_base - sum factor * M_product
    std::uint32_t sum = 0, base = 0, first = 0, last = 0;
  };
  struct Conversion {            // one power sum in the other basis
    std::vector<Term> terms;
  };
  struct Extension {             // S_target = sum over products of lower power sums
    std::uint32_t target = 0;
    std::vector<std::pair<double, std::vector<std::uint32_t>>> terms;
  };
  void make_products();
  void make_extension();
  std::uint32_t find(const MultiIndex& index) const;
  [[nodiscard]] std::vector<Term> multiply(std::uint32_t a, std::uint32_t b) const;
  void powers_of(std::size_t rows, const double* x, std::vector<double>& powers) const;
  void extend(std::size_t rows, Workspace& work) const;
  void prepare(std::size_t rows, const double* x, const double* sums, Workspace& work) const;
  void write_column(const Column& column, std::size_t rows, const Workspace& work, double* to) const;

  std::size_t tokens_, dim_, degree_, latent_ = 0;
  std::vector<Recurrence> recurrences_;
  std::vector<MultiIndex> indices_;
  std::vector<std::uint32_t> parent_;        // multi-index without its last non-zero coordinate
  std::vector<std::vector<std::uint32_t>> products_;
  std::vector<Step> steps_;
  std::vector<Term> terms_;
  std::vector<double> norms_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::vector<std::vector<double>>>> linear_;  // [coordinate][i][j] -> coefficients of p_i p_j
  std::vector<Conversion> to_monomial_, from_monomial_;
  std::vector<Extension> extensions_;
  std::vector<double> centre_, half_;
};

}  // namespace sightline::approximate
