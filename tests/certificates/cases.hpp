// Architectures that every slice of the certificate is tried on.
#pragma once

#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"

namespace sightline::testing {

struct Case {
  std::string name;
  architecture::Architecture architecture;
};

/// All golden cases, examples and imported configs of real models, with at most this many tokens.
[[nodiscard]] std::vector<Case> read_cases(std::int64_t most_tokens);

}  // namespace sightline::testing
