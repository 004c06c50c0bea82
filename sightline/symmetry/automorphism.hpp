// Our own engine for automorphisms and isomorphisms: twin quotient, colour refinement on runs, individualisation-refinement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"
#include "sightline/symmetry/orbits.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::symmetry {

/// The automorphism group, exact: every generator is verified arc by arc on runs before it is returned, the order is
/// product of factorials of twin classes times the order of the quotient from the search.
/// Twins: two vertices whose swap is an automorphism. Throws BudgetExhausted, Interrupted, ArgumentError (sizes that
/// contradict each other).
///
/// Three stages, each exact by itself:
///  1. twin classes (twins.hpp) contribute their symmetric groups and shrink to one vertex each, until none is left:
///     O(runs + n log n) per relation and round;
///  2. colour refinement in rounds (refinement.hpp): O(spans that changed + vertices touched) per round;
///  3. individualisation-refinement (search.hpp): one first path, then one verified generator or one failed subtree per
///     vertex of a target cell that is not known to lie in the orbit of the chosen one.
/// On block masks the quotient is all; on windows, strides and grids a handful of leaves are visited. Worst case
/// exponential in the number of vertices that must be individualised; right whenever it returns.
/// Memory: O(n + runs + runs of the columns) of what is left after stage 1.
[[nodiscard]] group::Group compute_automorphisms(const Structure& structure, const Budget& budget);

/// The same group restricted to the tokens 0..tokens-1, which no automorphism may mix with the rest (a colour on either side
/// of `tokens` never occurs on the other). Cheaper than restrict_to_tokens: the search fixes tokens first, so the order of
/// what moves registers only is read off its chain of stabilisers.
/// @param record  when not nullptr: what the search found, for a certificate
struct SearchRecord;
[[nodiscard]] group::Group compute_token_automorphisms(const Structure& structure, Vertex tokens, const Budget& budget, SearchRecord* record = nullptr);

/// Evidence that fell off on the way, in original vertices: a vertex of the last quotient is the least one of its fibre.
struct SearchRecord {
  /// Is this all that a certificate needs? Then on every level of the path the generators that fix what comes before move the chosen vertex
  /// through its whole cell. Else subtrees have to be refuted in writing.
  bool is_tight = false;
  std::vector<MovedPairs> generators;
  std::vector<Vertex> path;
  std::vector<std::vector<std::vector<std::int64_t>>> inner_colours;  ///< stage by stage, by relation (twins.hpp)
};

/// The image of a group on vertices in Sym(tokens): every element restricted to 0..tokens-1 (which it must preserve),
/// with the exact order of the restriction (elements that move registers only are factored out).
[[nodiscard]] group::Group restrict_to_tokens(const group::Group& group, Vertex tokens, const Budget& budget);

/// The group of a layout as format.md defines it, on tokens.
[[nodiscard]] group::Group compute_layout_group(const layout::Layout& layout, const Budget& budget, SearchRecord* record = nullptr);

/// The same where many vertices share each row and few classes of twins are left (listed_twins.hpp). Nothing elsewhere, soon.
[[nodiscard]] std::optional<group::Group> find_listed_group(const layout::Layout& layout, const Budget& budget, SearchRecord* record);

/// An isomorphism a -> b (as images of 0..vertices-1), verified, or nothing when there is none. Both structures must have
/// the same number of vertices and relations. Colours are compared by value.
[[nodiscard]] std::optional<std::vector<Vertex>> find_isomorphism(const Structure& a, const Structure& b, const Budget& budget);

/// Does x -> images[x] preserve the structure? O(runs), exact.
[[nodiscard]] bool is_automorphism(const Structure& structure, const group::Permutation& permutation, const Budget& budget);

/// is_automorphism for many permutations of one structure: its rows and columns are written down once, and a permutation that
/// moves little costs only the rows and columns of what it moves.
class AutomorphismTest {
public:
  /// The structure must outlive nothing: it is copied into runs. O(runs), memory as compute_automorphisms.
  AutomorphismTest(const Structure& structure, const Budget& budget);
  ~AutomorphismTest();
  AutomorphismTest(const AutomorphismTest&) = delete;
  AutomorphismTest& operator=(const AutomorphismTest&) = delete;
  [[nodiscard]] bool operator()(const group::Permutation& permutation) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sightline::symmetry
