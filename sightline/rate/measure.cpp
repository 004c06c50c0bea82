#include "sightline/rate/measure.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "sightline/linear_algebra/linear_algebra.hpp"

namespace sightline::rate {
namespace {

double uniform01(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

double gaussian(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log1p(-uniform01(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform01(random));
}

/// Golub and Welsch for the standard normal law: eigenvalues of the Jacobi matrix, squared first entries of its eigenvectors.
void gauss_hermite(std::size_t count, std::vector<double>& nodes, std::vector<double>& weights) {
  linear_algebra::Matrix jacobi(count, count);
  for (std::size_t k = 1; k < count; ++k) jacobi(k - 1, k) = jacobi(k, k - 1) = std::sqrt(static_cast<double>(k));
  nodes = linear_algebra::symmetric_eigenvectors(jacobi);
  weights.resize(count);
  for (std::size_t k = 0; k < count; ++k) weights[k] = jacobi(0, k) * jacobi(0, k);
}

}  // namespace

void gauss_legendre(std::size_t count, std::vector<double>& nodes, std::vector<double>& weights) {
  nodes.assign(count, 0);
  weights.assign(count, 0);
  for (std::size_t k = 0; k < (count + 1) / 2; ++k) {
    double t = std::cos(std::numbers::pi * (static_cast<double>(k) + 0.75) / (static_cast<double>(count) + 0.5)), slope = 1;
    for (int step = 0; step < 100; ++step) {
      double before = 1, value = t;
      for (std::size_t m = 2; m <= count; ++m) {
        const double next = ((2 * static_cast<double>(m) - 1) * t * value - (static_cast<double>(m) - 1) * before) / static_cast<double>(m);
        before = value;
        value = next;
      }
      slope = static_cast<double>(count) * (before - t * value) / (1 - t * t);
      const double change = value / slope;
      t -= change;
      if (std::fabs(change) < 1e-16) break;
    }
    if (count % 2 == 1 && k == count / 2) t = 0;
    nodes[k] = -t;
    nodes[count - 1 - k] = t;
    weights[k] = weights[count - 1 - k] = 2 / ((1 - t * t) * slope * slope);
  }
}

Quadrature make_quadrature(const Measure& measure, std::size_t samples, std::uint64_t seed) {
  Quadrature result;
  const std::size_t dim = measure.dim;
  std::mt19937_64 random(seed);
  if (measure.shape == Shape::circle) {
    result.count = samples;
    result.points.resize(2 * samples);
    result.weights.assign(samples, 1 / static_cast<double>(samples));
    for (std::size_t k = 0; k < samples; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(samples);
      result.points[k] = std::cos(angle);
      result.points[samples + k] = std::sin(angle);
    }
    return result;
  }
  if (measure.shape == Shape::points) {
    const std::size_t given = measure.points.size() / dim;
    result.count = std::min(samples, given);
    result.random = true;
    result.points.resize(dim * result.count);
    result.weights.assign(result.count, 1 / static_cast<double>(result.count));
    std::vector<std::size_t> order(given);
    for (std::size_t k = 0; k < given; ++k) order[k] = k;
    for (std::size_t k = 0; k < result.count; ++k) {
      if (result.count < given) std::swap(order[k], order[k + random() % (given - k)]);
      for (std::size_t e = 0; e < dim; ++e) result.points[e * result.count + k] = measure.points[order[k] * dim + e];
    }
    return result;
  }
  const auto axis = static_cast<std::size_t>(std::floor(std::pow(static_cast<double>(samples), 1 / static_cast<double>(dim)) + 1e-9));
  if (axis >= 6 || dim == 1) {
    std::vector<double> nodes, weights;
    if (measure.shape == Shape::normal) {
      gauss_hermite(axis, nodes, weights);
    } else {
      gauss_legendre(axis, nodes, weights);
      for (double& t : nodes) t = measure.low + (measure.high - measure.low) * (t + 1) / 2;
      for (double& w : weights) w /= 2;
    }
    result.count = 1;
    for (std::size_t e = 0; e < dim; ++e) result.count *= axis;
    result.points.resize(dim * result.count);
    result.weights.assign(result.count, 1);
    for (std::size_t k = 0; k < result.count; ++k) {
      std::size_t rest = k;
      for (std::size_t e = 0; e < dim; ++e, rest /= axis) {
        result.points[e * result.count + k] = nodes[rest % axis];
        result.weights[k] *= weights[rest % axis];
      }
    }
    return result;
  }
  result.count = samples;
  result.random = true;
  result.points.resize(dim * samples);
  result.weights.assign(samples, 1 / static_cast<double>(samples));
  for (double& t : result.points) t = measure.shape == Shape::normal ? gaussian(random) : measure.low + (measure.high - measure.low) * uniform01(random);
  return result;
}

double density(const Measure& measure, double t) {
  if (measure.shape == Shape::normal) return std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
  return 1 / (measure.high - measure.low);
}

Interval support(const Measure& measure) {
  if (measure.shape == Shape::normal) return {-9.5, 9.5};
  return {measure.low, measure.high};
}

}  // namespace sightline::rate
