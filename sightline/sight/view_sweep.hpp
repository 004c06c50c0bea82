// Inside of views.hpp: one pass over the isomorphisms of rooted views, up to what a group already explains. Not for other rooms.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sightline/sight/descending_views.hpp"
#include "sightline/sight/product_views.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_colours.hpp"
#include "sightline/sight/wanted_pairs.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::sight {

class PartedClass;

/// What the class lets output a depend on, made invariant under G: W(a) = the tokens j with g(j) in the class's set of g(a)
/// for every g in G. Only those tokens of a view matter to a G-equivariant target.
class WantedTokens {
public:
  WantedTokens(const ViewQuestion& question, const Budget& budget);
  [[nodiscard]] bool everything() const { return everything_; }
  /// One orbit, and W(a) = {a} for every a: whatever takes one token to another is explained, and nobody need see anybody else. Sums over G of
  /// g(a) - g(j) are 0 within an orbit, so that this holds for all causal targets whose group is transitive (docs/theory.md 16.93).
  [[nodiscard]] bool own_only() const { return own_only_; }
  /// W(a) = {a}, as far as is known at once?
  [[nodiscard]] bool own_only(Vertex a) const { return own_only_ || (pairs_ && pairs_->own_only(a)); }
  /// False: the permutation moves nothing of W(a), so that the identity does what it does. O(tokens moved).
  [[nodiscard]] bool may_be_moved(Vertex a, const group::Permutation& tau) const;
  /// By token. Good until it is asked about another token; one thread at a time.
  [[nodiscard]] const std::vector<bool>& of(Vertex a) const;
  /// Where the group permutes parts: the same sets, unwritten. Else null.
  [[nodiscard]] const PartedClass* parts() const { return parts_.get(); }

private:
  [[nodiscard]] std::vector<bool> list(Vertex a) const;

  const ViewQuestion& question_;
  const Budget budget_;  ///< its own: what the sets take is given back when they go
  bool everything_ = false, own_only_ = false;
  std::shared_ptr<const PartedClass> parts_;
  std::optional<WantedPairs> pairs_;  // none: as the class says, or as parts_ does
  mutable std::optional<std::pair<Vertex, std::vector<bool>>> last_;  // many maps of one view are asked about one after another
};

/// An isomorphism H_a -> H_b on the tokens that a sees, sorted by first.
using Move = Collision;

/// Walks over generators of all isomorphisms between rooted views (theory.md 10): for one root per orbit of the layout's
/// group the automorphisms of H_a, and one isomorphism per pair of isomorphic roots. A move that the group explains is
/// passed over in silence, any other is handed to `found`.
class ViewSweep {
public:
  ViewSweep(const ViewQuestion& question, std::uint64_t depth, const Budget& budget);
  virtual ~ViewSweep() = default;
  /// False when `found` stopped it.
  bool run();

protected:
  /// Is there an element of the group that agrees with the move on what matters?
  [[nodiscard]] virtual bool explains(const Move& move) const = 0;
  /// Does the permutation move nothing that matters to a? Asked before moves are written down.
  [[nodiscard]] virtual bool leaves(Vertex, const group::Permutation&) const { return false; }
  /// Does nothing but a itself matter to a? Then no symmetry of its view does (docs/theory.md 16.118).
  [[nodiscard]] virtual bool is_alone(Vertex) const { return false; }
  /// Numbers tokens so that every permutation within equal numbers is in the group.
  [[nodiscard]] virtual const std::vector<Vertex>& symmetric_class() const = 0;
  /// A move outside of the group; false stops the sweep.
  virtual bool found(const Move& move) = 0;
  /// Takes in the automorphisms of a whole view at once; false: the moves are to be judged one by one.
  virtual bool absorb(Vertex root, const group::Group& automorphisms) = 0;
  /// Does the group hold the layout's own?
  [[nodiscard]] virtual bool holds_layout_group() const = 0;
  /// Is any one move outside enough?
  [[nodiscard]] virtual bool first_only() const = 0;

  /// Asks about a move of one view that was found at a smaller depth; false where it stops the sweep. On large layouts.
  bool try_again(const Move& known);

  /// Is the permutation of the tokens in the layout's group? Exact without a stabiliser chain, unless registers start equal.
  [[nodiscard]] bool is_layout_symmetry(const group::Permutation& tau) const;
  /// Is it one of the generators of the layout's group? O(what it moves).
  [[nodiscard]] bool is_layout_generator(const group::Permutation& tau) const;

