// The binary formats: NumPy arrays, alone (.npy) or in an archive (.npz).
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <zip.h>

#include "sightline/layout/mask_file.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

namespace {

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<std::uint64_t> shape;
};

// The header is a Python dictionary with three known keys; this reads just that much of Python.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Header read() {
    Header header;
    int seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = read_string();
      expect(':');
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') throw MaskError(0, "an array of bool, integers or floats", "a structured array");
        header.descr = read_string();
        seen |= 1;
      } else if (key == "fortran_order") {
        header.fortran = read_bool();
        seen |= 2;
      } else if (key == "shape") {
        header.shape = read_shape();
        seen |= 4;
      } else {
        throw MaskError(0, "the keys descr, fortran_order and shape", quote(key));
      }
      if (!accept(',') && peek() != '}') broken();
    }
    if (seen != 7) throw MaskError(0, "the keys descr, fortran_order and shape", "fewer");
    return header;
  }

private:
  [[noreturn]] void broken() const { throw MaskError(0, "a NumPy header", quote(text_.substr(std::min(at_, text_.size())))); }
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

enum class Kind { boolean, signed_integer, unsigned_integer, floating };

// Entries of the array as 64-bit patterns and numbers.
class Entries {
public:
  Entries(const Header& header, std::string_view data, Vertex vertices) : data_(data), vertices_(vertices), fortran_(header.fortran) {
    const std::string& descr = header.descr;
    const std::string_view types = "biuf";
    const bool spelled = descr.size() >= 3 && std::string_view("|<>=").find(descr[0]) != std::string_view::npos &&
                         types.find(descr[1]) != std::string_view::npos;
    const std::string width = spelled ? descr.substr(2) : "";
    const bool known = (width == "1" && descr[1] != 'f') || (descr[1] != 'b' && (width == "2" || width == "4" || width == "8"));
    if (!spelled || !known) throw MaskError(0, "bool, integers of 1 to 8 bytes or floats of 2 to 8", quote(descr));
    kind_ = static_cast<Kind>(types.find(descr[1]));
    width_ = static_cast<std::size_t>(width[0] - '0');
    swap_ = descr[0] == '>' ? std::endian::native == std::endian::little
                            : descr[0] == '<' && std::endian::native == std::endian::big;
  }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::uint64_t bits(Vertex i, Vertex j) const {
    const std::size_t index = fortran_ ? std::size_t{j} * vertices_ + i : std::size_t{i} * vertices_ + j;
    unsigned char bytes[8] = {};
    std::memcpy(bytes, data_.data() + index * width_, width_);
    std::uint64_t value = 0;
    const bool little = (std::endian::native == std::endian::little) != swap_;
    for (std::size_t k = 0; k < width_; ++k) value = value << 8 | bytes[little ? width_ - 1 - k : k];
    return value;
  }
  [[nodiscard]] double number(Vertex i, Vertex j) const {
    const std::uint64_t value = bits(i, j);
    if (width_ == 8) return std::bit_cast<double>(value);
    if (width_ == 4) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)));
    const int exponent = static_cast<int>(value >> 10 & 31u);
    const auto mantissa = static_cast<double>(value & 1023u);
    const double size = exponent == 31 ? (mantissa == 0 ? HUGE_VAL : NAN)
                        : exponent == 0 ? std::ldexp(mantissa, -24)
                                        : std::ldexp(1024 + mantissa, exponent - 25);
    return value >> 15 != 0 ? -size : size;
  }

private:
  std::string_view data_;
  Vertex vertices_;
  bool fortran_, swap_ = false;
  Kind kind_ = Kind::boolean;
  std::size_t width_ = 1;
};

bool is_additive(const Entries& entries, Vertex vertices, const Budget& budget) {
  constexpr double masked = -1e4;
  bool additive = true;
  for (Vertex i = 0; i < vertices; ++i) {
    budget.poll();
    for (Vertex j = 0; j < vertices; ++j) {
      const double value = entries.number(i, j);
      if (std::isnan(value)) throw MaskError(0, "numbers", fmt::format("NaN in row {}, column {}", i, j));
      additive = additive && (value == 0 || value <= masked);
    }
  }
  return additive;
}

std::uint32_t read_colour(const Entries& entries, Vertex i, Vertex j, bool additive) {
  if (entries.kind() == Kind::floating) return (entries.number(i, j) == 0) == additive ? 1 : 0;
  const std::uint64_t value = entries.bits(i, j);
  if (entries.kind() == Kind::boolean) return value != 0 ? 1 : 0;
  if (entries.kind() == Kind::signed_integer && value >> (8 * entries.width() - 1) != 0) {
    throw MaskError(0, "0 or a colour from 1 to 4294967295", fmt::format("a negative number in row {}, column {}", i, j));
  }
  if (value > UINT32_MAX) {
    throw MaskError(0, "0 or a colour from 1 to 4294967295", fmt::format("{} in row {}, column {}", value, i, j));
  }
  return static_cast<std::uint32_t>(value);
}

}  // namespace

