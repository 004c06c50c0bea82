#include "sightline/approximate/least_squares.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

#include "sightline/base/error.hpp"
#include "sightline/target/sampler.hpp"

using namespace sightline;
using approximate::System;
using linear_algebra::Matrix;

namespace {

/// A stored matrix as a system.
System make(const Matrix& a, const Matrix& y) {
  System system;
  system.rows = a.rows;
  system.columns = a.columns;
  system.outputs = y.columns;
  system.block_rows = 32;
  system.fill = [&a, &y](std::size_t block, std::size_t rows, double* to, double* right, std::size_t leading) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t j = 0; j < a.columns; ++j) to[j * leading + r] = a(block * 32 + r, j);
      for (std::size_t k = 0; k < y.columns; ++k) right[k * leading + r] = y(block * 32 + r, k);
    }
  };
  return system;
}

Matrix draw(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Matrix m(rows, columns);
  target::Sampler().fill(seed, 0, 0, m.data.size(), m.data.data());
  return m;
}

Matrix times(const Matrix& a, const Matrix& c) {
  Matrix y(a.rows, c.columns);
  linear_algebra::multiply(a.data.data(), a.rows, a.rows, c, y.data.data());
  return y;
}

approximate::Solution run(const Matrix& a, const Matrix& y) {
  const System system = make(a, y);
  return approximate::solve(system, approximate::collect(system, 3, Budget()), a.columns, Budget());
}

}  // namespace

TEST_CASE("agrees with Householder's QR, also when the condition number is 1e10") {
  for (const double smallest : {1.0, 1e-5, 1e-8, 1e-10}) {
    CAPTURE(smallest);
    Matrix a = draw(300, 12, 1);
    for (std::size_t r = 0; r < 300; ++r) a(r, 11) = a(r, 0) - 0.5 * a(r, 5) + smallest * a(r, 11);
    const Matrix truth = draw(12, 2, 2), y = times(a, truth);
    const auto solution = run(a, y);
    CHECK(solution.dependent.empty());
    CHECK(solution.residual < 1e-14);
    const Matrix fitted = times(a, solution.coefficients);
    for (std::size_t k = 0; k < fitted.data.size(); ++k) CHECK(std::fabs(fitted.data[k] - y.data[k]) < 1e-13);
    for (std::size_t k = 0; k < truth.data.size(); ++k) CHECK(std::fabs(solution.coefficients.data[k] - truth.data[k]) < 1e-14 / smallest + 1e-13);
    CHECK(solution.condition > 0.2 / smallest);
    CHECK(solution.condition < 200 / smallest);
    // With a residual: the minimiser is orthogonal to every column.
    const Matrix noisy = draw(300, 1, 3);
    const auto least = run(a, noisy);
    Matrix rest = times(a, least.coefficients), product(12, 1);
    for (std::size_t k = 0; k < 300; ++k) rest.data[k] = noisy.data[k] - rest.data[k];
    linear_algebra::add_product(a.data.data(), rest.data.data(), 300, 300, product);
    for (double value : product.data) CHECK(std::fabs(value) < 1e-11 + 3e-14 / smallest);  // rounding of A c, whose c is of size 1 / smallest
  }
}

TEST_CASE("dependent columns are found, left out, and reported; zero columns too") {
  Matrix a = draw(500, 10, 4);
  for (std::size_t r = 0; r < 500; ++r) {
    a(r, 6) = 3 * a(r, 1) - a(r, 2) + 1e3 * a(r, 3);
    a(r, 8) = 0;
    a(r, 9) = a(r, 0);
  }
  const Matrix truth = draw(10, 1, 5), y = times(a, truth);
  const auto solution = run(a, y);
  CHECK(solution.dependent.size() == 3);
  CHECK(std::find(solution.dependent.begin(), solution.dependent.end(), 8) != solution.dependent.end());
  const Matrix fitted = times(a, solution.coefficients);
  for (std::size_t k = 0; k < 500; ++k) CHECK(std::fabs(fitted.data[k] - y.data[k]) < 1e-10);
  for (std::size_t column : solution.dependent) CHECK(solution.coefficients(column, 0) == 0);
  CHECK(solution.condition < 1e5);
}

TEST_CASE("the same bits for every number of folds' threads; interruption; values that are not finite") {
  const Matrix a = draw(700, 5, 6), y = draw(700, 1, 7);
  CHECK(run(a, y).coefficients.data == run(a, y).coefficients.data);
  Matrix bad = y;
  bad.data[345] = std::nan("");
  CHECK_THROWS_WITH_AS((void)run(a, bad), doctest::Contains("found nan in row 345"), InputError);
  Budget::interrupted = true;
  CHECK_THROWS_AS((void)run(a, y), Interrupted);
  Budget::interrupted = false;
}

