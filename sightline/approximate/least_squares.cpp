#include "sightline/approximate/least_squares.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "sightline/base/error.hpp"

namespace sightline::approximate {
namespace {

using linear_algebra::Matrix;

/// Runs work(lane, block) for every block, the blocks of a lane (block mod lanes) in order, lanes shared between threads.
/// The calling thread polls the budget and writes the checkpoint; the first error of any thread is thrown. sums: what work(lane, ..) adds to.
template <class Work>
void for_blocks(const System& system, std::vector<Checkpoint::Sums> sums, const Budget& budget, Checkpoint* checkpoint, const char* stage, Work work) {
  const std::size_t lanes = sums.size(), blocks = system.blocks();
  const std::string shown = system.part + stage;
  std::vector<std::size_t> first(lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) first[lane] = lane;
  if (checkpoint != nullptr) first = checkpoint->begin(stage, blocks, std::move(sums));
  struct Lane {
    std::mutex mutex;          // held while a block is added
    std::size_t next = 0;      // its next block
    bool broken = false;       // an error came while a block was added
  };
  std::vector<Lane> state(lanes);
  std::size_t known = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    state[lane].next = first[lane];
    known += std::min(first[lane] / lanes, blocks);
  }
  std::atomic<std::size_t> next{0}, done{known};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  std::mutex mutex;
  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!error) error = std::current_exception();
    stop = true;
  };
  const auto save = [&] {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::lock_guard lock(state[lane].mutex);
      if (state[lane].broken) return;
      checkpoint->record(lane, state[lane].next);
    }
    checkpoint->write();
  };
  const auto run = [&](bool polls) {
    try {
      if (polls) budget.report(shown, static_cast<double>(known) / static_cast<double>(blocks));  // the others may leave no block
      for (std::size_t lane = next++; lane < lanes && !stop; lane = next++) {
        for (std::size_t block = state[lane].next; block < blocks && !stop; block += lanes) {
          {
            const std::lock_guard lock(state[lane].mutex);
            state[lane].broken = true;
            work(lane, block);
            state[lane].next = block + lanes;
            state[lane].broken = false;
          }
          const std::size_t now = ++done;
          if (Budget::interrupted.load()) throw Interrupted();
          if (polls) {
            if (checkpoint != nullptr && checkpoint->is_due()) save();
            budget.poll_now();
            budget.report(shown, static_cast<double>(now) / static_cast<double>(blocks));
          }
        }
      }
      if (polls) budget.poll_now();  // as it is here that a stop is seen, should the others have taken all
    } catch (...) {
      fail();
    }
  };
  const std::size_t threads = std::min<std::size_t>({std::max(1U, std::thread::hardware_concurrency()), lanes, blocks});
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(run, false);
  run(true);
  for (std::thread& other : others) other.join();
  if (error) {
    if (checkpoint != nullptr) save();  // Ctrl-C or the time limit: what was added so far
    std::rethrow_exception(error);
  }
  if (checkpoint != nullptr) checkpoint->end();
}

/// The rows of one block, made once per thread.
struct Block {
  std::vector<double> a, y;
  std::size_t rows = 0, leading = 0;
  void make(const System& system, std::size_t block) {
    rows = system.rows_of(block);
    leading = system.block_rows;
    a.resize(leading * system.columns);
    y.resize(leading * system.outputs);
    system.fill(block, rows, a.data(), y.data(), leading);
    for (std::size_t k = 0; k < system.outputs; ++k)
      for (std::size_t r = 0; r < rows; ++r)
        if (!std::isfinite(y[k * leading + r])) throw InputError("the target: expected finite numbers, found " + std::string(std::isnan(y[k * leading + r]) ? "nan" : "an infinity") + " in row " + std::to_string(block * leading + r));
  }
};

constexpr std::size_t lanes_of_pass = 4;

Matrix leading_block(Matrix full, std::size_t size) {
  if (full.rows == size) return full;
  Matrix part(size, size);
  for (std::size_t j = 0; j < size; ++j) std::copy_n(full.data.begin() + static_cast<std::ptrdiff_t>(j * full.rows), j + 1, part.data.begin() + static_cast<std::ptrdiff_t>(j * size));
  return part;
}

void add(const Matrix& part, Matrix& sum) {
  for (std::size_t k = 0; k < sum.data.size(); ++k) sum.data[k] += part.data[k];
}
Matrix sum_of(const std::vector<Matrix>& parts) {
  Matrix sum = parts[0];
  for (std::size_t f = 1; f < parts.size(); ++f) add(parts[f], sum);
  return sum;
}
/// In the place of the first; the others are gone.
Matrix take_sum(std::vector<Matrix>& parts) {
  Matrix sum = std::move(parts[0]);
  for (std::size_t f = 1; f < parts.size(); ++f) {
    add(parts[f], sum);
    parts[f] = Matrix();
  }
  return sum;
}

