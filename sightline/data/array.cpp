#include "sightline/data/array.hpp"

namespace sightline::data {

const char* name_of_type(const Array& array) {
  constexpr const char* names[] = {"float32", "float64", "int64"};
  return names[array.values.index()];
}

std::string print_shape(const std::vector<std::uint64_t>& shape) {
  std::string out = "(";
  for (std::size_t k = 0; k < shape.size(); ++k) out += (k == 0 ? "" : ", ") + std::to_string(shape[k]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::vector<double> to_doubles(const Array& array) {
  return std::visit([](const auto& values) { return std::vector<double>(values.begin(), values.end()); }, array.values);
}

std::vector<float> to_floats(const Array& array) {
  return std::visit(
      [](const auto& values) {
        std::vector<float> out(values.size());
        for (std::size_t k = 0; k < values.size(); ++k) out[k] = static_cast<float>(values[k]);
        return out;
      },
      array.values);
}

}  // namespace sightline::data
