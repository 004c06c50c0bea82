// Weights on disk: safetensors (8 bytes of header length, a JSON header, the numbers), read and written whole.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sightline/base/budget.hpp"
#include "sightline/data/array.hpp"

namespace sightline::data {

/// The content of a .safetensors file.
struct TensorFile {
  std::map<std::string, Array> tensors;         ///< by name
  std::map<std::string, std::string> metadata;  ///< "__metadata__"
  friend bool operator==(const TensorFile&, const TensorFile&) = default;
};

/// The whole file. Header: metadata first, then the names in order; numbers: wide types first, then by name, so that each lies at
/// a multiple of its width. The same content gives the same bytes. Throws ArgumentError for an array whose shape does not fit.
[[nodiscard]] std::string to_safetensors(const TensorFile& content);

/// Reads F32, F64 and I64. Nothing in the file is believed before it is checked: the header must lie within the file and
/// below 100 MB, be one JSON object without a name twice, and the arrays must cover what follows without gap or overlap.
/// Throws InputError `FILE: expected ..., found ...`, BudgetExhausted. Time and memory O(size of the file).
[[nodiscard]] TensorFile parse_safetensors(std::string_view bytes, const std::string& file, const Budget& budget);

/// From and to disk; writing is atomic (base/atomic_file.hpp).
[[nodiscard]] TensorFile read_safetensors(const std::string& file, const Budget& budget);
void write_safetensors(const std::string& file, const TensorFile& content);

}  // namespace sightline::data