Pattern read_npy(std::string_view bytes, Vertex vertices, const Budget& budget) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (!bytes.starts_with(magic)) throw MaskError(0, "a NumPy array (\\x93NUMPY)", quote(bytes.substr(0, magic.size())));
  const auto byte = [&](std::size_t k) { return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[k])); };
  if (bytes.size() < 10) throw MaskError(0, "a NumPy header", fmt::format("{} bytes", bytes.size()));
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3) throw MaskError(0, "format version 1, 2 or 3", fmt::format("{}.{}", version, byte(7)));
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix) throw MaskError(0, "a NumPy header", fmt::format("{} bytes", bytes.size()));
  std::uint64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - prefix) {
    throw MaskError(0, fmt::format("a header of {} bytes", length), fmt::format("{} bytes in the file", bytes.size() - prefix));
  }
  const Header header = HeaderReader(bytes.substr(prefix, length)).read();
  if (header.shape.size() != 2 || header.shape[0] != vertices || header.shape[1] != vertices) {
    throw MaskError(0, fmt::format("shape ({}, {}) (tokens and registers)", vertices, vertices), fmt::format("({})", fmt::join(header.shape, ", ")));
  }
  const std::string_view data = bytes.substr(prefix + length);
  const Entries entries(header, data, vertices);
  const std::uint64_t expected = std::uint64_t{vertices} * vertices * entries.width();  // vertices <= 2^30
  if (data.size() != expected) {
    throw MaskError(0, fmt::format("{} bytes of data", expected), fmt::format("{}", data.size()));
  }
  const bool additive = entries.kind() == Kind::floating && is_additive(entries, vertices, budget);
  PatternBuilder builder(vertices, budget);
  std::vector<Vertex> columns;
  std::vector<std::uint32_t> colours;
  std::vector<AffineRun> runs;
  for (Vertex i = 0; i < vertices; ++i) {
    budget.poll();
    columns.clear();
    colours.clear();
    runs.clear();
    for (Vertex j = 0; j < vertices; ++j) {
      const std::uint32_t colour = read_colour(entries, i, j, additive);
      if (colour == 0) continue;
      columns.push_back(j);
      colours.push_back(colour);
    }
    append_runs(columns, colours, runs);
    builder.add_segment(i, builder.add_list_once(runs));
  }
  return builder.build();
}

Pattern read_npz(std::string_view bytes, Vertex vertices, const Budget& budget) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* opened = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (opened == nullptr) {
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (source != nullptr) zip_source_free(source);
    throw MaskError(0, "a .npz archive", reason);
  }
  zip_error_fini(&error);
  const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(opened, &zip_discard);
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  zip_int64_t index = count == 1 ? 0 : -1;
  for (zip_int64_t k = 0; k < count && index < 0; ++k) {
    const char* name = zip_get_name(archive.get(), static_cast<zip_uint64_t>(k), ZIP_FL_ENC_RAW);
    if (name != nullptr && (std::string_view(name) == "mask.npy" || std::string_view(name) == "mask")) index = k;
  }
  if (index < 0) throw MaskError(0, "one array, or one named mask", fmt::format("{} others", count));
  const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(
      zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(index), 0), &zip_fclose);
  if (file == nullptr) throw MaskError(0, "an array that can be unpacked", zip_strerror(archive.get()));
  // What unpacks is read in pieces and booked as it comes, up to what the mask can need: a small archive may promise anything.
  const std::uint64_t most = std::uint64_t{vertices} * vertices * 8 + (std::uint64_t{1} << 20);
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  std::string array;
  struct Booking {
    const Budget* budget;
    std::uint64_t bytes = 0;
    ~Booking() { budget->give_back(bytes); }
  } booking{&budget};
  for (;;) {
    budget.ask(piece);
    booking.bytes += piece;
    const std::size_t old = array.size();
    array.resize(old + piece);
    const zip_int64_t got = zip_fread(file.get(), array.data() + old, piece);
    if (got < 0) throw MaskError(0, "an array that can be unpacked", zip_file_strerror(file.get()));
    array.resize(old + static_cast<std::size_t>(got));
    if (got == 0) break;
    if (array.size() > most) throw MaskError(0, fmt::format("a mask of {} x {}", vertices, vertices), "a larger array");
  }
  return read_npy(array, vertices, budget);
}

}  // namespace sightline::layout
