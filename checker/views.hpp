// Inside of sight.hpp: H_a, what one output sees, as a structure (theory 10, 7.6, 15.8 g), and what all its isomorphisms preserve.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "distinct.hpp"
#include "even_steps.hpp"
#include "reach.hpp"
#include "threshold.hpp"

namespace checker {

/// Vertices 0 .. tokens-1 are the tokens. What a does not see has a colour of its own and no rows, so that the isomorphisms
/// H_a -> H_b, restricted to what is seen, are exactly Iso_m(a,b).
struct Rooted {
  Structure structure;
  std::vector<bool> seen;                         ///< by vertex of the structure
  std::vector<std::unique_ptr<Relation>> owned;   ///< relations that live as long as the structure
};

/// Hashes that every isomorphism preserves: different ones prove that vertices, or whole views, differ; equal ones prove nothing.
struct RootColours {
  std::vector<std::uint64_t> hash;  ///< by vertex
  std::uint64_t invariant = 0;
  bool discrete = false;            ///< all seen vertices have different hashes, or the walk numbered them all
};
[[nodiscard]] RootColours colour_root(const Rooted& rooted);

/// Rows sorted by colour behind their reader, kept for the many walks that read them again, up to a fixed number of arcs.
class SortedRows {
public:
  using Row = std::vector<std::pair<std::int64_t, Vertex>>;
  [[nodiscard]] const Row& row(const Relation* relation, Vertex i);

private:
  std::map<const Relation*, std::vector<std::optional<Row>>> rows_;
  std::uint64_t arcs_ = 0;
  Row last_;
  std::vector<Run> runs_;
};

/// One walk from the root, when no visible row repeats a colour, its reader left out; an isomorphism is then forced row by row and preserves the
/// numbers given on the way. Stops after `most_work` arcs: different invariants of walks with one bound still prove difference.
[[nodiscard]] std::optional<RootColours> walk_root(const Rooted& rooted, Vertex root, std::uint64_t most_work, SortedRows& rows);
/// Does no row of the layout repeat an effective colour, its reader left out? Then no view has an automorphism but the identity.
[[nodiscard]] bool is_rigid(const Layout& layout);

/// For every relation the first layer q (from 1) that contains it; `absent` when none does.
inline constexpr std::uint64_t absent = ~std::uint64_t{0};
[[nodiscard]] std::vector<std::uint64_t> first_layers(const Layout& layout);

/// By relation and vertex: what a row's arcs have in common whatever runs they are written in.
using Described = std::vector<std::vector<std::uint64_t>>;
[[nodiscard]] Described describe_rows(const Layout& layout);
/// On top of `hash` the rows of j that are in sight when `left` layers are left; a relation of no layer is never in sight.
[[nodiscard]] std::uint64_t describe_seen(const Described& rows, const std::vector<std::uint64_t>& first, std::uint64_t hash, Vertex j, std::uint64_t left);

class PlaceColours;

/// Fewer roots, or a smaller layout, are compared one by one.
inline constexpr Threshold<std::size_t> few_near_roots{8, 1, "near views"};
inline constexpr Threshold<Vertex> few_near_vertices{4096, 1, "near views"};

/// Colours of one view by vertex or by place, and what is seen.
struct ViewColours {
  RootColours at;
  std::vector<bool> seen;
  const PlaceColours* places = nullptr;  ///< none: by vertex
};

/// colour_root for one root after the other with the rows written down once, on two tokens per symmetric class of a group of automorphisms of
/// the layout. The same hashes. O(tokens kept + runs kept) per root and round.
class PlaceColours {
public:
  /// Nothing for registers that start equal and for too many runs.
  [[nodiscard]] static std::unique_ptr<PlaceColours> make(const Layout& layout, const Group& group, std::uint64_t depth);
  /// Nothing for a root that is not first in its class, and where walk_root may have an answer.
  [[nodiscard]] std::optional<ViewColours> colour(Vertex root);
  /// Do all isomorphisms between the views of these roots (one per orbit) stay within equal numbers? False may mean: not found out (near_views.cpp).
  /// Fewer roots, or a smaller layout: not even tried.
  [[nodiscard]] bool explains_all(const std::vector<Vertex>& roots, const std::vector<Vertex>& number, std::size_t few_roots = few_near_roots, Vertex few_vertices = few_near_vertices) const;
  /// The same from the lengths of rows.
  [[nodiscard]] bool explains_by_lengths(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) const;
  std::vector<Vertex> vertex;        ///< by place, ascending
  std::vector<std::uint64_t> count;  ///< by place: the vertices that it stands for

private:
  class Near;
  struct Piece {
    Vertex first, last;  ///< places
    std::uint32_t step;  ///< number of the step, 0 for 1
    std::uint64_t weight;
  };
  struct Rows {
    std::uint64_t first_layer;
    std::vector<std::uint32_t> list;    ///< by place
    std::vector<std::size_t> begin;     ///< of the lists, among the pieces
    std::vector<Piece> pieces;
    std::vector<std::uint64_t> others;  ///< by place; empty where each stands for one vertex
    std::vector<bool> repeats;          ///< by place: does the row repeat a colour?
  };
  PlaceColours(const Layout& layout, std::uint64_t depth) : layout_(layout), depth_(depth) {}
  bool write_rows(const Relation& relation, EvenSteps& kept, Rows& rows);  ///< kept: by vertex its place, where it has one of its own
  void append(Rows& rows, EvenSteps& kept, const Run& run);
  void find_latest(Vertex root);
  void refine_by(const Rows& rows, std::uint64_t salt, std::vector<std::uint64_t>& hash);
  [[nodiscard]] std::size_t count_distinct(const std::vector<std::uint64_t>& hash);

