// A design in the forms that other programs read: masks, edge lists, FlexAttention, drawings.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/design/front.hpp"
#include "sightline/design/orbitals.hpp"

namespace sightline::design {

constexpr std::size_t most_vertices_written = 2048;

/// Files beside `stem`, as (name, bytes): per different pattern k = 1, 2, ..: STEM-k.npz (array `mask`, uint8, row = reader,
/// registers last), STEM-k.edges (lines "reader read"), STEM-k.svg; and STEM.py (one FlexAttention mask_mod per layer).
/// Several heads: the pattern of any head. Above 2,048 vertices STEM.py alone, with formulas, and only where there are some.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> make_files(const architecture::Architecture& architecture, const std::string& stem,
                                                                         const Budget& budget);

/// A .npz archive with one uint8 array `mask` of n x n, row-major (stored, not compressed).
[[nodiscard]] std::string write_npz(const std::vector<std::uint8_t>& values, std::size_t n);
/// Python: tables of rows, and mask_mod functions for torch.nn.attention.flex_attention.
[[nodiscard]] std::string write_flex_attention(const std::vector<std::vector<std::vector<std::uint32_t>>>& rows, const std::vector<std::size_t>& order);
/// Python: the same mask_mods as conditions on positions, for windows, rings, blocks, grids, gather, broadcast, full and what is
/// combined from them; nothing for other patterns. O(length of the description), whatever the number of tokens.
[[nodiscard]] std::optional<std::string> write_flex_formulas(const architecture::Architecture& architecture);
/// Layers against pairs, one mark per point, the points that nothing beats joined by a line.
[[nodiscard]] std::string draw_front(const Design& design);
constexpr Point most_points_drawn = 256;
/// The orbits of the group: a square per pair of points, one colour per orbit on pairs (the diagonal: orbits of points).
[[nodiscard]] std::string draw_orbits(const Orbitals& orbitals);
/// One square per attended pair, reader downwards.
[[nodiscard]] std::string draw_pattern(const std::vector<std::vector<std::uint32_t>>& rows);

}  // namespace sightline::design
