// Text and JSON from an Answer alone.
#pragma once

#include <string>

#include "sightline/verdict/answer.hpp"

namespace sightline::report {

/// One line of JSON, fixed key order (format.md, "The answer"), no newline at the end.
[[nodiscard]] std::string to_json(const verdict::Answer& answer);
/// At most 40 lines of 100 columns.
[[nodiscard]] std::string to_text(const verdict::Answer& answer);

}  // namespace sightline::report
