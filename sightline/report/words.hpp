// The words of the answer, shared by JSON and text.
#pragma once

#include <string>

#include "sightline/verdict/answer.hpp"

namespace sightline::report {

[[nodiscard]] std::string to_word(verdict::Verdict verdict);   ///< certified | impossible | unknown
[[nodiscard]] std::string to_word(sight::ClassKind kind);      ///< all | causal | seen
/// "name (theory 2.4): statement; premise; premise"
[[nodiscard]] std::string to_sentence(const verdict::Rule& rule);
/// "5040", "4096!", "64!^64 * 2", or "about 10^5000" in front of a factored order.
[[nodiscard]] std::string to_words(const group::Order& order);

/// "1 layer", "2 layers"
[[nodiscard]] std::string plural(std::uint64_t count, const std::string& noun);

/// An exact fraction when it is short, else three digits of it and where the exact one stands.
[[nodiscard]] std::string describe_number(const mpq_class& value, const std::string& exact_place = "exact with --json");

}  // namespace sightline::report
