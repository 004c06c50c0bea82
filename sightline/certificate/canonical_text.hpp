// The text of a certificate: one way to write every value.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sightline::certificate {

/// Keys sorted, no spaces, strings and integers as nlohmann writes them; reals with the fewest digits that read back the same
/// ("0.0", "1e-05", "0.1"), plain from 0.0001 up to below 1e15. nlohmann's own dump() writes about one real in a hundred with other
/// digits than these, and the checker reads these only. Throws ArgumentError for a number that is not finite or an
/// integer from 2^63 on, and nlohmann's type_error
/// for text that is not UTF-8. Values that are text already (IntegerLists) stand as binary ones, and are taken as they are. O(size).
[[nodiscard]] std::string print_canonical(const nlohmann::json& value);
/// The same value without binary ones: lists that were text are trees.
[[nodiscard]] nlohmann::json to_plain(const nlohmann::json& value);

}  // namespace sightline::certificate
