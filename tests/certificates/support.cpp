#include "support.hpp"

#include <algorithm>
#include <filesystem>

#include "checker/check.hpp"
#include "checker/exact.hpp"
#include "checker/json.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/certificate/certificate.hpp"
#include "sightline/verdict/certify.hpp"

namespace certificates {

using namespace sightline;

nlohmann::json make(const std::string& file) { return make_from_text(architecture::read_file(file), file); }

nlohmann::json make_from_text(const std::string& text, const std::string& name) {
  const Budget budget;
  const architecture::Architecture a = architecture::parse_architecture(text, name);
  return nlohmann::json::parse(certificate::make_certificate(a, verdict::certify(a, budget), budget));
}

std::string find_rejected_claim(const nlohmann::json& certificate) {
  try {
    const checker::Report report = checker::check_certificate(certificate.dump());
    return report.confirmed ? "" : report.claim.empty() ? "unnamed" : report.claim;
  } catch (const checker::Malformed&) {
    return "malformed";
  }
}

bool is_confirmed(const nlohmann::json& certificate) { return find_rejected_claim(certificate).empty(); }

void renew_digest(nlohmann::json& certificate) { certificate["digest"] = checker::sha256(certificate["architecture"].dump()); }

std::vector<std::string> list_small_cases() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SIGHTLINE_SOURCE_DIR) + "/tests/golden/cases")) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace certificates
