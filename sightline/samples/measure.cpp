#include "sightline/samples/measure.hpp"

#include <algorithm>
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

/// Normal numbers less their mean.
void draw_flat(double* vector, std::size_t size, std::mt19937_64& random) {
  double sum = 0;
  for (std::size_t k = 0; k < size; ++k) sum += vector[k] = draw_normal(random);
  for (std::size_t k = 0; k < size; ++k) vector[k] -= sum / static_cast<double>(size);
}

std::optional<Measure> parse_box(std::string_view text, Shape shape, std::size_t free) {
  const auto comma = text.find(','), end = text.find(']');
  if (!text.starts_with('[') || comma == std::string_view::npos || end == std::string_view::npos || comma > end) return std::nullopt;
  const auto read = [](std::string number) -> double {
    const auto slash = number.find('/');
    const double value = std::strtod(number.c_str(), nullptr);
    return slash == std::string::npos ? value : value / std::strtod(number.c_str() + slash + 1, nullptr);
  };
  return Measure{shape, read(std::string(text.substr(1, comma - 1))), read(std::string(text.substr(comma + 1, end - comma - 1))), false, free};
}

}  // namespace

double draw_uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::optional<Measure> parse_measure(std::string_view domain, bool centred) {
  if (domain.starts_with("the unit ball")) return Measure{centred ? Shape::centred_ball : Shape::ball, 0, 1, domain == "the unit ball of every raw token"};
  if (domain.starts_with("each token: |mean part| <= 1 and |rest| <= 1")) return Measure{Shape::mean_and_rest};
  for (const std::size_t free : {1, 2}) {
    const std::string_view start = free == 1 ? "centred tokens: X[0] uniform on " : "centred tokens: X[0] and X[1] uniform on ";
    if (domain.starts_with(start)) return parse_box(domain.substr(start.size()), Shape::centred_box, free);
  }
  return parse_box(domain, Shape::box, 0);
}

void draw(const Measure& measure, std::size_t tokens, std::size_t dim, std::mt19937_64& random, double* out) {
  const std::size_t size = tokens * dim;
  if (measure.of_each_token && tokens > 1) {
    for (std::size_t i = 0; i < tokens; ++i) draw(measure, 1, dim, random, out + i * dim);
    return;
  }
  switch (measure.shape) {
    case Shape::box:
      for (std::size_t k = 0; k < size; ++k) out[k] = measure.low + (measure.high - measure.low) * draw_uniform(random);
      return;
    case Shape::ball:
      for (std::size_t k = 0; k < size; ++k) out[k] = draw_normal(random);
      to_ball(out, size, size, random);
      return;
    case Shape::centred_ball:
      for (std::size_t i = 0; i < tokens; ++i) draw_flat(out + i * dim, dim, random);
      to_ball(out, size, tokens * (dim - 1), random);
      return;
    case Shape::centred_box:
      for (std::size_t i = 0; i < tokens; ++i) {
        double* token = out + i * dim;
        double sum = 0;
        const std::size_t free = std::min(measure.free, dim), rest = dim - free;
        for (std::size_t k = 0; k < free; ++k) sum += token[k] = measure.low + (measure.high - measure.low) * draw_uniform(random);
        draw_flat(token + free, rest, random);
        if (rest > 1) to_ball(token + free, rest, rest - 1, random);
        for (std::size_t k = free; k < dim; ++k) token[k] -= sum / static_cast<double>(rest);
      }
      return;
    case Shape::mean_and_rest:
      for (std::size_t i = 0; i < tokens; ++i) {
        double* token = out + i * dim;
        const double along = (2 * draw_uniform(random) - 1) / std::sqrt(static_cast<double>(dim));
        draw_flat(token, dim, random);
        if (dim > 1) to_ball(token, dim, dim - 1, random);
        else token[0] = 0;
        for (std::size_t k = 0; k < dim; ++k) token[k] += along;
      }
      return;
  }
}

}  // namespace sightline::samples
