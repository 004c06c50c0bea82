// The measures that floors speak of.
#pragma once

#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace sightline::samples {

/// Uniform in [0, 1), the same bits everywhere (the standard's distributions are not).
[[nodiscard]] double draw_uniform(std::mt19937_64& random);

enum class Shape { box, ball, mean_and_rest };
struct Measure {
  Shape shape = Shape::box;
  double low = 0, high = 1;  ///< box
};

/// From the words of a floor: "[0,1]^(d n)", "the unit ball of ...", "each token: |mean part| <= 1 and ...". Nothing for ids.
[[nodiscard]] std::optional<Measure> parse_measure(std::string_view domain);

/// n tokens of d numbers.
void draw(const Measure& measure, std::size_t tokens, std::size_t dim, std::mt19937_64& random, double* out);

}  // namespace sightline::samples
