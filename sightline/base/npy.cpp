#include "sightline/base/npy.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "sightline/base/words.hpp"

namespace sightline {

namespace {

// The header is a Python dictionary with three known keys; this reads just that much of Python.
class NpyHeaderReader {
public:
  explicit NpyHeaderReader(std::string_view text) : text_(text) {}

  NpyFile read() {
    NpyFile file;
    int seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = read_string();
      expect(':');
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') throw NpyError("an array of bool, integers or floats", "a structured array");
        file.descr = read_string();
        seen |= 1;
      } else if (key == "fortran_order") {
        file.fortran = read_bool();
        seen |= 2;
      } else if (key == "shape") {
        file.shape = read_shape();
        seen |= 4;
      } else {
        throw NpyError("the keys descr, fortran_order and shape", quote_bytes(key));
      }
      if (!accept(',') && peek() != '}') broken();
    }
    if (seen != 7) throw NpyError("the keys descr, fortran_order and shape", "fewer");
    return file;
  }

private:
  [[noreturn]] void broken() const { throw NpyError("a NumPy header", quote_bytes(text_.substr(std::min(at_, text_.size())))); }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  std::string read_string() {
    const char end = peek();
    if (end != '\'' && end != '"') broken();
    const std::size_t close = text_.find(end, at_ + 1);
    if (close == std::string_view::npos) broken();
    std::string out(text_.substr(at_ + 1, close - at_ - 1));
    at_ = close + 1;
    return out;
  }
  bool read_bool() {
    skip();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    broken();
  }
  std::vector<std::uint64_t> read_shape() {
    std::vector<std::uint64_t> shape;
    expect('(');
    while (!accept(')')) {
      skip();
      std::uint64_t extent = 0;
      const std::size_t begin = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (at_ - begin >= 18) broken();
        extent = 10 * extent + static_cast<std::uint64_t>(text_[at_] - '0');
      }
      if (at_ == begin) broken();
      shape.push_back(extent);
      if (!accept(',') && peek() != ')') broken();
    }
    return shape;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

template <class Number> std::string to_bytes(const std::vector<Number>& values) {
  std::string bytes(values.size() * sizeof(Number), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

NpyFile parse_npy(std::string_view bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (!bytes.starts_with(magic)) throw NpyError("a NumPy array (\\x93NUMPY)", quote_bytes(bytes.substr(0, magic.size())));
  const auto byte = [&](std::size_t k) { return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[k])); };
  if (bytes.size() < 10) throw NpyError("a NumPy header", fmt::format("{} bytes", bytes.size()));
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3) throw NpyError("format version 1, 2 or 3", fmt::format("{}.{}", version, byte(7)));
  // Version 1 has 2 bytes of header length, versions 2 and 3 have 4.
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix) throw NpyError("a NumPy header", fmt::format("{} bytes", bytes.size()));
  std::uint64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - prefix) {
    throw NpyError(fmt::format("a header of {} bytes", length), fmt::format("{} bytes in the file", bytes.size() - prefix));
  }
  NpyFile file = NpyHeaderReader(bytes.substr(prefix, length)).read();
  file.data = bytes.substr(prefix + length);
  return file;
}

NpyNumbers::NpyNumbers(const NpyFile& file) : data_(file.data) {
  const std::string& descr = file.descr;
  const std::string_view types = "biuf";
  const bool spelled = descr.size() >= 3 && std::string_view("|<>=").find(descr[0]) != std::string_view::npos &&
                       types.find(descr[1]) != std::string_view::npos;
  const std::string width = spelled ? descr.substr(2) : "";
  const bool known =
      (width == "1" && descr[1] != 'f') || (spelled && descr[1] != 'b' && (width == "2" || width == "4" || width == "8"));
  if (!spelled || !known) throw NpyError("bool, integers of 1 to 8 bytes or floats of 2 to 8", quote_bytes(descr));
  kind_ = static_cast<Kind>(types.find(descr[1]));
  width_ = static_cast<std::size_t>(width[0] - '0');
  swap_ = descr[0] == '>' && width_ > 1;
}

void NpyNumbers::check_size(std::uint64_t count) const {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, std::uint64_t{width_}, &bytes)) throw NpyError("an array that fits into memory", fmt::format("{} numbers", count));
  if (data_.size() != bytes) throw NpyError(fmt::format("{} bytes of data", bytes), fmt::format("{}", data_.size()));
}

double NpyNumbers::number(std::uint64_t index) const {
  const std::uint64_t value = bits(index);
  if (kind_ == Kind::boolean || kind_ == Kind::unsigned_integer) return static_cast<double>(value);
  if (kind_ == Kind::signed_integer) {
    const auto unused = static_cast<unsigned>(64 - 8 * width_);
    return static_cast<double>(static_cast<std::int64_t>(value << unused) >> unused);
  }
  if (width_ == 8) return std::bit_cast<double>(value);
  if (width_ == 4) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)));
  const int exponent = static_cast<int>(value >> 10 & 31u);
  const auto mantissa = static_cast<double>(value & 1023u);
  const double size = exponent == 31  ? (mantissa == 0 ? HUGE_VAL : NAN)
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
  return value >> 15 != 0 ? -size : size;
}

std::int64_t NpyNumbers::integer(std::uint64_t index, bool& fits) const {
  const std::uint64_t value = bits(index);
  if (kind_ == Kind::boolean) return value != 0 ? 1 : 0;
  const auto unused = static_cast<unsigned>(64 - 8 * width_);
  if (kind_ == Kind::signed_integer) return static_cast<std::int64_t>(value << unused) >> unused;
  if (value > static_cast<std::uint64_t>(INT64_MAX)) fits = false;
  return static_cast<std::int64_t>(value);
}

NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<double>& values) {
  return {std::move(name), "<f8", std::move(shape), to_bytes(values)};
}

NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<float>& values) {
  return {std::move(name), "<f4", std::move(shape), to_bytes(values)};
}

NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<std::int64_t>& values) {
  return {std::move(name), "<i8", std::move(shape), to_bytes(values)};
}

NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<std::uint8_t>& values) {
  return {std::move(name), "|u1", std::move(shape), to_bytes(values)};
}

NpyArray make_text(std::string name, std::string_view text) {
  std::string bytes;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    std::uint32_t code = length == 1 ? first : first & (0x7fU >> length);
    for (std::size_t k = 1; k < length && at + k < text.size(); ++k) code = code << 6 | (static_cast<unsigned char>(text[at + k]) & 0x3fU);
    bytes.append(reinterpret_cast<const char*>(&code), 4);
    at += length;
  }
  return {std::move(name), fmt::format("<U{}", count), {}, std::move(bytes)};
}

std::string make_npy(const NpyArray& array) {
  std::string shape;
  for (std::uint64_t size : array.shape) shape += fmt::format("{},{}", size, array.shape.size() == 1 ? "" : " ");
  if (array.shape.size() > 1) shape.erase(shape.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.type, shape);
  text.append(63 - (10 + text.size()) % 64, ' ');  // the content begins at a multiple of 64
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 255);
  out += static_cast<char>(text.size() >> 8);
  out.reserve(out.size() + text.size() + array.bytes.size());
  return (out += text) += array.bytes;
}

}  // namespace sightline
