// Pairs of inputs on which mixers are known to fail: theory.md 3.11 and section 5.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sightline/falsify/mixer.hpp"
#include "sightline/group/group.hpp"

namespace sightline::falsify {

/// Two inputs in different orbits of G that share at least one token.
struct Pair {
  std::string name;  ///< "equal moments, degree 3", "antipodal blocks", ...
  Sample x, y;
  /// Positions (a, b) with x[a] = y[b]: what one mixing layer must tell apart. Never empty.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> list_collisions() const;
};

/// The candidates for that many tokens of that width, the same for the same seed: permuted copies (when G is not S_n),
/// equal moments of degree 1 to 5, antipodal and scaled blocks, one token changed, a translated copy. Pairs that need more
/// tokens than there are are left out and named in `left_out`.
struct Candidates {
  std::vector<Pair> pairs;
  std::vector<std::string> left_out;
};
[[nodiscard]] Candidates make_candidates(std::size_t tokens, std::size_t dim, const group::Group& symmetry, std::uint64_t seed, const Budget& budget);

}  // namespace sightline::falsify
