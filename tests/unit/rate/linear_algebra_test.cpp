#include "sightline/linear_algebra/linear_algebra.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace sightline::linear_algebra;

namespace {

Matrix draw(std::size_t rows, std::size_t columns, unsigned seed) {
  std::mt19937_64 random(seed);
  Matrix m(rows, columns);
  for (double& value : m.data) value = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return m;
}

Matrix transpose_times(const Matrix& a, const Matrix& b) {
  Matrix c(a.columns, b.columns);
  for (std::size_t i = 0; i < a.columns; ++i) for (std::size_t j = 0; j < b.columns; ++j) for (std::size_t k = 0; k < a.rows; ++k) c(i, j) += a(k, i) * b(k, j);
  return c;
}

}  // namespace

TEST_CASE("factorisations and products against plain loops") {
  const Matrix a = draw(40, 7, 1), b = draw(40, 2, 2);
  const Matrix plain = transpose_times(a, a), right = transpose_times(a, b);
  Matrix gram(7, 7), product(7, 2);
  add_gram(a.data.data(), 30, 40, gram);
  add_gram(a.data.data() + 30, 10, 40, gram);
  add_product(a.data.data(), b.data.data(), 40, 40, product);
  for (std::size_t j = 0; j < 7; ++j) for (std::size_t i = 0; i <= j; ++i) CHECK(gram(i, j) == doctest::Approx(plain(i, j)));
  for (std::size_t j = 0; j < 2; ++j) for (std::size_t i = 0; i < 7; ++i) CHECK(product(i, j) == doctest::Approx(right(i, j)));

  Matrix r = gram;
  CHECK_FALSE(cholesky(r, Budget{}));
  Matrix q = a;
  divide_right(q.data.data(), 40, 40, r);
  const Matrix identity = transpose_times(q, q);
  for (std::size_t j = 0; j < 7; ++j) for (std::size_t i = 0; i < 7; ++i) CHECK(identity(i, j) == doctest::Approx(i == j ? 1 : 0).epsilon(1e-12));
  Matrix x = product;
  solve_upper(r, 7, true, x);
  solve_upper(r, 7, false, x);
  Matrix a_copy = a, b_copy = b, residual(40, 2);
  least_squares(a_copy, b_copy, 1);
  for (std::size_t j = 0; j < 2; ++j) for (std::size_t i = 0; i < 7; ++i) CHECK(x(i, j) == doctest::Approx(b_copy(i, j)));
  multiply(a.data.data(), 40, 40, x, residual.data.data());
  for (double& value : residual.data) value = -value;
  for (std::size_t k = 0; k < residual.data.size(); ++k) residual.data[k] += b.data[k];
  const Matrix orthogonal = transpose_times(a, residual);
  for (double value : orthogonal.data) CHECK(std::fabs(value) < 1e-12);
  CHECK(reciprocal_condition(r, 7) > 0.01);
}

TEST_CASE("rank is seen by pivots") {
  Matrix a = draw(30, 5, 3);
  for (std::size_t i = 0; i < 30; ++i) a(i, 3) = 2 * a(i, 0) - a(i, 1);
  Matrix gram = transpose_times(a, a);
  const PivotedCholesky p = pivoted_cholesky(gram, 1e-10, Budget{});
  CHECK(p.rank == 4);
  const std::size_t last = p.order.back();
  CHECK((last == 0 || last == 1 || last == 3));
  Matrix broken = transpose_times(a, a);
  broken(2, 2) = -1;
  const auto failed = cholesky(broken, Budget{});
  REQUIRE(failed);
  CHECK(*failed == 2);
}

TEST_CASE("singular values and eigenvalues") {
  Matrix a(3, 2);
  a(0, 0) = 3;
  a(1, 1) = -4;
  const auto sigma = singular_values(a, Budget{});
  CHECK(sigma[0] == doctest::Approx(4));
  CHECK(sigma[1] == doctest::Approx(3));
  Matrix s(2, 2);
  s(0, 0) = s(1, 1) = 2;
  s(0, 1) = s(1, 0) = 1;
  CHECK(symmetric_eigenvalues(s, Budget{})[0] == doctest::Approx(1));
  const auto values = symmetric_eigenvectors(s);
  CHECK(values[1] == doctest::Approx(3));
  CHECK(std::fabs(s(0, 1)) == doctest::Approx(std::sqrt(0.5)));
}
