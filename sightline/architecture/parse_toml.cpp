#include <toml++/toml.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sightline/architecture/tree.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

[[noreturn]] void fail(const std::string& file, Place place, const std::string& message) {
  throw InputError(fmt::format("{}:{}:{}: {}", file, place.line, place.column, message));
}

Place place_of(const toml::source_position& position) { return {position.line, position.column}; }

/// toml++ limits the nesting of values but not the length of dotted keys, and its trees are destroyed recursively: a key of
/// a million dots would end in a stack overflow. So such keys are refused before parsing; strings and comments are skipped.
void refuse_long_keys(std::string_view text, const std::string& file) {
  constexpr int most_dots = 16;
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      while (i + 1 < text.size() && text[i + 1] != '\n')
        ++i;
    } else if (c == '"' || c == '\'') {
      const std::string_view triple = c == '"' ? "\"\"\"" : "'''";
      const bool many_lines = text.substr(i, 3) == triple;
      i += many_lines ? 3 : 1;
      while (i < text.size() && !(many_lines ? text.substr(i, 3) == triple : text[i] == c || text[i] == '\n'))
        i += c == '"' && text[i] == '\\' ? 2 : 1;
      if (many_lines)
        i += 2;
    } else if (c == '.') {
      if (++dots > most_dots)
        fail(file, place_of_byte(text, i), fmt::format("expected a key of at most {} parts, found a longer one", most_dots + 1));
    } else if (c == '=' || c == ',' || c == '[' || c == '{' || c == '\n') {
      dots = 0;
    }
  }
}

/// toml++ says "Error while parsing table header: expected ']', saw '\\n'" or "... : <what is wrong>".
std::string explain(std::string_view what) {
  constexpr std::string_view prefix = "Error while parsing ";
  std::string_view part = "TOML";
  if (what.substr(0, prefix.size()) == prefix) {
    what.remove_prefix(prefix.size());
    const auto colon = what.find(": ");
    if (colon != std::string_view::npos) {
      part = what.substr(0, colon);
      what.remove_prefix(colon + 2);
    }
  }
  std::string out;
  const auto saw = what.find(", saw ");
  if (what.substr(0, 9) == "expected " && saw != std::string_view::npos)
    out = fmt::format("{}, found {} ({})", what.substr(0, saw), what.substr(saw + 6), part);
  else
    out = fmt::format("expected a valid {}, found a mistake: {}", part, what);
  // Messages quote the text; whatever it holds, they stay on one line.
  if (out.size() > 300)
    out = fmt::format("{}...", out.substr(0, 300));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      c = ' ';
  return out;
}

Node to_node(const toml::node& node, const std::string& file, int depth);

Table to_table(const toml::table& table, const std::string& file, int depth) {
  // Errors speak of the first mistake in the file, so members stand in file order.
  struct Entry {
    Place place;
    const toml::key* key;
    const toml::node* value;
  };
  std::vector<Entry> entries;
  entries.reserve(table.size());
  for (const auto& [key, value] : table)
    entries.push_back({place_of(key.source().begin), &key, &value});
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  Table members;
  members.reserve(entries.size());
  for (const Entry& entry : entries)
    members.push_back({std::string(entry.key->str()), entry.place, to_node(*entry.value, file, depth + 1)});
  return members;
}

Node to_node(const toml::node& node, const std::string& file, int depth) {
  Node out;
  out.place = place_of(node.source().begin);
  if (depth > deepest_nesting)
    fail(file, out.place, fmt::format("expected at most {} levels of nesting, found more", deepest_nesting));
  switch (node.type()) {
  case toml::node_type::boolean: out.value = node.as_boolean()->get(); break;
  case toml::node_type::integer: out.value = std::int64_t{node.as_integer()->get()}; break;
  case toml::node_type::floating_point: out.value = node.as_floating_point()->get(); break;
  case toml::node_type::string: out.value = node.as_string()->get(); break;
  case toml::node_type::array: {
    List list;
    list.reserve(node.as_array()->size());
    for (const toml::node& item : *node.as_array())
      list.push_back(to_node(item, file, depth + 1));
    out.value = std::move(list);
    break;
  }
  case toml::node_type::table: out.value = to_table(*node.as_table(), file, depth); break;
  default: out.value = Date{}; break;
  }
  return out;
}

}  // namespace

Document parse_toml(std::string_view text, const std::string& file) {
  refuse_long_keys(text, file);
  try {
    const toml::table table = toml::parse(text);
    Document document;
    document.places = true;
    document.file = file;
    document.root.place = {1, 1};
    document.root.value = to_table(table, file, 0);
    return document;
  } catch (const toml::parse_error& error) {
    fail(file, place_of(error.source().begin), explain(error.description()));
  }
}

}  // namespace sightline::architecture
