// A design as text and as JSON (interfaces.md 8).
#pragma once

#include <string>

#include "sightline/design/front.hpp"

namespace sightline::design {

/// One line of JSON, fixed key order: {"group", "two_closed", "closure", "front", "notes"}.
[[nodiscard]] std::string to_json(const Request& request, const Design& design, const Budget& budget);
/// What a person reads: the group, whether patterns can have it, and one line per point of the front.
[[nodiscard]] std::string to_text(const Request& request, const Design& design, const Budget& budget);

}  // namespace sightline::design
