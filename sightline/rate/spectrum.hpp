// Singular values of an attention score as an integral operator in L2 of the data measure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/rate/measure.hpp"

namespace sightline::rate {

/// rho(x, y), tokens as [dim][count].
struct Score {
  std::function<void(std::size_t count, const double* x, const double* y, double* out)> pairs;
  /// Every reader with every read: out [reader][read], the same numbers as pairs() gives.
  std::function<void(std::size_t readers, const double* x, std::size_t reads, const double* y, double* out)> all;
};

/// What a score does where reader and read token meet, from divided differences on both sides at two distances.
enum class Diagonal {
  smooth,
  kink,    ///< the slope across the diagonal jumps
  cusp     ///< the slope is unbounded, or the score jumps or is infinite there
};
[[nodiscard]] Diagonal look_at_diagonal(const Score& score, const Measure& measure, std::uint64_t seed);

/// Singular values, decreasing, by one discretisation with about `points` points:
///  * weighted Nystrom: the singular values of sqrt(w_i) rho(x_i, x_j) sqrt(w_j). Spectral for smooth scores on the circle and
///    with Gauss points; error count^-1/2 with drawn points.
///  * `panels` (dimension one): Galerkin with 16 Legendre functions on each of points/16 panels. Off the diagonal panels the two
///    agree; panels on the diagonal are integrated over their two triangles (Duffy's map), so a kink at x = y costs no order:
///    the error is that of approximating the singular functions, which are smooth. The measure's density enters as its square root.
/// Throws InputError when the score is not finite at some pair. O(points^3).
[[nodiscard]] std::vector<double> nystrom(const Score& score, const Measure& measure, std::size_t points, std::uint64_t seed, const Budget& budget);
[[nodiscard]] std::vector<double> panels(const Score& score, const Measure& measure, std::size_t points, const Budget& budget);

}  // namespace sightline::rate
