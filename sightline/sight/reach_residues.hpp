// Inside of reach.hpp: layouts whose arcs join tokens of one residue modulo some number only. Not for other rooms.
#pragma once

#include <cstdint>
#include <optional>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

/// The largest g > 1 such that every arc of every layer joins tokens i, j with g | j - i; nothing where there is none, and with registers. O(ranges).
[[nodiscard]] std::optional<Vertex> find_residues(const Layout& layout, const Budget& budget);

/// Where there is such a g: tokens of one residue see nothing else, so each residue is asked by itself, in the order of the line (dilated windows are windows there),
/// and equal ones once. Nothing otherwise, or where one of them is not to be had `cheaply`. O(ranges) beside the questions.
[[nodiscard]] std::optional<ReachAnswer> answer_by_residues(const ReachQuestion& question, const Budget& budget, bool cheaply);

}  // namespace sightline::sight
