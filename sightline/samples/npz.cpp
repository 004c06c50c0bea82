#include "sightline/samples/npz.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "sightline/base/error.hpp"

namespace sightline::samples {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

std::uint32_t compute_crc(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t k = 0; k < 256; ++k) {
      std::uint32_t value = k;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1U) != 0 ? 0xedb88320U ^ (value >> 1) : value >> 1;
      entries[k] = value;
    }
    return entries;
  }();
  std::uint32_t crc = 0xffffffffU;
  for (char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xffU] ^ (crc >> 8);
  return crc ^ 0xffffffffU;
}

template <class Integer>
void put(std::string& out, Integer value, int bytes) {
  for (int k = 0; k < bytes; ++k) out += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * k)) & 0xffU);
}

/// Version 1.0: magic, length of the header, a Python dictionary padded with blanks to a multiple of 64.
std::string make_header(const NpyArray& array) {
  std::string shape;
  for (std::uint64_t size : array.shape) shape += fmt::format("{},{}", size, array.shape.size() == 1 ? "" : " ");
  if (array.shape.size() > 1) shape.erase(shape.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.type, shape);
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  put(header, text.size(), 2);
  return header + text;
}

template <class Number>
std::string to_bytes(const std::vector<Number>& values) {
  std::string bytes(values.size() * sizeof(Number), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<double>& values) {
  return {std::move(name), "<f8", std::move(shape), to_bytes(values)};
}

NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<std::int64_t>& values) {
  return {std::move(name), "<i8", std::move(shape), to_bytes(values)};
}

NpyArray make_text(std::string name, std::string_view text) {
  std::string bytes;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    std::uint32_t code = length == 1 ? first : first & (0x7fU >> length);
    for (std::size_t k = 1; k < length && at + k < text.size(); ++k) code = code << 6 | (static_cast<unsigned char>(text[at + k]) & 0x3fU);
    put(bytes, code, 4);
    at += length;
  }
  return {std::move(name), fmt::format("<U{}", count), {}, std::move(bytes)};
}

std::string make_npz(const std::vector<NpyArray>& arrays) {
  constexpr std::uint64_t most = 0xfffff000U;
  std::string out, directory;
  for (const NpyArray& array : arrays) {
    std::string content = make_header(array);
    if (out.size() + array.bytes.size() > most) throw ArgumentError("a .npz archive of 4 GB or more is not written");
    content += array.bytes;
    const std::string name = array.name + ".npy";
    std::string fields;
    put(fields, 20, 2);      // version needed
    put(fields, 0, 2);       // flags
    put(fields, 0, 2);       // stored
    put(fields, 0, 2);       // time
    put(fields, 0x21, 2);    // 1 January 1980: the same bytes every day
    put(fields, compute_crc(content), 4);
    put(fields, content.size(), 4);
    put(fields, content.size(), 4);
    put(fields, name.size(), 2);
    put(fields, 0, 2);
    put(directory, 0x02014b50U, 4);
    put(directory, 20, 2);
    directory += fields;
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, out.size(), 4);
    directory += name;
    put(out, 0x04034b50U, 4);
    out += fields + name + content;
  }
  const std::uint64_t start = out.size(), size = directory.size();
  out += directory;
  put(out, 0x06054b50U, 4);
  put(out, 0, 4);
  put(out, arrays.size(), 2);
  put(out, arrays.size(), 2);
  put(out, size, 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace sightline::samples
