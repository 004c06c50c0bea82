// Every single change of a claim is rejected; a change of evidence is rejected or of a kind on the written list of harmless ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <set>

#include "support.hpp"

namespace {

using nlohmann::json;
using Path = json::json_pointer;

/// Paths of everything below `value`, itself included.
void list_paths(const json& value, const Path& at, std::vector<Path>& out) {
  out.push_back(at);
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) list_paths(inner, at / key, out);
  } else if (value.is_array()) {
    for (std::size_t k = 0; k < value.size(); ++k) list_paths(value[k], at / k, out);
  }
}

std::string change_text(const std::string& text, unsigned kind) {
  std::string changed = text;
  if (text.empty()) return "x";
  const auto digit = std::find_if(changed.begin(), changed.end(), [](char c) { return c >= '0' && c <= '9'; });
  switch (kind % 4) {
    case 0:
      if (digit != changed.end()) *digit = *digit == '9' ? '1' : static_cast<char>(*digit + 1);
      else changed.back() = changed.back() == 'a' ? 'b' : 'a';
      return changed;
    case 1: changed.pop_back(); return changed;
    case 2: return changed + "1";
    default: return "";
  }
}

/// All single changes of one value: another number or text, another type, an element more, one less, two exchanged.
std::vector<json> list_changes(const json& value) {
  std::vector<json> changes;
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    changes = {number + 1, number - 1, nullptr, std::to_string(number)};
    if (number != 0 && number != 1) changes.push_back(0);
  } else if (value.is_number_float()) {
    changes = {value.get<double>() + 1, nullptr};
  } else if (value.is_boolean()) {
    changes = {!value.get<bool>(), nullptr};
  } else if (value.is_string()) {
    for (unsigned kind = 0; kind < 4; ++kind) changes.emplace_back(change_text(value.get<std::string>(), kind));
    changes.push_back(nullptr);
  } else if (value.is_null()) {
    changes = {0, 1, "1", json::array(), true};
  } else if (value.is_array()) {
    if (!value.empty()) {
      json shorter = value, doubled = value;
      shorter.erase(shorter.size() - 1);
      doubled.push_back(value.back());
      changes = {shorter, doubled};
      if (value.size() > 1 && value[0] != value[1]) {
        json exchanged = value;
        std::swap(exchanged[0], exchanged[1]);
        changes.push_back(exchanged);
      }
    } else {
      changes = {json::array({0}), json::array({"()"})};
    }
  } else {
    json more = value;
    more["unknown"] = 1;
    changes = {more};
    for (const auto& [key, ignored] : value.items()) {
      json less = value;
      less.erase(key);
      changes.push_back(less);
    }
  }
  changes.erase(std::remove(changes.begin(), changes.end(), value), changes.end());
  return changes;
}

struct Sweep {
  std::size_t changes = 0, rejected = 0;
  std::map<std::string, std::size_t> accepted;  // path with numbers replaced by N -> how often
};

std::string to_kind(const Path& path) {
  std::string kind = std::regex_replace(path.to_string(), std::regex("/([0-9]+|ever)(?=/|$)"), "/N");
  kind = std::regex_replace(kind, std::regex("/(all|causal|seen)~1(layout|target)"), "/KEY");
  return std::regex_replace(kind, std::regex("^/evidence/(groups|views)/(layout|sighted|recoloured|pattern)(?=/|$)"), "/evidence/$1/LAYOUT");
}

/// Tries up to `most` changes below `top`, spread evenly.
void sweep(const json& certificate, const Path& top, std::size_t most, Sweep& result) {
  std::vector<Path> paths;
  list_paths(certificate[top], top, paths);
  std::vector<std::pair<Path, json>> all;
  for (const Path& path : paths) {
    for (json& change : list_changes(certificate[path])) all.emplace_back(path, std::move(change));
  }
  const std::size_t step = std::max<std::size_t>(1, all.size() / most);
  for (std::size_t k = 0; k < all.size(); k += step) {
    json changed = certificate;
    changed[all[k].first] = all[k].second;
    ++result.changes;
    if (certificates::is_confirmed(changed)) ++result.accepted[to_kind(all[k].first)];
    else ++result.rejected;
  }
}

std::vector<std::string> read_harmless() {
  std::ifstream file(std::string(SIGHTLINE_SOURCE_DIR) + "/tests/certificates/harmless.txt");
  std::vector<std::string> kinds;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') kinds.push_back(line.substr(0, line.find(' ')));
  }
  return kinds;
}

void run(std::size_t every, std::size_t most_claims, std::size_t most_evidence, std::size_t at_least) {
  Sweep claims, evidence;
  const std::vector<std::string> files = certificates::list_small_cases();
  for (std::size_t k = 0; k < files.size(); k += every) {
    const json certificate = certificates::make(files[k]);
    CAPTURE(files[k]);
    REQUIRE(certificates::is_confirmed(certificate));
    // Every check of these enumerates contents for a third of a second: two thirds of the time of all others together.
    const std::size_t share = files[k].ends_with("R05.toml") ? 10 : 1;
    sweep(certificate, Path("/answer"), most_claims / share, claims);
    for (const char* top : {"/evidence", "/patterns", "/conversion", "/digest", "/format", "/version"}) {
      sweep(certificate, Path(top), most_evidence / share, evidence);
    }
  }
  MESSAGE(claims.changes << " changes of claims, " << claims.rejected << " rejected; " << evidence.changes << " of evidence, "
                         << evidence.rejected << " rejected");
  CHECK(claims.changes >= at_least);
  for (const auto& [kind, count] : claims.accepted) FAIL_CHECK("a changed claim is accepted: " << kind << ", " << count << " times");
  const std::vector<std::string> harmless = read_harmless();
  for (const auto& [kind, count] : evidence.accepted) {
    const bool listed = std::any_of(harmless.begin(), harmless.end(), [&](const std::string& allowed) {
      return allowed.ends_with("*") ? kind.starts_with(allowed.substr(0, allowed.size() - 1)) : kind == allowed;
    });
    if (!listed) FAIL_CHECK("changed evidence is accepted and not on the list of harmless kinds: " << kind << ", " << count << " times");
  }
}

}  // namespace

TEST_CASE("single changes of claims are rejected") { run(8, 80, 30, 1000); }

TEST_SUITE("slow") {
  TEST_CASE("10,000 single changes of claims are rejected") { run(1, 400, 150, 10000); }
}
