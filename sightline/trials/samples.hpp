// The samples that trials train and test on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/approximate/approximate.hpp"
#include "sightline/target/target.hpp"
#include "sightline/train/samples.hpp"

namespace sightline::trials {

/// A target's samples, or those of a file: what is fitted, and what is kept back for the test.
struct TaskData {
  std::string name;
  std::int64_t tokens = 0, dim = 0, outputs = 0;
  std::int64_t count = 0, test = 0;         ///< sequences of either part
  std::vector<double> x, y, test_x, test_y; ///< [sequence][token][numbers]
  std::vector<std::string> notes;           ///< e.g. that the target is not equivariant, with figures

  /// Of each coordinate of x over the fitted part: the middle and half of its range; of y: mean and deviation of all
  /// outputs together (deviation 1 for a constant).
  [[nodiscard]] std::vector<double> centre() const;
  [[nodiscard]] std::vector<double> half() const;
  double mean = 0, deviation = 1;
  [[nodiscard]] double test_scale() const; ///< root mean square of test_y
};

/// expr: or lib: drawn with the seed (`count` sequences to fit, `test` to test); data:FILE.npz as it stands (its
/// x_test, or the last tenth, is the test; `count` > 0 fits the first so many). Throws InputError: values that are not
/// finite, too few samples.
[[nodiscard]] TaskData make_task_data(const std::string& text, std::size_t tokens, std::size_t dim,
                                      const target::Sampler& sampler, std::int64_t count, std::int64_t test,
                                      std::uint64_t seed, const Budget& budget);

/// Tensors of one part; y as (y - mean) / deviation.
[[nodiscard]] train::Batch to_batch(const TaskData& data, bool test, at::ScalarType type);

} // namespace sightline::trials
