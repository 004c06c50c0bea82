#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>

#include "sightline/architecture/read.hpp"
#include "sightline/architecture/readers.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/base/words.hpp"

namespace sightline::architecture {

std::vector<std::vector<double>> read_npy_table(const View& view, const std::string& path, std::int64_t rows,
                                                std::int64_t columns) {
  const std::string name = quote_for_message(path);
  std::string bytes;
  try {
    bytes = read_file(path);
  } catch (const InputError& error) {
    fail(view, fmt::format("expected an .npy file, found {}", std::string(error.what())));
  }
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    fail(view, fmt::format("expected an .npy file, found {} in another format", name));
  NpyFile file;
  try {
    file = parse_npy(bytes);
  } catch (const NpyError&) {
    fail(view, fmt::format("expected an .npy file, found {} with a header that cannot be read", name));
  }
  std::optional<NpyNumbers> numbers;
  try {
    numbers.emplace(file);
  } catch (const NpyError&) {
    const std::string type = quote_bytes(file.descr);
    fail(view, fmt::format("expected an .npy file of numbers, found {} of type '{}'", name, type.substr(1, type.size() - 2)));
  }
  const auto n = static_cast<std::uint64_t>(rows);
  const auto d = static_cast<std::uint64_t>(columns);
  if (file.shape != std::vector<std::uint64_t>{n, d})
    fail(view, fmt::format("expected an .npy file of shape ({}, {}), found {} of shape ({})", rows, columns, name,
                           fmt::join(file.shape, ", ")));
  if (numbers->present() / d < n)
    fail(view, fmt::format("expected {} x {} numbers, found {} numbers in {}", rows, columns, numbers->present(), name));
  std::vector<std::vector<double>> table(n, std::vector<double>(d));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < d; ++k) {
      const std::uint64_t at = file.fortran ? k * n + i : i * d + k;
      const double value = numbers->number(at);
      if (!std::isfinite(value))
        fail(view, fmt::format("expected finite numbers, found {} in row {} of {}", std::isnan(value) ? "nan" : "an infinity", i, name));
      table[i][k] = value == 0 ? 0.0 : value;
    }
  return table;
}

}  // namespace sightline::architecture