TEST_CASE("a time limit is seen behind the next block, however few there are") {
  const Matrix a = draw(640, 5, 31), y = draw(640, 1, 32);
  const System whole = make(a, y);
  System slow = whole;
  std::atomic<std::size_t> blocks{0};
  const Budget budget(0.05, {});
  try {
    budget.poll();  // reads the exact clock; the next 255 need not
  } catch (const BudgetExhausted&) {  // on a busy machine
  }
  slow.fill = [&](std::size_t block, std::size_t rows, double* to, double* right, std::size_t leading) {
    ++blocks;
    while (!budget.is_late()) std::this_thread::yield();
    whole.fill(block, rows, to, right, leading);
  };
  CHECK_THROWS_AS((void)approximate::collect(slow, 1, budget), BudgetExhausted);
  CHECK(blocks <= 1);
}

TEST_CASE("cross-validation is the error of fits that have not seen the rows") {
  const Matrix a = draw(320, 6, 8);
  Matrix y = draw(320, 1, 9);
  for (std::size_t r = 0; r < 320; ++r) y(r, 0) = 2 * a(r, 0) - a(r, 2) + 0.1 * y(r, 0);
  const System system = make(a, y);
  const auto moments = approximate::collect(system, 5, Budget());
  const auto errors = approximate::cross_validate(system, moments, {1, 3, 6}, Budget());
  for (std::size_t s = 0; s < 3; ++s) {
    const std::size_t columns = std::vector<std::size_t>{1, 3, 6}[s];
    double square = 0;
    for (std::size_t fold = 0; fold < 5; ++fold) {
      std::vector<std::size_t> in, out;
      for (std::size_t r = 0; r < 320; ++r) (r / 32 % 5 == fold ? out : in).push_back(r);
      Matrix train(in.size(), columns), right(in.size(), 1);
      for (std::size_t r = 0; r < in.size(); ++r) {
        for (std::size_t j = 0; j < columns; ++j) train(r, j) = a(in[r], j);
        right(r, 0) = y(in[r], 0);
      }
      linear_algebra::least_squares(train, right, 1);
      for (std::size_t r : out) {
        double fitted = 0;
        for (std::size_t j = 0; j < columns; ++j) fitted += a(r, j) * right(j, 0);
        square += (y(r, 0) - fitted) * (y(r, 0) - fitted);
      }
    }
    CHECK(errors[s] == doctest::Approx(std::sqrt(square / 320)).epsilon(1e-9));
  }
}

TEST_CASE("a fit that is stopped anywhere goes on with the same bits") {
  const std::string file = (std::filesystem::temp_directory_path() / "sightline-least-squares.part").string();
  Matrix a = draw(640, 12, 21), y = draw(640, 2, 22);
  for (std::size_t r = 0; r < 640; ++r) a(r, 11) = a(r, 0) + 1e-7 * a(r, 11);  // nearly dependent: one more pass
  const System whole = make(a, y);
  const std::vector<std::size_t> sizes{4, 12};
  std::size_t blocks_until_stop = SIZE_MAX, blocks = 0;
  System stopping = whole;
  std::mutex mutex;
  stopping.fill = [&](std::size_t block, std::size_t rows, double* to, double* right, std::size_t leading) {
    {
      const std::lock_guard lock(mutex);
      if (blocks++ == blocks_until_stop) Budget::interrupted = true;
    }
    whole.fill(block, rows, to, right, leading);
  };
  const auto fit = [&](bool resume, const std::string& what) {
    approximate::Checkpoint checkpoint(file, what, resume, 0, Budget());
    std::vector<double> errors = checkpoint.replaced();
    if (errors.empty()) {
      const auto folds = approximate::collect(stopping, 3, Budget(), &checkpoint);
      errors = approximate::cross_validate(stopping, folds, sizes, Budget(), &checkpoint);
      checkpoint.replace_passes(errors);
    }
    const auto solution = approximate::solve(stopping, approximate::collect(stopping, 4, Budget(), &checkpoint), 12, Budget(), &checkpoint);
    std::vector<double> all = solution.coefficients.data;
    all.insert(all.end(), errors.begin(), errors.end());
    all.insert(all.end(), {solution.residual, solution.condition, static_cast<double>(solution.passes)});
    return std::pair(all, checkpoint.blocks_resumed());
  };
  const auto [expected, none] = fit(false, "this");
  const std::size_t total = blocks;
  CHECK(none == 0);
  for (std::size_t stop = 0; stop < total; stop += 7) {
    CAPTURE(stop);
    blocks = 0;
    blocks_until_stop = stop;
    CHECK_THROWS_AS((void)fit(false, "this"), Interrupted);
    Budget::interrupted = false;
    blocks_until_stop = SIZE_MAX;
    blocks = 0;
    const auto [found, spared] = fit(true, "this");
    CHECK(found == expected);
    CHECK((stop < 5 || spared > 0));
    CHECK(blocks <= total);
    if (stop + 10 > total) CHECK(blocks < total / 3);  // a stop near the end leaves little to do
  }
  CHECK_THROWS_WITH_AS((void)fit(true, "that"), doctest::Contains("one of another fit"), InputError);
  std::filesystem::remove(file);
}
