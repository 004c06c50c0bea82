#include "sightline/samples/measure.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

namespace sightline::samples {
namespace {

/// Two independent normal numbers, Box and Muller.
double draw_normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(1 - draw_uniform(random)));
  return radius * std::cos(2 * M_PI * draw_uniform(random));
}

/// Uniform in the unit ball of R^size: a direction, and a radius with density r^(size-1). `rank` < size when the vector was
/// projected to a subspace of that dimension.
void to_ball(double* vector, std::size_t size, std::size_t rank, std::mt19937_64& random) {
  double length = 0;
  for (std::size_t k = 0; k < size; ++k) length += vector[k] * vector[k];
  const double radius = std::pow(draw_uniform(random), 1 / static_cast<double>(rank));
  const double factor = length > 0 ? radius / std::sqrt(length) : 0;
  for (std::size_t k = 0; k < size; ++k) vector[k] *= factor;
}

}  // namespace

double draw_uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::optional<Measure> parse_measure(std::string_view domain) {
  if (domain.starts_with("the unit ball")) return Measure{Shape::ball, 0, 0};
  if (domain.starts_with("each token: |mean part| <= 1 and |rest| <= 1")) return Measure{Shape::mean_and_rest, 0, 0};
  if (!domain.starts_with('[')) return std::nullopt;
  const auto comma = domain.find(','), end = domain.find(']');
  if (comma == std::string_view::npos || end == std::string_view::npos || comma > end) return std::nullopt;
  const auto read = [](std::string text) -> double {
    const auto slash = text.find('/');
    const double value = std::strtod(text.c_str(), nullptr);
    return slash == std::string::npos ? value : value / std::strtod(text.c_str() + slash + 1, nullptr);
  };
  return Measure{Shape::box, read(std::string(domain.substr(1, comma - 1))), read(std::string(domain.substr(comma + 1, end - comma - 1)))};
}

void draw(const Measure& measure, std::size_t tokens, std::size_t dim, std::mt19937_64& random, double* out) {
  const std::size_t size = tokens * dim;
  switch (measure.shape) {
    case Shape::box:
      for (std::size_t k = 0; k < size; ++k) out[k] = measure.low + (measure.high - measure.low) * draw_uniform(random);
      return;
    case Shape::ball:
      for (std::size_t k = 0; k < size; ++k) out[k] = draw_normal(random);
      to_ball(out, size, size, random);
      return;
    case Shape::mean_and_rest:
      for (std::size_t i = 0; i < tokens; ++i) {
        double* token = out + i * dim;
        const double along = (2 * draw_uniform(random) - 1) / std::sqrt(static_cast<double>(dim));
        double mean = 0;
        for (std::size_t k = 0; k < dim; ++k) mean += token[k] = draw_normal(random);
        for (std::size_t k = 0; k < dim; ++k) token[k] -= mean / static_cast<double>(dim);
        if (dim > 1) to_ball(token, dim, dim - 1, random);
        else token[0] = 0;
        for (std::size_t k = 0; k < dim; ++k) token[k] += along;
      }
      return;
  }
}

}  // namespace sightline::samples
