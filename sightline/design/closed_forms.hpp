// Inside of front.hpp: designs that are known from the group's name, at any number of tokens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/design/candidate.hpp"

namespace sightline::design {

/// Families whose cheapest pattern E is known: C_n (one step: n pairs), D_n (ring: 2n), torus(a,b) (four neighbours: 4n),
/// S_n (nothing), S_a wr S_b (blocks), trivial(n) (a directed path: n - 1; only up to 500 tokens), under either of their names.
struct ClosedForm {
  /// E, and for transitive families the lists offered as they stand, with the number of layers at which to begin.
  std::vector<std::pair<Candidate, std::uint64_t>> candidates;
};

/// Nothing when the text is not exactly one of these, or when n is below 3 (torus: sides below 5).
/// Gather and broadcast are written as rows of one register up to 20,000 tokens (|E| + 2n pairs). Above, rows would be
/// megabytes of text, and both layers use "every token reads the register, the register reads all": |E| + 4n pairs.
[[nodiscard]] std::optional<ClosedForm> find_closed_form(const std::string& text);

}  // namespace sightline::design
