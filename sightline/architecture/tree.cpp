#include "sightline/architecture/tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/architecture/number_text.hpp"

namespace sightline::architecture {

const Node* Node::find(std::string_view key) const {
  if (const Table* members = table())
    for (const Member& member : *members)
      if (member.key == key)
        return &member.value;
  return nullptr;
}

bool operator==(const Node& a, const Node& b) { return a.value == b.value; }
bool operator==(const Member& a, const Member& b) { return a.key == b.key && a.value == b.value; }

Place place_of_byte(std::string_view text, std::size_t byte) {
  Place place{1, 1};
  for (std::size_t i = 0; i < std::min(byte, text.size()); ++i) {
    if (text[i] == '\n')
      place = {place.line + 1, 1};
    else if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U)
      ++place.column;
  }
  return place;
}

std::string quote_for_message(std::string_view text) {
  std::string out = "\"";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool begins_code_point = (byte & 0xC0U) != 0x80U;
    if (begins_code_point && ++shown > 40)
      return fmt::format("{}...\"", out);
    if (byte == '"' || byte == '\\')
      out += fmt::format("\\{}", text[i]);
    else if (byte == '\n')
      out += "\\n";
    else if (byte == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\u{:04x}", byte);
    else
      out += text[i];
  }
  return fmt::format("{}\"", out);
}

std::string describe(const Node& node) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return print_number(value); }
    std::string operator()(const std::string& value) const { return quote_for_message(value); }
    std::string operator()(const List& value) const {
      if (value.empty())
        return "an empty list";
      return fmt::format("a list of {} {}", value.size(), value.size() == 1 ? "entry" : "entries");
    }
    std::string operator()(const Table&) const { return "a table"; }
    std::string operator()(const Date&) const { return "a date or time"; }
  };
  return std::visit(Visitor{}, node.value);
}

}  // namespace sightline::architecture
