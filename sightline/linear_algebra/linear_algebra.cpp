#include "sightline/linear_algebra/linear_algebra.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/base/watched.hpp"

namespace sightline::linear_algebra {
namespace {

using Text = const char*;
using Int = const int*;
using Real = const double*;

/// The routines in use, in LAPACK's calling convention (every argument by address, matrices column by column).
struct Routines {
  void (*dsyrk)(Text, Text, Int, Int, Real, Real, Int, Real, double*, Int);
  void (*dgemm)(Text, Text, Int, Int, Int, Real, Real, Int, Real, Int, Real, double*, Int);
  void (*dtrsm)(Text, Text, Text, Text, Int, Int, Real, Real, Int, double*, Int);
  void (*dtrmm)(Text, Text, Text, Text, Int, Int, Real, Real, Int, double*, Int);
  void (*dpotrf)(Text, Int, double*, Int, int*);
  void (*dpstrf)(Text, Int, double*, Int, int*, int*, Real, double*, int*);
  void (*dtrcon)(Text, Text, Text, Int, Real, Int, double*, double*, int*, int*);
  void (*dgesdd)(Text, Int, Int, double*, Int, double*, double*, Int, double*, Int, double*, Int, int*, int*);
  void (*dsyevd)(Text, Text, Int, double*, Int, double*, double*, Int, int*, Int, int*);
  void (*dgels)(Text, Int, Int, Int, double*, Int, double*, Int, double*, Int, int*);
  void (*set_threads)(int);
};

const Routines& routines() {
  static const Routines loaded = [] {
    setenv("OPENBLAS_NUM_THREADS", "1", 0);  // the library would start a thread per core while it loads
    void* library = nullptr;
    for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw InputError("OpenBLAS: expected libopenblas.so.0 (Debian package libopenblas0), found none");
    Routines r{};
    const auto find = [&](auto& routine, const char* name) {
      void* address = dlsym(library, name);
      if (address == nullptr) throw InputError(std::string("OpenBLAS: expected the routine ") + name + ", found none");
      routine = reinterpret_cast<std::remove_reference_t<decltype(routine)>>(address);
    };
    find(r.dsyrk, "dsyrk_");
    find(r.dgemm, "dgemm_");
    find(r.dtrsm, "dtrsm_");
    find(r.dtrmm, "dtrmm_");
    find(r.dpotrf, "dpotrf_");
    find(r.dpstrf, "dpstrf_");
    find(r.dtrcon, "dtrcon_");
    find(r.dgesdd, "dgesdd_");
    find(r.dsyevd, "dsyevd_");
    find(r.dgels, "dgels_");
    find(r.set_threads, "openblas_set_num_threads");
    r.set_threads(1);
    return r;
  }();
  return loaded;
}

int to_int(std::size_t size) {
  if (size > 2000000000) throw ArgumentError("a matrix with more than 2e9 rows or columns");
  return static_cast<int>(size);
}

constexpr double one = 1, zero = 0;

/// work(matrix) for what takes cubic time: a fifth of a second from this size on, and nobody can stop LAPACK.
template <class Work>
auto with_watch(Matrix& matrix, const Budget& budget, Work work) {
  constexpr std::size_t large = 600;
  using Result = decltype(work(matrix));
  if (std::min(matrix.rows, matrix.columns) < large) return work(matrix);
  budget.poll_now();
  struct Owned {
    Matrix matrix;
    Result result;
  };
  const auto owned = std::make_shared<Owned>();
  owned->matrix = std::exchange(matrix, Matrix());
  run_watched(budget, [owned, work] { owned->result = work(owned->matrix); });
  matrix = std::move(owned->matrix);
  return std::move(owned->result);
}

std::vector<double> singular(Matrix& matrix) {
  const int m = to_int(matrix.rows), n = to_int(matrix.columns), least = std::min(m, n), tight = 1;
  if (least == 0) return {};
  std::vector<double> values(static_cast<std::size_t>(least));
  std::vector<int> integers(8 * static_cast<std::size_t>(least));
  int info = 0, query = -1;
  double size = 0, nothing = 0;
  routines().dgesdd("N", &m, &n, matrix.data.data(), &m, values.data(), &nothing, &tight, &nothing, &tight, &size, &query, integers.data(), &info);
  std::vector<double> work(static_cast<std::size_t>(size) + 1);
  const int length = to_int(work.size());
  routines().dgesdd("N", &m, &n, matrix.data.data(), &m, values.data(), &nothing, &tight, &nothing, &tight, work.data(), &length, integers.data(), &info);
  if (info != 0) throw InternalError("singular values: dgesdd did not converge");
  return values;
}

std::vector<double> eigen(Matrix& matrix, const char* job) {
  const int n = to_int(matrix.rows);
  if (n == 0) return {};
  std::vector<double> values(matrix.rows);
  int info = 0, query = -1, integer_size = 0;
  double size = 0;
  routines().dsyevd(job, "U", &n, matrix.data.data(), &n, values.data(), &size, &query, &integer_size, &query, &info);
  std::vector<double> work(static_cast<std::size_t>(size) + 1);
  std::vector<int> integers(static_cast<std::size_t>(std::max(1, integer_size)));
  const int length = to_int(work.size()), integer_length = to_int(integers.size());
  routines().dsyevd(job, "U", &n, matrix.data.data(), &n, values.data(), work.data(), &length, integers.data(), &integer_length, &info);
  if (info != 0) throw InternalError("eigenvalues: dsyevd did not converge");
  return values;
}

std::optional<std::size_t> factor(Matrix& a) {
  const int n = to_int(a.rows);
  int info = 0;
  routines().dpotrf("U", &n, a.data.data(), &n, &info);
  if (info < 0) throw InternalError("dpotrf: a bad argument");
  if (info > 0) return static_cast<std::size_t>(info - 1);
  for (std::size_t j = 0; j < a.columns; ++j) std::fill_n(a.data.begin() + static_cast<std::ptrdiff_t>(j * a.rows + j + 1), a.rows - j - 1, 0.0);
  return std::nullopt;
}

PivotedCholesky factor_pivoted(Matrix& a, double tolerance) {
  const int n = to_int(a.rows);
  int info = 0, rank = 0;
  std::vector<int> pivots(a.rows);
  std::vector<double> work(2 * a.rows);
  routines().dpstrf("U", &n, a.data.data(), &n, pivots.data(), &rank, &tolerance, work.data(), &info);
  if (info < 0) throw InternalError("dpstrf: a bad argument");
  PivotedCholesky result;
  result.rank = static_cast<std::size_t>(rank);
  for (int pivot : pivots) result.order.push_back(static_cast<std::size_t>(pivot - 1));
  for (std::size_t j = 0; j < a.columns; ++j) std::fill_n(a.data.begin() + static_cast<std::ptrdiff_t>(j * a.rows + j + 1), a.rows - j - 1, 0.0);
  return result;
}

}  // namespace

std::vector<double> singular_values(Matrix matrix, const Budget& budget) { return with_watch(matrix, budget, singular); }
std::vector<double> symmetric_eigenvalues(Matrix matrix, const Budget& budget) {
  return with_watch(matrix, budget, [](Matrix& m) { return eigen(m, "N"); });
}
std::vector<double> symmetric_eigenvectors(Matrix& matrix) { return eigen(matrix, "V"); }

void add_gram(const double* a, std::size_t rows, std::size_t leading, Matrix& c) {
  const int n = to_int(c.columns), k = to_int(rows), lda = to_int(leading), ldc = to_int(c.rows);
  routines().dsyrk("U", "T", &n, &k, &one, a, &lda, &one, c.data.data(), &ldc);
}

void add_product(const double* a, const double* b, std::size_t rows, std::size_t leading, Matrix& c) {
  const int m = to_int(c.rows), n = to_int(c.columns), k = to_int(rows), ld = to_int(leading);
  routines().dgemm("T", "N", &m, &n, &k, &one, a, &ld, b, &ld, &one, c.data.data(), &m);
}

void multiply(const double* a, std::size_t rows, std::size_t leading, const Matrix& b, double* c) {
  const int m = to_int(rows), n = to_int(b.columns), k = to_int(b.rows), ld = to_int(leading);
  routines().dgemm("N", "N", &m, &n, &k, &one, a, &ld, b.data.data(), &k, &zero, c, &ld);
}

void divide_right(double* a, std::size_t rows, std::size_t leading, const Matrix& r) {
  const int m = to_int(rows), n = to_int(r.columns), lda = to_int(leading), ldr = to_int(r.rows);
  routines().dtrsm("R", "U", "N", "N", &m, &n, &one, r.data.data(), &ldr, a, &lda);
}

std::optional<std::size_t> cholesky(Matrix& a, const Budget& budget) { return with_watch(a, budget, factor); }

PivotedCholesky pivoted_cholesky(Matrix& a, double tolerance, const Budget& budget) {
  return with_watch(a, budget, [tolerance](Matrix& m) { return factor_pivoted(m, tolerance); });
}

void solve_upper(const Matrix& r, std::size_t size, bool transposed, Matrix& b) {
  const int m = to_int(size), n = to_int(b.columns), ldr = to_int(r.rows), ldb = to_int(b.rows);
  if (m == 0 || n == 0) return;
  routines().dtrsm("L", "U", transposed ? "T" : "N", "N", &m, &n, &one, r.data.data(), &ldr, b.data.data(), &ldb);
}

double reciprocal_condition(const Matrix& r, std::size_t size) {
  const int n = to_int(size), ld = to_int(r.rows);
  if (n == 0) return 1;
  double result = 0;
  int info = 0;
  std::vector<double> work(3 * size);
  std::vector<int> integers(size);
  routines().dtrcon("1", "U", "N", &n, r.data.data(), &ld, &result, work.data(), integers.data(), &info);
  // An estimate, whose last bits depend on where the vectors happen to lie in memory (OpenBLAS with AVX-512): 24 bits are the same every time.
  int exponent = 0;
  const double mantissa = std::frexp(result, &exponent);
  return std::ldexp(static_cast<double>(static_cast<float>(mantissa)), exponent);
}

void multiply_upper(const Matrix& a, Matrix& r) {
  const int n = to_int(r.rows), lda = to_int(a.rows);
  routines().dtrmm("L", "U", "N", "N", &n, &n, &one, a.data.data(), &lda, r.data.data(), &n);
}

void least_squares(Matrix& a, Matrix& b, int threads) {
  const int m = to_int(a.rows), n = to_int(a.columns), right = to_int(b.columns), ldb = to_int(b.rows);
  routines().set_threads(threads);
  int info = 0, query = -1;
  double size = 0;
  routines().dgels("N", &m, &n, &right, a.data.data(), &m, b.data.data(), &ldb, &size, &query, &info);
  std::vector<double> work(static_cast<std::size_t>(size) + 1);
  const int length = to_int(work.size());
  routines().dgels("N", &m, &n, &right, a.data.data(), &m, b.data.data(), &ldb, work.data(), &length, &info);
  routines().set_threads(1);
  if (info != 0) throw InternalError("dgels: the matrix has no full rank");
}

}  // namespace sightline::linear_algebra
