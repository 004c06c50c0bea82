#include "sightline/rate/spectrum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sightline/base/error.hpp"
#include "sightline/linear_algebra/linear_algebra.hpp"

namespace sightline::rate {
namespace {

using linear_algebra::Matrix;

constexpr std::size_t order = 16;  // Legendre functions per panel

[[noreturn]] void not_finite(const double* x, const double* y, std::size_t dim, std::size_t stride, double value) {
  std::string reader, read;
  for (std::size_t e = 0; e < dim; ++e) {
    reader += fmt::format("{}{:.6g}", e == 0 ? "" : ", ", x[e * stride]);
    read += fmt::format("{}{:.6g}", e == 0 ? "" : ", ", y[e * stride]);
  }
  throw InputError(fmt::format("the score: expected a finite number, found {} at x = ({}), y = ({})", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf", reader, read));
}

/// All pairs of readers and reads, some readers at a time.
Matrix evaluate_all(const Score& score, std::size_t dim, const Quadrature& q, const Budget& budget) {
  constexpr std::size_t most = 64;
  Matrix matrix(q.count, q.count);
  std::vector<double> x, rows(most * q.count);
  for (std::size_t start = 0; start < q.count; start += most) {
    budget.poll();
    budget.report("the score at all pairs", static_cast<double>(start) / static_cast<double>(q.count));
    const std::size_t now = std::min(most, q.count - start);
    x.resize(dim * now);
    for (std::size_t e = 0; e < dim; ++e) std::copy_n(q.points.begin() + static_cast<std::ptrdiff_t>(e * q.count + start), now, x.begin() + static_cast<std::ptrdiff_t>(e * now));
    score.all(now, x.data(), q.count, q.points.data(), rows.data());
    for (std::size_t i = 0; i < now; ++i) {
      for (std::size_t j = 0; j < q.count; ++j) {
        if (!std::isfinite(rows[i * q.count + j])) not_finite(q.points.data() + start + i, q.points.data() + j, dim, q.count, rows[i * q.count + j]);
        matrix(start + i, j) = rows[i * q.count + j];
      }
    }
  }
  return matrix;
}

std::vector<double> values_of(Matrix matrix, const Budget& budget) {
  budget.poll();
  budget.report("singular values", 0);
  double largest = 0, difference = 0;
  for (std::size_t j = 0; j < matrix.columns; ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      difference = std::max(difference, std::fabs(matrix(i, j) - matrix(j, i)));
      largest = std::max(largest, std::fabs(matrix(i, j)));
    }
  }
  if (difference > 1e-15 * largest) return linear_algebra::singular_values(std::move(matrix), budget);
  std::vector<double> values = linear_algebra::symmetric_eigenvalues(std::move(matrix), budget);  // half the work
  for (double& value : values) value = std::fabs(value);
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

/// Lagrange functions at the Gauss nodes, normalised in L2(-1, 1), at t.
void basis_at(double t, const std::vector<double>& nodes, const std::vector<double>& weights, double* out) {
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    double value = 1 / std::sqrt(weights[k]);
    for (std::size_t l = 0; l < nodes.size(); ++l) if (l != k) value *= (t - nodes[l]) / (nodes[k] - nodes[l]);
    out[k] = value;
  }
}

}  // namespace

Diagonal look_at_diagonal(const Score& score, const Measure& measure, std::uint64_t seed) {
  const Quadrature q = make_quadrature(measure, 64, seed);
  const std::size_t dim = measure.dim, count = q.count;
  std::mt19937_64 random(seed + 1);
  std::vector<double> direction(dim * count);
  for (std::size_t k = 0; k < count; ++k) {
    double length = 0;
    for (std::size_t e = 0; e < dim; ++e) {
      double t = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      if (dim == 1) t = 1;
      direction[e * count + k] = t;
      length += t * t;
    }
    for (std::size_t e = 0; e < dim; ++e) direction[e * count + k] /= std::sqrt(length);
  }
  const double scale = measure.shape == Shape::uniform ? (measure.high - measure.low) / 2 : 1;
  std::vector<double> y(dim * count), at_zero(count), plus(count), minus(count);
  score.pairs(count, q.points.data(), q.points.data(), at_zero.data());
  // jump(h) = slope behind minus slope before: O(h) when smooth, constant at a kink, growing at a cusp.
  const auto jumps = [&](double h) {
    std::vector<double> result(count);
    for (std::size_t k = 0; k < dim * count; ++k) y[k] = q.points[k] + h * direction[k];
    score.pairs(count, q.points.data(), y.data(), plus.data());
    for (std::size_t k = 0; k < dim * count; ++k) y[k] = q.points[k] - h * direction[k];
    score.pairs(count, q.points.data(), y.data(), minus.data());
    for (std::size_t k = 0; k < count; ++k) result[k] = (plus[k] - 2 * at_zero[k] + minus[k]) / h;
    return result;
  };
  const std::vector<double> coarse = jumps(1e-3 * scale), fine = jumps(1e-5 * scale);
  std::size_t kinks = 0, cusps = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (!std::isfinite(at_zero[k])) { ++cusps; continue; }
    const double noise = 1e-9 * (std::fabs(at_zero[k]) + 1) / scale;
    if (!std::isfinite(coarse[k]) || !std::isfinite(fine[k]) || std::fabs(fine[k]) <= noise) continue;
    const double ratio = std::fabs(fine[k]) / std::max(std::fabs(coarse[k]), 1e-300);  // smooth: 1/100
    if (ratio > 3) ++cusps;
    else if (ratio > 0.5) ++kinks;
  }
  if (cusps * 4 > count) return Diagonal::cusp;
  return (kinks + cusps) * 4 > count ? Diagonal::kink : Diagonal::smooth;
}

std::vector<double> nystrom(const Score& score, const Measure& measure, std::size_t points, std::uint64_t seed, const Budget& budget) {
  const Quadrature q = make_quadrature(measure, points, seed);
  budget.ask(3 * q.count * q.count * sizeof(double));
  Matrix matrix = evaluate_all(score, measure.dim, q, budget);
  for (std::size_t j = 0; j < q.count; ++j) for (std::size_t i = 0; i < q.count; ++i) matrix(i, j) *= std::sqrt(q.weights[i]) * std::sqrt(q.weights[j]);
  std::vector<double> values = values_of(std::move(matrix), budget);
  budget.give_back(3 * q.count * q.count * sizeof(double));
  return values;
}

std::vector<double> panels(const Score& score, const Measure& measure, std::size_t points, const Budget& budget) {
  const std::size_t count = std::max<std::size_t>(points / order, 2);
  const Interval interval = support(measure);
  const double width = (interval.high - interval.low) / static_cast<double>(count);
  std::vector<double> nodes, weights;
  gauss_legendre(order, nodes, weights);
  Quadrature q;
  q.count = count * order;
  for (std::size_t p = 0; p < count; ++p) {
    for (std::size_t k = 0; k < order; ++k) {
      const double t = interval.low + width * (static_cast<double>(p) + (nodes[k] + 1) / 2);
      q.points.push_back(t);
      q.weights.push_back(weights[k] * width / 2 * density(measure, t));
    }
  }
  budget.ask(3 * q.count * q.count * sizeof(double));
  Matrix matrix = evaluate_all(score, 1, q, budget);
  for (std::size_t j = 0; j < q.count; ++j) for (std::size_t i = 0; i < q.count; ++i) matrix(i, j) *= std::sqrt(q.weights[i]) * std::sqrt(q.weights[j]);

  // Panels on the diagonal, again: both triangles of the square, each the image of a square with the diagonal as one side
  // and one corner blown up to the other: (r, s) -> (r, r s) in the triangle 0 <= y <= x <= 1, with Jacobian r.
  const std::size_t fine = 2 * order;
  std::vector<double> fine_nodes, fine_weights;
  gauss_legendre(fine, fine_nodes, fine_weights);
  const std::size_t pairs = 2 * fine * fine;
  std::vector<double> u(pairs), v(pairs), weight(pairs), x(pairs), y(pairs), value(pairs), left(pairs * order), right(pairs * order);
  std::size_t at = 0;
  for (std::size_t a = 0; a < fine; ++a) {
    for (std::size_t b = 0; b < fine; ++b) {
      const double r = (fine_nodes[a] + 1) / 2, s = (fine_nodes[b] + 1) / 2;
      for (const bool below : {true, false}) {
        const double far = r, near = r * s;
        u[at] = 2 * (below ? far : near) - 1;
        v[at] = 2 * (below ? near : far) - 1;
        weight[at] = fine_weights[a] * fine_weights[b] * r;  // (1/4 of the unit square's weights) * (2 * 2 for [-1,1]^2)
        basis_at(u[at], nodes, weights, left.data() + at * order);
        basis_at(v[at], nodes, weights, right.data() + at * order);
        ++at;
      }
    }
  }
  for (std::size_t p = 0; p < count; ++p) {
    budget.poll();
    const double start = interval.low + width * static_cast<double>(p);
    for (std::size_t k = 0; k < pairs; ++k) {
      x[k] = start + width * (u[k] + 1) / 2;
      y[k] = start + width * (v[k] + 1) / 2;
    }
    score.pairs(pairs, x.data(), y.data(), value.data());
    std::vector<double> block(order * order, 0.0);
    for (std::size_t k = 0; k < pairs; ++k) {
      if (!std::isfinite(value[k])) not_finite(&x[k], &y[k], 1, 1, value[k]);
      const double mass = weight[k] * value[k] * std::sqrt(density(measure, x[k]) * density(measure, y[k])) * width / 2;
      for (std::size_t i = 0; i < order; ++i) {
        const double scaled = mass * left[k * order + i];
        for (std::size_t j = 0; j < order; ++j) block[i * order + j] += scaled * right[k * order + j];
      }
    }
    for (std::size_t i = 0; i < order; ++i) for (std::size_t j = 0; j < order; ++j) matrix(p * order + i, p * order + j) = block[i * order + j];
  }
  std::vector<double> values = values_of(std::move(matrix), budget);
  budget.give_back(3 * q.count * q.count * sizeof(double));
  return values;
}

}  // namespace sightline::rate
