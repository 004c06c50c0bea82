#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "sightline/architecture/read.hpp"
#include "sightline/architecture/readers.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

/// The header's dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }. NumPy writes exactly these keys.
struct Header {
  char order = '<';
  char type = 0;
  std::size_t bytes = 0;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

std::string_view value_after(std::string_view header, std::string_view key) {
  const auto at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos)
    return {};
  header.remove_prefix(at + key.size() + 3);
  const auto begin = header.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view{} : header.substr(begin);
}

bool parse_header(std::string_view text, Header& header) {
  const std::string_view descr = value_after(text, "descr");
  const std::string_view fortran = value_after(text, "fortran_order");
  std::string_view shape = value_after(text, "shape");
  if (descr.size() < 5 || descr[0] != '\'' || descr[4] != '\'' || shape.empty() || shape[0] != '(')
    return false;
  header.order = descr[1];
  header.type = descr[2];
  header.bytes = static_cast<std::size_t>(descr[3] - '0');
  header.fortran = fortran.substr(0, 4) == "True";
  shape = shape.substr(1, shape.find(')') - 1);
  while (!shape.empty()) {
    std::int64_t size = 0;
    std::size_t digits = 0;
    for (; digits < shape.size() && shape[digits] >= '0' && shape[digits] <= '9' && size <= largest_integer; ++digits)
      size = 10 * size + (shape[digits] - '0');
    if (digits == 0 || size > largest_integer)
      return false;
    header.shape.push_back(size);
    shape.remove_prefix(digits);
    const auto next = shape.find_first_not_of(", ");
    shape.remove_prefix(next == std::string_view::npos ? shape.size() : next);
  }
  return true;
}

template <class T> double load(const char* bytes, bool swap) {
  char copy[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i)
    copy[i] = bytes[swap ? sizeof(T) - 1 - i : i];
  T value;
  std::memcpy(&value, copy, sizeof(T));
  return static_cast<double>(value);
}

using Loader = double (*)(const char*, bool);

Loader loader_of(char type, std::size_t bytes) {
  if (type == 'f')
    return bytes == 8 ? &load<double> : bytes == 4 ? &load<float> : nullptr;
  if (type == 'i')
    return bytes == 8   ? &load<std::int64_t>
           : bytes == 4 ? &load<std::int32_t>
           : bytes == 2 ? &load<std::int16_t>
           : bytes == 1 ? &load<std::int8_t>
                        : nullptr;
  if (type == 'u')
    return bytes == 8   ? &load<std::uint64_t>
           : bytes == 4 ? &load<std::uint32_t>
           : bytes == 2 ? &load<std::uint16_t>
           : bytes == 1 ? &load<std::uint8_t>
                        : nullptr;
  return nullptr;
}

}  // namespace

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
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  // Version 1 has 2 bytes of header length, versions 2 and 3 have 4.
  const std::size_t prefix = byte(6) == 1 ? 10 : 12;
  const std::size_t length =
      byte(6) == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  Header header;
  if (byte(6) < 1 || byte(6) > 3 || length > bytes.size() - prefix ||
      !parse_header(std::string_view(bytes).substr(prefix, length), header))
    fail(view, fmt::format("expected an .npy file, found {} with a header that cannot be read", name));
  const Loader load_one = loader_of(header.type, header.bytes);
  if (load_one == nullptr)
    fail(view, fmt::format("expected an .npy file of numbers, found {} of type '{}{}{}'", name, header.order, header.type, header.bytes));
  if (header.shape != std::vector<std::int64_t>{rows, columns})
    fail(view, fmt::format("expected an .npy file of shape ({}, {}), found {} of shape ({})", rows, columns, name,
                           fmt::join(header.shape, ", ")));
  const auto n = static_cast<std::size_t>(rows);
  const auto d = static_cast<std::size_t>(columns);
  const std::size_t present = (bytes.size() - prefix - length) / header.bytes;
  if (present / d < n)
    fail(view, fmt::format("expected {} x {} numbers, found {} numbers in {}", rows, columns, present, name));
  const bool swap = (header.order == '>') != (std::endian::native == std::endian::big);
  std::vector<std::vector<double>> table(n, std::vector<double>(d));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < d; ++k) {
      const std::size_t at = header.fortran ? k * n + i : i * d + k;
      const double value = load_one(bytes.data() + prefix + length + at * header.bytes, swap);
      if (!std::isfinite(value))
        fail(view, fmt::format("expected finite numbers, found {} in row {} of {}", value, i, name));
      table[i][k] = value == 0 ? 0.0 : value;
    }
  return table;
}

}  // namespace sightline::architecture
