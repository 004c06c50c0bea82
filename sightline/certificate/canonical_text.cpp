#include "sightline/certificate/canonical_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sightline/base/error.hpp"

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

void append_value(const nlohmann::json& value, std::string& out) {
  if (value.is_array()) {
    out += '[';
    for (std::size_t k = 0; k < value.size(); ++k) {
      if (k > 0) out += ',';
      append_value(value[k], out);
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
  } else if (value.is_number_float()) {
    append_real(value.get<double>(), out);
  } else if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0) throw ArgumentError("a certificate holds integers of 64 bits with sign");
    fmt::format_to(std::back_inserter(out), "{}", value.get<std::int64_t>());
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

}  // namespace sightline::certificate
