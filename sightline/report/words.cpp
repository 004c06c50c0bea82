#include "sightline/report/words.hpp"

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/verdict/rules.hpp"

namespace sightline::report {

std::string to_word(verdict::Verdict verdict) {
  switch (verdict) {
    case verdict::Verdict::certified: return "certified";
    case verdict::Verdict::impossible: return "impossible";
    case verdict::Verdict::unknown: return "unknown";
  }
  throw InternalError("unknown verdict");
}

std::string to_word(sight::ClassKind kind) {
  switch (kind) {
    case sight::ClassKind::all: return "all";
    case sight::ClassKind::causal: return "causal";
    case sight::ClassKind::seen: return "seen";
  }
  throw InternalError("unknown class");
}

std::string to_sentence(const verdict::Rule& rule) {
  const verdict::RuleText& known = verdict::find_rule_text(rule.name);
  std::string text = known.source.empty() ? rule.name : fmt::format("{} ({})", rule.name, known.source);
  text += fmt::format(": {}", known.statement);
  for (const std::string& premise : rule.premises) text += "; " + premise;
  return text;
}

std::string to_words(const group::Order& order) {
  if (const auto value = order.value(15)) return value->get_str();
  return fmt::format("{} (about 10^{:.0f})", order.factored(), order.log10());
}

std::string plural(std::uint64_t count, const std::string& noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with("ss") ? "es" : "s"); }

std::string describe_number(const mpq_class& value, const std::string& exact_place) {
  const std::string exact = value.get_str();
  if (exact.size() <= 24) return exact;
  const mpf_class decimal(value, 64);
  mp_exp_t exponent = 0;
  const std::string digits = decimal.get_str(exponent, 10, 3);
  return fmt::format("{}.{}e{} ({})", digits.substr(0, 1), digits.size() > 1 ? digits.substr(1) : "0", exponent - 1, exact_place);
}

}  // namespace sightline::report
