// Typed access to the tree: what the readers of every table share. Every failure is one InputError line.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/architecture/names.hpp"
#include "sightline/architecture/tree.hpp"

namespace sightline::architecture {

/// A value on the way from the root: knows its own name, so that errors can be located. Lives on the stack: a child points
/// to its parent.
class View {
public:
  explicit View(const Document& document) : document_(&document), node_(&document.root) {}
  View(const View& parent, std::string_view key, const Node& node)
      : document_(parent.document_), node_(&node), parent_(&parent), key_(key) {}
  View(const View& parent, std::size_t index)
      : document_(parent.document_), node_(&(*parent.node_->list())[index]), parent_(&parent), index_(index) {}

  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const Document& document() const { return *document_; }
  /// The member of this table; absent when it is not there. The view must outlive what is returned.
  [[nodiscard]] std::optional<View> find(std::string_view key) const&;
  std::optional<View> find(std::string_view key) const&& = delete;
  [[nodiscard]] std::string pointer() const;
  /// The representation that PatternSpec::where documents: "12:11" (TOML) or "/mixer/pattern" (JSON).
  [[nodiscard]] std::string where() const;

private:
  const Document* document_;
  const Node* node_;
  const View* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

/// Throws InputError: `<where the value stands>: <message>`.
[[noreturn]] void fail(const View& view, const std::string& message);
/// `expected <expected>, found <the value>`, with a suggestion from `candidates` when the value is a string close to one.
[[noreturn]] void fail_expected(const View& view, const std::string& expected, const std::vector<std::string_view>& candidates = {});
/// `expected the key "<key>" (<what>), found none`.
[[noreturn]] void fail_missing(const View& table, std::string_view key, std::string_view what);
/// At the key itself: `expected ..., found the key ...`.
[[noreturn]] void fail_at_key(const View& table, std::string_view key, const std::string& message);

/// ` (did you mean "..."?)` for the nearest candidate by edit distance, "" when none is near.
[[nodiscard]] std::string suggest(std::string_view text, const std::vector<std::string_view>& candidates);

/// Throws unless the value is a table whose keys are all in `keys`; `owner` names the table in the message.
void require_table(const View& view, std::string_view owner, const std::vector<std::string_view>& keys);

inline constexpr std::int64_t largest_integer = 2147483647;  ///< 2^31 - 1: every count and index of a file

struct Range {
  std::int64_t least = 0;
  std::int64_t most = largest_integer;
};

[[nodiscard]] std::int64_t to_integer(const View& view, Range range);
/// Finite; integers are accepted. -0 becomes 0.
[[nodiscard]] double to_number(const View& view);
[[nodiscard]] const std::string& to_string(const View& view, std::string_view expected = "a string");
[[nodiscard]] std::vector<std::int64_t> to_integers(const View& view, Range range);
[[nodiscard]] std::vector<double> to_numbers(const View& view);
[[nodiscard]] std::vector<std::vector<std::int64_t>> to_integer_rows(const View& view, Range range);
[[nodiscard]] const List& to_list(const View& view, std::string_view expected);

/// The readers below leave `out` alone when the key is absent; null (JSON) empties an optional.
void read_boolean(const View& table, std::string_view key, bool& out);
void read_integer(const View& table, std::string_view key, std::int64_t& out, Range range);
void read_integer(const View& table, std::string_view key, std::optional<std::int64_t>& out, Range range);
enum class Sign { any, not_negative, positive };
void read_number(const View& table, std::string_view key, double& out, Sign sign);
void read_number(const View& table, std::string_view key, std::optional<double>& out, Sign sign);
void read_string(const View& table, std::string_view key, std::string& out);

[[nodiscard]] std::size_t find_choice(const View& view, const std::vector<std::string_view>& names);

/// One of the names of an enum.
template <class E> E to_choice(const View& view, std::span<const Name<E>> names) {
  std::vector<std::string_view> texts;
  for (const Name<E>& name : names)
    texts.push_back(name.text);
  return names[find_choice(view, texts)].value;
}

template <class E> void read_choice(const View& table, std::string_view key, E& out) {
  if (const auto value = table.find(key))
    out = to_choice<E>(*value, names_of<E>());
}

}  // namespace sightline::architecture
