// Inside of reach: layouts whose arcs join tokens of one residue modulo some number only (dilated windows).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "read_layers.hpp"

namespace checker {

/// Token k of part c stands for c + k modulus. No arc joins two parts, so each token sees what it sees in its own part.
struct Residues {
  Vertex modulus = 0;
  std::vector<Layout> parts;          ///< different ones
  std::vector<std::size_t> part_of;   ///< by residue: which of them
};
/// The largest modulus > 1 there is; nothing otherwise. No registers. O(ranges).
[[nodiscard]] std::unique_ptr<Residues> find_residues(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers);

}  // namespace checker
