// Inside of views.hpp: what one output sees, as a relational structure, and its isomorphism-invariant colouring. Not for other rooms.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/views.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::sight {

/// H_a of theory.md 10: vertices 0..tokens-1 are the tokens. What a does not see has a colour of its own and no rows, so the
/// isomorphisms H_a -> H_b, restricted to what is seen, are exactly Iso_m(a,b).
struct Rooted {
  symmetry::Structure structure;
  std::vector<bool> seen;                            ///< one per vertex of the structure
  std::vector<std::unique_ptr<layout::Relation>> owned;  ///< relations that live as long as the structure
  std::uint64_t work = 0;                            ///< steps it took to make
};

/// Makes H_a for every root a at one depth. Structures of one maker can be compared with each other.
class RootMaker {
public:
  virtual ~RootMaker() = default;
  [[nodiscard]] virtual Rooted make(Vertex root, const Budget& budget) = 0;
};

/// Tokens, and registers that are all different: a row is visible from the first layer that contains its relation, and
/// t_a(j) says which those are.
[[nodiscard]] std::unique_ptr<RootMaker> make_plain_roots(const Layout& layout, std::uint64_t depth);

/// Registers that start equal (theory.md 7.6, 15.8 g): vertices are the tokens and the distinct labels of registers at each time.
/// O(arcs * depth) per root; throws BudgetExhausted when one root alone takes too long.
[[nodiscard]] std::unique_ptr<RootMaker> make_register_roots(const Layout& layout, RegisterRows rows, std::uint64_t depth,
                                                             const Budget& budget);

/// The number of layers after which no further layer of the repeated list splits the labels of registers.
[[nodiscard]] std::uint64_t compute_register_settling(const Layout& layout, RegisterRows rows, const Budget& budget);

/// By relation: the first layer of the list that contains it, from 1; 0: none does.
[[nodiscard]] std::vector<std::uint64_t> compute_first_layers(const Layout& layout);

/// The first layer from which all kinds of rows have occurred: the largest first occurrence of a relation in the list.
[[nodiscard]] std::uint64_t compute_first_occurrence(const Layout& layout);

/// A depth from which on no isomorphism of rooted views comes or goes, and whether every vertex is then seen with all its rows.
struct Limit {
  std::uint64_t depth = 0;
  bool everything = false;
};
[[nodiscard]] Limit compute_limit(const ViewQuestion& question, const Budget& budget);

/// How many vertices each token does not see by the layers first + 1 .. depth alone; the others are seen with first layers to spare, t_a(j) >= first.
/// One reach; nothing where only a slow way would answer.
[[nodiscard]] std::optional<std::vector<Vertex>> count_unseen_behind(const Layout& layout, std::uint64_t first, std::uint64_t depth, const Budget& budget);

/// Tokens that at this depth have every row of their component in view (vertices that arcs join, whichever way they point). An isomorphism of
/// such a view moves the component onto itself or onto another one, so it extends to an automorphism of the layout; and no other view is
/// isomorphic to one: they explain themselves (docs/theory.md 16.25, 16.47 c). May miss some (large layouts, registers that start equal). One reach.
[[nodiscard]] std::vector<bool> find_complete_roots(const Layout& layout, std::uint64_t depth, const Budget& budget);
/// The same, from the records of the layout where they stand there.
[[nodiscard]] std::vector<bool> recall_complete_roots(const Layout& layout, std::uint64_t depth, const ViewRecords* records, const Budget& budget);

/// Takes away the roots, among those where is_alone says that nothing but the root matters, that see as many vertices as no other root: no isomorphism of views takes such a root to another
/// (docs/theory.md 16.118). @return  are there any where it says so?
bool drop_alone(const Layout& layout, std::uint64_t depth, const std::function<bool(Vertex)>& is_alone, std::vector<Vertex>& roots, const Budget& budget);

/// Colours that every isomorphism of rooted structures preserves: refinement of 64-bit hashes along visible rows, both ways,
/// until the number of colours stands still. Different hashes prove that vertices differ; equal ones prove nothing.
struct RootColours {
  std::vector<std::uint64_t> hash;  ///< one per vertex of the structure, or per place (view_colours.hpp)
  std::uint64_t invariant = 0;      ///< equal for isomorphic structures
  std::uint64_t work = 0;           ///< steps taken
  bool discrete = false;            ///< all seen vertices have different hashes: no automorphism but the identity
  const std::vector<Vertex>* vertex = nullptr;  ///< of each place, when hashes are by place
};
[[nodiscard]] RootColours compute_root_colours(const Rooted& rooted, const Budget& budget);

class RigidRows;

/// The same in one walk when no visible row repeats a colour but for the reader's own (relative positions, pairs): O(visible arcs). Nothing when one does.
/// Equal hashes then mean that an isomorphism, if there is one, maps the vertices onto each other. After `most_work` arcs the
/// walk stops: different invariants still prove that two views differ, provided both walks had the same bound.
/// `cache`, when given, keeps the rows of relations that live as long as it (sorted by colour) from one root to the next.
[[nodiscard]] std::optional<RootColours> find_rigid_colours(const Rooted& rooted, Vertex root, std::uint64_t most_work, const Budget& budget,
                                                            RigidRows* cache = nullptr);

/// Rows written out as (colour, vertex), the reader itself first, then by ascending colour, made when first asked for, up to a fixed number of arcs.
class RigidRows {
public:
  explicit RigidRows(const Budget& budget) : budget_(budget) {}
  using Row = std::vector<std::pair<std::int64_t, Vertex>>;
  /// Nothing when the row repeats a colour. The row may live in `spare`.
  const Row* find(const layout::Relation& relation, Vertex i, Row& spare);

private:
  static constexpr std::uint64_t most_arcs = std::uint64_t{1} << 24;
  static bool write(const layout::Relation& relation, Vertex i, Row& row);
  const Budget& budget_;
  std::uint64_t arcs_ = 0;
  std::vector<std::pair<const layout::Relation*, std::vector<std::unique_ptr<Row>>>> rows_;
};

/// Does no row of the layout repeat an effective colour, its reader left out? Then no view has an automorphism but the identity.
[[nodiscard]] bool is_rigid(const Layout& layout, const Budget& budget);

/// Are all rows directed downwards, and are all vertices different by what they read, recursively? Then an isomorphism between
/// views that hold every row of what they see moves nothing. False when that is not found out quickly. O(runs) or O(256 n).
[[nodiscard]] bool do_rows_name_tokens(const Layout& layout, const Budget& budget);

}  // namespace sightline::sight
