#include "check.hpp"

#include <algorithm>
#include <map>

#include "exact.hpp"
#include "layout.hpp"
#include "poll.hpp"
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

/// What may stand in the evidence: for every kind of object its keys with the kinds of their values ("*": any key, "": not looked into here).
const std::map<std::string, std::map<std::string, std::string>>& evidence_grammar() {
  static const std::map<std::string, std::map<std::string, std::string>> grammar = {
      {"evidence", {{"activations", ""}, {"groups", "groups"}, {"ids", "ids"}, {"kernels", ""}, {"names", ""}, {"places", ""}, {"views", "layouts"}}},
      {"groups", {{"layout", "group"}, {"recoloured", "group"}, {"sighted", "group"}}},
      {"group", {{"failed", ""}, {"generators", ""}, {"path", ""}, {"twins", ""}}},
      {"ids", {{"at_given", "sequences"}, {"below", "sequences"}}},
      {"sequences", {{"a", ""}, {"b", ""}, {"x", ""}, {"y", ""}}},
      {"layouts", {{"layout", "sight"}, {"pattern", "sight"}, {"recoloured", "sight"}, {"sighted", "sight"}}},
      {"sight", {{"collisions", "collisions"}, {"groups", "expressed"}, {"needed", "needed"}, {"reach", "reach"}, {"views", "questions"}}},
      {"collisions", {{"*", "colliding depths"}}},
      {"colliding depths", {{"*", "collision"}}},
      {"collision", {{"a", ""}, {"b", ""}, {"map", ""}}},
      {"expressed", {{"*", "expressed group"}}},
      {"expressed group", {{"classes", ""}, {"generators", ""}, {"pairs", "pairs"}, {"parts", "roots"}, {"roots", "roots"}}},
      {"needed", {{"*", "layers"}}},
      {"layers", {{"between", ""}, {"layers", ""}, {"missed", ""}, {"never", ""}}},
      {"reach", {{"columns", ""}, {"hub", ""}}},
      {"questions", {{"*", "depths"}}},
      {"depths", {{"*", "views"}}},
      {"views", {{"pairs", "pairs"}, {"parts", "roots"}, {"roots", "roots"}}},
      {"roots", {{"*", "group"}}},
      {"pairs", {{"*", "pair"}}},
      {"pair", {{"like", ""}, {"map", ""}, {"unlike", "trees"}}},
      {"trees", {{"*", "no isomorphism"}}},
      {"no isomorphism", {{"generators", ""}, {"path", ""}, {"tree", ""}, {"twins", ""}}},
  };
  return grammar;
}

/// Unknown keys are malformed, so that nothing can hide in a certificate.
void expect_shape(const Json& value, const std::string& shape, const std::string& path) {
  if (value.is_null() && shape == "ids") return;
  if (!value.is_object()) throw Malformed(path + ": expected an object");
  const auto& keys = evidence_grammar().at(shape);
  for (const auto& [key, inner] : value.object()) {
    auto found = keys.find(key);
    if (found == keys.end()) found = keys.find("*");
    if (found == keys.end()) throw Malformed(path + "/" + key + ": no such key");
    if (!found->second.empty()) expect_shape(inner, found->second, path + "/" + key);
  }
}

}  // namespace

Report check_certificate(std::string_view text, const std::function<void()>& poll, unsigned threads) {
  const Watch watch(poll);
  const Json certificate = parse(text, Strings::in_place);
  if (!certificate.is_object()) throw Malformed("expected a certificate (a JSON object)");
  if (const Json* format = certificate.find("format"); format == nullptr || !format->is("sightline-certificate")) {
    throw Malformed("/format: expected \"sightline-certificate\"");
  }
  if (const Json& version = certificate["version"]; version.integer() != 1) {
    throw Malformed("/version: expected 1, found " + print(version) + " (this checker reads version 1 only)");
  }
  expect_keys(certificate, {"answer", "architecture", "conversion", "digest", "evidence", "format", "patterns", "version"}, "");
  expect_keys(certificate["conversion"], {"assumptions", "file"}, "/conversion");
  expect_shape(certificate["evidence"], "evidence", "/evidence");
  // What follows looks at keys one by one: one that has no meaning where it stands must not be believed (docs/theory.md 16.61 c).
  validate_architecture(certificate["architecture"]);
  Report report;
  try {
    if (const std::string digest = sha256(print(certificate["architecture"])); !certificate["digest"].is(digest)) {
      throw Rejected("/digest", "claimed " + print(certificate["digest"]) + ", but the embedded architecture has " + digest);
    }
    compare(certificate["answer"], derive_answer(certificate, report.trusted, threads), "/answer");
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
