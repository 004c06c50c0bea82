// What `sightline rules` shows beside the certifier's table of rules.
#pragma once

#include <string_view>
#include <vector>

namespace sightline::cli {

struct RuleNote {
  std::string_view name;
  std::string_view premises;  ///< what must hold for the rule to be used
};

/// Cases whose answer names the rule: tests/golden by name, and others when there is no golden one.
/// Written by `scripts/check_rules.py COMMAND --write`.
struct RuleCases {
  std::string_view name;
  std::string_view golden;  ///< names, separated by blanks
  std::string_view others;  ///< "folder/name", separated by blanks; at most three
};

/// By name; the same names as the certifier's table (scripts/check_rules.py).
[[nodiscard]] const std::vector<RuleNote>& rule_notes();
[[nodiscard]] const std::vector<RuleCases>& rule_cases();

}  // namespace sightline::cli
