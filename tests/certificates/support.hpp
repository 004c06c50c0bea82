// Certificates for the tests: made by the library, judged by the checker.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace certificates {

/// The certificate of an architecture file, as a tree that tests may change.
[[nodiscard]] nlohmann::json make(const std::string& file);
/// The same from TOML or JSON text.
[[nodiscard]] nlohmann::json make_from_text(const std::string& text, const std::string& name);
/// What the checker says: "" when every claim is confirmed, else the claim that is not, or "malformed".
[[nodiscard]] std::string find_rejected_claim(const nlohmann::json& certificate);
[[nodiscard]] bool is_confirmed(const nlohmann::json& certificate);
/// Puts the digest right after a change of the embedded architecture.
void renew_digest(nlohmann::json& certificate);
/// Golden cases and examples that are certified in a moment.
[[nodiscard]] std::vector<std::string> list_small_cases();

}  // namespace certificates
