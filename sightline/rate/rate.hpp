// What head dimension an attention score needs (theory 14; sources 2.2 - 2.4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/rate/spectrum.hpp"

namespace sightline::rate {

struct Options {
  std::size_t samples = 0;       ///< points of the first discretisation, the second has twice as many; 0: 256 in one dimension, else 1024
  std::size_t count = 64;        ///< how many singular values and head dimensions are told
  std::optional<double> error;   ///< wanted error of the score, relative to its norm; default 0.01
  std::uint64_t seed = 0;
};

/// log sigma_k = const - value * log k by least squares over from <= k <= to, with the 95 % interval of Student's t.
struct Exponent {
  double value = 0, low = 0, high = 0;
  std::size_t from = 0, to = 0;
  double curvature = 0;          ///< exponent of the second half minus that of the first: far from 0, the decay is no power law
};

/// The best score of rank `heads` (head dimension m_h) misses rho by this much: the squared norm of the tail, and its root,
/// which bounds the mean absolute error (Cauchy-Schwarz; sources 2.4: the printed rate is that of the square).
struct Head {
  std::size_t heads = 0;
  double l1 = 0, l2squared = 0;
};

struct Result {
  std::string target, method;    ///< method: the discretisation in words
  std::vector<double> sigma;     ///< rounded to the digits that did not change; ends at the first value without such a digit
  std::vector<int> digits;       ///< of each; 17: exactly zero (below 1e-13 of the first)
  std::size_t points = 0;        ///< of the finer discretisation
  Diagonal diagonal = Diagonal::smooth;
  double noise_floor = 0;        ///< below this the two discretisations disagree by a tenth or more
  std::optional<std::size_t> rank;  ///< finite rank: everything beyond is below 1e-13 of the first
  std::optional<Exponent> exponent;
  double norm_squared = 0;       ///< sum of all squares, with the tail
  double tail_squared = 0;       ///< of this, what a power law adds beyond the last value that was computed
  std::vector<Head> predicted;
  double error = 0.01;
  std::optional<std::size_t> recommended;
  std::vector<std::string> notes;
  std::vector<Result> each;      ///< --each: one per sample
};

/// A score under a measure: Nystrom, or panels when the diagonal has a kink and the dimension is one; at `samples` and twice as many points.
/// Throws InputError (a score that is not finite), BudgetExhausted.
[[nodiscard]] Result rate_score(const Score& score, const Measure& measure, const Options& options, const Budget& budget);

/// Measured logits [count][tokens][tokens]: the singular values of their mean (sources 2.6), or with `each` those of every
/// sample and their quartiles. A matrix of independent rounding errors of the stored numbers bounds the floor.
/// @param relative_precision  of the stored numbers: 2^-52, or 2^-23 for float32
[[nodiscard]] Result rate_logits(const std::vector<double>& logits, std::size_t count, std::size_t tokens, bool each, double relative_precision,
                                 const Options& options, const Budget& budget);

/// Exponent over the values of index from..to (1-based).
[[nodiscard]] std::optional<Exponent> fit_exponent(const std::vector<double>& sigma, std::size_t from, std::size_t to);

[[nodiscard]] std::string to_json(const Result& result);
[[nodiscard]] std::string to_text(const Result& result);

}  // namespace sightline::rate
