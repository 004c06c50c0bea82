// Fitting a polynomial Sumformer to a target.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sightline/approximate/least_squares.hpp"
#include "sightline/approximate/sumformer.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/target/target.hpp"

namespace sightline::approximate {

/// Samples of a target that is known by them only.
struct Samples {
  std::size_t count = 0, tokens = 0, dim = 0, width = 0;
  std::vector<double> x, y;   ///< [count][tokens][dim], [count][tokens][width]
  std::size_t test = 0;       ///< so many at the end are not fitted; 0: the last tenth
};
/// x, y (with x_val, y_val) and x_test, y_test of an .npz file (interfaces 1). Throws InputError.
[[nodiscard]] Samples read_samples(const std::string& file, const Budget& budget);

/// What is left of samples behind a fit, by the place of the token: a fit that commutes with permutations leaves the same law at every place, unless the target
/// does not commute or the places have different laws.
struct PlaceBias {
  std::size_t place = 0, size_place = 0;
  double mean = 0, error = 0, rms = 0;    ///< of what is left, at the place where |mean| / error is largest; rms of all that is left
  double factor = 1, factor_error = 0;    ///< how much larger what is left is at `size_place` than at the others (geometric means), and the standard error of its logarithm
};
[[nodiscard]] PlaceBias measure_place_bias(const Samples& samples, const Sumformer& model, const Budget& budget);

struct Options {
  target::Sampler sampler;
  std::size_t rows = 0;                 ///< rows of the fit; 0: enough for the degree, or all of the data
  bool all_tokens = false;              ///< every token of a sequence is a row, not one of them
  std::optional<std::size_t> degree;    ///< absent: chosen by cross-validation
  std::size_t greatest_columns = 1500;  ///< while choosing
  double error = 1e-9;                  ///< wanted relative L2 error
  std::size_t test_sequences = 0;       ///< 0: about 20000 tokens
  std::uint64_t seed = 0;
  std::string checkpoint;               ///< "" or the file of the unfinished fit
  bool resume = false;                  ///< go on from that file
  double checkpoint_seconds = 2;        ///< least time between two writes
};

struct DegreeError { std::size_t degree = 0; double columns = 0, error = 0; };  ///< relative error in cross-validation

struct Result {
  std::string target, method = "polynomial", group;
  std::size_t tokens = 0, dim = 0, outputs = 0, degree = 0;
  Sizes sizes;                          ///< columns: all products; independent: what their span needs
  std::size_t rows = 0, images = 1;     ///< images: rows come in groups of so many mirror images (mirror.hpp)
  double l2 = 0, relative_l2 = 0, sup = 0, relative_sup = 0;  ///< on fresh sequences, all tokens; relative to rms and largest |F|
  double train = 0;                     ///< relative, on the rows of the fit
  double condition = 0;
  double equivariance = 0;              ///< largest |S(sX) - sS(X)|
  std::optional<double> mixer_difference;  ///< the sum by a mixer: largest difference of outputs, relative to the largest output
  std::string architecture;             ///< the file that holds its architecture
  std::optional<std::string> target_group;     ///< {s : F(sX) = sF(X)} by trial, n <= 7: its name or order, and generators
  std::optional<target::Deviation> deviation;  ///< of the target, where it is not symmetric by its form
  std::vector<DegreeError> degrees;
  std::vector<std::string> dependent;   ///< names of columns that the data make dependent
  std::size_t dependent_count = 0;
  int passes = 0;
  std::size_t resumed = 0;              ///< blocks of rows that a checkpoint spared
  double wanted = 0;
  std::vector<std::string> notes, blame;
  std::optional<Sumformer> model;
};

/// "this needs 3.2e+09 coefficients (..): degree 4 fits in memory", when it does not fit; else nothing.
/// @param drawn  the target can be asked anywhere, so that large fits are made with mirror images (mirror.hpp)
/// @param rows   as asked for; 0: enough
[[nodiscard]] std::optional<std::string> state_limits(std::size_t tokens, std::size_t dim, std::size_t degree, std::size_t outputs, bool drawn, std::size_t rows, const Budget& budget);

/// Exactly one of target and samples. Throws InputError (too few samples, values that are not finite, no memory for the degree),
/// BudgetExhausted, Interrupted.
[[nodiscard]] Result fit_polynomial(const target::Target* target, const Samples* samples, const Options& options, const Budget& budget);

/// The rows of the fit as a system (also for the benchmark).
[[nodiscard]] System make_system(const Basis& basis, const target::Target* target, const Samples* samples, const Options& options, std::size_t rows);

[[nodiscard]] std::string to_json(const Result& result, const std::string& saved);
[[nodiscard]] std::string to_text(const Result& result, const std::string& saved);

}  // namespace sightline::approximate
