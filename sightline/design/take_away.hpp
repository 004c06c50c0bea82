// A design in the forms that other programs read: masks, edge lists, FlexAttention, drawings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/design/front.hpp"
#include "sightline/design/orbitals.hpp"

namespace sightline::design {

constexpr std::size_t most_vertices_written = 2048;
constexpr std::uint64_t most_arcs_written = 10'000'000;

/// Stands in the first 400 or the last 64 bytes of every file that is written beside a design (a comment of its format), so that a later
/// design may write over it, and over nothing else.
constexpr std::string_view take_away_mark = "sightline design";

/// Takes one file: its name and its bytes.
using WriteFile = std::function<void(const std::string& name, const std::string& bytes)>;

/// Files beside `stem`, per different pattern k = 1, 2, ..: STEM-k.npz, STEM-k.edges (lines "i j": i reads j), STEM-k.svg; and STEM.py
/// (one FlexAttention mask_mod per layer). Row = reader, registers last; several heads: the pattern of any head.
/// Up to 2,048 vertices the .npz holds an array `mask`, uint8, and STEM.py tables of rows. Above, the .npz is a sparse matrix as
/// scipy.sparse.load_npz reads it (CSR), .npz and .edges are written while all patterns have at most 10^7 arcs together, STEM.py holds
/// formulas, where there are some, and nothing is drawn. `pairs`: attended pairs of the different patterns, for that bound.
/// Returns what was left out and why, one line each.
[[nodiscard]] std::vector<std::string> make_files(const architecture::Architecture& architecture, std::uint64_t pairs, const std::string& stem,
                                                  const WriteFile& write, const Budget& budget);

/// A .npz archive with one uint8 array `mask` of n x n, row-major (stored, not compressed).
[[nodiscard]] std::string write_npz(const std::vector<std::uint8_t>& values, std::size_t n);
/// Python: tables of rows, and mask_mod functions for torch.nn.attention.flex_attention.
[[nodiscard]] std::string write_flex_attention(const std::vector<std::vector<std::vector<std::uint32_t>>>& rows, const std::vector<std::size_t>& order);
/// Python: the same mask_mods as conditions on positions, for windows, rings, blocks, grids, circulants, butterflies, a few edges, gather, broadcast,
/// full and what is combined from them; nothing for other patterns. O(length of the description), whatever the number of tokens.
[[nodiscard]] std::optional<std::string> write_flex_formulas(const architecture::Architecture& architecture);
/// Layers against pairs, one mark per point, the points that nothing beats joined by a line.
[[nodiscard]] std::string draw_front(const Design& design);
constexpr Point most_points_drawn = 256;
/// The orbits of the group: a square per pair of points, one colour per orbit on pairs (the diagonal: orbits of points).
[[nodiscard]] std::string draw_orbits(const Orbitals& orbitals);
/// One square per attended pair, reader downwards.
[[nodiscard]] std::string draw_pattern(const std::vector<std::vector<std::uint32_t>>& rows);

}  // namespace sightline::design
