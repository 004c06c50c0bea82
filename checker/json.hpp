// JSON as certificates use it: one way to write every value, so that every byte counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace checker {

/// The file is no certificate: syntax, type, range or size. The message says where.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A claim that is not confirmed, by the name of its field in the answer (or of the evidence).
struct Rejected : std::runtime_error {
  Rejected(std::string claim_, const std::string& reason) : std::runtime_error(claim_ + ": " + reason), claim(std::move(claim_)) {}
  std::string claim;
};

/// A JSON value. Accessors throw Malformed when the value is of another kind. Integers are 64-bit; anything larger is a string.
/// Tables of integers under the keys "lists", "segments" and "generators" (patterns and permutations: the bulk of a certificate) are kept flat, and so
/// are strings read in place; array() writes them out once, beside. Values may be read by several threads.
class Json {
public:
  using Array = std::vector<Json>;
  /// Nested lists of integers in reading order: a list is 2 * (how many members) + (1 where these are lists), then the members.
  using Numbers = std::vector<std::int64_t>;
  using Object = std::map<std::string, Json, std::less<>>;
  /// A list of strings that stand elsewhere.
  using Texts = std::vector<std::string_view>;

  Json() = default;
  explicit Json(bool value) : value_(value) {}
  explicit Json(std::int64_t value) : value_(value) {}
  explicit Json(double value) : value_(value) {}
  explicit Json(std::string value);
  explicit Json(Array value);
  explicit Json(Object value);
  explicit Json(Numbers value);
  explicit Json(Texts value);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  [[nodiscard]] bool is_real() const { return std::holds_alternative<double>(value_); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::shared_ptr<std::string>>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<std::shared_ptr<Array>>(value_) || is_flat() || texts() != nullptr; }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<std::shared_ptr<Object>>(value_); }

  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  /// An integer in 0 .. limit.
  [[nodiscard]] std::uint64_t natural(std::uint64_t limit = ~std::uint64_t{0} >> 1) const;
  [[nodiscard]] double number() const;  ///< integer or real
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const Array& array() const;
  [[nodiscard]] const Object& object() const;
  /// The value as nested lists of integers, in which no list has both; Malformed when it is none.
  [[nodiscard]] std::shared_ptr<const Numbers> numbers() const;
  /// The integers of a table that is kept flat; nullptr where it is another value, or stands as an array.
  [[nodiscard]] const Numbers* flat() const { return kept<Numbers>(); }
  /// The strings of a list that was read in place; nullptr where it is another value, or stands as an array.
  [[nodiscard]] const Texts* texts() const { return kept<Texts>(); }
  [[nodiscard]] std::size_t size() const;  ///< of a list
  [[nodiscard]] const Json& operator[](std::size_t index) const;      ///< Malformed when out of range
  [[nodiscard]] const Json& operator[](std::string_view key) const;   ///< Malformed when absent
  [[nodiscard]] const Json* find(std::string_view key) const;         ///< nullptr when absent
  [[nodiscard]] bool is(std::string_view text) const { return is_string() && string() == text; }

  friend bool operator==(const Json& a, const Json& b);

private:
  /// What is kept shorter than as an array, and the array once it was asked for.
  template <class Short> struct Kept {
    explicit Kept(Short value) : values(std::move(value)) {}
    const Short values;
    std::once_flag once;
    Array written;
  };
  template <class Short> [[nodiscard]] const Short* kept() const {
    const auto* found = std::get_if<std::shared_ptr<Kept<Short>>>(&value_);
    return found == nullptr ? nullptr : &(*found)->values;
  }
  [[nodiscard]] bool is_flat() const { return flat() != nullptr; }
  friend void print_value(const Json& value, std::string& out);

  std::variant<std::monostate, bool, std::int64_t, double, std::shared_ptr<std::string>, std::shared_ptr<Array>, std::shared_ptr<Object>, std::shared_ptr<Kept<Numbers>>,
               std::shared_ptr<Kept<Texts>>>
      value_;
};

/// Reads canonical JSON: UTF-8, keys sorted and distinct, no spaces, integers without leading zeros, reals in the one form that
/// print() gives, the shortest escapes, one line with or without a final newline. Depth at most 64. O(bytes).
/// In place: lists of strings under the key "generators" (the cycles of groups) refer to `text`, which must stay.
enum class Strings { copied, in_place };
[[nodiscard]] Json parse(std::string_view text, Strings strings = Strings::copied);
/// The canonical text. Reals are written with the fewest digits that read back the same ("0.0", "1e-05", "0.1").
[[nodiscard]] std::string print(const Json& value);

}  // namespace checker