  const Layout& layout_;
  std::uint64_t depth_;
  std::vector<Vertex> place_, third_;  ///< place by vertex; by place another member that it stands for, or none
  std::vector<std::uint64_t> rank_;
  std::vector<Rows> relations_;
  std::vector<Vertex> steps_{1};
  std::vector<std::int64_t> latest_;
  std::vector<std::vector<std::uint64_t>> prefix_, change_;
  std::vector<std::uint64_t> value_;
  Distinct met_;
};

/// PlaceColours::explains_by_lengths for many roots of a layout without symmetric classes.
[[nodiscard]] bool do_lengths_explain(const Layout& layout, const Group& group, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number);

/// Do all isomorphisms between the views of these roots (one per orbit) stay within equal numbers? Shown by what they keep of each vertex alone:
/// its colour, the time t_a(j) left to it, whether it is the root, and the colours of its visible rows. False may mean: not found out.
/// @param most_marked  arcs, and runs of one colour, of fixed tokens that are gone through: a few lines of a certificate may ask for n^2 of them; the library takes fewer
[[nodiscard]] bool do_times_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                                    std::uint64_t most_marked = std::uint64_t{1} << 28);

/// By vertex: no more than the layers that are left to it in the views of all of these roots; -1: nothing is known (view_times.cpp).
[[nodiscard]] std::vector<std::int64_t> least_times(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots);

/// Is every isomorphism of the views of these roots (one per orbit) what an automorphism of the layout does there? Shown by colours that tell neighbours on the line from
/// others (line_views.cpp). False may mean: not found out.
[[nodiscard]] bool do_lines_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots);

/// Is every isomorphism of the views of these roots (one per orbit) what an automorphism of the layout does there? Shown where rows that all see leave a vertex few places
/// to go to, each of which says where all others go (matched_views.cpp). False may mean: not found out.
[[nodiscard]] bool do_matchings_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::function<bool(const Permutation&)>& is_symmetry);

/// Is every isomorphism between two views of this depth what an automorphism of the layout does there? Shown from rows that are one another's
/// translates (translates.cpp). False may mean: not found out.
[[nodiscard]] bool do_translates_explain(const Layout& layout, std::uint64_t depth);

/// Are there no isomorphisms of views of this depth but identities? Shown for causal windows, with or without sinks, in one layer or several (window_views.cpp). False may mean: not found out.
[[nodiscard]] bool do_windows_explain(const Layout& layout, std::uint64_t depth, ReachMemory& memory);