/// y - A c over all rows: its root mean square, and A^T of it.
struct Residual { double square = 0; Matrix product; };
Residual residual_of(const System& system, const Matrix& coefficients, const Budget& budget, Checkpoint* checkpoint, const char* stage) {
  const std::size_t n = coefficients.rows, lanes = lanes_of_pass;
  std::vector<Matrix> product(lanes, Matrix(n, system.outputs));
  std::vector<double> square(lanes, 0);
  std::vector<Checkpoint::Sums> sums;
  for (std::size_t lane = 0; lane < lanes; ++lane) sums.push_back({product[lane].data, {&square[lane], 1}});
  for_blocks(system, std::move(sums), budget, checkpoint, stage, [&](std::size_t lane, std::size_t number) {
    thread_local Block block;
    thread_local std::vector<double> fitted;
    block.make(system, number);
    fitted.resize(block.leading * system.outputs);
    linear_algebra::multiply(block.a.data(), block.rows, block.leading, coefficients, fitted.data());
    for (std::size_t k = 0; k < system.outputs; ++k) {
      for (std::size_t r = 0; r < block.rows; ++r) {
        double& y = block.y[k * block.leading + r];
        y -= fitted[k * block.leading + r];
        square[lane] += y * y;
      }
    }
    linear_algebra::add_product(block.a.data(), block.y.data(), block.rows, block.leading, product[lane]);
  });
  Residual result;
  result.product = sum_of(product);
  for (double value : square) result.square += value;
  return result;
}

/// z = M^-1 g for M = R^T R on the first `rank` columns in pivot order; no R: M is the identity.
Matrix solve_pivoted(const Matrix& r, const std::vector<std::size_t>& order, std::size_t rank, const Matrix& g) {
  if (r.rows == 0) return g;
  Matrix z(g.rows, g.columns), sorted(g.rows, g.columns);
  for (std::size_t k = 0; k < g.columns; ++k) for (std::size_t j = 0; j < rank; ++j) sorted(j, k) = g(order[j], k);
  linear_algebra::solve_upper(r, rank, true, sorted);
  linear_algebra::solve_upper(r, rank, false, sorted);
  for (std::size_t k = 0; k < g.columns; ++k) for (std::size_t j = 0; j < rank; ++j) z(order[j], k) = sorted(j, k);
  return z;
}

}  // namespace

double bytes_needed(double columns, double outputs, double matrices) { return 8 * (columns * columns * matrices + columns * outputs * (matrices + 8)); }

Moments collect(const System& system, std::size_t folds, const Budget& budget, Checkpoint* checkpoint) {
  Moments moments;
  moments.gram.assign(folds, Matrix(system.columns, system.columns));
  moments.product.assign(folds, Matrix(system.columns, system.outputs));
  moments.squares.assign(folds, 0);
  moments.rows.assign(folds, 0);
  std::vector<Checkpoint::Sums> sums;
  for (std::size_t fold = 0; fold < folds; ++fold) sums.push_back({moments.gram[fold].data, moments.product[fold].data, {&moments.squares[fold], 1}, {&moments.rows[fold], 1}});
  for_blocks(system, std::move(sums), budget, checkpoint, "rows", [&](std::size_t fold, std::size_t number) {
    thread_local Block block;
    block.make(system, number);
    linear_algebra::add_gram(block.a.data(), block.rows, block.leading, moments.gram[fold]);
    linear_algebra::add_product(block.a.data(), block.y.data(), block.rows, block.leading, moments.product[fold]);
    for (std::size_t k = 0; k < system.outputs; ++k) for (std::size_t r = 0; r < block.rows; ++r) moments.squares[fold] += block.y[k * block.leading + r] * block.y[k * block.leading + r];
    moments.rows[fold] += static_cast<double>(block.rows);
  });
  return moments;
}

