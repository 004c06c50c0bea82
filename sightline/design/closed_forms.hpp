// Inside of front.hpp: designs that are known from the group's name, at any number of tokens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/design/candidate.hpp"

namespace sightline::design {

/// What docs/theory.md 16.9 proves for the groups of families.hpp, E being the pattern known for each:
/// - E, gather, broadcast with one register: 3 layers; S_n: gather and broadcast alone;
/// - everything but E, repeated: 2 or 3 layers; E, then everything but E: 2 layers, or E twice before it: 3;
/// - rings and lattices: E repeated; C_n and D_n: windows, and steps of 1, 2, 4, ..: about log2 n layers;
/// - trivial: a path, one token that reads all, all read it: 3 layers without a register.
struct ClosedForm {
  struct Point {
    Candidate candidate;
    std::uint64_t layers = 0; ///< exactly so many are needed (docs/theory.md 16.9)
    std::uint64_t least = 0;  ///< no layout of the kind with so many layers attends fewer pairs
  };
  std::vector<Point> points;
  std::string name;          ///< the group's, as people write it
  bool few_orbitals = false; ///< one or two besides the diagonal: `least` says what all their unions cost
  bool transitive = false;
  std::string small; ///< a small member of the family, with the same points
};

/// Nothing when the text is not one of these names, or when n is below 3 (torus: sides below 5; hypercube: below 3).
/// Gather and broadcast are written as rows of one register up to 20,000 tokens (|E| + 2n pairs). Above, rows would be
/// megabytes of text, and both layers use "every token reads the register, the register reads all": |E| + 4n pairs.
/// That each point has exactly the symmetry and needs exactly its layers is proved in docs/theory.md 16.9.
[[nodiscard]] std::optional<ClosedForm> find_closed_form(const std::string& text);

} // namespace sightline::design