/// Rows go down in every layer, and what tokens read, recursively, differs: nothing moves in a view that holds its rows, nor in the layout.
[[nodiscard]] bool do_rows_name_tokens(const Layout& layout);
/// Strided rows both ways: no automorphisms but the identity and the reflection of the line, which is one.
[[nodiscard]] bool has_reflection_only(const Layout& layout);
/// Some relation whose arcs, taken both ways, are a line of intervals: no automorphisms but the identity and the reflection of the line, which may be one (interval_group.cpp).
[[nodiscard]] bool has_line_of_intervals(const Layout& layout);
/// What these three show: is the group the identity and the reflection of the line, or the identity alone (`with_reflection` false)? False may mean: not found out.
[[nodiscard]] bool has_group_of_line(const Layout& layout, bool with_reflection);
/// Rows that are translates around the circle, with two tokens a step apart told from others by what they read in common: no automorphisms but rotations and, where they
/// are some, reflections (circulants.cpp).
struct Circle { bool reflected = true; };
[[nodiscard]] std::optional<Circle> find_circle(const Layout& layout);
/// The layout's group, where these and the evidence say the same. Nothing elsewhere.
[[nodiscard]] std::optional<ConfirmedGroup> find_named_group(const Layout& layout, const Json& evidence);

/// No isomorphisms of views but identities: every colour stands at one offset, and every token sees every token (offset_views.cpp).
[[nodiscard]] bool do_offsets_explain(const Layout& layout, std::uint64_t depth, ReachMemory& memory);

/// Steps, here and in descending_views.cpp; the library takes fewer. Few: where another way is tried next.
inline constexpr std::uint64_t few_local_work = std::uint64_t{1} << 26, most_local_work = std::uint64_t{1} << 31, most_walks_work = std::uint64_t{1} << 34;
/// Where nothing moves in small views, takes away the roots for which these, or how much they see, are like no other's: their views have no isomorphisms but identities
/// (local_views.cpp). Is none left? @param orbit  by token: the least of its orbit
bool drop_by_local_views(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory,
                         std::uint64_t most_work = most_local_work);

/// The same where rows go down and walks through the views move nothing: views that hold all rows of what they see are told apart by what is read, recursively, the others by these
/// walks (descending_views.cpp).
bool drop_by_descending_rows(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory);

/// Takes away those of these roots that hold all rows of what they see: with layers enough left for all relations. None where some do not occur by then. @param orbit  by token
void drop_whole(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory,
                const std::function<bool(Vertex)>& is_asked = [](Vertex) { return true; });
/// The same for roots that see none but those that rows tell from all that differ in number: an isomorphism then stays within equal numbers (ground_views.cpp).
void drop_told_by_rows(const Layout& layout, const std::vector<Vertex>& number, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory);
/// The same where rows go down and name tokens: these views keep every name, and are like no other's.
void leave_out_whole_views(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory);
/// The same for windows on grids under a causal mask, of one layer (plane_views.cpp).
[[nodiscard]] bool do_plane_views_explain(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex> roots, ReachMemory& memory);

/// Comparing fewer is as quick.
inline constexpr Threshold<std::size_t> fewest_named_roots{64, 1, "named views"};
/// Takes away the roots of whose views all isomorphisms stay within the classes of the layout's group: one layer over and over, most of whose vertices are surrounded like no other
/// (named_views.cpp).
void drop_named(const Layout& layout, const Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots, std::size_t fewest_roots = fewest_named_roots);

/// What small views, rows that go down and what is near the roots say, in this order, small views of more steps last.
struct SurroundingsQuestion {
  const Layout& layout;
  const Group& group;  ///< automorphisms: their classes
  const std::vector<Vertex>& orbit;
  std::uint64_t depth;
  std::vector<Vertex>& roots;         ///< one per orbit; in the end, those of which nothing is known
  const std::vector<Vertex>& number;  ///< isomorphisms within equal numbers are explained
  std::uint64_t most_local = most_local_work;
  std::size_t few_roots = few_near_roots;
  Vertex few_vertices = few_near_vertices;
  bool rigid = false;
};
/// On two tokens per symmetric class, where these have one number each; else, and with equal registers, null.
[[nodiscard]] std::unique_ptr<PlaceColours> make_places(const SurroundingsQuestion& question);
/// Is every isomorphism of these views what the group does, or within equal numbers? False may mean: not found out. @param places  made on the way, unless the layout is rigid
[[nodiscard]] bool do_surroundings_explain(const SurroundingsQuestion& question, ReachMemory& memory, std::unique_ptr<PlaceColours>& places);

