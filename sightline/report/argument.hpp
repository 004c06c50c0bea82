// The argument of a certificate in words, with the evidence beside each step.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sightline::report {

/// @param certificate  docs/certificate.md, version 1, already confirmed by the checker
/// @param trusted      what the checker took on trust, one sentence each
/// Lines of at most 100 columns, newline at the end. O(certificate).
[[nodiscard]] std::string to_argument(const nlohmann::json& certificate, const std::vector<std::string>& trusted);

}  // namespace sightline::report
