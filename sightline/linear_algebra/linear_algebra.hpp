// Dense double-precision linear algebra, by OpenBLAS and its LAPACK.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"

namespace sightline::linear_algebra {

// OpenBLAS is loaded at the first call and not with the program: loading it costs 20 ms, which `certify` and `check` must
// not pay. Every call runs on the calling thread, so callers may run several at once, and results do not depend on how
// many cores there are. Throws InputError when the library is not installed. Matrices are column-major.

struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> data;
  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), data(r * c, 0.0) {}
  double& operator()(std::size_t i, std::size_t j) { return data[j * rows + i]; }
  double operator()(std::size_t i, std::size_t j) const { return data[j * rows + i]; }
};

// What takes cubic time asks a budget: LAPACK cannot be stopped, so a large matrix is worked on by a thread that is left behind when the
// budget says no (base/watched.hpp).

/// Singular values, decreasing. Destroys its copy. O(m n min(m, n)).
[[nodiscard]] std::vector<double> singular_values(Matrix matrix, const Budget& budget);
/// Eigenvalues of a symmetric matrix (upper triangle), increasing.
[[nodiscard]] std::vector<double> symmetric_eigenvalues(Matrix matrix, const Budget& budget);
/// Eigenvalues, increasing, and eigenvectors in the columns of `matrix`.
std::vector<double> symmetric_eigenvectors(Matrix& matrix);

/// upper(C) += A^T A for `rows` rows of A, column-major with leading dimension `leading`. rows * columns^2 operations.
void add_gram(const double* a, std::size_t rows, std::size_t leading, Matrix& c);
/// C += A^T B, B with `right` columns and the leading dimension of A.
void add_product(const double* a, const double* b, std::size_t rows, std::size_t leading, Matrix& c);
/// C (rows x right, leading dimension of A) = A B.
void multiply(const double* a, std::size_t rows, std::size_t leading, const Matrix& b, double* c);
/// A (rows x columns) = A R^{-1}, R upper triangular.
void divide_right(double* a, std::size_t rows, std::size_t leading, const Matrix& r);

/// upper(A) = R^T R; the index of the first pivot that is not positive, if any. A is empty when the budget said no.
[[nodiscard]] std::optional<std::size_t> cholesky(Matrix& a, const Budget& budget);
struct PivotedCholesky {
  std::vector<std::size_t> order;  ///< column `order[k]` comes k-th
  std::size_t rank = 0;
};
/// The same with the largest remaining pivot first; stops when it is below `tolerance`. The strict lower triangle is cleared.
[[nodiscard]] PivotedCholesky pivoted_cholesky(Matrix& a, double tolerance, const Budget& budget);
/// B = R^{-1} B or R^{-T} B with the leading `size` columns of R.
void solve_upper(const Matrix& r, std::size_t size, bool transposed, Matrix& b);
/// Reciprocal condition number of upper triangular R in the 1-norm (LAPACK's estimate, to 24 bits).
[[nodiscard]] double reciprocal_condition(const Matrix& r, std::size_t size);
/// R <- A R for upper triangular A and R.
void multiply_upper(const Matrix& a, Matrix& r);

/// min |A x - b| by LAPACK's dgels on `threads` threads (benchmarks only). Destroys both; the solution is on top of b.
void least_squares(Matrix& a, Matrix& b, int threads);

}  // namespace sightline::linear_algebra