  const ViewQuestion& question_;
  const Budget& budget_;

private:
  using Cluster = std::vector<Vertex>;

  bool try_suspects(const std::vector<ProductViews::Suspect>& suspects);
  bool do_rows_explain(const std::vector<Vertex>& roots);
  bool try_alike(const AlikeVertices& alike);
  bool try_hidden_twins(const std::vector<Vertex>& roots);
  std::vector<std::vector<Vertex>> find_alike_walks(std::vector<Vertex> roots);
  bool sample_twins(const std::vector<Vertex>& roots);
  bool sample_group(const std::vector<Vertex>& roots);
  [[nodiscard]] ViewColours::Colours colour(Vertex a);
  bool visit_root(Vertex a, const ViewColours::Colours& colours);
  bool visit_twins(Vertex a, const ViewColours::Colours& colours);
  bool is_swap_of_view(Vertex a, const group::Permutation& swap) const;
  /// False where it is a symmetry of what a sees that ends the sweep.
  [[nodiscard]] bool try_swap(Vertex a, const group::Permutation& swap);
  [[nodiscard]] const std::vector<std::int64_t>& latest_of(Vertex a) const;  ///< compute_latest, until another root is asked about
  bool visit_group(Vertex a, const Rooted& rooted);
  bool visit_pairs(const std::vector<Vertex>& roots);
  [[nodiscard]] bool covers(const RootColours& first, const RootColours& second) const;
  bool judge(const Move& move);
  void charge(std::uint64_t amount);
  [[nodiscard]] std::uint64_t allowed_work() const;

  std::unique_ptr<RootMaker> maker_;
  mutable std::vector<const group::Permutation*> generators_;  ///< of the layout's group, sorted, once they were asked about
  symmetry::Structure layout_structure_;
  mutable std::unique_ptr<symmetry::AutomorphismTest> layout_test_;
  mutable std::vector<group::Permutation> symmetries_;  ///< some that the test has confirmed
  mutable std::vector<std::pair<std::uint64_t, Vertex>> slots_;
  mutable std::optional<std::pair<Vertex, std::vector<std::int64_t>>> latest_;  ///< of the root that was asked about last
  std::optional<ViewColours> views_;
  std::uint64_t depth_;
  mutable std::unique_ptr<group::Membership> layout_member_;
  std::uint64_t work_ = 0;
  std::vector<Vertex> searched_;  ///< the roots of views that were searched, because their colours did not tell all
};

/// The reflection of the line. @param record  what a search would have left is added
[[nodiscard]] group::Group make_reflection_group(Vertex tokens, symmetry::SearchRecord& record);

/// Numbers of the symmetric classes of a group: equal exactly inside a class.
[[nodiscard]] std::vector<Vertex> number_symmetric_classes(const group::Group& group);

/// Do the members of every symmetric class of the group have one number?
[[nodiscard]] bool are_classes_uniform(const group::Group& group, const std::vector<Vertex>& number);

/// The move of a permutation of the tokens on a rooted view.
[[nodiscard]] Move make_move(Vertex a, const group::Permutation& tau, const std::vector<Vertex>& seen);
/// The tokens in sight, in order.
[[nodiscard]] std::vector<Vertex> list_seen(const std::vector<bool>& seen, Vertex tokens);
/// The same from t_a(j), negative for those out of sight.
[[nodiscard]] std::vector<Vertex> list_seen(const std::vector<std::int64_t>& latest, Vertex tokens);
/// What a move does in sight of its root, and nothing elsewhere; nothing where it leaves what is in sight. `tau` in order.
[[nodiscard]] std::optional<group::Permutation> permute_seen(const Move& move);

/// Do all isomorphisms between the views of these roots (one per orbit) stay within equal numbers? Shown by what they keep of each vertex alone:
/// its colour, the time t_a(j) left to it, whether it is the root, and the colours of its visible rows. False may mean: not found out, and
/// registers that start equal or too many vertices. O(roots * vertices + visible runs).
[[nodiscard]] bool do_times_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                                    const Budget& budget);
/// Are so many views of so many vertices not too much for it?
[[nodiscard]] bool are_times_few(std::size_t roots, Vertex vertices);

