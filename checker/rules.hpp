// From the architecture to the answer, field by field: facts about mixers, feedforwards and norms, verdict, floors, published route.
#pragma once

#include <string>
#include <vector>

#include "json.hpp"

namespace checker {

/// Derives the whole answer (format "The answer") from the architecture and the evidence of the certificate, confirming every step.
/// Throws Rejected naming the claim whose evidence fails, the same for any number of threads. `trusted` receives what is taken on trust, one sentence each.
[[nodiscard]] Json derive_answer(const Json& certificate, std::vector<std::string>& trusted, unsigned threads);

/// The sentence of a rule as it stands in the answer: "name (source): statement; premise; premise".
[[nodiscard]] std::string rule_sentence(const std::string& name, const std::vector<std::string>& premises);

}  // namespace checker