Solution solve(const System& whole, Moments moments, std::size_t columns, const Budget& budget, Checkpoint* checkpoint) {
  System system = whole;  // fill() may write all columns; only the first ones are used
  const std::size_t n = columns;
  Solution solution;
  solution.passes = 1;
  double squares = 0, rows = 0;
  for (std::size_t f = 0; f < moments.squares.size(); ++f) { squares += moments.squares[f]; rows += moments.rows[f]; }
  solution.scale = std::sqrt(squares / (rows * static_cast<double>(system.outputs)));
  Matrix gram = leading_block(take_sum(moments.gram), n), right(n, system.outputs);
  {
    const Matrix all = sum_of(moments.product);
    for (std::size_t k = 0; k < system.outputs; ++k) for (std::size_t j = 0; j < n; ++j) right(j, k) = all(j, k);
  }
  std::vector<double> inverse_length(n);
  for (std::size_t j = 0; j < n; ++j) inverse_length[j] = gram(j, j) > 0 ? 1 / std::sqrt(gram(j, j)) : 0;
  for (std::size_t j = 0; j < n; ++j) for (std::size_t i = 0; i <= j; ++i) gram(i, j) *= inverse_length[i] * inverse_length[j];
  // P: pivoted factor; vanished pivots are lifted to `least`, the distance that the Gram matrix cannot resolve.
  const double least_square = 1e-15 * static_cast<double>(n) + 1e-14, least = std::sqrt(least_square);
  linear_algebra::PivotedCholesky pivots = linear_algebra::pivoted_cholesky(gram, least_square, budget);
  std::vector<std::size_t> order = pivots.order;
  const std::size_t sure = pivots.rank;
  Matrix factor = std::move(gram);
  for (std::size_t j = sure; j < n; ++j) {
    for (std::size_t i = sure; i < j; ++i) factor(i, j) = 0;
    factor(j, j) = least;
  }
  Matrix second;  // empty: the identity
  std::vector<std::size_t> second_order(n);
  std::size_t rank = n;
  const bool once_more = sure < n || linear_algebra::reciprocal_condition(factor, n) < 1e-5;
  for (std::size_t j = 0; j < n; ++j) second_order[j] = j;
  if (once_more) {
    ++solution.passes;
    std::vector<Matrix> grams(2, Matrix(n, n));
    for_blocks(system, {{grams[0].data}, {grams[1].data}}, budget, checkpoint, "rows, once more because the columns are nearly dependent", [&](std::size_t lane, std::size_t number) {
      thread_local Block block;
      thread_local std::vector<double> scaled;
      block.make(system, number);
      scaled.resize(block.leading * n);
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t r = 0; r < block.rows; ++r) scaled[j * block.leading + r] = block.a[order[j] * block.leading + r] * inverse_length[order[j]];
      linear_algebra::divide_right(scaled.data(), block.rows, block.leading, factor);
      linear_algebra::add_gram(scaled.data(), block.rows, block.leading, grams[lane]);
    });
    second = take_sum(grams);
    // A lifted column at true distance t has square (t / least)^2 here; rounding is far below 1e-14 / least^2 * 1e-14.
    const linear_algebra::PivotedCholesky again = linear_algebra::pivoted_cholesky(second, std::max(1e-28 / least_square, 1e-15 * 1e-2), budget);
    second_order = again.order;
    rank = again.rank;
  }
  // What a refinement step needs: c = D Pi P^-1 z, and its transpose.
  const auto to_coefficients = [&](Matrix z) {
    linear_algebra::solve_upper(factor, n, false, z);
    Matrix c(n, z.columns);
    for (std::size_t k = 0; k < z.columns; ++k) for (std::size_t j = 0; j < n; ++j) c(order[j], k) = z(j, k) * inverse_length[order[j]];
    return c;
  };
  const auto from_gradient = [&](const Matrix& g) {
    Matrix z(n, g.columns);
    for (std::size_t k = 0; k < g.columns; ++k) for (std::size_t j = 0; j < n; ++j) z(j, k) = g(order[j], k) * inverse_length[order[j]];
    linear_algebra::solve_upper(factor, n, true, z);
    return z;
  };
  solution.coefficients = to_coefficients(solve_pivoted(second, second_order, rank, from_gradient(right)));
  double before = INFINITY;
  for (int step = 0; step < 4; ++step) {
    Residual residual = residual_of(system, solution.coefficients, budget, checkpoint, "refinement");
    ++solution.passes;
    solution.residual = std::sqrt(residual.square / (rows * static_cast<double>(system.outputs)));
    const Matrix correction = to_coefficients(solve_pivoted(second, second_order, rank, from_gradient(residual.product)));
    double size = 0, change = 0;
    for (std::size_t k = 0; k < correction.columns; ++k) {
      for (std::size_t j = 0; j < n; ++j) {
        if (inverse_length[j] == 0) continue;
        size = std::max(size, std::fabs(solution.coefficients(j, k)) / inverse_length[j]);
        change = std::max(change, std::fabs(correction(j, k)) / inverse_length[j]);
      }
    }
    if (!(change < before / 2)) break;
    before = change;
    for (std::size_t k = 0; k < correction.data.size(); ++k) solution.coefficients.data[k] += correction.data[k];
    if (change <= 1e-13 * size) break;
  }
  // Columns that were lifted and found dependent.
  for (std::size_t j = rank; j < n; ++j) solution.dependent.push_back(order[second_order[j]]);
  std::sort(solution.dependent.begin(), solution.dependent.end());
  Matrix judged = std::move(factor);
  for (std::size_t j = 0; j < rank; ++j) if (once_more) judged(second_order[j], second_order[j]) *= second(j, j);
  std::size_t kept = n;
  if (rank < n) {  // dependent columns are all among the lifted ones at the end
    kept = n - solution.dependent.size();
    Matrix smaller(kept, kept);
    std::vector<std::size_t> keep;
    for (std::size_t j = 0; j < n; ++j) if (!std::binary_search(solution.dependent.begin(), solution.dependent.end(), order[j])) keep.push_back(j);
    for (std::size_t j = 0; j < kept; ++j) for (std::size_t i = 0; i <= j; ++i) smaller(i, j) = judged(keep[i], keep[j]);
    judged = std::move(smaller);
  }
  const double reciprocal = linear_algebra::reciprocal_condition(judged, kept);
  solution.condition = reciprocal > 0 ? 1 / reciprocal : INFINITY;
  return solution;
}

