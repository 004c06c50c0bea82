#include "sightline/data/predictions.hpp"

#include <fmt/format.h>

#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"

namespace sightline::data {

void write_npz(const std::string& file, const std::map<std::string, Array>& arrays) {
  std::vector<NpyArray> made;
  std::uint64_t bytes = 0;
  for (const auto& [name, array] : arrays) {
    bytes += array.count() * 8;
    made.push_back(std::visit([&, &key = name, &shape = array.shape](const auto& values) { return make_array(key, shape, values); }, array.values));
  }
  std::string archive;
  try {
    archive = make_npz(made);
  } catch (const ArgumentError&) {
    throw InputError(fmt::format("{}: expected results below 4 GB, found up to {} bytes", file, bytes));
  }
  made.clear();
  write_file_atomically(file, archive);
}

}  // namespace sightline::data
