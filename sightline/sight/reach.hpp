// Who can see whom: receptive fields through the layers, on runs (theory.md 1.9, 10).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::sight {

using layout::Layout;
using layout::Vertex;

/// What a token is meant to see (format.md, target.class and class.kind).
enum class ClassKind { all, causal, seen };

/// Which tokens count as "to be seen" by token i.
struct Wanted {
  ClassKind kind = ClassKind::all;  ///< all: 0..n-1; causal: 0..i; seen: whatever i ever sees, the list repeated
  bool ordinary_only = false;       ///< true: token 0 is a BOS and carries no content, so it need not be seen (D4)
};

/// A pair (reader, unseen): the reader never gets to see the other token within the given depth.
struct UnreachablePair {
  Vertex reader = 0, unseen = 0;
};

/// Number of tokens j (wanted by i, registers never count) that i does not see after `depth` layers; one entry per token.
/// depth = nullopt: after any number of layers, the list repeated. A token sees itself at depth 0. Paths may pass
/// through registers. Runs of equal counts are the caller's business.
[[nodiscard]] std::vector<Vertex> compute_unseen(const Layout& layout, std::optional<std::uint64_t> depth, const Wanted& wanted,
                                                 const Budget& budget);

/// The receptive field of one token after `depth` layers, as sorted disjoint runs over all vertices (registers included).
[[nodiscard]] std::vector<layout::Run> compute_view(const Layout& layout, std::uint64_t depth, Vertex token, const Budget& budget);

/// Definition 4: least m such that every ordered pair of tokens is connected within m layers, the list repeated (0 when n = 1).
struct Connected {
  std::optional<std::uint64_t> layers;      ///< null: never
  std::optional<UnreachablePair> witness;   ///< when never: a pair that no depth connects; else a pair missed at layers-1
};
[[nodiscard]] Connected compute_connected(const Layout& layout, const Budget& budget);

/// Least m at which every token sees all it is wanted to see; for `seen`, at which views stop growing for good.
/// Same witness convention.
[[nodiscard]] Connected compute_class_reach(const Layout& layout, const Wanted& wanted, const Budget& budget);

/// `all` if, the list repeated, every token comes to see every token; `causal` if token i comes to see exactly 0..i; else `seen`.
[[nodiscard]] ClassKind compute_class_kind(const Layout& layout, const Budget& budget);

/// t_a(j) for all vertices j: the longest time left, -1 when j is never seen (theory.md 2.4, 10). Row q of j influences a
/// iff q <= t_a(j).
[[nodiscard]] std::vector<std::int64_t> compute_latest(const Layout& layout, std::uint64_t depth, Vertex root, const Budget& budget);

}  // namespace sightline::sight
