#include "support.hpp"

#include <algorithm>
#include <filesystem>

#include "checker/check.hpp"
#include "checker/json.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/sha256.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/certificate.hpp"
#include "sightline/report/report.hpp"
#include "sightline/verdict/certify.hpp"

namespace certificates {

using namespace sightline;

nlohmann::json make(const std::string& file) { return make_from_text(architecture::read_file(file), file); }

nlohmann::json make_from_text(const std::string& text, const std::string& name) {
  const Budget budget;
  const architecture::Architecture a = architecture::parse_architecture(text, name);
  const verdict::Context context = verdict::analyse(a, budget);
  return certificate::make_certificate(context, nlohmann::json::parse(report::to_json(context.answer)));
}

std::string find_rejected_claim(const nlohmann::json& tree) {
  try {
    const checker::Report report = checker::check_certificate(certificate::print_canonical(tree));
    return report.confirmed ? "" : report.claim.empty() ? "unnamed" : report.claim;
  } catch (const checker::Malformed&) {
    return "malformed";
  }
}

bool is_confirmed(const nlohmann::json& certificate) { return find_rejected_claim(certificate).empty(); }

void renew_digest(nlohmann::json& tree) { tree["digest"] = sha256(certificate::print_canonical(tree["architecture"])); }

std::vector<std::string> list_small_cases() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SIGHTLINE_SOURCE_DIR) + "/tests/golden/cases")) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace certificates
