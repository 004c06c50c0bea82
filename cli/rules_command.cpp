#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/rule_notes.hpp"
#include "sightline/base/error.hpp"
#include "sightline/verdict/rules.hpp"

namespace sightline::cli {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

const RuleCases& find_cases(std::string_view name) {
  for (const RuleCases& cases : rule_cases()) {
    if (cases.name == name) return cases;
  }
  throw InternalError(fmt::format("cli/rule_cases.cpp lacks the rule {}: run scripts/check_rules.py COMMAND --write", name));
}

/// "A01, A02, A04 and 484 more".
std::string shorten(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

void print_text(const RuleNote& note) {
  const verdict::RuleText& rule = verdict::find_rule_text(note.name);
  const RuleCases& cases = find_cases(note.name);
  fmt::print("{}\n  says      {}\n  premises  {}\n", rule.name, rule.statement, note.premises);
  if (!rule.source.empty()) fmt::print("  proved    docs/theory.md {}\n", rule.source.substr(rule.source.find(' ') + 1));
  const std::vector<std::string> golden = split(cases.golden), others = split(cases.others);
  if (!golden.empty()) fmt::print("  golden    {}\n", shorten(golden));
  if (!others.empty()) fmt::print("  cases     {}\n", shorten(others));
  fmt::print("\n");
}

nlohmann::ordered_json to_object(const RuleNote& note) {
  const verdict::RuleText& rule = verdict::find_rule_text(note.name);
  const RuleCases& cases = find_cases(note.name);
  return {{"name", rule.name}, {"statement", rule.statement}, {"premises", note.premises}, {"source", rule.source}, {"golden", split(cases.golden)}, {"cases", split(cases.others)}};
}

}  // namespace

void add_rules(CLI::App& app, Exit&) {
  auto json = std::make_shared<bool>(false);
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("rules", "list the rules of the certifier: what each says, asks and rests on");
  command->add_option("NAME", *names, "only these rules");
  command->add_flag("--json", *json, "one JSON object per line and rule");
  command->callback([json, names] {
    std::vector<RuleNote> chosen;
    for (const RuleNote& note : rule_notes()) {
      if (names->empty() || std::find(names->begin(), names->end(), note.name) != names->end()) chosen.push_back(note);
    }
    for (const std::string& name : *names) {
      const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const RuleNote& note) { return note.name == name; });
      if (!known) throw InputError(fmt::format("no rule is called \"{}\" (sightline rules lists them)", name));
    }
    for (const RuleNote& note : chosen) {
      if (*json) fmt::print("{}\n", to_object(note).dump());
      else print_text(note);
    }
  });
}

}  // namespace sightline::cli
