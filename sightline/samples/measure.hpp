// The measures that floors speak of.
#pragma once

#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace sightline::samples {

/// Uniform in [0, 1), the same bits everywhere (the standard's distributions are not).
[[nodiscard]] double draw_uniform(std::mt19937_64& random);

/// The centred ones hold tokens whose numbers add up to 0 (docs/theory.md 16.61).
enum class Shape { box, ball, mean_and_rest, centred_ball, centred_box };
struct Measure {
  Shape shape = Shape::box;
  double low = 0, high = 1;  ///< box, centred_box
  bool of_each_token = false;  ///< ball, centred_ball: every token fills one of its own
  std::size_t free = 0;      ///< centred_box: so many numbers of a token are uniform, the rest makes up for their sum and moves on a ball
};

/// From the words of a floor: "[0,1]^(d n)", "the unit ball of ..." (all inputs, or every raw token), "each token: |mean part| <= 1 and ...",
/// "centred tokens: X[0] uniform on ...". Nothing for ids. @param centred  raw tokens are
[[nodiscard]] std::optional<Measure> parse_measure(std::string_view domain, bool centred);

/// n tokens of d numbers.
void draw(const Measure& measure, std::size_t tokens, std::size_t dim, std::mt19937_64& random, double* out);

}  // namespace sightline::samples
