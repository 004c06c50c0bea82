// NumPy archives as `numpy.savez` writes them (stored, not compressed), with the same bytes for the same content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::samples {

struct NpyArray {
  std::string name;                  ///< without ".npy"
  std::string type;                  ///< numpy's descr: "<f8", "<i8", "<U12"
  std::vector<std::uint64_t> shape;  ///< row-major; empty: a single value
  std::string bytes;                 ///< little-endian content
};

[[nodiscard]] NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<double>& values);
[[nodiscard]] NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<std::int64_t>& values);
/// A single text (UTF-8 in), numpy's unicode scalar.
[[nodiscard]] NpyArray make_text(std::string name, std::string_view text);

/// The whole archive. Throws ArgumentError when it would have 4 GB or more (no zip64).
[[nodiscard]] std::string make_npz(const std::vector<NpyArray>& arrays);

}  // namespace sightline::samples
