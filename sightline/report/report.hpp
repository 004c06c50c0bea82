// Text and JSON from an Answer alone.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sightline/verdict/answer.hpp"

namespace sightline::report {

/// One line of JSON, fixed key order (format.md, "The answer"), no newline at the end.
[[nodiscard]] std::string to_json(const verdict::Answer& answer);
/// The same in parts: generators may be hundreds of megabytes, which nobody needs twice.
using Write = std::function<void(std::string_view)>;
void write_json(const verdict::Answer& answer, const Write& write);
/// The same as a tree; text of a file that is no UTF-8 stands there as it is.
/// Generators of groups on many tokens are most of an answer: null stands in their place, for who prints them from the answer. Lists of tokens
/// (unseen, tau_moves) are text already, as binary values.
[[nodiscard]] nlohmann::ordered_json to_tree(const verdict::Answer& answer);
/// One floor as it stands in the answer.
[[nodiscard]] std::string to_json(const verdict::Floor& floor);
/// The object that stands for a file that could not be read: {"file":...,"error":...}.
[[nodiscard]] std::string to_json_error(const std::string& file, const std::string& message);
/// What a person reads: at most 40 lines of 100 columns, newline at the end.
/// @param colour  ANSI colours for a terminal
[[nodiscard]] std::string to_text(const verdict::Answer& answer, bool colour);

}  // namespace sightline::report
