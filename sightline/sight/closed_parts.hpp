// Inside of reach.hpp and views.hpp: layouts between whose parts no arc leads, parts that are placed alike on the line. Not for other rooms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

/// Token k of part c stands for first[c] + k step. Residues modulo `step` (dilated windows), or with step 1 segments of the line (sequences packed into one, LongNet). No arc of any layer joins
/// two parts, so each token sees what it sees in its own.
struct ClosedParts {
  Vertex step = 1;
  std::vector<Vertex> first, tokens;   ///< by part; segments by where they begin
  std::vector<std::uint32_t> like;     ///< by part: which of `layouts` it reads like, colours aside
  std::vector<Layout> layouts;         ///< different ones, each token's row in its part

  [[nodiscard]] Vertex part_of(Vertex token) const;
  [[nodiscard]] Vertex whole(Vertex part, Vertex k) const { return first[part] + k * step; }
};

/// Residues modulo the largest number > 1 there is, else the shortest segments, where tokens other than the first fall into two of them; null where there are none, and with registers. From the
/// memory where there is one. O(ranges).
[[nodiscard]] std::shared_ptr<const ClosedParts> find_closed_parts(const Layout& layout, const Budget& budget);

/// Each part is asked by itself, in the order of the line (dilated windows are windows there), and those alike once. Nothing without parts, or where one of them is not to be had `cheaply`.
/// O(ranges) beside the questions.
[[nodiscard]] std::optional<ReachAnswer> answer_by_closed_parts(const ReachQuestion& question, const Budget& budget, bool cheaply);

}  // namespace sightline::sight
