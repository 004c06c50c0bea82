// What the library found about kernels and activations that are given as expressions: the checker takes it on trust, and says so.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::certificate {

/// Adds "kernels" and "activations" to the evidence: lists of pairs [expression, facts], one per expression (docs/certificate.md).
/// @param canonical  the architecture as canonical JSON
void add_fact_evidence(nlohmann::json& evidence, const architecture::Architecture& architecture, const nlohmann::json& canonical,
                       const Budget& budget);

}  // namespace sightline::certificate
