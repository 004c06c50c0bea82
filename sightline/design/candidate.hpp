// Inside of front.hpp: a layout on its way to the front. Not for other rooms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/design/front.hpp"
#include "sightline/design/orbitals.hpp"

namespace sightline::design {

/// One pattern of the list, with the number of heads it asks for.
struct LayerPlan {
  layout::PatternSpec pattern;
  std::uint64_t pairs = 0; ///< attended pairs i != j
};

struct Candidate {
  PointKind kind = PointKind::single;
  std::vector<LayerPlan> layers; ///< the list, repeated as often as needed
  std::uint64_t registers = 0;
  bool whole_list_once = false; ///< the list is used exactly once (gather and broadcast, registers)
  bool loops_chosen = false;
  bool relative = false; ///< a trained weight per distance
  std::string description;
};

/// The architecture of a candidate with `depth` layers. Throws InputError when the kernel cannot be read.
[[nodiscard]] architecture::Architecture make_architecture(const Request& request, const Candidate& candidate,
                                                           std::uint64_t depth);

/// Certifies the candidate for the asked symmetry and class. `at_least`: a number of layers below which it cannot work.
/// Nothing when no number of layers suffices, more than request.layers are needed, or the verdict stays unknown.
/// `undecided`, when given, is set in the last case.
[[nodiscard]] std::optional<FrontPoint> certify_candidate(const Request& request, const Candidate& candidate,
                                                          std::uint64_t at_least, const Budget& budget,
                                                          bool* undecided = nullptr);

/// The point of a candidate that is known to need exactly `depth` layers.
[[nodiscard]] FrontPoint make_point(const Request& request, const Candidate& candidate, std::uint64_t depth);

/// Attended pairs of `depth` layers of the list.
[[nodiscard]] std::uint64_t count_pairs(const std::vector<LayerPlan>& layers, std::uint64_t depth);
/// The same, every different pattern counted once.
[[nodiscard]] std::uint64_t count_pattern_pairs(const Candidate& candidate, std::uint64_t depth);

/// The shortest way to write a union of orbitals: full, circulant, graph, or rows.
[[nodiscard]] layout::PatternSpec describe_union(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                                 const Budget& budget);
/// A matrix of colours, one per orbital: colours 1, 2, ... in the order of `chosen`. `registers` more empty rows and
/// columns.
[[nodiscard]] layout::PatternSpec describe_colours(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                                   std::uint64_t registers);
/// "rows" of tokens and registers.
[[nodiscard]] layout::PatternSpec make_rows_spec(std::vector<std::vector<std::int64_t>> rows);
/// One register n: it reads every token; every token reads it. Nobody reads more than that, tokens keep their loops.
[[nodiscard]] LayerPlan make_gather(Point tokens);
/// The same with a trained weight for every orbit of the tokens.
[[nodiscard]] LayerPlan make_coloured_gather(const Orbitals& orbitals);
[[nodiscard]] LayerPlan make_broadcast(Point tokens);

} // namespace sightline::design
