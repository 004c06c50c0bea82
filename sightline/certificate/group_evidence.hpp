// The certificate's evidence for groups: what lets a checker confirm without search that the automorphisms found are all there are.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/permutation.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/symmetry/orbits.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::certificate {

// Permutations are text for print_canonical in all of these (a binary value): of millions of stretches no tree is made.

/// Stretches [first, count, image, direction] of what moves (docs/certificate.md). O(moved points).
[[nodiscard]] nlohmann::json to_evidence(const symmetry::MovedPairs& moved);
[[nodiscard]] nlohmann::json to_evidence(const group::Permutation& permutation);
/// Points, and lists of points, as they are.
[[nodiscard]] nlohmann::json to_evidence(const std::vector<group::Point>& points);
[[nodiscard]] nlohmann::json to_evidence(const std::vector<std::vector<group::Point>>& classes);

/// Evidence for compute_token_automorphisms(structure, tokens): {"failed","generators","path","twins"} (docs/certificate.md,
/// "Groups"). The lower bound is the generators' orbits along the path, the upper bound the cells of colour refinement and,
/// where a cell is larger than the orbit, a tree under which every further choice is refuted.
/// Cost: the search once more, plus the trees. Throws BudgetExhausted.
[[nodiscard]] nlohmann::json make_group_evidence(const symmetry::Structure& structure, symmetry::Vertex tokens, const Budget& budget);

/// The same from a search that was recorded, when it is tight; the certificate is the same byte by byte.
[[nodiscard]] nlohmann::json to_evidence(const symmetry::SearchRecord& record);

/// Evidence that no isomorphism a -> b maps pairs[k].first to pairs[k].second for all k: {"generators","path","tree","twins"}.
/// ArgumentError when there is one. Both have the same number of vertices and relations.
[[nodiscard]] nlohmann::json make_no_isomorphism_evidence(const symmetry::Structure& a, const symmetry::Structure& b,
                                                          const std::vector<std::pair<symmetry::Vertex, symmetry::Vertex>>& pairs,
                                                          const Budget& budget);

}  // namespace sightline::certificate
