// The rules of the certifier by name: where each is proved and what it says, in one table (docs/theory.md 16.8).
#pragma once

#include <string_view>

namespace sightline::verdict {

/// What is the same in every use of a rule; what was found in this one stands in the premises.
struct RuleText {
  std::string_view name;       ///< "theorem-e"
  std::string_view source;     ///< "theory 2.4"; empty for rules that prove nothing
  std::string_view statement;  ///< one line
};

/// Throws InternalError for a name that is not in the table.
[[nodiscard]] const RuleText& find_rule_text(std::string_view name);

}  // namespace sightline::verdict
