// The certificate's "patterns": every distinct pattern of an architecture as runs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sightline/layout/pattern.hpp"

namespace sightline::certificate {

/// {"lists":..,"segments":..,"vertices":..} as docs/certificate.md says. O(runs stored).
[[nodiscard]] nlohmann::json to_evidence(const layout::Pattern& pattern);

}  // namespace sightline::certificate
