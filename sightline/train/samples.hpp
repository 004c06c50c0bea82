// Data sets as tensors, and batches of them.
#pragma once

#include "sightline/data/dataset.hpp"
#include "sightline/train/operations.hpp"

namespace sightline::train {

/// Rows of a data set. Undefined: y (nothing to compare with), lengths (all whole), weights (all 1).
struct Batch {
  Tensor x, y, lengths, weights;
  at::ScalarType type = at::kFloat;
  [[nodiscard]] std::int64_t size() const { return x.size(0); }
};

/// A whole part; numbers in `type`, ids and classes as int64. Copies.
[[nodiscard]] Batch to_batch(const data::Part& part, at::ScalarType type);
/// Tells samples apart, also of a batch without any: a hash of sizes and of up to 4,096 evenly spaced entries of each array.
[[nodiscard]] std::uint64_t compute_fingerprint(const Batch& batch);
/// The rows with these numbers, in this order, on a device.
[[nodiscard]] Batch take_rows(const Batch& all, const std::vector<std::int64_t>& rows, at::Device device);
/// Rows begin .. end-1.
[[nodiscard]] Batch take_range(const Batch& all, std::int64_t begin, std::int64_t end, at::Device device);

/// A tensor's numbers as an array of data/, and back (`type` for floating-point arrays).
[[nodiscard]] data::Array to_array(const Tensor& tensor);
[[nodiscard]] Tensor to_tensor(const data::Array& array);

/// What the data must look like for this architecture. `ids`: rows of the table when they are known.
[[nodiscard]] data::Expected expect(const architecture::Architecture& architecture, std::optional<std::int64_t> ids,
                                    std::optional<std::int64_t> outputs, bool targets);

} // namespace sightline::train
