// Theorem E: the smallest group G*_m of a layout of continuous tokens, the exact number of layers, and collisions as
// witnesses (theory.md 2.4, 2.5, 7.6, 10).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/reach.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::sight {

/// Two outputs that no network of this depth can tell apart: tau in Iso_m(a,b), not the restriction of an element of G.
/// `tau` maps the tokens seen by a to the tokens seen by b (sorted by first; all tokens when everything is seen):
/// F(X)_a = F(Y)_b for every Y with Y_{tau(j)} = X_j on those tokens.
struct Collision {
  Vertex a = 0, b = 0;
  std::vector<std::pair<Vertex, Vertex>> tau;
};

/// How registers that start equal are compared in a row (theory.md 2.5, 7.6): normalised rows count frequencies.
enum class RegisterRows { frequencies, multisets };

/// Searches for the automorphisms of views of one layout, by depth and root: what certificates would otherwise find again. At most `most` of
/// them, tight ones, of layouts without registers that start equal.
struct ViewRecords {
  static constexpr std::size_t most = 16;
  std::map<std::pair<std::uint64_t, Vertex>, symmetry::SearchRecord> by_root;
  /// Views in which every token has a colour of its own: their invariant, and the steps it took to find out.
  struct Discrete {
    std::uint64_t invariant = 0, work = 0;
  };
  std::map<std::uint64_t, std::unordered_map<Vertex, Discrete>> discrete;  ///< by depth and root
  std::map<std::uint64_t, std::vector<bool>> complete;  ///< by depth: the roots that see all rows (`find_complete_roots`)
  /// Depths at which all isomorphisms of views are known to be in the layout's own group.
  std::set<std::uint64_t> explained;
  /// Depths at which that holds for the roots whose views do not hold all rows of one of `parts`.
  std::set<std::uint64_t> explained_beyond_parts;
  /// By depth: the roots at which nothing but looking at each tells that, or its contrary, where the ways that look at all of them at once have been tried.
  std::map<std::uint64_t, std::vector<Vertex>> open;
  /// Depths at which times and lines were asked about all roots, and told nothing.
  std::set<std::uint64_t> times_asked;
  /// The relations that have occurred by a layer, by themselves: is their group the layout's own? With the search for it.
  struct Part {
    bool is_own = false;
    symmetry::SearchRecord search;
  };
  std::map<std::uint64_t, Part> parts;
  /// By depth: the symmetric classes of a group within which colours told all views apart, and whatever is in each.
  std::map<std::uint64_t, std::vector<Vertex>> told;
  /// By depth: the roots whose views' groups made the layout's own grow to all isomorphisms of views. None where maps between views had to.
  std::map<std::uint64_t, std::vector<Vertex>> contributors;
};

/// The question "is every isomorphism of rooted views of depth m in G?".
struct ViewQuestion {
  const Layout* layout = nullptr;
  /// The group G of the target on tokens, and the layout's own group; G == layout group when target.symmetry = "layout".
  const group::Group* target = nullptr;
  const group::Group* layout_group = nullptr;
  ClassKind target_class = ClassKind::all;
  RegisterRows register_rows = RegisterRows::frequencies;
  ViewRecords* records = nullptr;  ///< filled on the way, where it is there
  /// Who is in the target's group, made when first asked for and shared by copies of the question: for large groups that takes as long as all else.
  std::shared_ptr<std::optional<group::Membership>> target_member = {};
};

/// A collision at depth m, or nothing when there is none. For target_class `all` the caller has checked (R); for `causal`
/// and `seen` views are compared on what is seen (CLASS-UAP, theory.md 2.4). Exact; throws BudgetExhausted.
[[nodiscard]] std::optional<Collision> find_collision(const ViewQuestion& question, std::uint64_t depth, const Budget& budget);

/// G*_m, exact with order, or nothing when (R) fails at m. Throws BudgetExhausted when it is out of reach.
[[nodiscard]] std::optional<group::Group> compute_expressed_group(const ViewQuestion& question, std::uint64_t depth, const Budget& budget);

/// The limit of G*_m for the list repeated for ever (theory.md E2: reached at m0 + L, later only with equal registers).
[[nodiscard]] std::optional<group::Group> compute_limit_group(const ViewQuestion& question, const Budget& budget);

/// The layout's group where names or a theorem show it in a few passes over the rows: trivial, where rows go down and tokens differ by what they read;
/// the identity and the reflection of the line, for strided rows both ways (docs/theory.md 16.34). Nothing elsewhere. Exact. O(runs).
/// @param record  what a certificate needs, as a search would have left it
[[nodiscard]] std::optional<group::Group> find_named_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord& record);

/// The group of the circle, dihedral or cyclic, where rows are one another's translates around it and two tokens a step apart are told from all others by what
/// they read in common (docs/theory.md 16.82). Nothing elsewhere. Exact. O(runs + n + intervals of a row squared).
/// @param record  what a certificate needs
[[nodiscard]] std::optional<group::Group> find_circulant_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord& record);

/// The identity and the reflection of the line, or the identity alone, where tokens and those that read them or are read by them are intervals of some relation, no two
/// alike (docs/theory.md 16.102). Nothing elsewhere, and with registers. Exact. O(runs + n).
/// @param record  what a certificate needs
[[nodiscard]] std::optional<group::Group> find_interval_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord& record);

/// Of layouts whose tokens read their rows and columns of a grid in full, beside what leaves the identity and one map along rows, and along columns, at most: reflections, and rows made columns
/// (docs/theory.md 16.107). Nothing elsewhere, and with registers. Exact. O(runs), some refinements of one row and of one column, and three comparisons of all rows.
/// @param record  what a certificate needs
[[nodiscard]] std::optional<group::Group> find_cross_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord& record);

/// Least m (the list repeated) with everything wanted in view and no collision.
struct Needed {
  std::optional<std::uint64_t> layers;      ///< null: never, or only bounds are known
  bool never = false;                       ///< proved that no depth suffices
  std::uint64_t start = 0;                  ///< layers until everything wanted is in view, when it ever is
  std::uint64_t low = 0, high = 0;          ///< bounds when neither is known (high = 0: none)
  std::optional<Collision> below;           ///< collision at layers - 1 (or at every depth when never), where that is what stops it
  std::optional<UnreachablePair> missing;   ///< pair missed at layers - 1 (or for ever), where that is what stops it
  std::string why;                          ///< one sentence for people
};
[[nodiscard]] Needed compute_needed(const ViewQuestion& question, const Budget& budget);

}  // namespace sightline::sight
