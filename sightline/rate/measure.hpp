// Measures on tokens, as points with weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sightline::rate {

enum class Shape {
  uniform,  ///< on the box [low, high]^dim
  normal,   ///< independent standard normal coordinates
  circle,   ///< uniform on the unit circle (dim 2)
  points    ///< given points, equal weights
};

struct Measure {
  Shape shape = Shape::uniform;
  std::size_t dim = 1;
  double low = -1, high = 1;
  std::vector<double> points;  ///< shape points: [count][dim]
};

/// Points as [dim][count] (entry by entry) and their weights, which add to 1.
struct Quadrature {
  std::size_t count = 0;
  std::vector<double> points, weights;
  bool random = false;  ///< drawn and not constructed: errors fall like count^-1/2 only
};

/// Gauss-Legendre nodes and weights on [-1, 1], to the last bits. O(count^2).
void gauss_legendre(std::size_t count, std::vector<double>& nodes, std::vector<double>& weights);

/// About `samples` points: equispaced on the circle, products of Gauss rules in a box (or for the normal law) while that gives at least 6 points
/// per axis, drawn with the seed otherwise. Given points are thinned to `samples` of them.
[[nodiscard]] Quadrature make_quadrature(const Measure& measure, std::size_t samples, std::uint64_t seed);

/// Density of the one-dimensional measure at t, and the interval that carries it (all but 1e-20 of it for the normal law).
[[nodiscard]] double density(const Measure& measure, double t);
struct Interval { double low, high; };
[[nodiscard]] Interval support(const Measure& measure);

}  // namespace sightline::rate
