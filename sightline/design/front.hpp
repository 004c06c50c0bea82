// From a group to the layouts that have exactly its symmetry, at least cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"

namespace sightline::design {

enum class PointKind { single, several, coloured, gather_broadcast, registers };
[[nodiscard]] std::string to_word(PointKind kind);

/// What is asked for. The symmetry must act on all tokens.
struct Request {
  group::Group group;
  std::string symmetry;                ///< as an architecture file may say it; empty: by generators
  std::optional<std::uint64_t> layers; ///< at most so many mixing layers
  std::optional<std::uint64_t> registers;
  std::string kernel = "softmax"; ///< not used when there is a base
  std::int64_t dim = 64;
  bool causal = false;     ///< class causal; the symmetry must then be trivial
  std::string closed_form; ///< the text of the group, when closed forms may be used (closed_forms.hpp)
  /// Keeps everything of this architecture but its layers' patterns, registers and target: input, blocks, kernel,
  /// feedforward, norms.
  std::optional<architecture::Architecture> base;
};

/// One layout with exactly the symmetry asked for: certified before it was put here (or, for closed forms above 5,000
/// tokens, proved), with `layers` the exact number it needs.
struct FrontPoint {
  PointKind kind = PointKind::single;
  std::uint64_t layers = 0;
  std::uint64_t pairs = 0;         ///< attended pairs i != j, registers included, summed over the layers used
  std::uint64_t pattern_pairs = 0; ///< the same, every different pattern of the list counted once
  std::uint64_t registers = 0;
  bool loops_chosen = false; ///< some tokens do not read themselves: their missing loops tell orbits apart
  bool proved = false; ///< no layout of this kind with so many layers attends fewer pairs: all were looked at. Never
                       ///< above 16 non-diagonal orbitals
  std::uint64_t lower_bound = 0; ///< of pairs for this kind and number of layers; equals pairs when proved
  bool nondominated = true;      ///< no other point is as good in layers, pairs and registers and better in one
  bool by_proof = false; ///< rests on docs/theory.md 16.9 and a certified small member, not on a run at this length
  std::string description;
  architecture::Architecture architecture;
};

struct Design {
  bool two_closed = false;
  std::optional<std::string> name; ///< of the group, where the closed form knows it (looking for it would take longer
                                   ///< than the design); empty: it has none
  std::optional<group::Group> closure; ///< when the group is not 2-closed
  std::vector<FrontPoint> front;       ///< fewest layers first, then fewest pairs
  std::vector<std::string> notes;      ///< what was left out, and why
};

/// The designs of a group (theory.md 7.6, 8, 13). The front holds, for every kind, the points that no other point of
/// the kind beats in layers, pairs and pairs per list of patterns.
/// - single, coloured: unions of orbitals, repeated. With at most 16 non-diagonal orbitals every union is looked at;
/// reach and
///   refinement are computed in the algebra of the orbitals (configuration.hpp), automorphism groups once per stable
///   partition. Above that only unions of the first orbitals by size are tried, and points are "best found" with a
///   lower bound.
/// - several: lists of two and three patterns, repeated, and sequences of up to six layers that need not repeat, by
/// their total:
///   proved when everything below the total was looked at, or a bound meets it (docs/theory.md 16.15); else the bound
///   is the last total that was looked at to the end.
/// - gather_broadcast: the cheapest pattern E with automorphism group G, then one register reads all (every orbit of
/// the tokens
///   with a trained weight of its own where that makes E cheaper) and is read by all.
/// - registers: |G| of one colour and n heads when |G| n <= 100,000 and G is not 2-closed, or nothing with two layers
/// costs less. Every point is certified by verdict::certify at exactly its number of layers, but for the closed forms
/// (closed_forms.hpp) of long or deep layouts, whose points rest on a proof and on the certified small member of the
/// family. Throws InputError (a kernel that cannot be read, causal with a group that is not trivial), BudgetExhausted,
/// Interrupted.
[[nodiscard]] Design make_design(const Request& request, const Budget& budget);

} // namespace sightline::design
