// The whole certificate of an answer (docs/certificate.md), from what the answer was derived from.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sightline/verdict/context.hpp"

namespace sightline::certificate {

/// Does a JSON tree say that it is a certificate (rather than an architecture written as JSON)?
[[nodiscard]] bool is_certificate(const nlohmann::json& tree);

/// Was nothing cut short, by a limit of the user or a bound of the project? Only then there is a certificate.
[[nodiscard]] bool is_complete(const verdict::Answer& answer);

/// @param context  of verdict::analyse: every question about views that was asked gets its evidence
/// @param answer   the object that `certify --json` prints
/// Cost: the questions once or twice more. Throws ArgumentError for an answer that was cut short, BudgetExhausted.
[[nodiscard]] nlohmann::json make_certificate(const verdict::Context& context, const nlohmann::json& answer);
/// The same as canonical text; patterns and generators never stand in memory as a tree: `answer` gives the answer without generators
/// (report::Generators::left_out), which are those of `context.answer`. It is called once, from whatever thread.
[[nodiscard]] std::string print_certificate(const verdict::Context& context, const std::function<nlohmann::json()>& answer);

}  // namespace sightline::certificate
