#include "sightline/certificate/canonical_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"

namespace sightline::certificate {
namespace {

void append_real(double value, std::string& out) {
  if (!std::isfinite(value)) throw ArgumentError("a certificate holds finite numbers only");
  const double size = std::abs(value);
  const bool plain = value == 0 || (size >= 1e-4 && size < 1e15);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, plain ? std::chars_format::fixed : std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  out += text;
  if (plain && text.find('.') == std::string_view::npos) out += ".0";
}

/// Mostly nothing of it has to be escaped.
void append_string(const nlohmann::json& value, std::string& out) {
  const auto& text = value.get_ref<const std::string&>();
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_plain)) {
    out += print_json(value);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_value(const nlohmann::json& value, std::string& out) {
  if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const nlohmann::json& element : value.get_ref<const nlohmann::json::array_t&>()) {
      if (!std::exchange(first, false)) out += ',';
      append_value(element, out);
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    for (auto member = value.begin(); member != value.end(); ++member) {
      if (member != value.begin()) out += ',';
      out += nlohmann::json(member.key()).dump();
      out += ':';
      append_value(member.value(), out);
    }
    out += '}';
  } else if (value.is_binary()) {
    const auto& text = value.get_binary();
    out.append(text.begin(), text.end());
  } else if (value.is_number_float()) {
    append_real(value.get<double>(), out);
  } else if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0) throw ArgumentError("a certificate holds integers of 64 bits with sign");
    char buffer[24];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value.get<std::int64_t>()).ptr);
  } else if (value.is_string()) {
    append_string(value, out);
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string print_canonical(const nlohmann::json& value) {
  std::string out;
  append_value(value, out);
  return out;
}

nlohmann::json to_plain(const nlohmann::json& value) { return nlohmann::json::parse(print_canonical(value)); }

}  // namespace sightline::certificate
