// One JSON object of a config.json, read key by key: typed, with the library's defaults, remembering which keys were looked at.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace sightline::huggingface {

/// Keys under which a value may stand; the first that is present wins. The library's canonical name comes first, because
/// there it overrides the type's own (`num_hidden_layers` beats `n_layer` in a file that holds both).
using Names = std::initializer_list<std::string_view>;

/// A view of one object of the config. A missing key means the default of the library, never "off"; `null` is a value and
/// is handled by each reader as documented there. Every reader throws InputError `FILE: /key: expected ..., found ...`.
class ConfigView {
public:
  /// @param pointer  JSON pointer of the object in the file: "" or "/text_config"
  ConfigView(std::string file, std::string pointer, const nlohmann::json& object);

  /// Present, null or not.
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool is_null(std::string_view name) const;
  /// An integer in minimum .. 2^40; null is an error.
  [[nodiscard]] std::int64_t integer(Names names, std::int64_t fallback, std::int64_t minimum = 1) const;
  /// The same where null is no value: as if the key were absent (intervals, numbers of layers beside a list that overrides them).
  [[nodiscard]] std::int64_t interval(Names names, std::int64_t fallback, std::int64_t minimum = 1) const;
  /// The same where null means "none" (no window, no rotary part).
  [[nodiscard]] std::optional<std::int64_t> optional_integer(Names names, std::optional<std::int64_t> fallback,
                                                             std::int64_t minimum = 1) const;
  /// A finite number >= 0.
  [[nodiscard]] double number(Names names, double fallback) const;
  /// A truth value; null is an error.
  [[nodiscard]] bool flag(Names names, bool fallback) const;
  /// The same for the few keys that the library lets be null: false then, as in its language.
  [[nodiscard]] bool flag_or_null(Names names, bool fallback) const;
  /// A string; null is an error.
  [[nodiscard]] std::string text(Names names, std::string fallback) const;
  /// A list of strings; absent and null: nullopt.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view name) const;
  /// A list of integers; absent and null: nullopt.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name, std::int64_t minimum) const;
  /// One integer or a pair of them, [height, width]: an image or patch size.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> pair(std::string_view name, std::int64_t fallback) const;
  /// The value as it stands, or nullptr when absent. Counts as read.
  [[nodiscard]] const nlohmann::json* value(std::string_view name) const;

  /// Throws InputError `FILE: POINTER/name: expected EXPECTED, found WHAT STANDS THERE`.
  [[noreturn]] void fail(std::string_view name, const std::string& expected) const;
  /// The same with other words for what was found.
  [[noreturn]] void fail(std::string_view name, const std::string& expected, const std::string& found) const;
  /// Throws InputError `FILE: OPTION: expected ..., found ...` for a command-line option such as "--tokens".
  [[noreturn]] void fail_option(std::string_view option, const std::string& expected, const std::string& found) const;

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Keys that were never read and that are not known to leave sight alone, in file order, printable.
  [[nodiscard]] std::vector<std::string> ignored_keys() const;

private:
  [[nodiscard]] const nlohmann::json* find(Names names, std::string_view& found) const;
  [[nodiscard]] std::int64_t checked_integer(const nlohmann::json& value, const std::string& name, std::int64_t minimum) const;

  std::string file_;
  std::string pointer_;
  const nlohmann::json* object_;
  mutable std::set<std::string, std::less<>> read_;
};

/// A JSON value in a few words for an error line: scalars as written (shortened), "a list of 3", "an object", "null".
[[nodiscard]] std::string describe(const nlohmann::json& value);
/// Text on one line and without control characters, as JSON would quote it but without the quotes.
[[nodiscard]] std::string printable(const std::string& text);

}  // namespace sightline::huggingface
