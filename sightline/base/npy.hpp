// NumPy arrays: one reader and one writer of .npy, alone or in .npz archives, for masks, tables of positions and data sets.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"

namespace sightline {

/// What the readers throw; the caller knows the file and says where. Complete as "expected {}, found {}".
class NpyError : public std::exception {
public:
  NpyError(std::string expected, std::string found) : expected(std::move(expected)), found(std::move(found)) {}
  [[nodiscard]] const char* what() const noexcept override { return expected.c_str(); }
  std::string expected, found;
};

/// A .npy file as it lies in memory (format versions 1 to 3), its header understood, its content not yet looked at.
struct NpyFile {
  std::string descr;  ///< numpy's name of the type: "<f8", "|b1"
  bool fortran = false;
  std::vector<std::uint64_t> shape;  ///< every extent below 10^18
  std::string_view data;             ///< what follows the header; points into the bytes read
};

/// Reads the header: O(its length). Objects and structured arrays are refused here.
/// Throws NpyError for anything that NumPy would not have written.
[[nodiscard]] NpyFile parse_npy(std::string_view bytes);

/// The numbers of a .npy file: bool, integers of 1 to 8 bytes, floats of 2, 4, 8 bytes, either byte order.
class NpyNumbers {
public:
  enum class Kind { boolean, signed_integer, unsigned_integer, floating };

  /// Throws NpyError for another type. Whether the data suffices is the caller's to ask: see check_size.
  explicit NpyNumbers(const NpyFile& file);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::size_t width() const { return width_; }  ///< bytes per number
  /// In the byte order of this machine, that is: fit for memcpy.
  [[nodiscard]] bool is_native() const { return !swap_; }
  /// Throws NpyError unless the file holds exactly `count` numbers.
  void check_size(std::uint64_t count) const;
  [[nodiscard]] std::uint64_t present() const { return data_.size() / width_; }  ///< whole numbers in the file

  /// Number `index` in the file's own order, as the bits of its type, unsigned.
  [[nodiscard]] std::uint64_t bits(std::uint64_t index) const {
    const char* const at = data_.data() + index * width_;
    const std::uint64_t value = width_ == 1 ? copy<std::uint8_t>(at) : width_ == 4 ? copy<std::uint32_t>(at) : width_ == 8 ? copy<std::uint64_t>(at) : copy<std::uint16_t>(at);
    return swap_ ? __builtin_bswap64(value) >> (64 - 8 * width_) : value;
  }
  /// A number of any kind as double (integers beyond 2^53 are rounded).
  [[nodiscard]] double number(std::uint64_t index) const;
  /// An integer or bool; `fits` turns false (and the value is meaningless) for unsigned values beyond 2^63 - 1.
  [[nodiscard]] std::int64_t integer(std::uint64_t index, bool& fits) const;

private:
  // Of a length that is known when compiled: masks have many millions of numbers.
  template <class Word>
  static Word copy(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof(Word));
    return word;
  }

  std::string_view data_;
  Kind kind_ = Kind::boolean;
  std::size_t width_ = 1;
  bool swap_ = false;
};

/// A .npz archive held in memory. Damaged archives, wrong checksums and archives that promise more than they hold throw NpyError.
class NpzArchive {
public:
  explicit NpzArchive(std::string_view bytes);
  ~NpzArchive();
  NpzArchive(const NpzArchive&) = delete;
  NpzArchive& operator=(const NpzArchive&) = delete;

  /// Names in the archive's order, a ".npy" at their end removed.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Unpacks entry `index`. What unpacks is booked with the budget, which outlives the archive, as it comes and stays booked while the archive lives.
  /// Throws NpyError("", "") when it would be longer than `most` bytes: the caller knows what it had room for.
  [[nodiscard]] std::string unpack(std::size_t index, std::uint64_t most, const Budget& budget);
  std::string unpack(std::size_t index, std::uint64_t most, Budget&& budget) = delete;

private:
  void* archive_ = nullptr;  // zip_t: the library's header stays out of ours
  std::vector<std::string> names_;
  const Budget* budget_ = nullptr;
  std::uint64_t booked_ = 0;
};

/// An array to be written.
struct NpyArray {
  std::string name;                  ///< without ".npy"
  std::string type;                  ///< numpy's descr: "<f8", "<i8", "<U12"
  std::vector<std::uint64_t> shape;  ///< row-major; empty: a single value
  std::string bytes;                 ///< little-endian content
};

[[nodiscard]] NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<double>& values);
[[nodiscard]] NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<float>& values);
[[nodiscard]] NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<std::int64_t>& values);
[[nodiscard]] NpyArray make_array(std::string name, std::vector<std::uint64_t> shape, const std::vector<std::uint8_t>& values);
/// A single text (UTF-8 in), numpy's unicode scalar.
[[nodiscard]] NpyArray make_text(std::string name, std::string_view text);

/// A .npy file: the header of version 1.0 and the content.
[[nodiscard]] std::string make_npy(const NpyArray& array);
/// An archive as `numpy.savez` writes it (stored, not compressed), with the same bytes for the same content.
/// Throws ArgumentError when it would have 4 GB or more (no zip64).
[[nodiscard]] std::string make_npz(const std::vector<NpyArray>& arrays);

}  // namespace sightline
