// Piecewise constant constructions: the grid Sumformer and Theorem 1's quantise-distinguish-interpolate network, built explicitly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/target/target.hpp"

namespace sightline::approximate {

/// Values of an S_n-equivariant target at the centres of a grid of `cuts` cells per coordinate: a token's cell and the multiset of all
/// cells determine the token's value, so there is one entry per (own cell, multiset of the n - 1 others).
struct CellTable {
  std::size_t tokens = 0, dim = 0, width = 0, cuts = 0;
  double low = -1, high = 1;
  std::size_t cells = 0;                    ///< of one token: cuts^d
  std::vector<std::vector<std::uint32_t>> codes;  ///< own cell, then the others' cells in rising order
  std::vector<double> values;               ///< [codes][width]
  double largest = 0;                       ///< max |value|
  [[nodiscard]] double mesh() const { return (high - low) / static_cast<double>(cuts); }
};

/// Throws InputError unless n d <= 6 and cuts^(n d) <= 1e5.
[[nodiscard]] CellTable make_table(const target::Target& target, double low, double high, std::size_t cuts, const Budget& budget);

/// The discontinuous Sumformer: phi(x) = (c, c^2, .., c^n) modulo the prime 2^61 - 1, c the number of the occupied cell from 1; their sums
/// determine the multiset of cells (Newton's identities; n! is invertible). psi looks the value up. Latent dimension n.
class GridSumformer {
public:
  explicit GridSumformer(CellTable table);
  [[nodiscard]] const CellTable& table() const { return table_; }
  void evaluate(std::size_t count, const double* x, double* out) const;

private:
  CellTable table_;
  std::vector<std::pair<std::vector<std::uint64_t>, std::uint32_t>> entries_;  // (own cell, sums) -> code, sorted
};

/// A residual block z -> z + W relu(A z - b) that reads one channel: a row of hinges on it, added with weights to other channels.
struct ReluBlock {
  std::size_t in = 0;
  double centre = 0, scale = 1;                                    ///< hinge h: relu(scale * (z[in] - centre) - offsets[h])
  std::vector<double> offsets;
  std::vector<std::pair<std::size_t, std::vector<double>>> out;    ///< channel, weight of every hinge
};

/// Theorem 1's network. Channels: x_1..x_d, the cell number u, its code beta, t, the outputs.
///  1 quantise: one block per coordinate and inner border of the grid: a ramp of width alpha * mesh adds cuts^c to u;
///  2 distinguish: one block per cell sets beta(u) (generic numbers); one mean-pooling layer (attention with W_K = 0) adds
///    n * mean beta to t, which holds (n + 1) u: t is different for different (own cell, multiset), at distance >= gap;
///  3 interpolate: one block per token code adds value * bump((t - t_k) / (gap / 2)), bump = 1 on [-1/2, 1/2], 0 outside [-1, 1].
class Theorem1Network {
public:
  /// @param alpha  share of a mesh that a ramp takes. Throws InputError when no codes at a distance of 1e-9 are found.
  Theorem1Network(const CellTable& table, double alpha);
  void evaluate(std::size_t count, const double* x, double* out) const;
  [[nodiscard]] std::size_t layers() const { return before_.size() + 1 + after_.size(); }
  [[nodiscard]] std::size_t parameters() const;
  [[nodiscard]] double gap() const { return gap_; }
  [[nodiscard]] const std::vector<ReluBlock>& blocks_after() const { return after_; }

private:
  std::size_t tokens_, dim_, width_, channels_;
  double gap_ = 0, start_ = 0;
  std::vector<ReluBlock> before_, after_;
};

/// One grid size: what was built, what is proved, what was measured.
struct CellRow {
  std::size_t cuts = 0, codes = 0, layers = 0, parameters = 0;
  double alpha = 0, bound = 0, l2 = 0, sup = 0;
};

/// Mean-square bound, with the uniform law on the box and L a bound of the slopes. Outside the ramps the network is F at the cells'
/// centre: E |F(X) - F(centre)|^2 <= L^2 E |X - centre|^2 = L^2 n d mesh^2 / 12. Ramps have probability at most n d (cuts - 1)/cuts alpha;
/// there |network| <= M = max |value| (bumps are disjoint), |F| <= M + L mesh sqrt(n d)/2. alpha = 0: the grid Sumformer.
[[nodiscard]] double bound_error(const CellTable& table, double slope, double alpha);

struct CellResult {
  std::string target, method;
  std::size_t tokens = 0, dim = 0, outputs = 0, latent = 0;
  double slope = 0;
  bool slope_given = false;
  double scale = 0;          ///< root mean square of F
  double equivariance = 0;   ///< largest |S(sX) - sS(X)|
  std::size_t sequences = 0; ///< of the measurement
  std::vector<CellRow> rows;
};

struct CellOptions {
  double low = -1, high = 1;
  std::optional<double> slope;             ///< --lipschitz; absent: interval arithmetic on the expression
  std::vector<std::size_t> cuts;           ///< empty: 1, 2, 3, 4, 6, 8, .. as long as the limits allow
  std::size_t sequences = 4000;
  std::uint64_t seed = 0;
  bool network = false;                    ///< Theorem 1, not the grid Sumformer
};

/// Throws InputError: n d > 6, too many cells, a target that is not S_n-equivariant, no bound of the slopes.
[[nodiscard]] CellResult approximate_by_cells(const target::Target& target, const CellOptions& options, const Budget& budget);
[[nodiscard]] std::string to_json(const CellResult& result);
[[nodiscard]] std::string to_text(const CellResult& result);

}  // namespace sightline::approximate