/// Is every isomorphism between two views of this depth what an automorphism of the layout does there? Shown from rows that are one another's
/// translates: rows that go down, whose readers name all tokens, and strided rows both ways (docs/theory.md 16.27). False may mean: not found out.
/// O(runs).
[[nodiscard]] bool do_translates_explain(const Layout& layout, std::uint64_t depth, const Budget& budget);

/// Are there no isomorphisms of views of this depth but identities? Shown for causal windows, with or without first tokens that all read (sinks), in one layer or several
/// (docs/theory.md 16.113). False may mean: not found out. O(runs), and one reach.
[[nodiscard]] bool do_windows_explain(const Layout& layout, std::uint64_t depth, const Budget& budget);

/// Are there no isomorphisms between views of this depth but identities? Shown where every colour stands at one offset j - i only and every token sees
/// every token (docs/theory.md 16.31). False may mean: not found out, registers. O(runs, and arcs of different ones).
[[nodiscard]] bool do_offsets_explain(const Layout& layout, std::uint64_t depth, const Budget& budget);

/// Is every isomorphism of the views of these roots (one per orbit) what an automorphism of the layout does there? Shown where colours tell neighbours on the line
/// from others and everything is fixed from an end of the line on, or from tokens like no other (docs/theory.md 16.56). False may mean: not found out, registers.
/// O(runs), for each of a few clusters of roots.
[[nodiscard]] bool do_lines_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const Budget& budget);

/// Is every isomorphism between views of this depth what an automorphism of the layout does there? Shown where every token reads its row and its column of a grid in full, by one
/// relation or by two, and what else is read along rows, alike in each of them, and along columns, leaves few maps, all of which are `is_symmetry` (docs/theory.md 16.107). False may
/// mean: not found out. O(runs), some refinements of one row and of one column, and one test of each map.
[[nodiscard]] bool do_crosses_explain(const Layout& layout, std::uint64_t depth, const std::function<bool(const group::Permutation&)>& is_symmetry, const Budget& budget);

/// Is every isomorphism of the views of these roots (one per orbit) what an automorphism of the layout does there? Shown where the rows that all of them see leave a
/// vertex few places to go to, and each of these says where all others go: maps that are symmetries of the layout, or that no root's own rows allow
/// (docs/theory.md 16.62). False may mean: not found out. O(arcs of the rows that all see, and of those of the roots), for each of a few places.
[[nodiscard]] bool do_matchings_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots,
                                        const std::function<bool(const group::Permutation&)>& is_symmetry, const Budget& budget);

/// The same where the layout falls apart into residues or segments, each of which is a layout on the line of its own (dilated windows; docs/theory.md 16.73), and one of these ways
/// tells for each of them. False may mean: not found out. O(ranges) beside these ways.
[[nodiscard]] bool do_closed_parts_explain(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                                           const std::function<bool(const group::Permutation&)>& is_symmetry, const Budget& budget);

/// Is every isomorphism of the views of these roots (one per orbit of the group) what the layout's group does, or within equal numbers? Roots of which that is known are taken away.
struct SurroundingsQuestion {
  const Layout* layout = nullptr;
  const group::Group* group = nullptr;  ///< automorphisms of the layout: their orbits and classes
  std::uint64_t depth = 0;
  std::vector<Vertex>* roots = nullptr;
  const std::vector<Vertex>* number = nullptr;
  std::uint64_t most_local = 0;                              ///< steps that small views may take, more than a few (`allow_local_steps`)
  std::size_t few_roots = few_near_roots;                    ///< no more roots, or a smaller layout: compared one by one
  Vertex few_vertices = few_near_vertices;
  std::function<bool()> is_rigid;                            ///< nothing: it is not
  bool is_open = false;                                      ///< nothing explains, as was found before: `views` are made alone
  std::function<bool(const AlikeVertices&)> is_refuted;      ///< asked about two that rows which go down do not tell apart
};
/// Where more is to be looked at for the surroundings of all roots than for the views of these, the latter are compared. The sweep and what writes evidence ask here:
/// what one of them finds out by itself, and the checker with its own bound does not, would be written down by neither.
[[nodiscard]] std::uint64_t allow_local_steps(const Layout& layout, const std::vector<Vertex>& roots);
enum class SurroundingsAnswer { explained, refuted, open };
/// Small views of a few steps, rows that go down, what is near the roots, larger small views: the first that explains. @param views  made on the way
[[nodiscard]] SurroundingsAnswer explain_surroundings(const SurroundingsQuestion& question, std::optional<ViewColours>& views, const Budget& budget);

