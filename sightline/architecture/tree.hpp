// TOML and JSON as one plain tree that remembers where everything stands. The only place that knows either parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sightline::architecture {

/// Where a value or a key begins: 1-based line and column (in code points). Line 0: unknown (JSON fields, built trees).
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct Node;
struct Member;
using List = std::vector<Node>;
using Table = std::vector<Member>;  ///< in file order for JSON, sorted by key for TOML; keys are distinct

/// TOML dates and times: read, so that an error can say what was found, and accepted nowhere.
struct Date {
  friend bool operator==(const Date&, const Date&) = default;
};

/// One value. `null` exists in JSON only. Equality compares values, not places.
struct Node {
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Table, Date>;
  Value value;
  Place place;

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value); }
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&value); }
  [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value); }
  [[nodiscard]] const double* number() const { return std::get_if<double>(&value); }
  [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&value); }
  [[nodiscard]] const List* list() const { return std::get_if<List>(&value); }
  [[nodiscard]] const Table* table() const { return std::get_if<Table>(&value); }
  /// The member of a table, nullptr when absent (or when this is no table).
  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Place key_place;
  Node value;
};

bool operator==(const Node& a, const Node& b);
bool operator==(const Member& a, const Member& b);

/// Deepest nesting of lists and tables that is read; beyond it the file is refused, so that no recursion runs away.
inline constexpr int deepest_nesting = 100;

/// A whole document. `places` tells how its errors are located: by line and column (TOML) or by pointer (JSON).
struct Document {
  Node root;
  bool places = false;
  std::string file;
};

/// Throws InputError `FILE:LINE:COLUMN: expected ..., found ...` on malformed text, invalid UTF-8, keys given twice,
/// integers beyond 64 bits and nesting beyond `deepest_nesting`. Linear in the text.
[[nodiscard]] Document parse_toml(std::string_view text, const std::string& file);
[[nodiscard]] Document parse_json(std::string_view text, const std::string& file);

/// Line and column of a byte offset (0-based) of a text.
[[nodiscard]] Place place_of_byte(std::string_view text, std::size_t byte);

/// The value as an error message shows it: short, quoted, on one line.
[[nodiscard]] std::string describe(const Node& node);
/// Text in quotes, control characters escaped, cut after 40 code points.
[[nodiscard]] std::string quote_for_message(std::string_view text);

}  // namespace sightline::architecture
