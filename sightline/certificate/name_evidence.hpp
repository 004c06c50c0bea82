// The certificate's evidence for names of groups.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sightline/group/name.hpp"
#include "sightline/verdict/answer.hpp"

namespace sightline::certificate {

/// {"kind","elements"?,"actions"?,"blocks"?,"proof"?,"proofs"?} (docs/certificate.md, "Names"). O(points written).
[[nodiscard]] nlohmann::json to_evidence(const group::NameProof& proof);
/// {"name","proof"?}: the name is repeated, so that it cannot be changed in one place.
[[nodiscard]] nlohmann::json make_name_evidence(const verdict::GroupAnswer& group);

}  // namespace sightline::certificate
