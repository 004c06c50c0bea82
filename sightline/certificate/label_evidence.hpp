// The certificate's "ids": two id sequences of one label, where labels were enumerated.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sightline/verdict/id_layers.hpp"

namespace sightline::certificate {

/// {"at_given":{"a","b","x","y"},"below":{..}}, as docs/certificate.md says: what a checker would have to search for. Null when there
/// is nothing to show (closed forms show their collisions themselves). O(tokens).
[[nodiscard]] nlohmann::json to_evidence(const verdict::IdLayers& layers);

}  // namespace sightline::certificate
