// Inside of views.hpp: the colours of many views of one layout, its rows written down once. Not for other rooms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/even_steps.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

/// Fewer roots, or a smaller layout, are compared one by one.
inline constexpr Threshold<std::size_t> few_near_roots{8, 1, "near views"};
inline constexpr Threshold<Vertex> few_near_vertices{4096, 1, "near views"};

/// compute_root_colours for one root after the other, to the last bit, on two tokens per symmetric class of the layout's group.
///
/// If Sym(C) preserves the layout, the members of C read alike, are read alike, and read each other with one colour. So in the view of a root
/// all members but the root are exchangeable: they are seen equally late, and refinement never tells them apart. The first member (the
/// only one that may be a root) and the second stand for the class, the second with multiplicity |C| - 1; what the others of its kind add to
/// its own sums is corrected (they read each other, but perhaps not themselves).
///
/// O(tokens kept + runs kept) per root and round, where compute_root_colours takes all of them. Steps that it counts are those of the latter, where runs have few different steps.
class ViewColours {
public:
  /// Nothing for registers that start equal, and for rows that do not fit. @param group  automorphisms of the layout, on its tokens
  [[nodiscard]] static std::optional<ViewColours> make(const Layout& layout, const group::Group& group, std::uint64_t depth, const Budget& budget);

  /// The vertex of each place: all that are kept, ascending.
  [[nodiscard]] const std::vector<Vertex>& vertices() const { return vertex_; }
  /// The place that stands for each vertex.
  [[nodiscard]] const std::vector<Vertex>& places() const { return place_; }
  /// How many vertices a place stands for.
  [[nodiscard]] std::uint64_t count(std::size_t place) const { return count_[place]; }

  struct Colours {
    RootColours at;          ///< `hash` by place
    std::vector<bool> seen;  ///< by place
  };
  /// Nothing for a root that does not stand first in its class, and where find_rigid_colours may have an answer.
  [[nodiscard]] std::optional<Colours> colour(Vertex root);
  /// By vertex.
  [[nodiscard]] RootColours expand(const Colours& colours) const;
  /// Do all isomorphisms between the views of these roots (one per orbit) stay within equal numbers? False may mean: not found out.
  /// Large layouts in which what is near a root names everything (near_views.cpp). O(surroundings of the roots + runs) where that works.
  /// Comparing fewer roots, or smaller views, one by one is as quick: not even tried.
  [[nodiscard]] bool explains_all(const std::vector<Vertex>& roots, const std::vector<Vertex>& number, std::size_t few_roots = few_near_roots, Vertex few_vertices = few_near_vertices) const;
  /// The same from how many vertices each token reads in which colour: the ends of a wide window. O(runs + vertices log vertices) for each cluster of roots.
  [[nodiscard]] bool explains_by_rows(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) const;

private:
  class Near;
  struct Piece {
    Vertex first, last;   ///< places
    std::uint32_t step;   ///< number of the step, 0 for 1
    std::uint64_t weight;
  };
  struct Rows {
    std::vector<std::uint32_t> list;     ///< by place
    std::vector<std::size_t> begin;      ///< of each list, among the pieces; one more at the end
    std::vector<Piece> pieces;
    std::vector<std::uint64_t> others;   ///< by place: what members of the same class, the place's own vertex corrected, add; empty where no place stands for several
    std::vector<bool> repeats;           ///< by place: does the row repeat a colour?
    std::uint64_t first_layer = 0;       ///< the row is visible from this layer on
    std::vector<std::uint32_t> cut;      ///< of each list: pieces of one colour without steps, all vertices kept
  };

  ViewColours(const Layout& layout, std::uint64_t depth, const Budget& budget) : layout_(&layout), depth_(depth), budget_(&budget), booking_(budget) {}
  /// @param kept  vertices that are kept, by place
  bool write_rows(const layout::Relation& relation, layout::EvenSteps& kept, Rows& rows);
  void append(Rows& rows, layout::EvenSteps& kept, const layout::ColouredRun& run);
  /// The number of a step of pieces; nothing beyond the first few.
  std::optional<std::uint32_t> find_step(Vertex step);
  void find_latest(Vertex root);
  void refine(Colours& colours);
  /// The steps that compute_root_colours takes.
  std::uint64_t refine_by(const Rows& rows, std::uint64_t salt, std::vector<std::uint64_t>& hash, const std::vector<bool>& seen);

  const Layout* layout_;
  std::uint64_t depth_;
  const Budget* budget_;
  Booking booking_;
  std::vector<Vertex> vertex_;             ///< by place
  std::vector<Vertex> place_;              ///< by vertex: the place that stands for it
  std::vector<Vertex> below_;              ///< by vertex, and at the end: how many are kept below
  std::vector<std::uint64_t> count_;       ///< by place: vertices that it stands for
  std::vector<Vertex> third_;              ///< by place: another member of the class it stands for, or none
  std::vector<std::uint64_t> rank_;        ///< of the vertex colour, by place
  std::vector<Rows> relations_;            ///< by relation of the layout; no lists when it is in no layer
  std::vector<Vertex> steps_{1};           ///< steps of pieces, by number
  std::vector<std::int64_t> latest_;       ///< of the present root, by place
  std::vector<std::vector<Vertex>> next_unseen_;  ///< by number of the step, by place: along it
  std::vector<Vertex> active_;
  std::size_t begin_ = 0, end_ = 0;        ///< of the places that it sees: the stretch that holds them
  std::vector<std::vector<std::uint64_t>> prefix_, change_;  ///< by number of the step
  std::vector<std::uint64_t> value_;       ///< by place: what it is read as in this round
  std::optional<root_hash::DistinctCounter> counter_;
};

}  // namespace sightline::sight