std::vector<double> cross_validate(const System& system, const Moments& moments, const std::vector<std::size_t>& sizes, const Budget& budget, Checkpoint* checkpoint) {
  const std::size_t n = system.columns, folds = moments.gram.size(), outputs = system.outputs;
  const Matrix all = sum_of(moments.gram), right = sum_of(moments.product);
  std::vector<Matrix> coefficients(folds, Matrix(n, outputs * sizes.size()));
  for (std::size_t f = 0; f < folds; ++f) {
    budget.poll_now();
    Matrix gram = all, g = right;
    for (std::size_t k = 0; k < gram.data.size(); ++k) gram.data[k] -= moments.gram[f].data[k];
    for (std::size_t k = 0; k < g.data.size(); ++k) g.data[k] -= moments.product[f].data[k];
    std::vector<double> inverse_length(n);
    for (std::size_t j = 0; j < n; ++j) inverse_length[j] = gram(j, j) > 0 ? 1 / std::sqrt(gram(j, j)) : 0;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i <= j; ++i) gram(i, j) *= inverse_length[i] * inverse_length[j];
      gram(j, j) = inverse_length[j] > 0 ? gram(j, j) + 1e-15 * static_cast<double>(n) + 1e-14 : 1;  // keeps dependent columns harmless
      for (std::size_t k = 0; k < outputs; ++k) g(j, k) *= inverse_length[j];
    }
    const auto failed = linear_algebra::cholesky(gram, budget);
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      if (failed && *failed < sizes[s]) {  // too few rows in the other folds: no fit of this size
        for (std::size_t k = 0; k < outputs; ++k) coefficients[f](0, s * outputs + k) = INFINITY;
        continue;
      }
      Matrix z = g;
      linear_algebra::solve_upper(gram, sizes[s], true, z);
      linear_algebra::solve_upper(gram, sizes[s], false, z);
      for (std::size_t k = 0; k < outputs; ++k) for (std::size_t j = 0; j < sizes[s]; ++j) coefficients[f](j, s * outputs + k) = z(j, k) * inverse_length[j];
    }
  }
  std::vector<std::vector<double>> square(folds, std::vector<double>(sizes.size(), 0));
  std::vector<Checkpoint::Sums> sums;
  for (std::vector<double>& fold : square) sums.push_back({fold});
  for_blocks(system, std::move(sums), budget, checkpoint, "cross-validation", [&](std::size_t fold, std::size_t number) {
    thread_local Block block;
    thread_local std::vector<double> fitted;
    block.make(system, number);
    fitted.resize(block.leading * outputs * sizes.size());
    linear_algebra::multiply(block.a.data(), block.rows, block.leading, coefficients[fold], fitted.data());
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      for (std::size_t k = 0; k < outputs; ++k) {
        for (std::size_t r = 0; r < block.rows; ++r) {
          const double difference = block.y[k * block.leading + r] - fitted[(s * outputs + k) * block.leading + r];
          square[fold][s] += difference * difference;
        }
      }
    }
  });
  std::vector<double> result(sizes.size(), 0);
  double rows = 0;
  for (std::size_t f = 0; f < folds; ++f) {
    rows += moments.rows[f];
    for (std::size_t s = 0; s < sizes.size(); ++s) result[s] += square[f][s];
  }
  for (double& value : result) value = std::isfinite(value) ? std::sqrt(value / (rows * static_cast<double>(outputs))) : INFINITY;
  return result;
}

}  // namespace sightline::approximate
