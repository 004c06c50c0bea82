// JSON for programs. Names of files come from the system and need not be UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sightline {

/// Any JSON value as text, on one line unless `indent` says otherwise; bytes that are no UTF-8 become U+FFFD instead of an exception.
template <class Json> [[nodiscard]] std::string print_json(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sightline
