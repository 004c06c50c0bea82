// Inside of front.hpp: designs that are known from the group's name, at any number of tokens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/design/candidate.hpp"

namespace sightline::design {

/// Families whose cheapest pattern E is known: C_n (one step: n pairs), D_n (ring: 2n), torus(a,b) (four neighbours:
/// 4n), S_n (nothing), S_a wr S_b and B_k (blocks), trivial(n) (a directed path: n - 1), under either of their names.
struct ClosedForm {
  struct Point {
    Candidate candidate;
    std::uint64_t layers = 0; ///< exactly so many are needed (docs/theory.md 16.9)
    std::uint64_t least = 0;  ///< no layout of the kind with so many layers attends fewer pairs
  };
  std::vector<Point> points;
  std::string name;          ///< as find_name says it at small lengths; empty when it says nothing
  bool few_orbitals = false; ///< one or two besides the diagonal: `least` says what all their unions cost
  std::string small;         ///< a small member of the family, with the same points
};

/// Nothing when the text is not exactly one of these, or when n is below 3 (torus: sides below 5).
/// Gather and broadcast are written as rows of one register up to 20,000 tokens (|E| + 2n pairs). Above, rows would be
/// megabytes of text, and both layers use "every token reads the register, the register reads all": |E| + 4n pairs.
/// That each point has exactly the symmetry and needs exactly its layers is proved in docs/theory.md 16.9.
[[nodiscard]] std::optional<ClosedForm> find_closed_form(const std::string& text);

} // namespace sightline::design
