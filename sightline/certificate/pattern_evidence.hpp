// The certificate's "patterns": every distinct pattern of an architecture as runs (docs/certificate.md, "patterns").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::certificate {

/// One pattern: {"lists":..,"segments":..,"vertices":..}. A segment of the pattern is cut only where a bound of one of its runs begins or
/// stops to move with the reader; stretches that lists share are written once. O(runs stored, times the cuts of their segment).
[[nodiscard]] nlohmann::json to_evidence(const layout::Pattern& pattern);

/// All of them, in the order in which the checker asks for them: layer by layer and head by head, each once; what a pattern takes on
/// trust (the rows of bigbird, random and file before `causal`) stands before it. Throws as make_layout does. As canonical text: in a large
/// certificate they are nearly everything.
[[nodiscard]] std::string write_pattern_evidence(const architecture::Architecture& architecture, const Budget& budget);
/// The same as a tree.
[[nodiscard]] nlohmann::json make_pattern_evidence(const architecture::Architecture& architecture, const Budget& budget);

}  // namespace sightline::certificate