/// By vertex, at most t_a(j) for all of these roots a: what all of them read in one layer, and what is seen from there. -1: nothing is known.
[[nodiscard]] std::vector<std::int64_t> bound_times(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const Budget& budget);

/// Takes away the roots a with t_a(j) >= F for all vertices j, F a layer by which some relations have occurred whose automorphisms are no more than the layout's
/// (docs/theory.md 16.39). Returns this F, the least, or nothing. One reach and one search for each F tried.
std::vector<std::uint64_t> drop_partly_complete(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots,
                                                ViewRecords* records, const Budget& budget);
/// Is every automorphism of the view what one of the layout's does there? Shown where naming each token of the smallest cell tells all in sight apart, and generators of
/// the layout's group that fix the root exchange any two of that cell (docs/theory.md 16.106). False may mean: not found out. Two refinements of the view.
[[nodiscard]] bool does_cell_explain(Rooted rooted, Vertex root, const Layout& layout, const group::Group& layout_group, const Budget& budget);
/// Is that worth asking? A search finds few generators as quickly as a view is refined.
[[nodiscard]] bool do_many_generators_fix(const group::Group& layout_group, Vertex root);

/// Takes away the roots that hold all rows of what they see, where all reading ends in one set that reads itself, rows name all vertices beside it, and its own rows have
/// no more symmetries than the layout (docs/theory.md 16.105). Were there any? Two reaches, O(runs), and one search on that set.
bool drop_grounded(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots, ViewRecords& records, const Budget& budget);
/// The same for roots that see, without such a set, no tokens but those that rows tell from all that differ in `number` (docs/theory.md 16.117): what keeps all rows exchanges none
/// of these.
/// @param number  by token; isomorphisms within equal numbers are explained. A few times O(runs), then two reaches.
bool drop_told_by_rows(const Layout& layout, const std::vector<Vertex>& number, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget);
/// Takes away those of these roots that hold all rows of what they ever see: it comes into view with layers enough left for all relations. Were there any? Two reaches.
bool drop_whole(const Layout& layout, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget, const std::function<bool(Vertex)>& is_asked = [](Vertex) { return true; });
/// That set and its rows, in one layer; nothing: there is none, or it was not found out.
[[nodiscard]] std::optional<Layout> make_ground(const Layout& layout, const Budget& budget);
/// Its place among the parts of ViewRecords, which are layers beside it.
inline constexpr std::uint64_t ground_part = 0;
/// All vertices, and the relations that have occurred by layer `first`, in one layer.
[[nodiscard]] Layout make_part(const Layout& layout, std::uint64_t first);

/// Comparing fewer is as quick.
inline constexpr Threshold<std::size_t> fewest_named_roots{64, 1, "named views"};
/// Takes away the roots of whose views all isomorphisms stay within the symmetric classes of the layout's group: those of one layer, listed as often as you like, most of whose vertices are
/// surrounded like no other within a few layers, which fixes them, and with them what they read (docs/theory.md 16.115). Were there any? Long rows, several layers: not even tried.
/// O(arcs) for each few layers, and O(arcs * roots / 512) a few times.
bool drop_named(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget, std::size_t fewest_roots = fewest_named_roots);

/// Does the swap of x and y keep every visible row of the layout, and colours and times? Row q of j is visible when q <= latest[j]; `latest` empty: all are.
/// Nothing when rows have positions, which is left to others. O(vertices + runs of different rows).
[[nodiscard]] std::optional<bool> is_swap_symmetric(const Layout& layout, const std::vector<std::int64_t>& latest, Vertex x, Vertex y, const Budget& budget);

/// `count` of the roots, spread evenly, without repeats.
[[nodiscard]] std::vector<Vertex> choose_samples(const std::vector<Vertex>& roots, std::size_t count);

/// find_collision when the limit is known already. @param before  one of a smaller depth, which is asked about first
[[nodiscard]] std::optional<Collision> find_collision_within(const ViewQuestion& question, std::uint64_t depth, const Limit& limit, const Budget& budget,
                                                             const std::optional<Collision>& before = std::nullopt);

}  // namespace sightline::sight
