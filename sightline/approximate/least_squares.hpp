// Least squares with rows that are made again whenever they are needed: memory does not grow with their number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sightline/approximate/checkpoint.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/linear_algebra/linear_algebra.hpp"

namespace sightline::approximate {

/// Rows in blocks. fill() writes rows of block `block` into a (column-major, leading dimension `leading`) and y; it is
/// called from several threads and has to give the same numbers every time.
struct System {
  std::size_t rows = 0, columns = 0, outputs = 0, block_rows = 4096;
  std::string part;  ///< which one of several, in the words of progress ("" or "part 3 of 16, ")
  std::function<void(std::size_t block, std::size_t rows, double* a, double* y, std::size_t leading)> fill;
  [[nodiscard]] std::size_t blocks() const { return (rows + block_rows - 1) / block_rows; }
  [[nodiscard]] std::size_t rows_of(std::size_t block) const { return std::min(block_rows, rows - block * block_rows); }
};

struct Solution {
  linear_algebra::Matrix coefficients;   ///< [columns][outputs]; 0 for dependent columns
  std::vector<std::size_t> dependent;    ///< columns that the others determine on these rows
  double condition = 1;                  ///< of the independent columns, scaled to length 1 (1-norm estimate)
  double residual = 0, scale = 0;        ///< root mean squares of y - A c and of y
  int passes = 0;                        ///< how often all rows were made
};

/// A^T A, A^T y by folds (fold of a block: block mod folds).
struct Moments {
  std::vector<linear_algebra::Matrix> gram, product;
  std::vector<double> squares, rows;
};
/// Bytes of so many matrices columns x columns, and of what is as long as the columns. A fit holds one per fold of its moments, 3 at least (solve), and two more
/// for cross-validation.
[[nodiscard]] double bytes_needed(double columns, double outputs, double matrices);

/// How many sums side by side a fit keeps: fewer when each of them is large.
[[nodiscard]] inline std::size_t lanes_for(double columns) { return columns > 4000 ? 2 : 4; }

/// With a checkpoint every pass is taken down now and then; one that was stopped goes on where it was.
/// One pass. Threads share the folds, each fold is summed in the order of its blocks: the same bits for every number of threads.
[[nodiscard]] Moments collect(const System& system, std::size_t folds, const Budget& budget, Checkpoint* checkpoint = nullptr);

/// min |A c - y| over the first `columns` columns, given the moments (which it takes apart: a matrix of the columns is held once, or three times where
/// another pass is needed).
///
/// Blocked QR without Q: R of A = QR is the Cholesky factor of A^T A (columns scaled to length 1), in half of the operations
/// of Householder's QR. That squares the condition number, so R serves as a preconditioner only: c is corrected by further passes
/// over the rows, c += R^-1 R^-T A^T (y - A c), until the correction is rounding. When R is worse than 1e5, or pivots vanish, a pass with A P^-1,
/// P = R with vanished pivots lifted (the regularisation), gives a second Gram matrix that is accurate down to distances of 1e-14
/// (Fukaya, Kannan, Nakatsukasa, Yamamoto, Yanagisawa: shifted CholeskyQR); columns that lie in the span of others to that accuracy are dependent.
[[nodiscard]] Solution solve(const System& system, Moments moments, std::size_t columns, const Budget& budget, Checkpoint* checkpoint = nullptr);

/// Cross-validation: root mean square of y - A c over all rows, where c for a fold is fitted on the other folds, for every
/// leading number of columns in `sizes`. One pass.
[[nodiscard]] std::vector<double> cross_validate(const System& system, const Moments& moments, const std::vector<std::size_t>& sizes, const Budget& budget, Checkpoint* checkpoint = nullptr);

}  // namespace sightline::approximate