/// Is every isomorphism between views of this depth what an automorphism of the layout does there? Shown where all tokens read their rows and columns of a grid in full, and what else is
/// read along these leaves few maps, all of which are symmetries (cross_views.cpp). False may mean: not found out.
[[nodiscard]] bool do_crosses_explain(const Layout& layout, std::uint64_t depth, const std::function<bool(const Permutation&)>& is_symmetry);

/// The layout's group where this tells what all automorphisms do, and the evidence has just these generators. Nothing elsewhere.
[[nodiscard]] std::optional<ConfirmedGroup> confirm_cross_group(const Layout& layout, const Json& evidence);

/// The same for layouts that fall apart into residues or segments, by these and the other ways, part by part (part_views.cpp). False may mean: not found out.
[[nodiscard]] bool do_closed_parts_explain(const Layout& layout, const Group& layout_group, const std::vector<Vertex>& orbit, std::uint64_t depth, const std::vector<Vertex>& roots,
                                           const std::vector<Vertex>& number, const std::function<bool(const Permutation&)>& is_symmetry, ReachMemory& whole_memory);

/// Takes away the roots in whose views all rows of some relations are, those that have occurred by a layer, where the evidence shows that these relations by themselves
/// have no automorphisms but the layout's (partial_views.cpp). `evidence`: {F: GROUP}, and {"ground": GROUP} for drop_grounded. Throws Rejected, Malformed.
void drop_partly_complete(const Layout& layout, const Group& layout_group, std::uint64_t depth, const Json& evidence, const std::string& claim, ReachMemory& memory,
                          std::vector<Vertex>& roots);

/// The same, with the evidence for one key: roots that hold all rows of what they see, where all reading ends in one set whose rows have no symmetries that the layout
/// lacks (ground_views.cpp). Throws Rejected, Malformed.
void drop_grounded(const Layout& layout, const Group& layout_group, std::uint64_t depth, const Json& evidence, const std::string& claim, ReachMemory& memory,
                   std::vector<Vertex>& roots);
/// Is every automorphism of the view what one of the layout's does there? Shown where naming each token of the smallest cell tells all in sight apart, and generators of
/// the layout's group that fix the root exchange any two of that cell (cell_views.cpp). False may mean: not found out.
[[nodiscard]] bool does_cell_explain(Rooted rooted, Vertex root, const Layout& layout, const Group& layout_group);
/// Is that asked? Where fewer do, the evidence lists the symmetries of the view.
[[nodiscard]] bool do_many_generators_fix(const Group& layout_group, Vertex root);
/// The automorphisms of such a part of the layout. Throws Rejected, Malformed.
[[nodiscard]] ConfirmedGroup confirm_part(const Layout& part, const Json& evidence, const std::string& claim);

/// Makes H_a at one depth. A row is visible from the first layer that contains its relation, and t_a(j) says which those are.
class RootMaker {
public:
  virtual ~RootMaker() = default;
  [[nodiscard]] virtual Rooted make(Vertex root) const = 0;
};
[[nodiscard]] std::unique_ptr<RootMaker> make_roots(const Layout& layout, bool frequencies, std::uint64_t depth);

/// A depth from which on no isomorphism of views comes or goes, and whether every vertex is then seen with all its rows.
struct Limit {
  std::uint64_t depth = 0;
  bool everything = false;
};
/// The layer from which on every relation has occurred once.
[[nodiscard]] std::uint64_t last_first_layer(const Layout& layout);
/// Behind this layer all rows follow from those in sight of a root that sees everything: last_first_layer, or the one before where the last relation comes alone and parts
/// the vertices into sets, of which one member shows the row of all (docs/theory.md 16.47).
[[nodiscard]] std::uint64_t last_shown_layer(const Layout& layout);
/// By vertex: how many stand in its component, that is, are joined to it by arcs whichever way they point.
[[nodiscard]] std::vector<Vertex> measure_components(const Layout& layout);
/// @param ask  what is known about reach: orbits, hints, memory
[[nodiscard]] Limit compute_limit(const Layout& layout, bool frequencies, const ReachQuestion& ask);

/// Registers that start equal: (depth after which their labels split no more, maker of H_a). In register_views.cpp.
[[nodiscard]] bool has_equal_registers(const Layout& layout);
[[nodiscard]] std::uint64_t compute_register_settling(const Layout& layout, bool frequencies);
[[nodiscard]] std::unique_ptr<RootMaker> make_register_roots(const Layout& layout, bool frequencies, std::uint64_t depth);

}  // namespace checker
