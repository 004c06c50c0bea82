// Groups from things: the symmetry of a graph, a molecule, a crystal cell or a mask read from a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"

namespace sightline::design {

/// How the bonds of a molecule are told apart.
/// order: by the type written (1, 2, 3, 4 = aromatic). none: not at all. aromatic: a bond is aromatic when it is written so
/// (type 4), or when some perfect matching of its conjugated system uses it and some does not; the others by their type.
enum class Bonds { order, aromatic, none };

/// Vertices with colours and coloured arcs, as a file gives them. colour >= 1; an arc is listed once.
struct ColouredGraph {
  struct Arc {
    group::Point from = 0, to = 0;
    std::uint32_t colour = 1;
  };
  std::vector<std::uint64_t> vertex_colour;
  std::vector<Arc> arcs;  ///< both directions of an undirected edge
};

/// Edge list ("u v" per line, 0-based, undirected, # comments, a line with one number is an isolated vertex), graph6 (one
/// line of ASCII 63..126, ">>graph6<<" in front or not) or MatrixMarket coordinate (general: directed; integer values are
/// colours). By the first bytes. Throws InputError `FILE:LINE[:COLUMN]: expected ..., found ...`.
[[nodiscard]] ColouredGraph parse_graph(std::string_view text, const std::string& file);
/// The first molecule of an SDF or MOL file, V2000. Atom colour: element, charge, isotope; hydrogens as written.
[[nodiscard]] ColouredGraph parse_molecule(std::string_view text, const std::string& file, Bonds bonds);
/// `tokens N`, an optional line `species A B ...`, then lines `i j a b c`: atom i has the neighbour j in the cell (a, b, c).
/// The reverse neighbour is implied. The colour of (i, j) is the number of images of j beside i.
[[nodiscard]] ColouredGraph parse_cell(std::string_view text, const std::string& file);

/// The bonds (as pairs of atoms) that lie on an alternating cycle of the double bonds: exactly those that some perfect
/// matching of the conjugated atoms uses and some does not (Berge). double_bond[k] says which edges are the matching.
/// O(edges * (atoms + edges) * atoms) at worst, by blossom shrinking.
[[nodiscard]] std::vector<bool> find_flexible_bonds(std::size_t atoms, const std::vector<std::pair<group::Point, group::Point>>& edges,
                                                    const std::vector<bool>& double_bond);

[[nodiscard]] group::Group compute_symmetry(const ColouredGraph& graph, const Budget& budget);

/// What stands behind graph:FILE, molecule:FILE, cell:FILE and mask:FILE. `tokens`: the size of a mask, where the file does
/// not say. Files are named relative to `folder` unless absolute. Throws InputError.
[[nodiscard]] group::Group read_symmetry(const std::string& source, const std::string& file, const std::string& folder, Bonds bonds,
                                         std::optional<group::Point> tokens, const Budget& budget);

/// The number of tokens that a mask file says it has (last extent of a .npy, or of `mask` or the only array in a .npz, MatrixMarket sizes,
/// largest index of an edge list), or nothing.
[[nodiscard]] std::optional<group::Point> find_mask_size(std::string_view bytes);

}  // namespace sightline::design
