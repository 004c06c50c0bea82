#include "check.hpp"

#include <algorithm>

#include "exact.hpp"
#include "rules.hpp"

namespace checker {
namespace {

std::string shorten(const std::string& text) { return text.size() <= 80 ? text : text.substr(0, 77) + "..."; }

/// Throws Rejected with the path of the first value that differs.
void compare(const Json& claimed, const Json& derived, const std::string& path) {
  if (claimed == derived) return;
  if (claimed.is_object() && derived.is_object()) {
    for (const auto& [key, value] : derived.object()) {
      if (claimed.find(key) == nullptr) throw Rejected(path + "/" + key, "absent, derived " + shorten(print(value)));
      compare(claimed[key], value, path + "/" + key);
    }
    for (const auto& [key, value] : claimed.object()) {
      if (derived.find(key) == nullptr) throw Rejected(path + "/" + key, "claimed " + shorten(print(value)) + ", but there is no such claim");
    }
  }
  if (claimed.is_array() && derived.is_array()) {
    for (std::size_t k = 0; k < std::min(claimed.size(), derived.size()); ++k) compare(claimed[k], derived[k], path + "/" + std::to_string(k));
  }
  throw Rejected(path, "claimed " + shorten(print(claimed)) + ", derived " + shorten(print(derived)));
}

/// The keys of an object, exactly.
void expect_keys(const Json& value, const std::vector<std::string_view>& keys, const std::string& path) {
  for (const auto& [key, ignored] : value.object()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) throw Malformed(path + "/" + key + ": no such key");
  }
  for (const std::string_view key : keys) {
    if (value.find(key) == nullptr) throw Malformed(path + "/" + std::string(key) + ": expected, but absent");
  }
}

}  // namespace

Report check_certificate(std::string_view text) {
  const Json certificate = parse(text);
  if (!certificate.is_object()) throw Malformed("expected a certificate (a JSON object)");
  if (const Json* format = certificate.find("format"); format == nullptr || !format->is("sightline-certificate")) {
    throw Malformed("/format: expected \"sightline-certificate\"");
  }
  if (const Json& version = certificate["version"]; version.integer() != 1) {
    throw Malformed("/version: expected 1, found " + print(version) + " (this checker reads version 1 only)");
  }
  expect_keys(certificate, {"answer", "architecture", "conversion", "digest", "evidence", "format", "patterns", "version"}, "");
  expect_keys(certificate["conversion"], {"assumptions", "file"}, "/conversion");
  Report report;
  try {
    if (const std::string digest = sha256(print(certificate["architecture"])); !certificate["digest"].is(digest)) {
      throw Rejected("/digest", "claimed " + print(certificate["digest"]) + ", but the embedded architecture has " + digest);
    }
    compare(certificate["answer"], derive_answer(certificate, report.trusted), "/answer");
    report.confirmed = true;
  } catch (const Rejected& rejected) {
    report.claim = rejected.claim;
    report.reason = rejected.what();
  }
  std::sort(report.trusted.begin(), report.trusted.end());
  report.trusted.erase(std::unique(report.trusted.begin(), report.trusted.end()), report.trusted.end());
  return report;
}

}  // namespace checker
