// Numbers with a shape, as data sets and weights hold them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sightline::data {

/// A row-major array of one of three types. `values` holds exactly count() numbers.
struct Array {
  std::vector<std::uint64_t> shape;  ///< empty: a single number
  std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>> values;

  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t product = 1;
    for (std::uint64_t extent : shape) product *= extent;
    return product;
  }
  [[nodiscard]] bool is_integer() const { return values.index() == 2; }
  friend bool operator==(const Array&, const Array&) = default;
};

/// "float32", "float64" or "int64".
[[nodiscard]] const char* name_of_type(const Array& array);
/// As Python writes it: "(3, 4)", "(3,)", "()".
[[nodiscard]] std::string print_shape(const std::vector<std::uint64_t>& shape);

/// The numbers as doubles, or as floats (rounded to nearest).
[[nodiscard]] std::vector<double> to_doubles(const Array& array);
[[nodiscard]] std::vector<float> to_floats(const Array& array);

}  // namespace sightline::data
